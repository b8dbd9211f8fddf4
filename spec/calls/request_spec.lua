local call_request = require("operations.calls.request")
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")
local task = require("operations.task")

describe("the options of a call", function()
  local function raised(id, options)
    local ok, message = pcall(function()
      local result = operations.call_map():call(id, {}, options)
      return result
    end)
    assert.is_false(ok)
    assert.matches("^[^ ]*request_spec.lua:%d+: ", message)
    return (message:gsub("^[^ ]*request_spec.lua:%d+: ", ""))
  end

  it("are refused where the call was written", function()
    assert.equal("bad argument #1 to 'call' (string expected, got number)", raised(7))
    assert.equal("bad argument #3 to 'call' (table expected, got string)", raised("a.b", "x"))
    for message, options in pairs({
      ["bad option 'other' to 'call' (unknown)"] = { other = 1 },
      ["bad option 'timeout' to 'call' (number expected, got string)"] = { timeout = "1" },
      ["bad option 'requestId' to 'call' (1 to 256 characters expected, got )"] = { requestId = "" },
      ["bad option 'window' to 'call' (a whole number from 1 on expected, got 0)"] = { window = 0 },
      ["bad option 'window' to 'call' (a whole number from 1 on expected, got 1.5)"] = { window = 1.5 },
      ["bad option 'unconsumed_bytes' to 'call' (a whole number from 1 on expected, got 0)"] =
        { unconsumed_bytes = 0 },
      ["bad option 'consumer_timeout' to 'call' (a whole number from 1 on expected, got 0)"] =
        { consumer_timeout = 0 },
      ["bad option 'deadline' to 'call' (a number expected, got -inf)"] = { deadline = -math.huge },
    }) do
      assert.equal(message, raised("a.b", options))
    end
    assert.matches("^bad option 'timeout' to 'call' %(a number expected, got %-?nan%)$",
      raised("a.b", { timeout = 0 / 0 }))
    assert.matches("1 to 256 characters expected", raised("a.b", { requestId = ("x"):rep(257) }))
  end)

  it("are taken up to their limits", function()
    for _, options in ipairs({ { window = 1 }, { window = math.huge }, { requestId = ("x"):rep(256) }, { timeout = -1 },
      { deadline = 0 }, { idleTimeout = 0.5 }, { resubscribe = true } }) do
      call_request.check("a.b", options, "call")
    end
    call_request.check("a.b", nil, "call")
  end)
end)

