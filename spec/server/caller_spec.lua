local caller = require("operations.server.caller")
local errors = require("operations.base.error")
local operations = require("operations")

local function identify(authorize, more)
  local logged = {}
  local options = { authorize = authorize, log = function(level, message)
    logged[#logged + 1] = level .. " " .. message
  end }
  for name, value in pairs(more or {}) do
    options[name] = value
  end
  local identity, err, status, headers = caller.identify({ headers = {} }, options)
  return { identity = identity, code = err and err.code, message = err and err.message, status = status,
    challenge = headers and headers["www-authenticate"] }, logged[1]
end

local function giving(...)
  local identity, reason = ...
  return function()
    return identity, reason
  end
end

describe("the caller of a request", function()
  it("is the one that authorize returns, and anonymous without authorize", function()
    assert.same({ identity = { id = "a" } }, (identify(giving({ id = "a" }))))
    assert.same({}, (identify(nil)))
  end)

  it("is refused without credentials, unless it may be anonymous", function()
    assert.same({ code = "ACCESS_DENIED", message = "credentials are required", status = 401, challenge = "Bearer" },
      (identify(giving(nil))))
    assert.same({}, (identify(giving(nil), { anonymous = true })))
    assert.same({}, (identify(giving(false), { anonymous = true })))
  end)

  it("is refused with invalid credentials, anonymous or not", function()
    for _, anonymous in ipairs({ true, false }) do
      assert.same({ code = "ACCESS_DENIED", message = 'it "expired"', status = 401,
        challenge = 'Bearer error="invalid_token", error_description="it \\"expired\\""' },
        (identify(giving(nil, 'it "expired"'), { anonymous = anonymous })))
    end
    assert.same({ "the credentials are invalid", 401 }, { identify(giving(nil, 7)).message,
      identify(giving(nil, 7)).status })
    assert.equal('Bearer error="invalid_token", error_description="a?b\\\\"',
      identify(giving(nil, "a\nb\\")).challenge)
  end)

  it("is not judged where that is impossible, which is logged", function()
    local found, logged = identify(giving(nil, errors.new("UNAVAILABLE", "no keys")))
    assert.same({ code = "UNAVAILABLE", message = "credentials cannot be checked now", status = 503 }, found)
    assert.equal("error authorize: UNAVAILABLE: no keys", logged)
    found, logged = identify(function()
      error("boom", 0)
    end)
    assert.same({ code = "EXECUTION_ERROR", message = "the authorization failed", status = 500 }, found)
    assert.matches("^error authorize: boom\nstack traceback:", logged)
    found, logged = identify(giving("ann"))
    assert.same({ code = "EXECUTION_ERROR", message = "the authorization failed", status = 500 }, found)
    assert.equal("error authorize: an identity or nil expected, got string", logged)
  end)

  it("gets the challenge that authorize returns", function()
    local basic = setmetatable({ challenge = 'Basic realm="x"' }, { __call = function() end })
    assert.equal('Basic realm="x"', identify(basic).challenge)
    assert.equal("Bearer", caller.challenge(setmetatable({}, { __call = print })))
    assert.equal("Bearer a=b", caller.challenge(nil, "a=b"))
  end)
end)

describe("a caller that may not call an operation", function()
  local function deny(access, identity, authorize, err)
    local _, refusal, status, headers = caller.deny({ accessControl = access }, identity, authorize, err)
    return { refusal.message, status, headers["www-authenticate"] or "none", refusal.details }
  end

  it("is asked for credentials with the scopes that are needed", function()
    assert.same({ "credentials are required", 401, 'Bearer scope="a b x"' },
      deny({ requiredScopes = { "a", "b" }, requiredScopesAny = { "x", "y" } }))
    assert.same({ "credentials are required", 401, "Bearer" }, deny(nil))
    assert.same({ "credentials are required", 401, "Bearer" }, deny({}))
  end)

  it("is shown the missing scopes, and those a token needs", function()
    local access = { requiredScopes = { "a", "b" }, requiredScopesAny = { "x", "y" } }
    assert.same({ "missing scopes: b x", 403, 'Bearer error="insufficient_scope", scope="a b x"',
      { requiredScopes = { "b", "x" } } }, deny(access, { scopes = { "a" } }))
    assert.same({ "missing scopes: a b", 403, 'Bearer error="insufficient_scope", scope="a b"',
      { requiredScopes = { "a", "b" } } }, deny(access, { scopes = { "y" } }))
    assert.same({ "missing scopes: x", 403, 'Bearer error="insufficient_scope", scope="x"',
      { requiredScopes = { "x" } } }, deny({ requiredScopesAny = { "x", "y" } }, { scopes = "x" }))
  end)

  it("is shown the refusal of the registry where it lacks no scope", function()
    assert.same({ "this identity has not the rights on the resource that are required", 403,
      'Bearer error="insufficient_scope"' }, deny({ requiredScopes = { "a" } }, { scopes = { "a" } }))
    assert.same({ "not yours", 403, 'Bearer error="insufficient_scope"' },
      deny(nil, {}, nil, errors.new("ACCESS_DENIED", "not yours")))
  end)

  it("is not challenged again without missing scopes", function()
    local basic = { challenge = "Basic" }
    assert.same({ "credentials are required", 401, "Basic" }, deny(nil, nil, basic))
    assert.same({ "missing scopes: a", 403, "none", { requiredScopes = { "a" } } },
      deny({ requiredScopes = { "a" } }, {}, basic))
  end)
end)

describe("the option authorize", function()
  it("may be a function or a table that can be called", function()
    caller.check(nil, "to_http", 1)
    caller.check(print, "to_http", 1)
    caller.check(setmetatable({}, { __call = print }), "to_http", 1)
    for _, wrong in ipairs({ {}, setmetatable({}, {}), setmetatable({}, { __call = 7 }),
      setmetatable({}, { __metatable = "hidden" }) }) do
      local ok, raised = pcall(function()
        caller.check(wrong, "to_http", 1)
      end)
      assert.is_false(ok)
      assert.matches("caller_spec.lua:%d+: bad option 'authorize' to 'to_http' "
        .. "%(something that can be called expected%)$", raised)
    end
  end)

  it("is looked at when the server is made", function()
    local ok, raised = pcall(function()
      return (operations.to_http(operations.registry(), { authorize = {} }))
    end)
    assert.is_false(ok)
    assert.matches("caller_spec.lua:%d+: bad option 'authorize' to 'to_http'", raised)
  end)
end)
