-- The page of `docs`, as a browser asks for it.
local operations = require("operations")

local FILES = { ["/docs"] = "text/html", ["/docs/page.css"] = "text/css", ["/docs/page.js"] = "text/javascript",
  ["/docs/view.js"] = "text/javascript", ["/docs/form.js"] = "text/javascript", ["/docs/call.js"] = "text/javascript",
  ["/docs/dom.js"] = "text/javascript" }
local STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
  .. "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

local directory

local function registry()
  local made = operations.registry()
  assert(made:register({ namespace = "a", name = "b", type = "query", handler = function() return 1 end }))
  assert(made:register({ namespace = "a", name = "c", type = "query", accessControl = { requiredScopes = { "x", "y" } },
    handler = function() return 1 end }))
  return made
end

local function serve(options)
  return assert(operations.to_http(registry(), options or { docs = true }))
end

local function ask(server, target, more)
  local request = { method = "GET", target = target, headers = { host = "localhost" } }
  for name, value in pairs(more or {}) do
    if name == "method" then
      request.method = value
    else
      request.headers[name] = value
    end
  end
  return server:handle(request)
end

local function write(name, text)
  local file = assert(io.open(directory .. "/" .. name, "w"))
  file:write(text)
  file:close()
end

before_each(function()
  directory = os.tmpname()
  os.remove(directory)
  assert(os.execute("mkdir -p " .. directory .. "/dist/browser"))
end)

after_each(function()
  os.execute("rm -rf " .. directory)
end)

