-- OAuth 2 tokens in the requests of an API, against a real authorization server and a real API.
local members = require("operations.base.members")
local oauth = require("spec.support.oauth")
local operations = require("operations")
local support = require("spec.support.openapi")
local task = require("operations.task")

describe("an OAuth 2 token in a request", function()
  local server

  setup(function()
    server = oauth.start()
  end)

  teardown(function()
    server:stop()
  end)

  local clients = { app = "s3cret-of-app", open = "" }

  before_each(function()
    server:setup({ clients = clients })
  end)

  local function flows(url)
    return { clientCredentials = { tokenUrl = url or server.server.url .. "/oauth/token", scopes = {} } }
  end

  --- An API whose operation `op` wants `accept` for its token.
  local function api(accept, config, more)
    more = more or {}
    local doc = support.one({
      security = { { oauth = more.scopes or {} } }, requestBody = more.requestBody, responses = more.responses,
    }, { path = "/guarded?accept=" .. accept, method = more.method, doc = {
      components = { securitySchemes = { oauth = { type = "oauth2", flows = more.flows or flows() } } },
    } })
    return (support.registry(doc, server.server.url, config))
  end

  local function app(options)
    local value = members.merged({ client_id = "app", client_secret = "s3cret-of-app" }, options)
    return { auth = { oauth = value } }
  end

  it("comes from the document's token endpoint, once for many calls", function()
    local registry = api("access-1", app())
    for _ = 1, 3 do
      assert.equal("welcome", assert(registry:execute("api.op")).data)
    end
    assert.equal(1, #server:requests("/token"))
    assert.equal("client_credentials", server:requests("/token")[1].fields.grant_type)
  end)

  it("is asked for once by calls at the same time", function()
    server:setup({ clients = clients, delay = 0.05 })
    local registry = api("access-1", app())
    local tasks = {}
    for i = 1, 8 do
      tasks[i] = task.spawn(function()
        return assert(registry:execute("api.op")).data
      end)
    end
    for _, one in ipairs(tasks) do
      assert.equal("welcome", one:wait())
    end
    assert.equal(1, #server:requests("/token"))
  end)

  it("is shared by operations that require the same scopes, and by no others", function()
    local config = app()
    local registry = api("access-1", config, { scopes = { "read", "write" } })
    assert(registry:execute("api.op"))
    assert.equal("read write", server:requests("/token")[1].fields.scope)
    assert(api("access-1", config, { scopes = { "read", "write" } }):execute("api.op"))
    assert.equal(1, #server:requests("/token"))
    assert(api("access-2", config, { scopes = { "read" } }):execute("api.op"))
    assert.equal("read", server:requests("/token")[2].fields.scope)
  end)

  it("has the scope of the configuration, where that names one", function()
    assert(api("access-1", app({ scope = "all" }), { scopes = { "read" } }):execute("api.op"))
    assert.equal("all", server:requests("/token")[1].fields.scope)
  end)

  it("comes by the refresh token that is configured, and from its endpoint", function()
    server:setup({ clients = clients, token = { refresh_token = "first" } })
    assert(api("access-1", app()):execute("api.op")) -- who issues it
    local code = { tokenUrl = "http://nowhere.test", refreshUrl = server.server.url .. "/oauth/token" }
    local registry = api("access-2", app({ refresh_token = "first" }), { flows = { authorizationCode = code } })
    assert.equal("welcome", assert(registry:execute("api.op")).data)
    local fields = server:requests("/token")[2].fields
    assert.equal("refresh_token", fields.grant_type)
    assert.equal("first", fields.refresh_token)
  end)

  it("comes from the configured endpoint before the document's", function()
    local config = app({ token_endpoint = server.server.url .. "/oauth/token" })
    local registry = api("access-1", config, { flows = flows("http://nowhere.test") })
    assert.equal("welcome", assert(registry:execute("api.op")).data)
  end)

  it("comes from an endpoint that is relative to the server", function()
    assert.equal("welcome", assert(api("access-1", app(), { flows = flows("/oauth/token") }):execute("api.op")).data)
  end)

  describe("that the API does not accept", function()
    it("is replaced, once, and the call made again", function()
      local registry = api("access-2", app())
      assert.equal("welcome", assert(registry:execute("api.op")).data)
      assert.equal(2, #server:requests("/token"))
    end)

    it("is replaced no second time", function()
      local _, err = api("access-9", app()):execute("api.op")
      assert.equal("HTTP_401", err.code)
      assert.equal(2, #server:requests("/token"))
    end)

    it("costs no upload: a body that can be read again is sent again", function()
      local path = server.server.directory .. "/upload"
      local file = assert(io.open(path, "wb"))
      file:write("the file")
      file:close()
      local registry = api("access-2", app(), { method = "put", requestBody = { content = { ["image/png"] = {} } } })
      assert.equal("the file", assert(registry:execute("api.op", { body = { path = path } })).data)
    end)

    it("fails the call where its body was read and is gone", function()
      local registry = api("access-2", app(), { method = "put", requestBody = { content = { ["image/png"] = {} } } })
      local pieces = { "a" }
      local _, err = registry:execute("api.op", { body = { reader = function()
        return table.remove(pieces)
      end } })
      assert.equal("HTTP_401", err.code)
      assert.equal("a", assert(registry:execute("api.op", { body = "a" })).data)
    end)

    it("is replaced for a stream", function()
      local registry = api("access-2", app(), {
        responses = { ["200"] = { content = { ["application/x-ndjson"] = {} } } },
      })
      local _, err = assert(registry:subscribe("api.op")):next()
      assert.matches("expected a stream", err.message)
      assert.equal("welcome", err.details.body)
    end)
  end)

  it("is nowhere in the error, though the server repeats it", function()
    local _, err = api("access-9", app()):execute("api.op")
    local text = err.message .. operations.json.encode(err.details)
    assert.is_nil(text:find("access-", 1, true))
    assert.equal("no good: ***", err.details.body.message)
    assert.equal("***", err.details.headers["x-seen"])
  end)

  it("fails the call when no token can be fetched, with the server's reason and no secret", function()
    local _, err = api("access-1", app({ client_secret = "wrong-secret" })):execute("api.op")
    assert.equal("EXECUTION_ERROR", err.code)
    assert.equal("oauth", err.details.kind)
    assert.equal("invalid_client", err.details.error)
    assert.is_nil((err.message .. operations.json.encode(err.details)):find("wrong-secret", 1, true))
  end)

  for name, case in pairs({
    ["there is no endpoint"] = { app(), { password = {} }, "token_endpoint" },
    ["the endpoint is neither https nor here"] = { app(), flows("http://tokens.test/"), "https" },
    ["the configuration is wrong"] = { app({ client_auth = "magic" }), nil, "magic" },
  }) do
    it("is missing where " .. name .. ", which the call says", function()
      local _, err = api("access-1", case[1], { flows = case[2] }):execute("api.op")
      assert.equal("EXECUTION_ERROR", err.code)
      assert.equal("credential", err.details.kind)
      assert.matches(case[3], err.message, 1, true)
    end)
  end

  it("needs no name of a scheme", function()
    local config = { auth = { type = "oauth2", client_id = "app", client_secret = "s3cret-of-app" } }
    assert.equal("welcome", assert(api("access-1", config):execute("api.op")).data)
  end)
end)
