-- Servers over HTTP that behave badly (spec/support/server/hostile.lua): every call ends, and no other one is hurt.
local eventually = require("spec.support.eventually")
local members = require("operations.base.members")
local operations = require("operations")
local test_server = require("spec.support.server")

local MIB = 1024 * 1024

describe("a hostile MCP server over HTTP", function()
  local server, client
  local last = 0

  local function connect(query, more)
    last = last + 1
    local key = "k" .. last
    local config = members.merged({
      url = ("%s/hostile/%s?%s"):format(server.url, key, query), log = function() end, timeout = 20000,
      stream = false, verdict = "legacy",
    }, more)
    return assert(operations.from_mcp.connect("hostile", config)), function(name)
      local noted = operations.http.request({ url = ("%s/note/hostile.%s.%s"):format(server.url, key, name) })
      return tonumber(noted.body)
    end
  end

  local function text_of(envelope, err)
    return assert(envelope, err).data[1].text
  end

  lazy_setup(function()
    server = test_server.start()
    client = connect("", { max_message = MIB })
  end)

  lazy_teardown(function()
    client:close()
    server:stop()
  end)

  after_each(function()
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
  end)

  for tool, text in pairs({
    formats = "formatted", unended = "unended", open = "open", typeless = "typeless", capitals = "capitals",
    hesitant = "hesitant", compressed = "asked for", compressed_events = "events",
  }) do
    it("is understood: " .. tool, function()
      assert.equal(text, text_of(client:call(tool)))
    end)
  end

  -- By tool: the kind of the error, what it says, whether it is retryable and the call may have run.
  for tool, expected in pairs({
    cut = { "malformed", "malformed response", false, true },
    clean = { "lost", "ended without the answer", true, true },
    endless = { "size", "larger than 1048576 bytes", false, true }, endless_event = { "lost", "", true, true },
    around = { "redirect", "more than 5 redirects", false, true }, moved = { "redirect", "301", false, true },
    found = { "redirect", "302", false, true }, other = { "redirect", "303", false, true },
    locked = { "status", "401", false, false }, forbidden = { "status", "403", false, true },
    busy = { "status", "later", true, false }, down = { "status", "503", true, true },
    truncated = { "truncated", "", true, true }, reset = { "reset", "", true, true },
    broken_gzip = { "encoding", "", false, true },
  }) do
    it("fails the one call at once that it answers so: " .. tool, function()
      local _, err = client:call(tool)
      assert.not_equal("TIMEOUT", err.code)
      assert.equal(expected[1], err.details.kind)
      assert.matches(expected[2], err.message, 1, true)
      assert.same({ expected[3], expected[4] }, { err.retryable, err.mayHaveRun })
    end)
  end

  it("says when to come back, and what is missing", function()
    assert.equal(7000, select(2, client:call("busy")).retryAfter)
    assert.equal(2000, select(2, client:call("down")).retryAfter)
    local _, err = client:call("overloaded")
    assert.equal("MCP_-32000: tools/call: overloaded", tostring(err))
    assert.same({ true, true, 3000 }, { err.retryable, err.mayHaveRun, err.retryAfter })
    assert.matches("insufficient_scope", select(2, client:call("forbidden")).details.headers["www-authenticate"])
  end)

  for _, tool in ipairs({ "stalling", "wordless" }) do
    it("may stop within a body, or say nothing at all: time ends that: " .. tool, function()
      local _, err = client:call(tool, {}, { timeout = 50 })
      assert.equal("TIMEOUT", err.code)
    end)
  end

  it("may close connections that it said it would keep, for what may be asked twice", function()
    for _ = 1, 5 do
      assert.equal("leaving", text_of(client:call("leaving")))
      assert.equal("swallowing", text_of(client:call("swallowing")))
      assert.equal("x", text_of(client:call("echo", { message = "x" })))
    end
  end)

  it("may promise the rest of a stream for ever: it is asked so often", function()
    local eager, noted = connect("")
    local _, err = eager:call("promising")
    assert.equal("lost", err.details.kind)
    assert.equal(require("operations.base.limits").reconnects, noted("resumed"))
    eager:close()
  end)

  it("may forget every session: one new handshake for a call, then its error", function()
    local forgetful, noted = connect("session=never")
    local _, err = forgetful:call("echo", { message = "x" })
    assert.equal("session", err.details.kind)
    assert.equal(2, noted("initialize"))
    forgetful:close()
  end)

  it("may be silent when the client is closed: waiting calls fail at once", function()
    local patient, noted = connect("", { timeout = 600000 })
    local told = {}
    for _, tool in ipairs({ "wordless", "stalling", "patient" }) do
      operations.spawn(function()
        local _, err = patient:call(tool)
        told[#told + 1] = err
      end)
    end
    eventually(function()
      return noted("call") == 3
    end)
    patient:close()
    eventually(function()
      return #told == 3
    end)
    for _, err in ipairs(told) do
      assert.equal("ABORTED", err.code)
    end
    assert.equal(0, patient._session._link.pending:count())
  end)

  it("leaves nothing behind of a call whose time is up while a stream is to be opened again", function()
    local _, err = client:call("patient", {}, { timeout = 50 })
    assert.equal("TIMEOUT", err.code)
    assert.equal(0, client._session._link.pending:count())
  end)

  it("may answer another question than the one that was asked", function()
    local _, err = client:call("astray")
    assert.equal("protocol", err.details.kind)
    assert.matches("answered something else", err.message, 1, true)
  end)

  it("may say nothing to notifications: they are not waited for longer than a request", function()
    local calm = connect("told=never")
    calm._session._config.timeout = 50
    assert.equal("TIMEOUT", select(2, calm._session:notify("notifications/roots/list_changed")).code)
    calm:close()
  end)

  for _, status in ipairs({ 200, 500 }) do
    it("may answer notifications as it likes: " .. status, function()
      local calm = connect("told=" .. status)
      assert.equal("x", text_of(calm:call("echo", { message = "x" })))
      calm:close()
    end)
  end

  for status, goes_on in pairs({ [405] = false, [500] = true }) do
    it("may have no stream of its own, or not now: " .. status, function()
      local calm, noted = connect("get=" .. status, { stream = true })
      local link = calm._session._link
      eventually(function()
        return noted("listened") and (goes_on or not link._listener)
      end)
      assert.equal(goes_on, link._listener ~= nil)
      assert.equal(1, noted("listened"))
      assert.equal("x", text_of(calm:call("echo", { message = "x" })))
      calm:close()
    end)
  end
end)
