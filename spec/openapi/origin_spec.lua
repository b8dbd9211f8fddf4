-- What is meant for one origin stays there, and what proves to a server who calls: against real servers.
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

local schemes = {
  header = { type = "apiKey", ["in"] = "header", name = "X-Key" },
  query = { type = "apiKey", ["in"] = "query", name = "key" },
  cookie = { type = "apiKey", ["in"] = "cookie", name = "session" },
  bearer = { type = "http", scheme = "bearer" },
  tls = { type = "mutualTLS" },
}

local function registry_of(url, path, security, config, parameters)
  return (support.registry(support.one({ security = security, parameters = parameters },
    { path = path, doc = { components = { securitySchemes = schemes } } }), url, config))
end

describe("a redirect to another origin", function()
  local running = server.around(setup, teardown)

  it("takes no credential along, not even one that the server repeats", function()
    local auth = { header = "k1-secret", query = "k2-secret", cookie = "k3-secret", bearer = "k4-secret" }
    local registry = registry_of(running.url, "/redirect", { { header = {}, query = {}, cookie = {}, bearer = {} } },
      { auth = auth, headers = { ["X-Config"] = "k5-secret" } }, { { name = "to", ["in"] = "query" } })
    local there = assert(registry:execute("api.op", { to = running.other .. "/echo?key=k2-secret&a=1" })).data
    assert.equal("/echo?a=1", there.uri)
    assert.is_nil(operations.json.encode(there):find("secret", 1, true))
    local here = assert(registry:execute("api.op", { to = running.url .. "/echo?a=1" })).data
    assert.equal("k1-secret", here.headers["x-key"])
    assert.equal("Bearer k4-secret", here.headers.authorization)
  end)
end)

describe("mutual TLS", function()
  it("shows the client's certificate to the server that asks for it", function()
    local path = os.tmpname()
    server.make_certificate(path .. ".pem", path .. ".key")
    local running = server.start({
      tls = true, directives = ("ssl_verify_client on; ssl_client_certificate %s.pem;"):format(path),
    })
    local function status(auth)
      local registry = registry_of(running.tls, "/echo", { { tls = {} } }, { auth = auth, ca_file = running.ca_file })
      local envelope, err = registry:execute("api.op")
      return envelope and envelope.meta.statusCode or err.details.statusCode
    end
    local with = status({ tls = { cert_file = path .. ".pem", key_file = path .. ".key" } })
    local without = status({})
    running:stop()
    for _, ending in ipairs({ "", ".pem", ".key" }) do
      os.remove(path .. ending)
    end
    assert.equal(200, with)
    assert.equal(400, without)
  end)
end)