describe("the payload of a request", function()
  local function of(options, default, input)
    return call_request.payload("a.b", input, options, default)
  end

  it("has an id, the operation and the input", function()
    local payload = of(nil, nil, { x = 1 })
    assert.same({ "a.b", { x = 1 } }, { payload.operationId, payload.input })
    assert.equal(36, #payload.requestId)
    assert.is_nil(payload.deadline)
    assert.is_nil(payload.ttl)
    assert.equal("{}", json.encode(of().input))
    assert.is_false(of(nil, nil, false).input)
    assert.equal("r", of({ requestId = "r" }).requestId)
  end)

  it("has the other options of the call", function()
    local payload = of({ parentRequestId = "p", idleTimeout = 5, identity = { id = "i", scopes = {} },
      metadata = { m = 1 } })
    assert.same({ "p", 5, "i", { m = 1 } }, { payload.parentRequestId, payload.idleTimeout, payload.identity.id,
      payload.metadata })
    assert.equal("[]", json.encode(payload.identity.scopes))
    assert.is_nil(of({ idleTimeout = math.huge }).idleTimeout)
    assert.same({ traceparent = "t", m = 1 }, of({ traceparent = "t", metadata = { m = 1 } }).metadata)
    assert.same({ traceparent = "t" }, of({ traceparent = "t" }).metadata)
    assert.same({ traceparent = "own" }, of({ traceparent = "t", metadata = { traceparent = "own" } }).metadata)
  end)

  -- ms that are left, about.
  local function left(options, default)
    local payload = of(options, default)
    if not payload.deadline then
      return nil
    end
    assert.is_true(math.abs(payload.deadline - core.now() - payload.ttl) < 1000)
    return math.floor(payload.ttl / 10000 + 0.5) * 10
  end

  it("has the earliest of its deadlines", function()
    local now = core.now()
    assert.equal(60, left(nil, 60000))
    assert.equal(60, left({}, 60000))
    assert.equal(30, left({ timeout = 30000 }, 60000))
    assert.equal(90, left({ timeout = 90000 }, 60000))
    assert.equal(90, left({ deadline = now + 90000 }, 60000))
    assert.equal(30, left({ deadline = now + 90000, timeout = 30000 }, 60000))
    assert.equal(30, left({ deadline = now + 30000, timeout = 90000 }, 60000))
    assert.is_nil(left({ deadline = math.huge }, 60000))
    assert.is_nil(left({ timeout = math.huge }, 60000))
    assert.is_nil(left(nil, nil))
  end)

  it("has no time left where its deadline has passed", function()
    local payload = of({ deadline = 1000 })
    assert.same({ 1000, 0 }, { payload.deadline, payload.ttl })
  end)

  it("has the deadline of the outer call, where that is earlier", function()
    operations.run(function()
      task.deadline(core.now() + 30000)
      assert.equal(30, left(nil, 60000))
      assert.equal(30, left({ timeout = 60000 }))
      assert.equal(30, left({ deadline = core.now() + 60000 }))
      assert.equal(10, left({ timeout = 10000 }))
      assert.equal(10, left({ deadline = core.now() + 10000 }))
      assert.equal(30, left({ deadline = math.huge }))
    end)
  end)
end)

describe("a request that arrived", function()
  local function of(payload, peer)
    payload.requestId, payload.operationId = "r", "a.b"
    return call_request.new({ _requests = {} }, payload, peer or {})
  end

  it("has the identity that the transport authenticated, or one that a trusted transport names", function()
    local named, known = { id = "named" }, { id = "known" }
    assert.is_nil(of({ identity = named }).identity)
    assert.equal(named, of({ identity = named }, { vouches = true }).identity)
    assert.equal(known, of({ identity = named }, { vouches = true, identity = known }).identity)
  end)

  it("is due at its deadline or when its time is over, whichever is earlier", function()
    local now = core.now()
    assert.is_nil(of({}).deadline)
    assert.equal(7, of({ deadline = 7 }).deadline)
    assert.equal(7, of({ deadline = 7, ttl = 60000 }).deadline)
    assert.is_true(math.abs(of({ ttl = 60000 }).deadline - now - 60000) < 5000)
    assert.is_true(math.abs(of({ ttl = 60000, deadline = now + 999999 }).deadline - now - 60000) < 5000)
  end)

  it("is part of a trace where its metadata say so", function()
    assert.equal("t", of({ metadata = { traceparent = "t" } }).traceparent)
    assert.is_nil(of({ metadata = { traceparent = 7 } }).traceparent)
    assert.is_nil(of({ metadata = {} }).traceparent)
    assert.is_nil(of({}).traceparent)
  end)

  it("has ended once, whatever is sent then", function()
    local request = of({})
    local told
    request.on_abort = function(err, of_request)
      told = { err, of_request }
    end
    request:abort("why")
    request:abort("again")
    assert.same({ "why", request }, told)
    for _, method in ipairs({ "respond", "fail", "complete" }) do
      local ok, err = request[method](request, {})
      assert.is_nil(ok)
      assert.equal("ABORTED: request r has ended", tostring(err))
    end
  end)

  it("may send as many events as its consumer took", function()
    local request = of({})
    assert.is_nil(request.credit)
    request:grant(2)
    request:grant(3)
    assert.equal(5, request.credit)
    assert.equal(4, of({ credit = 4 }).credit)
  end)
end)
