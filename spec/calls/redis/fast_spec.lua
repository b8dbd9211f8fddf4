--- Requests that a process did not begin, and those that it refused, on a clock that stands still.
local compat = require("operations.base.compat")
local core = require("operations.core")
local fake_host = require("spec.support.fake_host")
local fasts = require("operations.calls.redis.fast")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local operations = require("operations")
local presences = require("operations.calls.redis.presence")
local signatures = require("operations.calls.redis.signature")

local LOST = { "WORKER_LOST", true, false }

describe("a request over Redis that no process has begun", function()
  local now, host, presence, fast, said, sent, sizes, failed, refused, problem =
    core.now, nil, nil, nil, nil, nil, nil, nil, nil, nil

  before_each(function()
    host, said, sent, sizes, failed, refused = fake_host.new(), 0, {}, {}, {}, 0
    core.now = host.now
    hosts.use(host)
    local signature = signatures.new()
    presence = presences.new("spec", signature)
    local link = { connected = true, post = function(_, _, command)
      said = said + (command == "PUBLISH" and 1 or 0)
    end, publish = function(_, channel, text, done, message)
      sizes[#sizes + 1] = #text
      for line in text:gmatch("[^\n]+") do
        local event = operations.json.decode(line)
        sent[#sent + 1] = { channel, event.type, event.payload.requestId, ttl = event.payload.ttl,
          unheard = function()
            done(0, nil, message)
          end }
      end
    end }
    local receiver = {
      deliver = function(name, payload)
        assert.equal("call.error", name)
        failed[payload.requestId] = { payload.code, payload.retryable, payload.mayHaveRun }
      end,
      event = function(event, _, why)
        refused = refused + (event and 0 or 1)
        problem = tostring(why)
      end,
    }
    fast = fasts.new({ presence = presence, link = link, signature = signature, receiver = receiver,
      subscriber = { connected = true }, max_message = 1000 })
    presence:begin(link, receiver, { unbegun = function(payload, failure)
      fast:send_on(payload, failure)
    end })
  end)

  after_each(function()
    presence:leave()
    core.now = now
    hosts.use("plain")
  end)

  local function announce(node, ...)
    presence:hear({ node = node, version = 1, offers = { ... } })
  end

  local function leave(node, ...)
    presence:hear({ node = node, gone = true, running = { ... } })
  end

  -- What was sent since the last time.
  local function news()
    fast:flush()
    local all = sent
    sent = {}
    return all
  end

  local function request(id, deadline, operation)
    assert(fast:request({ requestId = id, operationId = operation or "a.b", input = {}, deadline = deadline,
      ttl = deadline and deadline - core.now() }))
  end

  -- A request for a process that leaves at once, and its failure after the wait.
  local ways = {
    ["leaves"] = { LOST, function(id)
      assert.same({ "spec:node:old", "call.requested", id }, { compat.unpack(news()[1], 1, 3) })
      leave("old")
    end },
    ["refuses it"] = { { "DRAINING", true, false }, function(id)
      news()
      fast:take({ type = "call.error", from = "old", payload = { requestId = id, code = "DRAINING", message = "bye",
        retryable = true, mayHaveRun = false } }, { requestId = id, code = "DRAINING", message = "bye",
        retryable = true, mayHaveRun = false })
    end },
    ["is not there"] = { { "UNAVAILABLE", true, false }, function()
      news()[1].unheard()
    end },
  }

  for way, case in pairs(ways) do
    local failure, lose = case[1], case[2]

    it("as its process " .. way .. ", is sent once to one that announces itself within the time", function()
      announce("old", "a.b")
      request("1", core.now() + 10000)
      lose("1")
      host.advance(limits.discovery - 1)
      announce("other", "c.d")
      assert.same({}, news())
      announce("new", "a.b")
      local all = news()
      assert.equal(1, #all)
      assert.same({ "spec:node:new", "call.requested", "1" }, { compat.unpack(all[1], 1, 3) })
      assert.equal(10000 - limits.discovery + 1, all[1].ttl)
      announce("newer", "a.b")
      host.advance(limits.discovery)
      assert.same({ {}, {}, {} }, { news(), failed, fast._unbegun })
      assert.equal("new", presence.nodes:of("1").id)
    end)

    it("as its process " .. way .. ", fails when there is no other within the time", function()
      announce("old", "a.b")
      request("1")
      lose("1")
      host.advance(limits.discovery - 1)
      assert.same({}, failed)
      host.advance(1)
      assert.same({ ["1"] = failure }, failed)
      assert.same({ {}, {} }, { fast._unbegun, presence._seekers })
      announce("new", "a.b")
      assert.same({}, news())
    end)
  end

  it("is sent at once to another process that is known", function()
    announce("old", "a.b")
    request("1")
    news()
    announce("new", "a.b")
    leave("old")
    assert.equal("spec:node:new", news()[1][1])
    leave("new", "1")
    assert.same({ ["1"] = { "WORKER_LOST", true, true } }, failed)
  end)

  it("is sent with others to the same process, in messages that it takes", function()
    announce("old", "a.b")
    for i = 1, 100 do
      request(("x"):rep(100) .. i)
    end
    assert.equal(100, #news())
    assert.is_true(#sizes < 20, #sizes)
    for _, size in ipairs(sizes) do
      assert.is_true(size <= 1000 + fasts.slack, size)
    end
  end)

  it("waits again when the next process leaves too", function()
    announce("old", "a.b")
    request("1")
    leave("old")
    host.advance(limits.discovery - 1)
    announce("new", "a.b")
    leave("new")
    host.advance(limits.discovery - 1)
    announce("newer", "a.b")
    news()
    assert.equal("newer", presence.nodes:of("1").id)
    assert.same({}, failed)
  end)

  it("asks with all others that wait, not each for itself", function()
    announce("old", "a.b")
    for i = 1, 50 do
      request(tostring(i))
    end
    local before = said
    leave("old")
    assert.equal(1, said - before)
    host.advance(limits.discovery)
    assert.equal(5, said - before)
    assert.same(LOST, failed["50"])
  end)

  it("is not sent when it was given up", function()
    announce("old", "a.b")
    request("1")
    news()
    leave("old")
    assert.is_nil(fast:send("call.aborted", { requestId = "1" }))
    assert.same({}, fast._unbegun)
    announce("new", "a.b")
    host.advance(limits.discovery)
    assert.same({ {}, {}, {} }, { news(), failed, presence._seekers })
  end)

  it("waits no longer than its deadline", function()
    announce("old", "a.b")
    request("1", core.now() + limits.discovery / 5 + 1)
    request("2", core.now() + limits.discovery / 5 + 1, "a.b")
    news()
    leave("old")
    host.advance(limits.discovery / 5 + 1)
    fast:send("call.aborted", { requestId = "2" }) -- by the call map
    announce("new", "a.b")
    assert.same({ ["1"] = { "TIMEOUT", nil, false } }, failed)
    assert.same({ {}, {} }, { news(), fast._unbegun })
  end)

  it("is forgotten with the connection", function()
    announce("old", "a.b")
    request("1")
    news()
    leave("old")
    presence:forget()
    fast:forget()
    announce("new", "a.b")
    host.advance(limits.discovery)
    assert.same({ {}, {} }, { news(), failed })
  end)

  it("is not sent on because of an error from outside the protocol", function()
    announce("old", "a.b")
    request("1")
    news()
    announce("new", "a.b")
    local payload = { requestId = "1", code = "DRAINING", message = {}, mayHaveRun = false }
    fast:take({ type = "call.error", from = "old", payload = payload }, payload)
    assert.same({}, news())
  end)

  it("may come from a process whose announcement has no version", function()
    presence:hear({ node = "odd", version = {}, offers = { "a.b" } })
    local payload = { requestId = "its", operationId = "a.b", input = {} }
    fast:take({ type = "call.requested", from = "odd", payload = payload }, payload)
    assert.same({ "its" }, presence.nodes:serving())
  end)

  it("runs here no more once its caller has aborted it", function()
    announce("caller", "a.b")
    local payload = { requestId = "its", operationId = "a.b", input = {} }
    fast:take({ type = "call.requested", from = "caller", payload = payload }, payload)
    fast:take({ type = "call.aborted", from = "caller", payload = { requestId = "its" } }, { requestId = "its" })
    assert.same({}, presence.nodes:serving())
    assert.equal(0, refused)
    fast:take({ type = "call.aborted", from = "caller", payload = { requestId = "its" } }, { requestId = "its" })
    assert.equal(1, refused)
  end)

  it("is answered only by the process that has it", function()
    announce("old", "a.b")
    request("1")
    leave("old")
    local answer = { requestId = "1", output = {} }
    fast:take({ type = "call.responded", from = "old", payload = answer }, answer)
    announce("new", "a.b")
    fast:take({ type = "call.responded", from = "old", payload = answer }, answer)
    assert.equal(2, refused)
    assert.equal("VALIDATION_ERROR: a late call.responded: request 1 has ended, or another process has it", problem)
    assert.equal("new", presence.nodes:of("1").id)
  end)
end)
