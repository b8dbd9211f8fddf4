local authorizer = require("operations.oauth.authorizer")
local core = require("operations.core")
local endpoint = require("operations.oauth.endpoint")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local oauth = require("spec.support.oauth")
local operations = require("operations")
local oauth_options = require("operations.oauth.options")
local task = require("operations.task")
local url = require("operations.base.url")

describe("an authorizer", function()
  local server, browser

  setup(function()
    server = oauth.start()
  end)

  teardown(function()
    server:stop()
  end)

  before_each(function()
    browser = server.browser()
  end)

  local redirect_uri = "http://127.0.0.1:1/callback"

  local function new(options)
    local all = { open = browser.open, redirect_uri = redirect_uri }
    for name, value in pairs(options or {}) do
      all[name] = value or nil
    end
    return authorizer.new(all)
  end

  -- Sets up the server; `change(resource, authorization_server, config)` makes it another one than the good.
  local function setup_server(change)
    local config, resource, metadata = server:good()
    if change then
      change(resource, metadata, config)
    end
    server:setup(config)
    return config
  end

  -- What the browser was sent to say, the n-th time.
  local function asked(n)
    return (endpoint.decode_form(url.parse(browser.opened[n or #browser.opened]).query))
  end

  local function failure(auth, need)
    local scope, err = server:call(auth, need)
    assert.is_nil(scope)
    assert.equal("oauth", err.details.kind)
    return err
  end

  describe("that a server asks for a token", function()
    it("lets the user log in, and keeps the token", function()
      setup_server()
      local auth = new()
      assert.same({}, auth:headers(server.mcp))
      assert.equal("", server:call(auth))
      assert.equal("", server:call(auth))
      assert.equal(1, #browser.opened)
      assert.equal("Bearer access-1", auth:headers(server.mcp).Authorization)
    end)

    it("asks with PKCE, a random state and the resource, and shows the browser nothing else", function()
      setup_server()
      server:call(new())
      server:call(new())
      local first, second = asked(1), asked(2)
      assert.are_not.equal(first.state, second.state)
      assert.are_not.equal(first.code_challenge, second.code_challenge)
      assert.matches("^[%w_-]+$", first.state)
      assert.equal(43, #first.state)
      first.state, first.code_challenge = nil, nil
      assert.same({
        response_type = "code", client_id = "client-1", redirect_uri = redirect_uri, resource = server.mcp,
        code_challenge_method = "S256",
      }, first)
      local exchange = server:last("/token").fields
      assert.equal(43, #exchange.code_verifier)
      exchange.code_verifier = nil
      assert.same({
        grant_type = "authorization_code", client_id = "client-2", code = "code-2", redirect_uri = redirect_uri,
        resource = server.mcp,
      }, exchange)
    end)

    it("keeps the query of the authorization endpoint", function()
      setup_server(function(_, metadata)
        metadata.authorization_endpoint = metadata.authorization_endpoint .. "?tenant=a"
      end)
      assert.equal("", server:call(new()))
      assert.equal("a", asked().tenant)
    end)

    it("sends the token to its server only", function()
      setup_server()
      local auth = new()
      server:call(auth)
      assert.equal("Bearer access-1", auth:headers(server.base .. "/other").Authorization)
      assert.same({}, auth:headers(server.server.other .. "/oauth/mcp"))
      assert.same({}, auth:headers("https://elsewhere.test/mcp"))
    end)

    it("says that a user must log in where none can", function()
      setup_server()
      local err = failure(new({ open = false }))
      assert.equal("login_required", err.details.error)
      assert.same({}, server:requests("/register"))
    end)

    it("passes on why the browser gave nothing", function()
      setup_server()
      local err = failure(new({ open = function() end }))
      assert.equal("login_required", err.details.error)
      local own = require("operations").error("ABORTED", "closed")
      local _, other = server:call(new({
        open = function()
          return nil, own
        end,
      }))
      assert.equal(own, other)
    end)

    it("asks once for many that are refused at the same time", function()
      setup_server()
      local auth = new()
      local function call()
        return server:call(auth)
      end
      assert.same({ "", "", "", "" }, task.all({ call, call, call, call }))
      assert.equal(1, #browser.opened)
    end)

    it("does not ask again for one that was refused before the token came", function()
      setup_server()
      local auth = new()
      local sent = auth:headers(server.mcp)
      server:call(auth)
      assert.is_true(auth:challenged({ status = 401, headers = {} }, sent))
      assert.equal(1, #browser.opened)
    end)

    it("leaves other responses alone", function()
      setup_server()
      local auth = new()
      auth:headers(server.mcp)
      assert.is_false(auth:challenged({ status = 403, headers = {} }))
      assert.is_false(auth:challenged({ status = 403, headers = { ["www-authenticate"] = "Bearer error=\"x\"" } }))
      assert.is_false(auth:challenged({ status = 500, headers = {} }))
      assert.is_false(auth:challenged({ status = 401, headers = {}, url = "https://elsewhere.test/mcp" }))
      assert.is_false(new():challenged({ status = 401, headers = {} }))
    end)

    it("gives up when the new token is refused as well", function()
      local config = setup_server()
      config.mcp.revoked = true
      server:configure(config)
      local err = failure(new())
      assert.matches("refuses the token that .* has just given out", err.message)
      assert.equal(401, err.details.statusCode)
      assert.equal(1, #browser.opened)
    end)

    it("lets the program itself be the client", function()
      setup_server(function(resource, metadata, config)
        resource.scopes_supported = { "read" }
        metadata.token_endpoint_auth_methods_supported = { "client_secret_post" }
        config.clients = { robot = "secret" }
      end)
      assert.equal("read", server:call(new({
        open = false, grant = "client_credentials", client = { client_id = "robot", client_secret = "secret" },
      })))
      assert.same({
        grant_type = "client_credentials", client_id = "robot", client_secret = "secret", scope = "read",
        resource = server.mcp,
      }, server:last("/token").fields)
    end)
  end)

  describe("with a grant of the user's own", function()
    local jwt_bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    local function with(grant)
      return new({ open = false, client = { client_id = "robot", client_secret = "secret" }, grant = grant })
    end

    it("sends its fields, the resource and the scopes", function()
      setup_server(function(resource, metadata, config)
        resource.scopes_supported = { "read" }
        metadata.token_endpoint_auth_methods_supported = { "client_secret_post" }
        metadata.scopes_supported = { "offline_access" }
        config.clients = { robot = "secret" }
        config.answers = {
          ["/token"] = { status = 400, body = '{"error":"invalid_grant","error_description":"a.b.c"}' },
        }
      end)
      local told
      local err = failure(with(function(request)
        told = request
        return { grant_type = jwt_bearer, assertion = "a.b.c" }
      end))
      assert.equal("invalid_grant", err.details.error)
      assert.equal("***", err.details.description)
      assert.same({
        issuer = server.issuer, token_endpoint = server.issuer .. "/token", resource = server.mcp, scope = "read",
      }, told)
      assert.same({
        grant_type = jwt_bearer, assertion = "a.b.c", resource = server.mcp, scope = "read", client_id = "robot",
        client_secret = "secret",
      }, server:last("/token").fields)
      assert.equal(1, #server:requests("/token"))
    end)

    it("passes on the reason why the user gave no grant", function()
      setup_server()
      assert.equal("login_required", failure(with(function() end)).details.error)
    end)
  end)

  describe("that looks for metadata", function()
    -- The metadata documents that were asked for.
    local function looked_for()
      local list = {}
      for _, path in ipairs(server:paths()) do
        list[#list + 1] = path:match("^/%.well%-known/(.*)$") or path:match("^/custom.*")
      end
      return list
    end

    it("reads the challenge first", function()
      setup_server(function(resource, _, config)
        config.mcp.challenge = 'realm="x", resource_metadata="' .. server.base .. '/.well-known/custom"'
        config.documents.custom = resource
      end)
      assert.equal("", server:call(new()))
      assert.same({ "custom", "oauth-authorization-server/oauth" }, looked_for())
    end)

    it("looks at the server's path, then at the root", function()
      setup_server(function(resource, _, config)
        resource.resource = server.base
        config.documents["oauth-protected-resource/oauth/mcp"] = nil
        config.documents["oauth-protected-resource"] = resource
      end)
      assert.equal("", server:call(new()))
      assert.same({
        "oauth-protected-resource/oauth/mcp", "oauth-protected-resource", "oauth-authorization-server/oauth",
      }, looked_for())
      assert.equal(server.base, asked().resource) -- as published, no slash added
    end)

    it("tries OAuth's and OpenID's names for an issuer with a path", function()
      setup_server(function(_, metadata, config)
        config.documents["oauth-authorization-server/oauth"] = nil
        config.answers = {
          ["/.well-known/openid-configuration"] = { body = json.encode(metadata) },
        }
      end)
      assert.equal("", server:call(new()))
      assert.same({
        "oauth-protected-resource/oauth/mcp", "oauth-authorization-server/oauth", "openid-configuration/oauth",
      }, { looked_for()[1], looked_for()[2], looked_for()[3] })
      assert.equal("/.well-known/openid-configuration", server:paths()[5])
    end)

    it("tries OAuth's and OpenID's names for an issuer without a path", function()
      setup_server(function(resource, metadata, config)
        resource.authorization_servers = { server.base }
        metadata.issuer, config.issuer = server.base, server.base
        config.documents["openid-configuration"] = metadata
      end)
      assert.equal("", server:call(new()))
      assert.same({
        "oauth-protected-resource/oauth/mcp", "oauth-authorization-server", "openid-configuration",
      }, looked_for())
    end)

    it("takes a server without any for its own authorization server", function()
      setup_server(function(_, metadata, config)
        metadata.issuer, config.issuer = server.base, server.base
        config.documents = { ["oauth-authorization-server"] = metadata }
      end)
      assert.equal("", server:call(new()))
      assert.equal(server.mcp, asked().resource)
    end)

    it("passes over a page that is no metadata", function()
      setup_server(function(resource, _, config)
        config.documents["oauth-protected-resource"] = resource
        config.answers = { ["/.well-known/oauth-protected-resource/oauth/mcp"] = { body = "<html>" } }
      end)
      assert.equal("", server:call(new()))
    end)

    it("takes no failure of the server for an answer", function()
      setup_server(function(_, _, config)
        config.answers = { ["/.well-known/oauth-protected-resource/oauth/mcp"] = { status = 503, body = "{}" } }
      end)
      assert.matches("oauth/mcp: answered 503", failure(new()).message, 1, true)
    end)

    it("follows no redirect", function()
      setup_server(function(resource, _, config)
        config.documents.elsewhere = resource
        config.answers = {
          ["/.well-known/oauth-authorization-server/oauth"] = {
            status = 302, body = "{}", headers = { Location = "/.well-known/elsewhere" },
          },
        }
      end)
      assert.matches("no authorization server metadata: tried .*answered 302.*answered 404", failure(new()).message)
    end)

    it("takes a relative address of it, and looks at the well-known place too", function()
      for _, where in ipairs({ "/.well-known/oauth-protected-resource/mcp", "nowhere", "https" }) do
        setup_server()
        local auth = new()
        auth:headers(server.mcp)
        assert.is_true(auth:challenged({ status = 401,
          headers = { ["www-authenticate"] = ('Bearer resource_metadata="%s"'):format(where) } }))
      end
    end)

    it("tries the next issuer where the first cannot be used", function()
      setup_server(function(resource)
        resource.authorization_servers = { server.base .. "/gone", "http://as.test", server.issuer }
      end)
      local auth = new()
      assert.equal("", server:call(auth))
      assert.equal(server.issuer, auth._record.issuer)
      setup_server(function(resource)
        resource.authorization_servers = { server.base .. "/gone", "http://as.test" }
      end)
      assert.matches("no authorization server metadata: tried", failure(new()).message, 1, true)
    end)

    it("stays away from addresses that the challenge must not name", function()
      for where, problem in pairs({
        ["http://as.test/x"] = "it is neither https nor on this machine",
        ["https://a:b@as.test/x"] = "it contains a user name or password",
        ["file:///etc/passwd"] = "it is not an absolute URL",
        ["https://as.test/a b"] = "it is not an absolute URL",
        ["https://as.test/\194\1552J"] = "it is not an absolute URL", -- terminals obey
      }) do
        local auth = new()
        auth:headers(server.mcp)
        local ok, err = auth:challenged({
          status = 401, headers = { ["www-authenticate"] = ('Bearer resource_metadata="%s"'):format(where) },
        })
        assert.is_nil(ok)
        assert.matches(problem, err.message, 1, true)
      end
    end)

    it("lets no server elsewhere send it to this machine", function()
      setup_server()
      local auth = new()
      auth:headers("https://mcp.test/mcp")
      local ok, err = auth:challenged({
        status = 401,
        headers = { ["www-authenticate"] = ('Bearer resource_metadata="%s/.well-known/x"'):format(server.base) },
      })
      assert.is_nil(ok)
      assert.matches("it is on this machine, but the server is not", err.message, 1, true)
      assert.same({}, server:requests())
    end)

    for problem, change in pairs({
      ["it is about another resource"] = function(resource)
        resource.resource = "https://mcp.test/mcp"
      end,
      ["it is about another resource, "] = function(resource)
        resource.resource = server.issuer .. "/mc"
      end,
      ["it names no resource"] = function(resource)
        resource.resource = nil
      end,
      ["it names no authorization server"] = function(resource)
        resource.authorization_servers = {}
      end,
      ["it is of another issuer, https://evil.test"] = function(_, metadata)
        metadata.issuer = "https://evil.test"
      end,
      ["it is of another issuer, "] = function(_, metadata)
        metadata.issuer = metadata.issuer .. "/"
      end,
      ["it names no token_endpoint"] = function(_, metadata)
        metadata.token_endpoint = nil
      end,
      ["token_endpoint: it is neither https nor on this machine"] = function(_, metadata)
        metadata.token_endpoint = "http://as.test/token"
      end,
      ["authorization_endpoint: it is not an absolute URL"] = function(_, metadata)
        metadata.authorization_endpoint = "javascript:alert(1)"
      end,
      ["has no authorization_endpoint"] = function(_, metadata)
        metadata.authorization_endpoint = nil
      end,
      ["does not say that it takes PKCE with S256"] = function(_, metadata)
        metadata.code_challenge_methods_supported = nil
      end,
      ["does not say that it takes PKCE"] = function(_, metadata)
        metadata.code_challenge_methods_supported = { "plain" }
      end,
      ["refused: it is neither https nor on this machine"] = function(resource)
        resource.authorization_servers = { "http://as.test" }
      end,
      ["no client is known for"] = function(_, metadata)
        metadata.registration_endpoint = nil
      end,
    }) do
      it("goes no further where " .. problem, function()
        setup_server(change)
        assert.matches(problem, failure(new()).message, 1, true)
        assert.same({}, browser.opened)
        assert.same({}, server:requests("/token"))
      end)
    end
  end)

  describe("that chooses scopes", function()
    local function scope_asked(change, options)
      setup_server(change)
      server:call(new(options))
      return asked().scope
    end

    it("takes those of the challenge", function()
      assert.equal("read write", scope_asked(function(resource, _, config)
        config.mcp.challenge = 'scope="read write"'
        resource.scopes_supported = { "other" }
      end))
    end)

    it("takes all that the resource lists", function()
      assert.equal("read write", scope_asked(function(resource)
        resource.scopes_supported = { "read", "write" }
      end))
    end)

    it("names no scope where the server names none", function()
      assert.is_nil(scope_asked())
      assert.is_nil(scope_asked(function(resource, metadata)
        resource.scopes_supported = {}
        metadata.scopes_supported = { "offline_access", "all" }
      end))
    end)

    it("takes those that it was told, and the challenge's", function()
      assert.equal("mine read", scope_asked(function(resource, _, config)
        config.mcp.challenge = 'scope="read"'
        resource.scopes_supported = { "other" }
      end, { scope = { "mine" } }))
    end)

    it("adds offline_access where the server knows it", function()
      assert.equal("read offline_access", scope_asked(function(resource, metadata)
        resource.scopes_supported = { "read" }
        metadata.scopes_supported = { "read", "offline_access" }
      end))
      assert.equal("read", scope_asked(function(resource, metadata)
        resource.scopes_supported = { "read" }
        metadata.scopes_supported = { "read" }
      end))
    end)

    it("asks for more when a request needs it, and keeps the scopes it has", function()
      setup_server(function(_, _, config)
        config.mcp.challenge = 'scope="read"'
      end)
      local auth = new()
      assert.equal("read", server:call(auth, "read"))
      assert.equal("read write", server:call(auth, "write"))
      assert.equal("read write", asked(2).scope)
      assert.equal("read write", server:call(auth, "read"))
      assert.equal(2, #browser.opened)
    end)

    it("does not ask again for scopes that were granted and are still not enough", function()
      setup_server(function(_, _, config)
        config.mcp.challenge = 'scope="read"'
      end)
      local auth = new()
      server:call(auth)
      local ok, err = auth:challenged({
        status = 403, headers = { ["www-authenticate"] = 'Bearer error="insufficient_scope", scope="read"' },
      })
      assert.is_nil(ok)
      assert.equal("insufficient_scope", err.details.error)
      assert.equal(1, #browser.opened)
    end)

    it("takes the scopes it asked for as granted where the server does not say", function()
      setup_server(function(resource, _, config)
        resource.scopes_supported = { "read" }
        config.token = { scope = "none", expires_in = 0 }
      end)
      local auth = new()
      server:call(auth)
      local refused = {
        status = 403, headers = { ["www-authenticate"] = 'Bearer error="insufficient_scope", scope="read"' },
      }
      assert.is_nil(auth:challenged(refused))
      assert(auth:headers(server.mcp)) -- refreshes
      assert.is_nil(auth:challenged(refused))
      assert.equal(1, #browser.opened)
    end)

    it("stops asking for scopes that are never granted", function()
      setup_server(function(_, _, config)
        config.token = { scope = "read" }
      end)
      local auth, count = new(), 0
      repeat
        local _, err = server:call(auth, "admin")
        count = count + 1
      until err ~= "refused three times" or count > 10
      assert.equal(3, #browser.opened) -- the first and limits.oauth_step_ups
      assert.equal("insufficient_scope", failure(auth, "admin").details.error)
      assert.equal(3, #browser.opened)
      auth:log_out()
      server:call(auth, "admin")
      assert.equal(6, #browser.opened) -- another login, which may end otherwise
    end)

    it("cannot step up where no scope is named", function()
      setup_server()
      local auth = new()
      server:call(auth)
      local ok, err = auth:challenged({
        status = 403, headers = { ["www-authenticate"] = 'Bearer error="insufficient_scope"' },
      })
      assert.is_nil(ok)
      assert.equal(403, err.details.statusCode)
    end)
  end)

  describe("that gets an answer from the browser", function()
    local function refused_as(problem, change)
      setup_server(change)
      local err = failure(new())
      assert.matches("the answer of the browser was refused: " .. problem, err.message, 1, true)
      assert.same({}, server:requests("/token"))
    end

    local function response(fields)
      return function(_, _, config)
        config.response = fields
      end
    end

    it("refuses another state, or none", function()
      refused_as("its state is not the one that was sent", response({ state = "other" }))
      refused_as("its state is not the one that was sent", response({ state = "none" }))
    end)

    it("refuses another issuer, advertised or not", function()
      refused_as("it comes from another issuer", response({ iss = "https://evil.test" }))
      refused_as("it comes from another issuer", function(_, metadata, config)
        metadata.authorization_response_iss_parameter_supported = nil
        config.response = { iss = "https://evil.test" }
      end)
    end)

    it("compares issuers letter by letter", function()
      refused_as("it comes from another issuer", response({ iss = server.issuer .. "/" }))
      refused_as("it comes from another issuer", response({ iss = server.issuer:gsub("http", "HTTP") }))
      for _, slash in ipairs({ "", "/" }) do -- the metadata may have one where the resource has none
        local function root(iss)
          return function(resource, metadata, config)
            resource.authorization_servers = { server.base }
            metadata.issuer, config.issuer = server.base .. slash, server.base .. slash
            config.documents["oauth-authorization-server"] = metadata
            config.response = { iss = iss }
          end
        end
        refused_as("it comes from another issuer", root(server.base .. (slash == "" and "/" or "")))
        setup_server(root(server.base .. slash))
        assert.equal("", server:call(new()))
      end
    end)

    it("wants the issuer where it is always named, and nowhere else", function()
      refused_as("it does not say which issuer it comes from", response({ iss = "none" }))
      setup_server(function(_, metadata, config)
        metadata.authorization_response_iss_parameter_supported = false
        config.response = { iss = "none" }
      end)
      assert.equal("", server:call(new()))
    end)

    it("repeats the error of the right issuer only", function()
      setup_server(response({ code = "none", error = "access_denied", error_description = "the user said no" }))
      local err = failure(new())
      assert.equal("access_denied", err.details.error)
      assert.matches("access_denied: the user said no", err.message, 1, true)
      setup_server(response({ code = "none", error = "access_denied", error_description = "lies", iss = "x" }))
      err = failure(new())
      assert.is_nil(err.details.error)
      assert.is_nil((tostring(err) .. json.encode(err.details)):find("lies"))
    end)

    local function answer_with(make)
      setup_server()
      return new({
        open = function(address)
          return make(browser.open(address))
        end,
      })
    end

    it("takes its fields as well as its URL", function()
      assert.equal("", server:call(answer_with(function(location)
        return (endpoint.decode_form(url.parse(location).query))
      end)))
      assert.equal("", server:call(answer_with(function(location)
        return "  " .. location .. "#fragment\n"
      end)))
    end)

    it("refuses anything but an answer", function()
      for problem, answer in pairs({
        ["it is not the redirect_uri"] = "http://127.0.0.1:1/other?code=a",
        ["it is neither a URL nor a table"] = 7,
        ["it has more than one code"] = redirect_uri .. "?code=a&code=b",
        ["its state is not"] = redirect_uri,
      }) do
        local err = failure(answer_with(function()
          return answer
        end))
        assert.matches(problem, err.message, 1, true)
      end
      assert.matches("has no code", failure(answer_with(function(location)
        local fields = endpoint.decode_form(url.parse(location).query)
        fields.code = nil
        return fields
      end)).message)
    end)
  end)

  describe("that needs a client", function()
    it("registers one, as a native application that refreshes", function()
      setup_server()
      assert.equal("", server:call(new({ client_name = "My Editor", client_uri = "https://editor.test" })))
      local request = server:last("/register")
      assert.equal("application/json", request.headers["content-type"])
      assert.same({
        client_name = "My Editor", client_uri = "https://editor.test", redirect_uris = { redirect_uri },
        grant_types = { "authorization_code", "refresh_token" }, response_types = { "code" },
        application_type = "native", token_endpoint_auth_method = "none",
      }, request.fields)
    end)

    it("registers as a web application where the browser goes back to one", function()
      setup_server(function(_, _, config)
        config.response = { iss = "none" }
      end)
      server:call(new({ redirect_uri = "https://app.test/callback" }))
      assert.equal("web", server:last("/register").fields.application_type)
    end)

    it("registers once per issuer", function()
      setup_server()
      local kept = oauth_options.memory_store()
      server:call(new({ store = kept }))
      kept.save("server " .. server.mcp, nil)
      server:call(new({ store = kept }))
      assert.equal(1, #server:requests("/register"))
      assert.equal("client-1", asked(2).client_id)
    end)

    -- How often a program that logs in twice registers; the second time with `options`.
    local function registrations(change, options)
      setup_server(change)
      local kept = oauth_options.memory_store()
      assert.equal("", server:call(new({ store = kept })))
      kept.save("server " .. server.mcp, nil)
      options.store = kept
      assert.equal("", server:call(new(options)))
      return #server:requests("/register")
    end

    it("registers again for another redirect_uri, and when the secret has expired", function()
      assert.equal(2, registrations(nil, { redirect_uri = "http://127.0.0.1:2/callback" }))
      local function with_secret(expiry)
        return function(_, metadata, config)
          metadata.token_endpoint_auth_methods_supported = nil
          config.client = { client_secret_expires_at = expiry }
        end
      end
      assert.equal(2, registrations(with_secret(1), {}))
      assert.equal(1, registrations(with_secret(0), {}))
      assert.equal(1, registrations(with_secret(os.time() + 1000), {}))
    end)

    for _, method in ipairs({ "client_secret_basic", "client_secret_post", "none" }) do
      it("authenticates by " .. method .. " where the server takes that", function()
        setup_server(function(_, metadata)
          metadata.token_endpoint_auth_methods_supported = { "private_key_jwt", method }
        end)
        assert.equal("", server:call(new()))
        local request = server:last("/token")
        assert.equal(method == "client_secret_basic", request.headers.authorization ~= nil)
        assert.equal(method == "client_secret_post", request.fields.client_secret ~= nil)
      end)
    end

    it("authenticates as the registration says", function()
      setup_server(function(_, metadata, config)
        metadata.token_endpoint_auth_methods_supported = { "none", "client_secret_post" }
        config.client = { token_endpoint_auth_method = "client_secret_post", client_secret = "given" }
      end)
      assert.equal("", server:call(new()))
      assert.equal("given", server:last("/token").fields.client_secret)
    end)

    it("says why it was not registered", function()
      setup_server(function(_, _, config)
        config.answers = {
          ["/register"] = { status = 400, body = '{"error":"invalid_redirect_uri","error_description":"no http"}' },
        }
      end)
      assert.matches("/register: invalid_redirect_uri: no http", failure(new()).message, 1, true)
      setup_server(function(_, _, config)
        config.client = { client_id = "none" }
        config.answers = { ["/register"] = { status = 201, body = "{}" } }
      end)
      assert.matches("answered without a client_id", failure(new()).message)
      setup_server(function(_, _, config)
        config.client = { token_endpoint_auth_method = "client_secret_basic" }
      end)
      assert.matches("asks for client_secret_basic and gave no client_secret", failure(new()).message)
    end)

    it("forgets a registration that the server has forgotten", function()
      local config = setup_server()
      local auth = new()
      assert.equal("", server:call(auth))
      config.clients = { ["client-1"] = "locked" }
      server:configure(config)
      auth._record.token = nil
      assert.equal("invalid_client", failure(auth).details.error)
      assert.equal("", server:call(auth))
      assert.equal("client-2", asked().client_id)
    end)

    it("names the URL of its metadata where the server reads such", function()
      setup_server(function(_, metadata, config)
        metadata.client_id_metadata_document_supported = true
        config.clients = { ["https://app.test/client.json"] = "" }
      end)
      assert.equal("", server:call(new({ client_metadata_url = "https://app.test/client.json" })))
      assert.equal("https://app.test/client.json", asked().client_id)
      assert.same({}, server:requests("/register"))
      setup_server()
      server:call(new({ client_metadata_url = "https://app.test/client.json" }))
      assert.equal("client-1", asked().client_id)
    end)

    it("uses the one that it was given before all others", function()
      setup_server(function(_, metadata, config)
        metadata.client_id_metadata_document_supported = true
        metadata.token_endpoint_auth_methods_supported = { "client_secret_basic" }
        config.clients = { mine = "secret" }
      end)
      assert.equal("", server:call(new({
        client_metadata_url = "https://app.test/client.json", client = { client_id = "mine", client_secret = "secret" },
      })))
      assert.equal("Basic bWluZTpzZWNyZXQ=", server:last("/token").headers.authorization)
    end)

    it("asks for one by a function, which may know it or not", function()
      setup_server(function(_, _, config)
        config.clients = { mine = "" }
      end)
      local issuers = {}
      assert.equal("", server:call(new({
        client = function(issuer)
          issuers[#issuers + 1] = issuer
          return { client_id = "mine" }
        end,
      })))
      assert.same({ server.issuer }, issuers)
      assert.equal("", server:call(new({ client = function() end })))
      assert.equal("client-1", asked().client_id)
    end)

    it("reports errors in the client that a function returned, and a missing one", function()
      setup_server()
      local err = failure(new({
        client = function()
          return { client_secret = "x" }
        end,
      }))
      assert.matches("the option 'client': client_id: expected a string, got nil", err.message)
      err = failure(authorizer.new({ grant = error }))
      assert.matches("no client is known for", err.message)
    end)

    it("shows one that belongs to an issuer to that one only", function()
      setup_server()
      local err = failure(new({ client = { client_id = "mine", issuer = "https://as.test" } }))
      assert.matches("the client is registered with https://as.test, and the server is now protected by", err.message)
      assert.same({}, browser.opened)
    end)

    it("prefers the issuer that knows it", function()
      setup_server(function(resource, _, config)
        resource.authorization_servers = { "https://as.test", server.issuer }
        config.clients = { mine = "" }
      end)
      assert.equal("", server:call(new({ client = { client_id = "mine", issuer = server.issuer } })))
    end)
  end)

  describe("whose token ends", function()
    it("renews it without the user, before a request", function()
      setup_server(function(_, _, config)
        config.token = { expires_in = 0 }
      end)
      local auth = new()
      assert.equal("", server:call(auth))
      assert.equal("Bearer access-3", auth:headers(server.mcp).Authorization)
      assert.equal(1, #browser.opened)
      assert.same({
        grant_type = "refresh_token", client_id = "client-1", refresh_token = "refresh-2", resource = server.mcp,
      }, server:last("/token").fields)
    end)

    -- An authorizer as it is in the next program: the token is not young.
    local function later(auth)
      return new({ store = auth._options.store })
    end

    it("renews it without the user when the server refuses it", function()
      setup_server()
      local first = new()
      assert.equal("", server:call(first))
      local auth = later(first)
      auth:headers(server.mcp)
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal("Bearer access-2", auth:headers(server.mcp).Authorization)
      assert.equal(1, #browser.opened)
    end)

    it("renews it again when the server refuses one that was not renewed just now", function()
      setup_server()
      local first, young = new(), limits.oauth_young
      assert.equal("", server:call(first))
      local auth = later(first)
      finally(function()
        limits.oauth_young = young
      end)
      limits.oauth_young = 0
      for n = 2, 3 do
        auth:headers(server.mcp)
        assert.is_true(auth:challenged({ status = 401, headers = {} }))
        assert.equal("Bearer access-" .. n, auth:headers(server.mcp).Authorization)
      end
      limits.oauth_young = young
      assert.is_true(auth:challenged({ status = 401, headers = {} })) -- it was: the user is asked
      assert.equal(2, #browser.opened)
    end)

    it("asks the user where the refresh token has ended too", function()
      local config = setup_server()
      local first = new()
      server:call(first)
      server:setup(config) -- all tokens and clients are forgotten
      local auth = later(first)
      assert.equal("", server:call(auth))
      assert.equal(2, #browser.opened)
      assert.equal("client-1", asked(2).client_id)
      assert.equal(1, #server:requests("/register"))
    end)

    it("asks the user where there is no refresh token", function()
      setup_server(function(_, _, config)
        config.token = { expires_in = 0, refresh_token = "none" }
      end)
      local auth = new()
      server:call(auth)
      assert.same({}, auth:headers(server.mcp))
    end)

    it("keeps the refresh token where no other comes with the next token", function()
      setup_server(function(_, _, config)
        config.answers = {
          ["/token"] = { json.null, { body = '{"access_token":"a"}' }, { body = '{"access_token":"b"}' } },
        }
      end)
      local auth = new()
      server:call(auth)
      for _ = 1, 2 do
        auth = later(auth)
        auth:headers(server.mcp)
        assert.is_true(auth:challenged({ status = 401, headers = {} }))
      end
      assert.equal("refresh-1", server:last("/token").fields.refresh_token)
      assert.equal("Bearer b", auth:headers(server.mcp).Authorization)
    end)

    it("does not show a refresh token for another client than it was given to", function()
      setup_server(function(_, _, config)
        config.clients = { mine = "" }
      end)
      local first = new()
      server:call(first)
      local auth = new({ store = first._options.store, client = { client_id = "mine" } })
      auth:headers(server.mcp)
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal("mine", asked(2).client_id)
      assert.equal("authorization_code", server:last("/token").fields.grant_type)
    end)

    it("uses the token that another program got meanwhile", function()
      setup_server()
      local kept = oauth_options.memory_store()
      local one = new({ store = kept })
      server:call(one)
      local other = new({ store = kept })
      other:headers(server.mcp)
      local record = kept.load("server " .. server.mcp)
      local copy = members.merged(record)
      copy.token = { access_token = "theirs", expires_at = core.now() + 1e6 }
      kept.save("server " .. server.mcp, copy)
      assert.is_true(other:challenged({ status = 401, headers = {} }))
      assert.equal("Bearer theirs", other:headers(server.mcp).Authorization)
      assert.equal(1, #server:requests("/token"))
    end)

    it("asks the user where another program is left without a refresh token too", function()
      setup_server()
      local kept = oauth_options.memory_store()
      server:call(new({ store = kept }))
      local auth = new({ store = kept })
      auth:headers(server.mcp)
      local record = json.decode(json.encode(kept.load("server " .. server.mcp)))
      record.token = { access_token = "theirs", expires_at = 1 }
      kept.save("server " .. server.mcp, record)
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal(2, #browser.opened)
      assert.equal("authorization_code", server:last("/token").fields.grant_type)
      assert.equal(2, #server:requests("/token"))
    end)

    it("keeps using one that is good for some seconds while the server is away", function()
      setup_server(function(_, _, config)
        config.token = { expires_in = 20 }
        config.answers = { ["/token"] = { json.null, { status = 503, body = "{}" }, { status = 503, body = "{}" } } }
      end)
      local auth = new()
      server:call(auth)
      local record = auth._options.store.load("server " .. server.mcp)
      record.token.lifetime, record.token.expires_at = 3600000, core.now() + 10000
      assert.equal("Bearer access-1", auth:headers(server.mcp).Authorization)
      record.token.expires_at = core.now() - 1
      local sent, err = auth:headers(server.mcp)
      assert.is_nil(sent)
      assert.equal(503, err.details.statusCode)
    end)

    it("keeps the refresh token while the server has other troubles", function()
      setup_server(function(_, _, config)
        local busy = { status = 503, body = '{"error":"temporarily_unavailable"}' }
        config.answers = { ["/token"] = { json.null, busy, busy } }
      end)
      local first = new()
      server:call(first)
      local auth = later(first)
      auth:headers(server.mcp)
      local ok, err = auth:challenged({ status = 401, headers = {} })
      assert.is_nil(ok)
      assert.equal("temporarily_unavailable", err.details.error)
      assert.is_nil(auth:challenged({ status = 401, headers = {} }))
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal("refresh_token", server:last("/token").fields.grant_type)
      assert.equal(1, #browser.opened)
    end)

    it("ignores damaged records of its store", function()
      setup_server()
      for _, damaged in ipairs({ {}, { issuer = server.issuer, token = {} }, { issuer = 1, token = "x" }, "text" }) do
        local kept = oauth_options.memory_store()
        kept.save("server " .. server.mcp, damaged)
        kept.save("client " .. server.issuer, damaged)
        assert.equal("", server:call(new({ store = kept })))
      end
    end)

    it("asks others to wait while one renews it", function()
      setup_server(function(_, _, config)
        config.token = { expires_in = 0 }
        config.delay = 0.02
      end)
      local auth = new()
      server:call(auth)
      local before = #server:requests("/token")
      local function get()
        return auth:headers(server.mcp).Authorization
      end
      local got = task.all({ get, get, get })
      assert.equal(got[1], got[3])
      assert.equal(before + 1, #server:requests("/token"))
    end)

    it("forgets it and the registration when told to, and says what it forgot", function()
      setup_server()
      local auth = new()
      assert.same({ false, false }, { auth:log_out() })
      server:call(auth)
      assert.same({ true, true }, { auth:log_out() })
      assert.same({ false, false }, { auth:log_out() })
      assert.same({}, auth:headers(server.mcp))
      assert.same({}, later(auth):headers(server.mcp))
      server:call(auth)
      assert.equal(2, #server:requests("/register"))
      assert.same({ false, false }, { new({ store = auth._options.store }):log_out(server.base .. "/other") })
      assert.same({ true, true }, { new({ store = auth._options.store }):log_out(server.mcp) })
    end)

    it("is renewed once by programs that share a store", function()
      setup_server()
      local root = os.tmpname()
      os.remove(root)
      finally(function()
        os.execute(("rm -rf '%s'"):format(root))
      end)
      local store = operations.oauth.directory_store(root)
      local first = new({ store = store })
      server:call(first)
      local sent = #server:requests("/token")
      operations.run(function()
        local tasks = {}
        for i = 1, 4 do
          local auth = new({ store = operations.oauth.directory_store(root) })
          auth:headers(server.mcp)
          tasks[i] = operations.spawn(auth.challenged, auth, { status = 401, headers = {} })
        end
        for i = 1, 4 do
          assert.is_true(tasks[i]:wait())
        end
      end)
      assert.equal(sent + 1, #server:requests("/token"))
      assert.equal(1, #browser.opened)
    end)

    it("is of a client that is registered again where the metadata of its issuer has changed", function()
      local published
      local config = setup_server(function(_, metadata)
        published = metadata
      end)
      local auth = new()
      server:call(auth)
      published.token_endpoint_auth_methods_supported = json.decode('["client_secret_post","none"]')
      server:configure(config)
      auth = later(auth)
      auth:headers(server.mcp)
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal(2, #server:requests("/register"))
      assert.equal(2, #browser.opened)
    end)

    it("is read again where its refresh token was used by a program without the lock", function()
      setup_server()
      local first = new()
      server:call(first)
      local store = first._options.store
      local record, key = store.load("server " .. server.mcp), "server " .. server.mcp
      local auth = new({ store = { load = function(name)
        return name == key and json.decode(json.encode(record)) or store.load(name)
      end, save = store.save } })
      auth:headers(server.mcp)
      local other = json.decode(json.encode(record))
      other.token.access_token, other.token.refresh_token = "access-9", "refresh-9"
      record.token.refresh_token = "used" -- which the server refuses
      auth._options.http = { request = function(message)
        if message.body and message.body:find("refresh_token", 1, true) then
          local reply = operations.http.request(message)
          record = other
          return reply
        end
        return operations.http.request(message)
      end }
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal("Bearer access-9", auth:headers(server.mcp).Authorization)
      assert.equal(1, #browser.opened)
    end)
  end)

  describe("whose server moves to another issuer", function()
    -- Two issuers on one server: the first at /oauth, the second at its root.
    local function move(config, metadata)
      local other = json.decode(json.encode(metadata))
      other.issuer = server.base
      config.issuer = server.base
      config.documents["oauth-authorization-server"] = other
      config.documents["oauth-protected-resource/oauth/mcp"].authorization_servers = { server.base }
      server:configure(config)
    end

    it("registers with it, and shows it nothing of the other's", function()
      local config, _, metadata = server:good()
      server:setup(config)
      local auth = new()
      assert.equal("", server:call(auth))
      move(config, metadata)
      assert.is_true(auth:challenged({ status = 401, headers = {} }))
      assert.equal("client-2", asked(2).client_id)
      assert.equal("client-2", server:last("/token").fields.client_id)
      assert.equal(2, #server:requests("/token")) -- the refresh token stayed where it was
      assert.equal("Bearer access-2", auth:headers(server.mcp).Authorization)
    end)

    it("shows it no client that was given for the other", function()
      local config, _, metadata = server:good()
      config.clients = { mine = "" }
      server:setup(config)
      local auth = new({ client = { client_id = "mine" } })
      assert.equal("", server:call(auth))
      move(config, metadata)
      local ok, err = auth:challenged({ status = 401, headers = {} })
      assert.is_nil(ok)
      assert.matches("is now protected by .*, which does not know the client of", err.message)
      assert.equal(1, #browser.opened)
    end)

    it("shows it the client that is now given for it", function()
      for _, client in ipairs({ { client_id = "mine", issuer = server.base }, { client_id = "new" } }) do
        local config, _, metadata = server:good()
        config.clients = { mine = "", new = "" }
        server:setup(config)
        local kept = oauth_options.memory_store()
        assert.equal("", server:call(new({ client = { client_id = "mine" }, store = kept })))
        move(config, metadata)
        local auth = new({ client = client, store = kept })
        auth:headers(server.mcp)
        assert.is_true(auth:challenged({ status = 401, headers = {} }))
        assert.equal(client.client_id, asked().client_id)
      end
    end)

    it("stays with the issuer in use while that is one of several", function()
      local config, resource = server:good()
      server:setup(config)
      local auth = new()
      server:call(auth)
      resource.authorization_servers = { "https://as.test", server.issuer }
      server:configure(config)
      auth:log_out()
      assert.equal("", server:call(auth))
    end)
  end)

  it("shows no secret in its refusals", function()
    setup_server(function(_, metadata, config)
      metadata.token_endpoint_auth_methods_supported = { "client_secret_post" }
      config.answers = {
        ["/token"] = { status = 400, body = '{"error":"invalid_grant","error_description":"code-1 of secret-1"}' },
      }
    end)
    local err = failure(new())
    assert.matches("invalid_grant: *** of ***", err.message, 1, true)
    assert.is_nil(json.encode(err.details):find("code-1", 1, true))
  end)

  it("refuses options that cannot work, where they were written", function()
    for problem, options in pairs({
      ["bad option 'scopes' to 'authorizer' (unknown; did you mean scope?)"] = { scopes = "a" },
      ["bad option 'open' to 'authorizer' (function expected, got string)"] = { open = "xdg-open" },
      ["grant: there is no \"implicit\""] = { grant = "implicit" },
      ["client: client_credentials need one"] = { grant = "client_credentials" },
      ["redirect_uri: it is not an absolute URL"] = { open = print },
      ["redirect_uri: it is neither https nor on this machine"] = { open = print, redirect_uri = "http://a.test/" },
      ["client_metadata_url: expected an https URL with a path"] = { client_metadata_url = "https://app.test/" },
      ["client.client_id: expected a string, got nil"] = { client = {} },
      ["client.client_auth: unknown method \"jwt\""] = { client = { client_id = "a", client_auth = "jwt" } },
    }) do
      local ok, raised = pcall(function()
        authorizer.new(options)
      end)
      assert.is_false(ok)
      assert.matches("authorizer_spec.lua", raised, 1, true)
      assert.matches(problem, raised, 1, true)
    end
  end)
end)
