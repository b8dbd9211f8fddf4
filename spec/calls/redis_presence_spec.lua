--- The processes that share a Redis, as one of them sees them, on a clock that stands still.
local core = require("operations.core")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local presences = require("operations.calls.redis.presence")
local signatures = require("operations.calls.redis.signature")

describe("the presence of a process on Redis", function()
  local now, host, lost, sent_on, presence = core.now, nil, nil, nil, nil

  before_each(function()
    host, lost, sent_on = fake_host.new(), {}, {}
    core.now = host.now
    hosts.use(host)
    presence = presences.new("spec", signatures.new())
    presence:begin({ connected = true, post = function() end }, {
      deliver = function(_, payload)
        lost[#lost + 1] = payload.code .. (payload.mayHaveRun and "" or " (not run)")
      end,
    }, { unbegun = function(payload)
      sent_on[#sent_on + 1] = payload.requestId
      return payload.operationId == "a.b"
    end })
    presence:hear({ node = "other", version = 1, offers = { "a.b" } })
    presence.nodes:assign({ requestId = "request", operationId = "a.b" }, presence:find("a.b"))
  end)

  after_each(function()
    presence:leave()
    core.now = now
    hosts.use("plain")
  end)

  it("ends with what it says", function()
    for _ = 1, 20 do
      host.advance(limits.presence)
      presence:hear({ node = "other", version = 1 })
    end
    assert.same({}, lost)
    host.advance(5 * limits.presence)
    assert.same({ "WORKER_LOST" }, lost)
  end)

  it("ends with what it still works on; what it did not begin is sent elsewhere", function()
    presence.nodes:assign({ requestId = "running", operationId = "a.b" }, presence:find("a.b"))
    presence.nodes:assign({ requestId = "unsent", operationId = "a.c" }, presence:find("a.b"))
    presence:hear({ node = "other", gone = true, running = { "running" } })
    assert.same({ "request", "unsent" }, sent_on)
    assert.same({ "WORKER_LOST", "WORKER_LOST (not run)" }, lost)
  end)

  it("ends with everything when it does not say what it works on", function()
    presence:hear({ node = "other", gone = true })
    assert.same({}, sent_on)
    assert.same({ "WORKER_LOST" }, lost)
  end)

  it("does not end because we are held up ourselves", function()
    core.now = function()
      return host.now() + 100 * limits.presence
    end
    host.advance(limits.presence)
    assert.same({}, lost)
    presence:hear({ node = "other", version = 1 })
    host.advance(limits.presence)
    assert.same({}, lost)
  end)
end)
