local core = require("operations.core")
local json = require("operations.base.json")
local listener = require("operations.server.listener")
local operations = require("operations")

describe("tokens in exchange for those of callers", function()
  local opened, asked, reached, answer, revoked, server

  -- An authorization server and an API at one listener.
  setup(function()
    opened = assert(listener.listen({ port = 0 }, function(request)
      local fields, body = {}, type(request.body) == "string" and request.body or request.body() or ""
      for name, value in body:gmatch("([%w_]+)=([^&]*)") do
        fields[name] = value:gsub("%%(%x%x)", function(code)
          return string.char(tonumber(code, 16))
        end)
      end
      local sent = (request.headers.authorization or ""):match("^Bearer (.*)$")
      if request.target == "/introspect" then
        return { status = 200, headers = {}, body = assert(json.encode({ active = fields.token ~= "bad",
          sub = fields.token:match("^%a+"), aud = "gateway", iss = "https://login.example",
          exp = math.floor(core.now() / 1000) + 300 })) }
      elseif request.target == "/token" then
        asked[#asked + 1] = fields
        return answer(fields)
      end
      reached[#reached + 1] = sent or "none"
      local is_good = sent and not revoked[sent]
      return { status = is_good and 200 or 401, headers = { ["content-type"] = "application/json" }, body = "1" }
    end))
  end)

  teardown(function()
    opened:close()
  end)

  local function at(path)
    return ("http://127.0.0.1:%d%s"):format(opened.port, path)
  end

  local function document()
    return { openapi = "3.1.0", info = { title = "T", version = "1" }, servers = { { url = at("") } },
      components = { securitySchemes = { user = { type = "http", scheme = "bearer" } } }, security = { { user = {} } },
      paths = { ["/things"] = { get = { operationId = "things", responses = { ["200"] = { description = "",
        content = { ["application/json"] = { schema = { type = "integer" } } } } } } } } }
  end

  local function exchange(more)
    local options = { token_endpoint = at("/token"), client_id = "gateway", client_secret = "s3cret",
      audience = "https://api.example", scope = { "read", "write" } }
    for name, value in pairs(more or {}) do
      options[name] = value
    end
    return operations.oauth.token_exchange(options)
  end

  -- A gateway whose callers have tokens, before the API.
  local function gateway(auth)
    local registry = operations.registry()
    assert(registry:register_all(assert(operations.from_openapi.document(document(),
      { namespace = "api", auth = auth, accessControl = { requiredScopes = {} } }))))
    server = assert(operations.to_http(registry, { log = function() end, anonymous = true,
      authorize = operations.oauth.resource_server({ issuer = "https://login.example", audience = "gateway",
        introspection = { client_id = "gateway", client_secret = "x", endpoint = at("/introspect") } }) }))
  end

  local function call(token)
    return operations.run(function()
      local headers = { host = "localhost", authorization = token and "Bearer " .. token }
      local response = server:handle({ method = "GET", target = "/api/things", body = "", headers = headers })
      return response.status, json.decode(response.body)
    end)
  end

  before_each(function()
    asked, reached, revoked = {}, {}, {}
    function answer(fields)
      return { status = 200, headers = { ["content-type"] = "application/json" }, body = json.encode({
        access_token = ("%s-for-the-API--%d"):format(fields.subject_token, #asked),
        issued_token_type = "urn:ietf:params:oauth:token-type:access_token", token_type = "Bearer", expires_in = 60 }) }
    end
  end)

  it("reach the API, once for each token of a caller; the caller's own never does", function()
    gateway({ type = "bearer", token = exchange() })
    assert.equal(200, (call("ada-1")))
    assert.equal(200, (call("ada-1")))
    assert.equal(200, (call("bob-1")))
    assert.equal(200, (call("ada-2")))
    assert.same({ "ada-1-for-the-API--1", "ada-1-for-the-API--1", "bob-1-for-the-API--2", "ada-2-for-the-API--3" },
      reached)
    assert.same({ grant_type = "urn:ietf:params:oauth:grant-type:token-exchange", subject_token = "ada-1",
      subject_token_type = "urn:ietf:params:oauth:token-type:access_token", audience = "https://api.example",
      scope = "read write" }, asked[1])
  end)

  it("are asked for again when the API refuses one", function()
    gateway({ user = exchange() })
    revoked["ada-1-for-the-API--1"] = true
    assert.equal(200, (call("ada-1")))
    assert.same({ "ada-1-for-the-API--1", "ada-1-for-the-API--2" }, reached)
  end)

  it("are refused to callers without a token, and no request is made", function()
    gateway({ type = "bearer", token = exchange() })
    local status, problem = call()
    assert.same({ 401, "ACCESS_DENIED" }, { status, problem.code })
    assert.same({ {}, {} }, { asked, reached })
    assert.equal(401, (call("bad")))
  end)

  it("name no secret when the server refuses", function()
    gateway({ type = "bearer", token = exchange() })
    function answer(fields)
      return { status = 400, headers = { ["content-type"] = "application/json" }, body = json.encode({
        error = "invalid_target", error_description = "not for " .. fields.subject_token }) }
    end
    local status, problem = call("ada-1")
    assert.is_true(status >= 500, status)
    assert.is_nil(json.encode(problem):find("ada-1", 1, true))
    assert.same({}, reached)
    local token, err = operations.run(function()
      return exchange({ subject = function() return "ada-1" end }):get({})
    end)
    assert.is_nil(token)
    assert.equal("invalid_target", err.details.error)
    assert.is_nil((tostring(err) .. json.encode(err.details)):find("ada-1", 1, true))
  end)

  it("belong to their callers at the same time", function()
    gateway({ type = "bearer", token = exchange() })
    operations.run(function()
      local tasks = {}
      for i = 1, 6 do
        tasks[i] = operations.spawn(function()
          return server:handle({ method = "GET", target = "/api/things", body = "", headers = { host = "localhost",
            authorization = "Bearer " .. (i % 2 == 0 and "ada-1" or "bob-1") } }).status
        end)
      end
      for i = 1, 6 do
        assert.equal(200, (tasks[i]:wait()))
      end
    end)
    assert.equal(2, #asked)
    local of = {}
    for _, sent in ipairs(reached) do
      of[sent:match("^%a+")] = (of[sent:match("^%a+")] or 0) + 1
    end
    assert.same({ ada = 3, bob = 3 }, of)
  end)

  it("may be named credentials of each identity, from a store, instead", function()
    local store = operations.oauth.memory_store()
    store.save("ada", { token = "ada's key" })
    gateway({ type = "bearer", token = function(context)
      local held = context.identity and store.load(context.identity.id)
      return held and held.token, operations.error("ACCESS_DENIED", "no credential is stored for this caller")
    end })
    assert.equal(200, (call("ada-1")))
    local status, problem = call("bob-1")
    assert.same({ 403, "ACCESS_DENIED" }, { status, problem.code })
    assert.same({ "ada's key" }, reached)
  end)

  it("need an endpoint and a client", function()
    for _, options in ipairs({ {}, { token_endpoint = "https://a.test/" }, { client_id = "a",
      token_endpoint = "http://a.test/" }, { client_id = "a", token_endpoint = "https://a.test/", subject = "x" } }) do
      assert.has_error(function()
        operations.oauth.token_exchange(options)
      end)
    end
  end)
end)
