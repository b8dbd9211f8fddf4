local http_request = require("spec.support.http_request")
local operations = require("operations")
local proxies = require("operations.server.proxies")

local function apply(list, headers, address, more)
  local request = { headers = headers, peer = { address = address or "10.0.0.1", port = 4711 } }
  for name, value in pairs(more or {}) do
    request[name] = value
  end
  local flaw = proxies.new(list, "to_http", 2):apply(request)
  return request, flaw
end

local function client(list, chain, address)
  local request, flaw = apply(list, { ["x-forwarded-for"] = chain }, address)
  return flaw or request.peer.address
end

local inner = { "10.0.0.0/8", "fd00::/8" }

describe("a trusted proxy", function()
  it("tells the client's address", function()
    assert.equal("192.0.2.7", client(inner, "192.0.2.7"))
    assert.equal("192.0.2.7", client(inner, "192.0.2.7", "::ffff:10.0.0.1"))
    assert.equal("192.0.2.7", client({ "unix:" }, "192.0.2.7", "unix:"))
    for text, expected in pairs({ ["192.0.2.7:4711"] = "192.0.2.7", ["[2001:DB8::0:1]:80"] = "2001:db8::1",
      ["2001:db8:0::1"] = "2001:db8::1", ["unknown"] = "unknown", ["_hidden"] = "_hidden" }) do
      assert.equal(expected, client(inner, text), text)
    end
  end)

  it("is followed from the right to the first address that is no proxy's", function()
    assert.equal("192.0.2.7", client(inner, "192.0.2.7, 10.0.0.2"))
    assert.equal("192.0.2.7", client(inner, "1.1.1.1, 127.0.0.1, 192.0.2.7, 10.0.0.3,10.0.0.2"))
    assert.equal("192.0.2.7", client(inner, "nonsense, 192.0.2.7"))
    assert.equal("192.0.2.7", client(inner, "10.9.9.9, 192.0.2.7, fd00::1"))
    assert.equal("unknown", client(inner, "192.0.2.7, unknown, 10.0.0.2"))
    assert.equal("10.0.0.3", client(inner, "10.0.0.3, 10.0.0.2"))
    assert.matches("an address expected", client(inner, "192.0.2.7, nonsense, 10.0.0.2"))
  end)

  it("must be in the list", function()
    for _, address in ipairs({ "192.0.2.1", "unix:", "11.0.0.1", "::1" }) do
      local request = apply(inner, { ["x-forwarded-for"] = "1.1.1.1", ["x-forwarded-host"] = "evil.example",
        ["x-forwarded-proto"] = "https", host = "api.example" }, address)
      assert.same({ address, "api.example" }, { request.peer.address, request.headers.host })
      assert.is_nil(request.scheme)
    end
  end)

  it("that says nothing is the client", function()
    local request, flaw = apply(inner, { host = "localhost", ["x-forwarded-host"] = "evil.example" })
    assert.same({ "10.0.0.1", "localhost" }, { request.peer.address, request.headers.host })
    assert.is_nil(flaw)
  end)

  it("tells scheme, host and prefix", function()
    local request = apply(inner, { ["x-forwarded-for"] = "192.0.2.7", ["x-forwarded-proto"] = "HTTPS",
      host = "inner:80", ["x-forwarded-host"] = "api.example", ["x-forwarded-prefix"] = "/v1/" })
    assert.same({ "https", true, "api.example", "/v1", "10.0.0.1" }, { request.scheme, request.peer.tls,
      request.headers.host, request.outer_prefix, request.proxy.address })
  end)

  it("of several tells what stands beside the client's address, else the last one does", function()
    local function of(chain, protos, hosts)
      local request = apply(inner, { ["x-forwarded-for"] = chain, ["x-forwarded-proto"] = protos,
        ["x-forwarded-host"] = hosts })
      return { request.scheme, request.headers.host }
    end
    assert.same({ "https", "b.example" }, of("1.1.1.1, 192.0.2.7, 10.0.0.2", "http, https, http",
      "a.example, b.example, c.example"))
    assert.same({ "http", "c.example" }, of("192.0.2.7, 10.0.0.2, 10.0.0.3", "https, http", "evil.example, c.example"))
  end)

  it("is refused when its fields are impossible", function()
    for name, value in pairs({ ["x-forwarded-proto"] = "gopher", ["x-forwarded-host"] = "a/b",
      ["x-forwarded-prefix"] = "//evil.example" }) do
      local _, flaw = apply(inner, { ["x-forwarded-for"] = "192.0.2.7", [name] = value })
      assert.matches("expected", flaw, 1, true)
    end
  end)

  it("lets no other machine pass for a page of this machine", function()
    assert.is_false(apply(inner, { ["x-forwarded-for"] = "192.0.2.7" }, nil, { is_local = true }).is_local)
    assert.is_true(apply(inner, { ["x-forwarded-for"] = "127.0.0.1" }, nil, { is_local = true }).is_local)
  end)
end)

