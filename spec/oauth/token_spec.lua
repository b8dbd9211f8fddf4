local core = require("operations.core")
local json = require("operations.base.json")
local oauth = require("spec.support.oauth")
local operations = require("operations")
local task = require("operations.task")
local token = require("operations.oauth.token")

describe("a source of tokens", function()
  local server

  setup(function()
    server = oauth.start()
  end)

  teardown(function()
    server:stop()
  end)

  local clients = { ["the client"] = "s3:cr t", open = "" }

  local function configure(config)
    config = config or {}
    config.clients = clients
    server:setup(config)
  end

  local function options_of(options)
    local all = {
      token_endpoint = server.server.url .. "/oauth/token", client_id = "the client", client_secret = "s3:cr t",
    }
    for name, value in pairs(options or {}) do
      all[name] = value or nil
    end
    return all
  end

  local function source(options)
    return token.source(options_of(options))
  end

  local function last_request()
    local requests = server:requests("/token")
    return requests[#requests]
  end

  -- Everything that an error says, as one text.
  local function text_of(err)
    return tostring(err) .. json.encode(err.details)
  end

  describe("with client credentials", function()
    before_each(function()
      configure()
    end)

    it("asks for a token once and keeps it", function()
      local one = source()
      assert.equal("access-1", one:get())
      assert.equal("access-1", one:get())
      assert.equal(1, #server:requests())
    end)

    it("sends the fields of RFC 6749, and those of the options", function()
      assert(source({
        scope = { "read", "write" }, resource = "https://api.test/a b", params = { audience = "tasks&more" },
      }):get())
      local request = last_request()
      assert.equal("POST", request.method)
      assert.equal("application/x-www-form-urlencoded", request.headers["content-type"])
      assert.equal("application/json", request.headers.accept)
      assert.same({
        grant_type = "client_credentials", scope = "read write", resource = "https://api.test/a b",
        audience = "tasks&more",
      }, request.fields)
    end)

    it("encodes id and secret in the Authorization header", function()
      assert(source():get())
      assert.equal("Basic dGhlJTIwY2xpZW50OnMzJTNBY3IlMjB0", last_request().headers.authorization)
    end)

    it("sends id and secret in the body when told to", function()
      assert.equal("access-1", source({ client_auth = "client_secret_post" }):get())
      local request = last_request()
      assert.is_nil(request.headers.authorization)
      assert.equal("the client", request.fields.client_id)
      assert.equal("s3:cr t", request.fields.client_secret)
    end)

    it("sends the id alone for a client without a secret", function()
      assert.equal("access-1", token.source({
        token_endpoint = server.server.url .. "/oauth/token", client_id = "open",
      }):get())
      assert.equal("open", last_request().fields.client_id)
      assert.is_nil(last_request().fields.client_secret)
    end)

    it("lets a function authenticate the client", function()
      local one = source({
        client_secret = false, params = { audience = "api" },
        client_auth = function(fields, headers)
          assert.equal("client_credentials", fields.grant_type)
          fields.client_secret, headers["X-Proof"] = "s3:cr t", "signed"
          return true
        end,
      })
      assert.equal("access-1", one:get())
      assert.equal("signed", last_request().headers["x-proof"])
      assert.equal("the client", last_request().fields.client_id)
      assert.is_nil(last_request().headers.authorization)
    end)

    it("sends nothing where that function fails", function()
      local own = operations.error("EXECUTION_ERROR", "no key")
      local function get(...)
        local results = { ... }
        local _, err = source({
          client_auth = function()
            return results[1], results[2]
          end,
        }):get()
        return err
      end
      assert.equal(own, get(nil, own))
      assert.matches("the client's proof failed", get().message)
      assert.same({}, server:requests())
    end)

    it("asks again when a server did not accept the token", function()
      local one = source()
      one:refuse(one:get())
      assert.equal("access-2", one:get())
      one:refuse("access-1") -- told late: there is another by now
      assert.equal("access-2", one:get())
    end)

    it("tells of every new token", function()
      local seen = {}
      local one = source({
        on_token = function(held)
          seen[#seen + 1] = held
        end,
      })
      one:refuse(one:get())
      one:get()
      assert.equal("access-1", seen[1].access_token)
      assert.equal("access-2", seen[2].access_token)
      assert.is_true(seen[1].expires_at > core.now() + 3500000)
    end)
  end)

  describe("that expire", function()
    it("asks again before the end, by a tenth of a short life", function()
      configure({ token = { expires_in = 0 } })
      local one = source()
      assert.equal("access-1", one:get())
      assert.equal("access-2", one:get())
      assert.is_true(token.is_fresh({ lifetime = 10000, expires_at = core.now() + 2000 }))
      assert.is_false(token.is_fresh({ lifetime = 10000, expires_at = core.now() + 1000 }))
      assert.is_true(token.is_fresh({ lifetime = 3600000, expires_at = core.now() + 40000 }))
      assert.is_false(token.is_fresh({ lifetime = 3600000, expires_at = core.now() + 30000 }))
    end)

    it("reads a life that is written as a string", function()
      configure({ token = { expires_in = "0" } })
      local one = source()
      one:get()
      assert.equal("access-2", one:get())
    end)

    it("keeps a token whose life is unknown", function()
      configure({ token = { expires_in = "none" } })
      local one = source()
      one:get()
      assert.equal("access-1", one:get())
    end)
  end)

  describe("with a refresh token", function()
    before_each(function()
      configure({ token = { refresh_token = "first" } })
      assert(source():get()) -- makes "first" known
    end)

    it("uses it, and then the one that replaced it", function()
      configure()
      server:setup({ clients = clients, token = { refresh_token = "first" } })
      source():get()
      local saved = {}
      local one = source({
        refresh_token = "first",
        on_token = function(held)
          saved[#saved + 1] = held.refresh_token
        end,
      })
      one:refuse(assert(one:get()))
      assert(one:get())
      assert.same({ "first", "first" }, saved)
      assert.equal("refresh_token", last_request().fields.grant_type)
    end)

    it("keeps it where no other comes", function()
      configure({ answers = { ["/token"] = { body = '{"access_token":"a","token_type":"bearer"}' } } })
      local one = source({ refresh_token = "first" })
      one:refuse(one:get())
      one:get()
      assert.equal("first", last_request().fields.refresh_token)
    end)

    it("says that it is no longer good, without saying it", function()
      local _, err = source({ refresh_token = "unknown" }):get()
      assert.equal("invalid_grant", err.details.error)
      assert.equal(400, err.details.statusCode)
      assert.matches("no such refresh token: ***", err.message, 1, true)
      assert.is_nil(text_of(err):find("unknown"))
    end)
  end)

  describe("asked by several at once", function()
    it("sends one request", function()
      configure({ delay = 0.05 })
      local one = source()
      local function get()
        return one:get()
      end
      assert.same({ "access-1", "access-1", "access-1" }, task.all({ get, get, get }))
      assert.equal(1, #server:requests())
    end)

    it("gives the failure to all of them, and tries again for the next", function()
      configure({ delay = 0.05, answers = { ["/token"] = { { status = 503, body = "{}" } } } })
      local one, failures = source(), 0
      task.run(function()
        for _ = 1, 3 do
          task.spawn(function()
            local got, err = one:get()
            failures = failures + (got == nil and err.details.statusCode == 503 and 1 or 0)
          end)
        end
      end)
      assert.equal(3, failures)
      assert.equal("access-1", one:get())
    end)

    it("continues for the others when the one that asks is cancelled", function()
      configure({ delay = 0.05 })
      local one, got = source(), nil
      task.run(function()
        local first = task.spawn(function()
          one:get()
        end)
        local second = task.spawn(function()
          got = one:get()
        end)
        task.sleep(0.01)
        first:cancel()
        second:wait()
      end)
      assert.matches("^access%-%d$", got)
    end)
  end)

  describe("that is refused one", function()
    local function failure_of(answer, options)
      configure({ answers = { ["/token"] = answer } })
      local got, err = source(options):get()
      assert.is_nil(got)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.equal("oauth", err.details.kind)
      return err
    end

    it("repeats what the server says", function()
      local err = failure_of({
        status = 400,
        body = '{"error":"invalid_scope","error_description":"no\\nsuch scope","error_uri":"https://as.test/help"}',
      })
      assert.equal(server.server.url .. "/oauth/token: invalid_scope: no such scope", err.message)
      assert.same({
        kind = "oauth", error = "invalid_scope", description = "no such scope", uri = "https://as.test/help",
        statusCode = 400,
      }, err.details)
    end)

    it("never tells a secret that the server repeats", function()
      local err = failure_of({
        status = 401,
        body = '{"error":"invalid_client","error_description":"s3:cr t is wrong, s3%3Acr%20t as well, s3:cr t"}',
      })
      assert.matches("*** is wrong, *** as well, ***", err.message, 1, true)
      assert.is_nil(text_of(err):find("s3"))
    end)

    it("cuts a long description", function()
      local err = failure_of({ status = 400, body = '{"error":"a","error_description":"' .. ("x"):rep(5000) .. '"}' })
      assert.is_true(#err.message < 500)
    end)

    it("takes an error that came with status 200 for one", function()
      assert.equal("bad", failure_of({ body = '{"error":"bad"}' }).details.error)
    end)

    for name, answer in pairs({
      ["answered 500 without a JSON object"] = { status = 500, body = "<html>" },
      ["answered 200 without a JSON object"] = { body = "[]" },
      ["answered 503"] = { status = 503, body = "{}" },
      ["answered 307"] = { status = 307, body = "{}", headers = { Location = "/oauth/other" } },
      ["answered without an access token"] = { body = '{"token_type":"Bearer"}' },
      ["answered an access token that no header can carry"] = { body = '{"access_token":"a\\r\\nb"}' },
      ["answered a token of another type than Bearer"] = { body = '{"access_token":"a","token_type":"mac"}' },
    }) do
      it("says that the server " .. name, function()
        assert.matches(name, failure_of(answer).message, 1, true)
        assert.same({}, server:requests("/other"))
      end)
    end

    it("reads an answer of 32 levels, and none deeper", function()
      local function nested(levels)
        return { status = 400, body = ('{"error":'):rep(levels) .. "1" .. ("}"):rep(levels) }
      end
      assert.is_nil(failure_of(nested(32)).message:find("without a JSON object", 1, true))
      assert.matches("answered 400 without a JSON object", failure_of(nested(33)).message, 1, true)
    end)

    it("says how long to wait where the server does", function()
      local err = failure_of({ status = 503, body = "{}", headers = { ["Retry-After"] = "7" } })
      assert.same({ true, 7000 }, { err.retryable, err.retryAfter })
    end)

    it("reads no endless answer", function()
      configure({ answers = { ["/token"] = { body = "0123456789abcdef", times = 65537 } } })
      local _, err = source():get()
      assert.equal("size", err.details.kind)
    end)
  end)

  it("passes on that the server is not there", function()
    local _, err = source({ token_endpoint = "http://127.0.0.1:1/token" }):get()
    assert.equal("connect", err.details.kind)
  end)

  it("refuses options that cannot work, where they were written", function()
    for problem, options in pairs({
      ["bad option 'clientId' to 'token.source' (unknown; did you mean client_id?)"] = { clientId = "x" },
      ["bad option 'client_secret' to 'token.source' (string expected, got number)"] = { client_secret = 1 },
      ["client_auth: unknown method \"basic\""] = { client_auth = "basic" },
      ["token_endpoint: it is neither https nor on this machine"] = { token_endpoint = "http://as.test/token" },
      ["token_endpoint: it is not an absolute URL"] = { token_endpoint = "/token" },
      ["token_endpoint: it contains a user name or password"] = { token_endpoint = "https://a:b@as.test/token" },
      ["token_endpoint: it contains a fragment"] = { token_endpoint = "https://as.test/token#a" },
    }) do
      local all = options_of(options)
      local ok, raised = pcall(function()
        token.source(all)
      end)
      assert.is_false(ok)
      assert.matches("token_spec.lua", raised, 1, true)
      assert.matches(problem, raised, 1, true)
    end
    assert.has_error(function()
      token.source({ token_endpoint = "https://as.test/token", client_id = "x", client_auth = "client_secret_post" })
    end)
    assert.has_error(function()
      token.source({ token_endpoint = "https://as.test/token" })
    end)
  end)
end)
