local caching = require("operations.server.caching")
local http_request = require("spec.support.http_request")
local operations = require("operations")

local send = http_request.send

local function serve(definitions, options)
  local registry = operations.registry({ log = function() end })
  for _, definition in ipairs(definitions) do
    definition.namespace, definition.type = "a", definition.type or "query"
    assert(registry:register(definition))
  end
  local given = { log = function() end }
  for name, value in pairs(options or {}) do
    given[name] = value
  end
  return operations.to_http(registry, given)
end

local function cached(cache, options, handler)
  return assert(serve({ { name = "b", _meta = { http = { cache = cache } }, handler = handler or function()
    return { n = 1 }
  end } }, options))
end

describe("an operation with _meta.http.cache", function()
  it("has an entity tag, by which it is not sent again", function()
    local server = cached(true)
    local first = send(server, "GET", "/a/b")
    assert.same({ 200, "no-cache", '{"n":1}' }, { first.status, first.headers["cache-control"], first.text })
    assert.matches('^"%x+"$', first.headers.etag)
    for _, field in ipairs({ first.headers.etag, "W/" .. first.headers.etag, '"x", ' .. first.headers.etag, "*" }) do
      for _, method in ipairs({ "GET", "HEAD" }) do
        local again = send(server, method, "/a/b", { ["if-none-match"] = field })
        assert.same({ 304, "", first.headers.etag, "no-cache" }, { again.status, again.text, again.headers.etag,
          again.headers["cache-control"] })
        assert.is_nil(again.headers["content-type"])
        assert.is_truthy(again.headers["x-request-id"])
      end
    end
    assert.equal(200, send(server, "GET", "/a/b", { ["if-none-match"] = '"other"' }).status)
  end)

  it("may be kept for a time", function()
    assert.equal("max-age=60", send(cached({ maxAge = 60500 }), "GET", "/a/b").headers["cache-control"])
  end)

  it("is cached by its caller only where callers authenticate", function()
    local server = cached(true, { authorize = function(request) return { id = request.token, scopes = {} } end })
    local answer = send(server, "GET", "/a/b")
    assert.same({ "private, no-cache", "Authorization, Cookie" }, { answer.headers["cache-control"],
      answer.headers.vary })
    server = cached(true, { authorize = function() return { id = 1 } end, origins = { "https://app.example" } })
    assert.equal("Authorization, Cookie, Origin", send(server, "GET", "/a/b").headers.vary)
  end)

  it("is kept apart for each caller where it has no data, too", function()
    local server = cached({ maxAge = 60000 }, { authorize = function() return { id = 1 } end }, function() end)
    local answer = send(server, "GET", "/a/b")
    assert.same({ 204, "private, max-age=60", "Authorization, Cookie" }, { answer.status,
      answer.headers["cache-control"], answer.headers.vary })
  end)

  it("is not cached when it sets a cookie, unless its handler says so", function()
    for given, expected in pairs({ [false] = "no-store", ["public, max-age=5"] = "public, max-age=5" }) do
      local server = cached({ maxAge = 60000 }, nil, function()
        return operations.http_envelope(1, { headers = { setCookie = { "session=1" },
          ["cache-control"] = given or nil }, statusCode = 200 })
      end)
      local answer = send(server, "GET", "/a/b")
      assert.equal(expected, answer.headers["cache-control"])
      assert.equal(given ~= false, answer.headers.etag ~= nil)
    end
  end)

  it("is not cached when it was not read, fails or is empty", function()
    local server = cached(true)
    for _, method in ipairs({ "POST", "QUERY" }) do
      local answer = send(server, method, "/a/b", { ["if-none-match"] = "*" }, {})
      assert.same({ 200, "no-store" }, { answer.status, answer.headers["cache-control"] })
      assert.is_nil(answer.headers.etag)
    end
    local failing = cached(true, nil, function() return nil, operations.error("TIMEOUT", "late") end)
    local failed = send(failing, "GET", "/a/b", { ["if-none-match"] = "*" })
    assert.same({ 504, "no-store" }, { failed.status, failed.headers["cache-control"] })
    assert.equal(204, send(cached(true, nil, function() end), "GET", "/a/b", { ["if-none-match"] = "*" }).status)
  end)

  it("has no tag of ours from 1 MiB on", function()
    local function tag(size)
      return send(cached(true, nil, function() return ("x"):rep(size) end), "GET", "/a/b").headers.etag
    end
    assert.is_nil(tag(1024 * 1024))
    assert.is_truthy(tag(1024 * 1024 - 3))
  end)

  it("keeps the handler's own fields", function()
    local server = cached(true, nil, function()
      return operations.http_envelope(1, { statusCode = 200,
        headers = { etag = 'W/"v7"', ["cache-control"] = "max-age=9" } })
    end)
    local answer = send(server, "GET", "/a/b")
    assert.same({ 'W/"v7"', "max-age=9" }, { answer.headers.etag, answer.headers["cache-control"] })
    assert.equal(304, send(server, "GET", "/a/b", { ["if-none-match"] = '"v7"' }).status)
  end)

  it("refuses contradictory options", function()
    for _, wrong in ipairs({ "yes", 7, { maxAge = -1 }, { maxAge = "1" }, { max_age = 1 },
      { maxAge = 1, more = 1 } }) do
      local server, err = serve({ { name = "b", _meta = { http = { cache = wrong } }, handler = function() end } })
      assert.is_nil(server)
      assert.equal("a.b: _meta.http.cache: true or { maxAge = ms } expected", err.message)
    end
  end)

  it("is described with 304 where the document shows a GET", function()
    local document = cached(true):openapi()
    local shown = document.paths["/a/b"].get
    assert.is_truthy(shown.responses["304"])
    assert.is_truthy(shown.responses["200"].headers.ETag)
    assert.is_true(shown["x-operation"].cache)
  end)
end)

describe("an operation without _meta.http.cache", function()
  it("is not cached and has no tag, unless its handler gives one", function()
    local server = cached(nil)
    local answer = send(server, "GET", "/a/b", { ["if-none-match"] = "*" })
    assert.same({ 200, "no-store" }, { answer.status, answer.headers["cache-control"] })
    assert.is_nil(answer.headers.etag)
    server = cached(nil, nil, function() return operations.http_envelope(1, { statusCode = 200,
      headers = { etag = '"v"' } }) end)
    assert.equal(304, send(server, "GET", "/a/b", { ["if-none-match"] = '"v"' }).status)
    assert.equal(200, send(server, "GET", "/a/b").status)
  end)
end)

describe("entity tags", function()
  it("are 128 bits of the SHA-256 of a body, in quotes", function()
    assert.equal('"ba7816bf8f01cfea414140de5dae2223"', caching.tag_of("abc"))
    assert.not_equal(caching.tag_of(""), caching.tag_of("\0"))
  end)

  it("are found in If-None-Match, whatever their strength", function()
    for _, field in ipairs({ '"a"', 'W/"a"', "*", '"b", "a"', '"b",W/"a"', ' "a" ' }) do
      assert.is_true(caching.has_tag(field, '"a"'), field)
    end
    for _, field in ipairs({ "", '"b"', "a", 'w/"a"', '"a', '"aa"', 'W/"b", "c"' }) do
      assert.is_false(caching.has_tag(field, '"a"'), field)
    end
    assert.is_false(caching.has_tag(nil, '"a"'))
    assert.is_true(caching.has_tag('"x, y" ,W/"a, *, b"', '"a, *, b"'))
    assert.is_false(caching.has_tag('"a, *, b", "c', '"c"'))
  end)
end)
