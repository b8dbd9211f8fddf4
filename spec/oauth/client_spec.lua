local client = require("operations.oauth.client")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")

local function store()
  local kept = {}
  return { kept = kept, load = function(key)
    return kept[key]
  end, save = function(key, value)
    kept[key] = value
  end }
end

local ISSUER = "https://login.example"

-- Options of an authorizer whose HTTP client answers registrations, and notes them.
local function options_with(answer, more)
  local options = { store = store(), redirect_uri = "http://127.0.0.1:1/callback", requests = {} }
  options.http = { request = function(request)
    options.requests[#options.requests + 1] = request
    return { status = 201, headers = { ["content-type"] = "application/json" },
      body = assert(json.encode(answer or {})) }
  end }
  return members.merged(options, more), options
end

local function server_with(more)
  return members.merged({ issuer = ISSUER, registration_endpoint = ISSUER .. "/register" }, more)
end

describe("a client of an authorization server", function()
  it("is valid with a name, and a secret where its method needs one", function()
    for _, good in ipairs({ { client_id = "a" }, { client_id = "a", client_secret = "s" },
      { client_id = "a", client_auth = "none" }, { client_id = "a", client_secret = "s",
        client_auth = "client_secret_post" }, { client_id = "a", client_auth = print } }) do
      assert.is_nil(client.problem(good))
    end
    assert.equal("client_id: expected a string, got nil", client.problem({}))
    assert.equal("client_id: expected a string, got number", client.problem({ client_id = 7, client_auth = print }))
    assert.equal('client_auth: unknown method "private_key_jwt"',
      client.problem({ client_id = "a", client_auth = "private_key_jwt" }))
    assert.equal("client_auth: client_secret_post needs a client_secret",
      client.problem({ client_id = "a", client_auth = "client_secret_post" }))
    assert.equal("client_auth: client_secret_basic needs a client_secret",
      client.problem({ client_id = "a", client_auth = "client_secret_basic", client_secret = 7 }))
  end)

  local function proof(made)
    local fields, headers = {}, {}
    assert.is_true(client.authenticate(made, fields, headers))
    return { fields, headers }
  end

  it("authenticates by its method, by default with its secret in a header", function()
    assert.same({ {}, { Authorization = "Basic YSUyRmI6cyUzQXQ=" } },
      proof({ client_id = "a/b", client_secret = "s:t" }))
    assert.same({ { client_id = "a", client_secret = "s" }, {} },
      proof({ client_id = "a", client_secret = "s", client_auth = "client_secret_post" }))
    assert.same({ { client_id = "a" }, {} }, proof({ client_id = "a" }))
    assert.same({ { client_id = "a" }, {} }, proof({ client_id = "a", client_secret = "s", client_auth = "none" }))
  end)

  it("may prove it by a function", function()
    local fields = {}
    local ok, err = client.authenticate({ client_id = "a", client_auth = function(given, headers)
      given.assertion, headers.x = "jwt", "y"
      return nil, "no"
    end }, fields, {})
    assert.same({ client_id = "a", assertion = "jwt" }, fields)
    assert.is_nil(ok)
    assert.equal("no", err)
  end)
end)

describe("the client for an issuer", function()
  it("is the given one, with a method that both know", function()
    local function method(secret, offered, own)
      return client.of(options_with(nil, { client = { client_id = "a", client_secret = secret, client_auth = own } }),
        server_with({ auth_methods = offered })).client_auth
    end
    assert.equal("client_secret_basic", method("s"))
    assert.equal("client_secret_post", method("s", { "client_secret_post" }))
    assert.equal("client_secret_basic", method("s", { "client_secret_post", "client_secret_basic" }))
    assert.equal("none", method("s", { "private_key_jwt" }))
    assert.equal("none", method(nil))
    assert.equal("client_secret_post", method("s", nil, "client_secret_post"))
  end)

  it("is the one that a function returns for it", function()
    local asked
    local options = options_with(nil, { client = function(issuer)
      asked = issuer
      return { client_id = "a" }
    end })
    assert.equal("a", client.of(options, server_with()).client_id)
    assert.equal(ISSUER, asked)
    local err = errors.new("UNAVAILABLE", "no")
    assert.same({ nil, err }, { client.of(options_with(nil, { client = function()
      return nil, err
    end }), server_with()) })
  end)

  it("is not one that is invalid or belongs to another issuer", function()
    local _, err = client.of(options_with(nil, { client = {} }), server_with())
    assert.equal("the option 'client': client_id: expected a string, got nil", err.message)
    _, err = client.of(options_with(nil, { client = { client_id = "a", issuer = "https://u:p@other.example" } }),
      server_with())
    assert.equal("the client is registered with https://other.example, and the server is now protected by " .. ISSUER,
      err.message)
    assert.equal("a", client.of(options_with(nil, { client = { client_id = "a", issuer = ISSUER } }),
      server_with()).client_id)
  end)

  it("is its document where the server reads such", function()
    local options = options_with(nil, { client_metadata_url = "https://app.example/client" })
    assert.same({ client_id = "https://app.example/client", client_auth = "none" },
      client.of(options, server_with({ takes_metadata_urls = true })))
    options = options_with({ client_id = "made" }, { client_metadata_url = "https://app.example/client" })
    assert.equal("made", client.of(options, server_with()).client_id)
  end)

  it("is registered where none is known, once, and kept", function()
    local options = options_with({ client_id = "made" })
    local made = client.of(options, server_with())
    assert.same({ client_id = "made", client_auth = "none", redirect_uri = "http://127.0.0.1:1/callback" }, made)
    assert.equal(made, client.of(options, server_with()))
    assert.equal(1, #options.requests)
    client.forget(options, ISSUER)
    client.of(options, server_with())
    assert.equal(2, #options.requests)
  end)

  it("cannot be registered without an endpoint or a place to come back to", function()
    local options = options_with({ client_id = "made" })
    local found, err = client.of(options, { issuer = ISSUER })
    assert.is_nil(found)
    assert.equal("no client is known for " .. ISSUER .. ": pass a registered one (option 'client')", err.message)
    options.redirect_uri = nil
    assert.is_nil((client.of(options, server_with())))
  end)
end)

describe("a registration", function()
  local function sent(more, server)
    local options = options_with({ client_id = "made", client_secret = "s" }, more)
    client.of(options, server_with(server))
    return json.decode(options.requests[1].body)
  end

  it("says what the client is and does", function()
    assert.same({ client_name = "operations for Lua", redirect_uris = { "http://127.0.0.1:1/callback" },
      application_type = "native", grant_types = { "authorization_code", "refresh_token" },
      response_types = { "code" } }, sent())
    local made = sent({ client_name = "N", client_uri = "https://n.example" })
    assert.same({ "N", "https://n.example" }, { made.client_name, made.client_uri })
  end)

  it("names the scopes that will be requested", function()
    local options = options_with({ client_id = "made" })
    assert(client.of(options, server_with(), "a b"))
    assert.equal("a b", json.decode(options.requests[1].body).scope)
  end)

  it("is of a web application where the browser comes back to https elsewhere", function()
    assert.equal("web", sent({ redirect_uri = "https://app.example/cb" }).application_type)
    for _, address in ipairs({ "https://localhost/cb", "http://app.example/cb", "com.example.app:/cb" }) do
      assert.equal("native", sent({ redirect_uri = address }).application_type)
    end
  end)

  it("asks for the method that proves the least, of those that the server has", function()
    assert.is_nil(sent().token_endpoint_auth_method)
    for expected, offered in pairs({ none = { "client_secret_post", "client_secret_basic", "none" },
      client_secret_basic = { "client_secret_basic", "client_secret_post" },
      client_secret_post = { "client_secret_post", "private_key_jwt" } }) do
      assert.equal(expected, sent(nil, { auth_methods = offered }).token_endpoint_auth_method)
    end
  end)

  local function made_of(answer, server)
    local found, err = client.of(options_with(answer), server_with(server))
    return found, err and err.message
  end

  it("takes what the server says of secret, method and end", function()
    local later = math.floor(core.now() / 1000) + 1000
    assert.same({ client_id = "a", client_secret = "s", client_auth = "client_secret_post",
      expires_at = later * 1000, redirect_uri = "http://127.0.0.1:1/callback" },
      (made_of({ client_id = "a", client_secret = "s", token_endpoint_auth_method = "client_secret_post",
        client_secret_expires_at = later })))
    assert.is_nil(made_of({ client_id = "a", client_secret = "s", client_secret_expires_at = 0 }).expires_at)
    assert.is_nil(made_of({ client_id = "a", client_secret_expires_at = later }).expires_at)
    assert.equal("client_secret_basic", made_of({ client_id = "a", client_secret = "s" }).client_auth)
    assert.equal("client_secret_post", made_of({ client_id = "a", client_secret = "s" },
      { auth_methods = { "client_secret_post" } }).client_auth)
    assert.equal("none", made_of({ client_id = "a", token_endpoint_auth_method = "unknown" }).client_auth)
  end)

  it("fails without a name, or without the secret that its method needs", function()
    local there = ISSUER .. "/register"
    for _, answer in ipairs({ { other = 1 }, { client_id = 7 }, { client_id = "" } }) do
      assert.same({ nil, there .. ": answered without a client_id" }, { made_of(answer) })
    end
    assert.same({ nil, there .. ": asks for client_secret_basic and gave no client_secret" },
      { made_of({ client_id = "a", token_endpoint_auth_method = "client_secret_basic" }) })
  end)

  it("is made again where the one before has ended or has another address", function()
    for _, held in ipairs({ { client_id = "old", redirect_uri = "http://127.0.0.1:1/callback", expires_at = 1 },
      { client_id = "old", redirect_uri = "http://127.0.0.1:2/callback" }, { redirect_uri = "x" }, "old" }) do
      local options = options_with({ client_id = "new" })
      options.store.kept["client " .. ISSUER] = held
      assert.equal("new", client.of(options, server_with()).client_id)
    end
    local options = options_with({ client_id = "new" })
    options.store.kept["client " .. ISSUER] = { client_id = "old", redirect_uri = "http://127.0.0.1:1/callback",
      expires_at = core.now() + 100000 }
    assert.equal("old", client.of(options, server_with()).client_id)
  end)
end)
