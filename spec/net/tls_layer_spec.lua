local limits = require("operations.base.limits")
local tls_layer = require("operations.net.tls_layer")

-- A layer between a handle and a session that only note what they are asked; `came` is what the handle has.
local function layer()
  local made = { came = {}, sent = {}, events = {}, log = {}, queued = 0, ready = false }
  local handle = {
    receive = function() return table.remove(made.came, 1) end,
    transmit = function(_, bytes, urgent)
      if not urgent and made.queued >= limits.send_queue then
        return "full"
      end
      made.sent[#made.sent + 1] = bytes ~= "" and bytes or nil
      return "sent"
    end,
    unsent = function() return made.queued end,
    peer = function() return "10.0.0.1" end,
    finish_sending = function() made.finished = true end,
    cancel = function() made.cancelled = true end,
  }
  local session = {
    receive = function(_, bytes)
      made.ready = made.ready or bytes == "hello"
      if bytes == "bye" then
        return nil, nil, "closed"
      elseif bytes:find("^<GET") then
        return nil, nil, "http", "http request"
      end
      return bytes:match("^<(.*)>$"), bytes == "ask" and "answer" or nil
    end,
    send = function(_, bytes) return made.ready and "<" .. bytes .. ">" end,
    finish = function() return "bye" end,
    peer = function() return made.ready and { protocol = "TLSv1.3" } or nil end,
    close = function() made.closed = true end,
  }
  local security = { timeout = 10000, refusal = "refused", session = function() return session end,
    log = function(level, message) made.log[#made.log + 1] = level .. ": " .. message end }
  local self = tls_layer.new(security, function(...)
    made.events[#made.events + 1] = table.concat({ ... }, " ")
  end)
  made.layer = self:begin(handle)
  function made.bring(...)
    for _, bytes in ipairs({ ... }) do
      made.came[#made.came + 1] = bytes
      self:event("data")
    end
  end
  return made
end

describe("the layer of TLS", function()
  it("does the handshake by itself, and hands over bytes that come with its end", function()
    local made = layer()
    made.bring("half")
    assert.same({ {}, nil }, { made.events, made.layer.peer_tls })
    assert.equal("closed", made.layer:transmit("early"))
    made.bring("hello", "<a>")
    assert.same({ protocol = "TLSv1.3" }, made.layer.peer_tls)
    assert.same({ "data" }, made.events)
    assert.equal("a", made.layer:receive())
    assert.is_nil((made.layer:receive()))
    assert.equal("sent", made.layer:transmit("b"))
    assert.same({ "<b>" }, made.sent)
    made.layer:cancel()
  end)

  it("leaves received bytes in place until they are taken", function()
    local made = layer()
    made.bring("hello", "<a>", "<b>")
    assert.equal(2, #made.came)
    assert.equal("a", made.layer:receive())
    assert.equal("b", made.layer:receive())
    made.layer:cancel()
  end)

  it("seals nothing that a full queue would not take", function()
    local made, large = layer(), ("x"):rep(70000)
    made.bring("hello")
    made.queued = limits.send_queue
    assert.equal("full", made.layer:transmit(large))
    assert.same({}, made.sent)
    assert.equal("sent", made.layer:transmit(large, true))
    made.queued = 0
    assert.equal("sent", made.layer:transmit(large))
    made.layer:cancel()
  end)

  it("ends a client that keeps asking and reads no answers", function()
    local made = layer()
    made.bring("hello", "ask")
    assert.is_nil((made.layer:receive()))
    assert.same({ "answer" }, made.sent)
    made.queued = 2 * limits.send_queue
    made.bring("ask")
    assert.same({ nil, true, "tls", "the client does not read the answers of TLS" }, { made.layer:receive() })
    made.layer:cancel()
  end)

  it("distinguishes an end from a cut, also behind bytes that were not taken", function()
    local made = layer()
    made.bring("hello")
    made.came = { "<a>" }
    made.layer:event("done")
    assert.same({ "error tls the connection was cut off without close_notify" }, made.events)
    assert.equal("a", (made.layer:receive()))
    made.layer:cancel()
    made = layer()
    made.bring("hello")
    made.came = { "bye" }
    made.layer:event("done")
    made.layer:event("error", "reset", "late")
    assert.same({ "done" }, made.events)
    assert.same({ nil, true }, { made.layer:receive() })
    made.layer:cancel()
    made = layer()
    made.bring("hello")
    made.layer:event("error", "reset", "Connection reset by peer")
    assert.same({ "error reset Connection reset by peer" }, made.events)
    made.layer:cancel()
  end)

  it("tells of a handshake that fails, once", function()
    local made = layer()
    made.bring("<GET")
    made.bring("more")
    made.layer:event("done")
    assert.same({ "error tls the client speaks HTTP without TLS" }, made.events)
    assert.same({ "debug: TLS with 10.0.0.1: the client speaks HTTP without TLS" }, made.log)
    assert.same({ "refused" }, made.sent)
    made.layer:cancel()
    made = layer()
    made.layer:event("done")
    assert.same({ "error tls the client left before the end of the handshake" }, made.events)
    made.layer:cancel()
  end)

  it("says that it ends before it ends, but not when it is cut off", function()
    local made = layer()
    made.bring("hello")
    made.layer:finish_sending()
    assert.same({ { "bye" }, true }, { made.sent, made.finished })
    made.layer:cancel()
    made.layer:event("data")
    made.layer:finish_sending()
    assert.equal("closed", made.layer:transmit("a"))
    assert.same({ { "bye" }, true, true, {} }, { made.sent, made.cancelled, made.closed, made.events })
  end)
end)