describe("the page of a server", function()
  it("has its files, with their types, a strict policy and no more than 40 KB", function()
    local server, bytes = serve(), 0
    for path, media in pairs(FILES) do
      local answer = ask(server, path)
      assert.equal(200, answer.status, path)
      assert.equal(media .. "; charset=utf-8", answer.headers["content-type"])
      assert.equal(STRICT, answer.headers["content-security-policy"])
      assert.equal("no-referrer", answer.headers["referrer-policy"])
      assert.equal("no-cache", answer.headers["cache-control"])
      assert.equal("nosniff", answer.headers["x-content-type-options"])
      bytes = bytes + #answer.body
    end
    assert.is_true(bytes > 1000 and bytes <= 40 * 1024, bytes .. " bytes")
  end)

  it("has no script or style of its own in the HTML, and names files that are there", function()
    local server = serve()
    local html = ask(server, "/docs").body
    assert.is_nil(html:find("<style") or html:find(" style=") or html:find(" on%a+=") or html:find("<script>"))
    assert.is_nil(html:find("//", 1, true))
    for path in html:gmatch('"(docs/[^"]+)"') do
      assert.equal(200, ask(server, "/" .. path).status, path)
    end
    for path in pairs(FILES) do
      for name in ask(server, path).body:gmatch('from "%./([^"]+)"') do
        assert.is_truthy(FILES["/docs/" .. name], name)
      end
    end
  end)

  it("is public, the document is not", function()
    local server = serve({ docs = true, authorize = function(request)
      return request.token == "t" and { id = "t", scopes = {} } or nil
    end })
    for path in pairs(FILES) do
      assert.equal(200, ask(server, path).status)
    end
    assert.equal(401, ask(server, "/openapi.json").status)
    assert.equal(401, ask(server, "/a/b").status)
    assert.equal(200, ask(server, "/openapi.json", { authorization = "Bearer t" }).status)
  end)

  it("can be reached by a link of a page elsewhere, the document and the operations cannot", function()
    local server, link = serve(), { ["sec-fetch-site"] = "cross-site", ["sec-fetch-mode"] = "navigate" }
    assert.equal(200, ask(server, "/docs", link).status)
    assert.equal(200, ask(server, "/docs/page.js", link).status)
    for _, target in ipairs({ "/openapi.json", "/a/b", "/docs/none.js", "/healthz" }) do
      assert.equal(403, ask(server, target, link).status, target)
    end
    assert.equal(403, ask(serve({}), "/docs", link).status)
  end)

  it("obeys the guard as everything does", function()
    assert.equal(403, ask(serve(), "/docs", { host = "evil.example" }).status)
    assert.equal(403, ask(serve(), "/docs/page.js", { ["sec-fetch-site"] = "cross-site" }).status)
  end)

  it("has strong tags, by which a reader that has a file gets none", function()
    local server = serve()
    local tag = ask(server, "/docs/page.js").headers.etag
    assert.matches('^"%x+"$', tag)
    assert.equal(32 + 2, #tag)
    assert.equal(tag, ask(serve(), "/docs/page.js").headers.etag)
    assert.not_equal(tag, ask(server, "/docs/form.js").headers.etag)
    for _, field in ipairs({ tag, "W/" .. tag, '"x", ' .. tag, "*" }) do
      local answer = ask(server, "/docs/page.js", { ["if-none-match"] = field })
      assert.equal(304, answer.status, field)
      assert.equal("", answer.body)
      assert.equal(tag, answer.headers.etag)
    end
    for _, field in ipairs({ '"x"', tag:sub(2, -2), "" }) do
      assert.equal(200, ask(server, "/docs/page.js", { ["if-none-match"] = field }).status, field)
    end
  end)

  it("is read by GET and HEAD", function()
    local server = serve()
    assert.same(ask(server, "/docs").headers.etag, ask(server, "/docs", { method = "HEAD" }).headers.etag)
    assert.equal(200, ask(server, "/docs", { method = "HEAD" }).status)
    assert.equal(204, ask(server, "/docs", { method = "OPTIONS" }).status)
    local answer = ask(server, "/docs", { method = "POST" })
    assert.equal(405, answer.status)
    assert.equal("GET, HEAD, OPTIONS", answer.headers.allow)
  end)

  it("is there only when it is asked for, below the prefix, and once", function()
    for _, options in ipairs({ {}, { docs = false } }) do
      assert.equal(404, ask(serve(options), "/docs").status)
      assert.equal(404, ask(serve(options), "/docs/page.js").status)
    end
    local server = serve({ docs = true, prefix = "/api" })
    assert.equal(200, ask(server, "/api/docs").status)
    assert.equal(200, ask(server, "/api/docs/page.js").status)
    assert.equal(404, ask(server, "/docs").status)
    for _, target in ipairs({ "/docs/", "/docs/page.lua", "/docs/index.html", "/docs/../page.lua",
      "/docs/%2e%2e/page.lua", "/docs/..%2fpage.lua", "/docs//page.js",
      "/docs/page.js/", "/docs/page.js%00", "/docs/page", "/Docs" }) do
      assert.equal(target:find("/docs/[.%%]") and 400 or 404, ask(serve(), target).status, target)
    end
    assert.equal(200, ask(serve(), "/docs?x=1").status)
  end)

  it("has a path that no operation can take", function()
    local made = operations.registry()
    assert(made:register({ namespace = "docs", name = "page", handler = function() end }))
    local server, err = operations.to_http(made)
    assert.is_nil(server)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.matches("/docs/page belongs to the server", err.message, 1, true)
  end)

  it("names an unknown option", function()
    for _, case in ipairs({ { 1, "bad option 'docs' to 'to_http' (boolean or table expected, got number)" },
      { {}, "bad option 'docs.directory' to 'to_http' (string expected, got nil)" },
      { { directory = 1 }, "bad option 'docs.directory' to 'to_http' (string expected, got number)" },
      { { directory = "x", path = "y" }, "bad option 'docs.path' to 'to_http' (unknown)" } }) do
      local ok, message = pcall(function()
        operations.to_http(registry(), { docs = case[1] })
      end)
      assert.is_false(ok)
      assert.matches("page_spec.lua:%d+: ", message)
      assert.matches(case[2], message, 1, true)
    end
  end)

  it("says when its files are not where package.path leads", function()
    local path = package.path
    package.path = directory .. "/?.lua"
    local server, err = operations.to_http(registry(), { docs = true })
    package.path = path
    assert.is_nil(server)
    assert.equal("UNAVAILABLE", err.code)
    assert.matches("operations/server/page/index.html is not where package.path leads", err.message, 1, true)
  end)

  it("learns from the document which operations a caller may not call, and why", function()
    local identity = { id = "t", scopes = { "y" } }
    local options = { docs = true, authorize = function() return identity end }
    local function document(target, more)
      for name, value in pairs(more or {}) do
        options[name] = value
      end
      return operations.json.decode(ask(serve(options), target).body).paths
    end
    assert.is_nil(document("/openapi.json")["/a/c"])
    local paths = document("/openapi.json?denied=true&version=3.1")
    assert.equal("missing scopes: x", paths["/a/c"].get["x-operation"].denied)
    assert.is_nil(paths["/a/b"].get["x-operation"].denied)
    assert.is_nil(document("/openapi.json?denied=true", { hide_denied = true })["/a/c"])
    assert.equal(422, ask(serve(), "/openapi.json?denied=false").status)
  end)
end)

describe("a page that is installed", function()
  it("is Swagger UI", function()
    write("swagger-ui-bundle.js", "// the bundle")
    write("swagger-ui.css", "/* its style */")
    assert.is_nil(operations.to_http(registry(), { docs = { directory = directory } })) -- a file of it is missing
    write("favicon-32x32.png", "\137PNG")
    write("index.html", "<script>its own</script>")
    local server = serve({ docs = { directory = directory } })
    local answer = ask(server, "/docs")
    assert.matches('<script src="docs/swagger-ui-bundle.js">', answer.body, 1, true)
    assert.equal((STRICT:gsub("img%-src", "img-src 'self'")), answer.headers["content-security-policy"])
    assert.equal("// the bundle", ask(server, "/docs/swagger-ui-bundle.js").body)
    assert.equal("text/css; charset=utf-8", ask(server, "/docs/swagger-ui.css").headers["content-type"])
    assert.equal("image/png", ask(server, "/docs/favicon-32x32.png").headers["content-type"])
    assert.matches('url: "openapi.json"', ask(server, "/docs/init.js").body, 1, true)
    for path in answer.body:gmatch('"(docs/[^"]+)"') do
      assert.equal(200, ask(server, "/" .. path).status, path)
    end
  end)

  it("is Scalar, as npm lays it out or alone", function()
    for _, place in ipairs({ "dist/browser/standalone.js", "standalone.js" }) do
      write(place, "// " .. place)
      local server = serve({ docs = { directory = directory } })
      assert.equal("// " .. place, ask(server, "/docs/standalone.js").body)
      assert.matches("Scalar.createApiReference", ask(server, "/docs/init.js").body, 1, true)
      assert.equal((STRICT:gsub("style%-src 'self'", "%0 'unsafe-inline'")),
        ask(server, "/docs").headers["content-security-policy"])
    end
  end)

  it("gives nothing away that is not of it", function()
    write("swagger-ui-bundle.js", "")
    write("swagger-ui.css", "")
    write("favicon-32x32.png", "")
    write("secret.txt", "secret")
    local server = serve({ docs = { directory = directory } })
    for _, target in ipairs({ "/docs/secret.txt", "/docs/../secret.txt", "/docs/%2e%2e/secret.txt", "/docs/page.js",
      "/docs/.." .. directory .. "/secret.txt", "/docs/" .. directory .. "/secret.txt", "/docs/dist" }) do
      assert.equal(target:find("/docs/[.%%]") and 400 or 404, ask(server, target).status, target)
    end
  end)

  it("has to be there", function()
    local server, err = operations.to_http(registry(), { docs = { directory = directory } })
    assert.is_nil(server)
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("docs.directory: neither swagger-ui-dist nor @scalar/api-reference is in " .. directory, err.message)
    assert.equal("/docs/directory", err.details[1].path)
  end)
end)