describe("the field Forwarded", function()
  local list = { "10.0.0.0/8", header = "forwarded" }

  local function read(field, more)
    local request, flaw = apply(list, { forwarded = field, ["x-forwarded-for"] = more })
    return flaw or { request.peer.address, request.scheme, request.headers.host }
  end

  it("is read instead of X-Forwarded-For, and never beside it", function()
    assert.same({ "192.0.2.7" }, read("for=192.0.2.7", "1.1.1.1"))
    assert.is_nil(apply(list, { forwarded = "for=192.0.2.7", ["x-forwarded-prefix"] = "/x" }).outer_prefix)
    assert.same({ "10.0.0.1" }, read(nil, "1.1.1.1"))
    assert.equal("1.1.1.1", apply(inner, { forwarded = "for=2.2.2.2", ["x-forwarded-for"] = "1.1.1.1" }).peer.address)
  end)

  it("has a client, a scheme and a host", function()
    assert.same({ "2001:db8::1", "https", "api.example:8443" },
      read('For="[2001:db8::1]:4711";proto=https; by=10.0.0.1;Host="api.example:8443"'))
    assert.same({ "192.0.2.7", "http" }, read('for=1.1.1.1;proto=https, for=192.0.2.7;proto=http , for="10.0.0.2:80"'))
    assert.same({ "unknown" }, read("for=192.0.2.7, proto=http;for=unknown")[1] and { "unknown" })
    assert.same({ "192.0.2.7" }, read('for="192.0\\.2.7"'))
    assert.same({ "192.0.2.7" }, read(", for=192.0.2.7,,"))
  end)

  it("is not read when it is malformed anywhere: a client may have begun it", function()
    for _, field in ipairs({ 'for="1.1.1.1, for=192.0.2.7', 'for="1.1.1.1, for="192.0.2.7"', "for", "for=", "=1",
      "for==1", "for=1.1.1.1 x", 'for="1.1.1.1"x, for=192.0.2.7', "for=[::1]", "for=a b", 'for="\\',
      ',for="1.1.1.1', ",for=", ";for=1.1.1.1;by=" }) do
      assert.equal("the field Forwarded is malformed (RFC 7239)", read(field), field)
    end
  end)
end)

describe("a server behind trusted proxies", function()
  local send = http_request.send

  local function serve(options)
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "a", name = "b", type = "query", handler = function(_, context)
      return context.metadata.http
    end }))
    options.log, options.trusted_proxies = function() end, options.trusted_proxies or { "10.0.0.0/8" }
    return assert(operations.to_http(registry, options))
  end

  local function ask(server, headers, method, target)
    headers["x-forwarded-for"] = headers["x-forwarded-for"] or "192.0.2.7"
    return send(server, method or "GET", target or "/a/b", headers, nil, { peer = { address = "10.0.0.1" } })
  end

  it("tells handlers and its log of the client", function()
    local entry
    local server = serve({ hosts = { "api.example" }, access_log = function(each) entry = each end })
    local seen = ask(server, { host = "inner", ["x-forwarded-host"] = "api.example",
      ["x-forwarded-proto"] = "https" }).json
    assert.same({ "192.0.2.7", "https", "api.example" }, { seen.address, seen.scheme, seen.host })
    assert.equal("192.0.2.7", entry.address)
  end)

  it("checks the host and the origin that the client sees", function()
    local server = serve({ hosts = { "api.example" } })
    local function status(headers)
      headers.host = headers.host or "api.example"
      return ask(server, headers).status
    end
    assert.equal(200, status({}))
    assert.equal(403, status({ ["x-forwarded-host"] = "evil.example" }))
    assert.equal(200, status({ origin = "https://api.example", ["x-forwarded-proto"] = "https" }))
    assert.equal(403, status({ origin = "http://api.example", ["x-forwarded-proto"] = "https" }))
    assert.equal(200, status({ origin = "http://api.example" }))
    assert.equal(400, status({ ["x-forwarded-for"] = "nonsense" }))
  end)

  it("knows the prefix in its document", function()
    local server = serve({ prefix = "/api" })
    local function url(prefix)
      return ask(server, { host = "localhost", ["x-forwarded-prefix"] = prefix }, "GET",
        "/api/openapi.json").json.servers[1].url
    end
    assert.equal("/v1/api", url("/v1"))
    assert.equal("/api", url())
    assert.equal("/v2/api", url("/v2/"))
  end)

  it("limits the rate of each client", function()
    local registry = operations.registry({ log = function() end,
      middleware = { operations.middleware.rate_limit({ rate = 1, per = 3600000, by = "address" }) } })
    assert(registry:register({ namespace = "a", name = "b", type = "query", handler = function() return 1 end }))
    local server = assert(operations.to_http(registry, { log = function() end, trusted_proxies = { "10.0.0.0/8" } }))
    local statuses = {}
    for i, address in ipairs({ "192.0.2.7", "192.0.2.7", "1.1.1.1, 192.0.2.7", "192.0.2.8" }) do
      statuses[i] = ask(server, { ["x-forwarded-for"] = address }).status
    end
    assert.same({ 200, 429, 429, 200 }, statuses)
  end)

  it("is told which they are in words that make sense", function()
    for _, case in ipairs({ { { "10.0.0.0/33" }, "at [1], got 10.0.0.0/33" }, { { "unix:", "proxy.example" },
      "at [2], got proxy.example" }, { { header = "via" }, '"x-forwarded" or "forwarded" expected, got via' } }) do
      local ok, raised = pcall(operations.to_http, operations.registry(), { trusted_proxies = case[1] })
      assert.is_false(ok)
      assert.matches(case[2], raised, 1, true)
    end
  end)
end)
