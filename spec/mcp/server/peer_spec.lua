-- Requests of an MCP server to its client; time passes in jumps.
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local operations = require("operations")
local peers = require("operations.mcp.server.peer")

describe("the client of an MCP server", function()
  local sent, peer

  before_each(function()
    hosts.use(fake_host.new(1000))
    sent, peer = {}, peers.new({}, function() end)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function send(value)
    sent[#sent + 1] = value
  end

  local function ask()
    return operations.spawn(function()
      local result, failure = peer:request("roots/list", { a = 1 }, send)
      return { result or false, failure or false }
    end)
  end

  it("is asked, and its answers belong to their questions", function()
    operations.run(function()
      local one, two = ask(), ask()
      operations.sleep(0.001)
      assert.same({ { jsonrpc = "2.0", id = 1, method = "roots/list", params = { a = 1 } },
        { jsonrpc = "2.0", id = 2, method = "roots/list", params = { a = 1 } } }, sent)
      peer:answered({ id = "2", result = { n = 2 } })
      peer:answered({ id = 1, error = { code = 1 } })
      assert.same({ { false, { code = 1 } }, { { n = 2 }, false } }, { one:wait(), two:wait() })
      for _, id in ipairs({ 1, 2, 3, "x" }) do
        peer:answered({ id = id, result = {} })
      end
    end)
  end)

  it("is asked so much at once, and no more", function()
    operations.run(function()
      local asked = {}
      for i = 1, limits.mcp_server_requests do
        asked[i] = ask()
      end
      operations.sleep(0.001)
      local _, err = peer:request("x", {}, send)
      assert.same({ "BUSY", ("%d requests wait for the client"):format(limits.mcp_server_requests),
        limits.mcp_server_requests }, { err.code, err.message, #sent })
      peer:answered({ id = 1, result = { n = 1 } })
      asked[1]:wait()
      local more = ask()
      operations.sleep(0.001)
      assert.equal(limits.mcp_server_requests + 1, sent[#sent].id)
      for i = 2, #sent do
        peer:answered({ id = sent[i].id, result = {} })
      end
      more:wait()
    end)
  end)

  it("is notified when its answer is no longer awaited", function()
    operations.run(function()
      local asking = ask()
      operations.sleep(0.001)
      asking:cancel("enough")
      assert.equal("ABORTED", select(2, asking:wait()).code)
      assert.same({ jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 1,
        reason = "the call has ended" } }, sent[2])
      peer:answered({ id = 1, result = {} })
    end)
  end)

  it("cancels its own requests, one or all", function()
    local cancelled = {}
    for _, id in ipairs({ "a", "b", "c" }) do
      peer.running[id] = { cancel = function(_, reason)
        cancelled[#cancelled + 1] = id .. ": " .. reason
        peer.running[id] = nil
      end }
    end
    local function notify(params, method)
      peer:notified({ method = method or "notifications/cancelled", params = params })
    end
    notify({ requestId = "a", reason = "no more" })
    notify({ requestId = "b", reason = 7 })
    notify({ requestId = "c" }, "notifications/other")
    notify({ requestId = "none" })
    assert.same({ "a: no more", "b: the client cancelled the request" }, cancelled)
    peer.running.d = { cancel = peer.running.c.cancel }
    peer:cancel_all("the end")
    assert.same({ "c: the end", "c: the end" }, { cancelled[3], cancelled[4] })
  end)
end)
