-- Sessions with a server in this process.
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local errors = require("operations.base.error")
local jumping_clock = require("spec.support.jumping_clock")
local mcp_link = require("spec.support.mcp_link")
local members = require("operations.base.members")
local operations = require("operations")
local usage = require("spec.support.usage")

local MODERN, LEGACY = "2026-07-28", "2025-11-25"

describe("a session with an MCP server", function()
  local logged

  before_each(function()
    logged = {}
  end)

  local function log(level, text, details)
    logged[#logged + 1] = { level, text, details }
  end

  -- Connects within a task; calls `fn(client, link, server)`.
  local function with(era, methods, more, fn, capabilities)
    local server = mcp_link.server(era, capabilities, methods)
    more = more or {}
    more.log = more.log or log
    return operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      fn(client, server.links[1], server)
      client:close()
    end)
  end

  it("logs a hundred invalid messages, then each time their number has doubled", function()
    with("legacy", nil, nil, function(client, link)
      for i = 1, 450 do
        link:take(i % 2 == 0 and { b = 1, e = 2, d = 3, f = 4, c = 5, a = i } or ("x"):rep(300))
      end
      assert.equal(102, #logged)
      assert.same({ "debug", "s: no message: a message is a JSON object", ("x"):rep(200) }, logged[1])
      assert.same({ "debug", "s: no message: it does not say that it is JSON-RPC 2.0",
        '{"a":100,"b":1,"c":5,"d":3,"e":2,"f":4}' }, logged[100])
      assert.same({ "debug", "s: no message: it does not say that it is JSON-RPC 2.0 (200 so far)",
        '{"a":200,"b":1,"c":5,"d":3,"e":2,"f":4}' }, logged[101])
      assert.equal("s: no message: it does not say that it is JSON-RPC 2.0 (400 so far)", logged[102][2])
      assert.equal(450, client._session.noise)
      link:take(7)
      assert.equal(102, #logged)
    end)
  end)

  it("logs numbers that became texts in the same measure", function()
    with("legacy", nil, nil, function(_, link)
      for _ = 1, 450 do
        link:take({ jsonrpc = "2.0", method = "x" }, nil, nil, "a number is text now")
      end
      assert.equal(102, #logged)
      assert.same({ "warn", "s: a number is text now" }, logged[1])
    end)
  end)

  it("shows the program all messages", function()
    local seen = {}
    with("legacy", nil, { on_message = function(way, what)
      seen[#seen + 1] = way .. " " .. (type(what) == "string" and what:match('"method":"([^"]*)"') or type(what))
    end }, function() end)
    assert.same({ "out server/discover", "in table", "out initialize", "in table", "out notifications/initialized",
      "out tools/list", "in table" }, seen)
  end)

  it("answers requests of a server of the legacy era, and logs those of the modern one", function()
    for _, era in ipairs({ "legacy", "modern" }) do
      with(era, nil, nil, function(_, link, server)
        link:say({ id = "a", method = "ping" })
        link:say({ id = "b", method = 7 })
        operations.sleep(0.01)
        local answered = {}
        for _, value in ipairs(server.heard) do
          if not value.method then
            answered[value.id] = value.error and value.error.code or "result"
          end
        end
        assert.same(era == "legacy" and { a = "result", b = -32600 } or {}, answered)
      end)
    end
    assert.same({ "warn", "s: a request from a server of the modern era: ping" }, logged[2])
  end)

  it("answers a server that asks during the handshake", function()
    with("legacy", { initialize = function(params, link)
      link:say({ id = "early", method = "ping" })
      operations.sleep(0.01)
      return { protocolVersion = params.protocolVersion, capabilities = operations.object() }
    end }, nil, function(_, _, server)
      local answers = 0
      for _, value in ipairs(server.heard) do
        answers = answers + (value.id == "early" and 1 or 0)
      end
      assert.equal(1, answers)
    end)
  end)

  it("interrupts the program's answers when the connection, or the server's session, is over", function()
    for _, finish in ipairs({ function(client) client:close() end, function(_, link)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
    end, function(client, link)
      link.expired = true
      assert(client:request("tools/list"))
    end }) do
      local outcome
      with("legacy", nil, { sampling = function()
        outcome = "running"
        local ok = pcall(operations.sleep, 60)
        outcome = ok and "done" or "interrupted"
        return {}
      end }, function(client, link)
        link:say({ id = 1, method = "sampling/createMessage", params = {} })
        operations.sleep(0.01)
        assert.equal("running", outcome)
        finish(client, link)
        operations.sleep(0.01)
        assert.equal("interrupted", outcome)
      end)
    end
  end)

  it("passes notifications on", function()
    local seen = {}
    with("modern", nil, nil, function(client, link)
      client:on_notification(function(method, params)
        seen[#seen + 1] = { method, params }
      end)
      link:say({ method = "notifications/x", params = { a = 1 } })
    end)
    assert.same({ { "notifications/x", { a = 1 } } }, seen)
  end)

  it("tells the server that the caller was cancelled", function()
    with("legacy", { wait = false }, nil, function(client, _, server)
      local asking = operations.spawn(function()
        return client:request("wait")
      end)
      operations.sleep(0.01)
      asking:cancel("enough")
      pcall(asking.wait, asking)
      assert.same({ { requestId = server.heard[#server.heard - 1].id, reason = "enough" } },
        mcp_link.params(server, "notifications/cancelled"))
    end)
  end)

  it("tells the server that a request is given up, and the caller that its time is over", function()
    with("legacy", { wait = false }, nil, function(client, _, server)
      local value, err = client:request("wait", nil, { timeout = 1 })
      assert.is_nil(value)
      assert.same({ "TIMEOUT", "wait: no answer in time", "wait", true }, { err.code, err.message, err.details.method,
        err.mayHaveRun })
      local id = server.heard[#server.heard - 1].id
      assert.same({ { requestId = id, reason = "no answer in time" } },
        mcp_link.params(server, "notifications/cancelled"))
    end)
  end)

  it("does not cancel the handshake", function()
    local server = mcp_link.server("legacy", nil, { initialize = false })
    local client, err = operations.run(mcp_link.connect, server, { era = "legacy", connect_timeout = 1, log = log })
    assert.is_nil(client)
    assert.same({ "TIMEOUT", "initialize: no answer in time" }, { err.code, err.message })
    assert.same({}, mcp_link.params(server, "notifications/cancelled"))
    assert.is_table(server.links[1].closed)
  end)

  it("has one time for the whole handshake, whatever its steps", function()
    for _, case in ipairs({
      { "initialize", command = "none", args = { "one time" } },
      { "initialize", command = "none", args = { "two times" }, probe_timeout = 600000 },
      { "server/discover", url = "http://127.0.0.1:1/mcp" },
    }) do
      local clock = jumping_clock.start()
      local began = clock.now
      local server = mcp_link.server("legacy", nil, { initialize = false, ["server/discover"] = false })
      local given = members.merged(case, { connect_timeout = 60000 })
      given[1] = nil
      given.log = log
      local ok, client, err = pcall(operations.run, clients.connect, "s", config.check("s", given),
        mcp_link.open(server))
      local took = clock.now - began
      clock.stop()
      assert.is_true(ok, tostring(client))
      assert.is_nil(client)
      assert.same({ "TIMEOUT", case[1] .. ": no answer in time", 60000 }, { err.code, err.message, took })
    end
  end)

  it("sends nothing after its end, and says why", function()
    with("legacy", nil, nil, function(client, link, server)
      client:close()
      assert.equal("the connection was closed", link.closed.message)
      local count = #server.heard
      for _, send in ipairs({ "request", "ping" }) do
        local value, err = client[send](client, "x")
        assert.is_nil(value)
        assert.same({ "ABORTED", "the client was closed", false }, { err.code, err.message, err.mayHaveRun })
      end
      assert.same({ count, 1 }, { #server.heard, #server.links })
    end)
  end)

  it("connects again after the server's end unless that was turned off", function()
    for _, restart in ipairs({ false, true }) do
      with("legacy", { x = function() return { n = 1 } end }, { restart = restart }, function(client, link, server)
        link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
        assert.equal("lost", client.state)
        assert.same({ "info", "s: lost: it ended" }, logged[#logged])
        local value, err = client:request("x")
        if restart then
          assert.same({ n = 1 }, value)
          assert.equal(2, #server.links)
        else
          assert.same({ "it ended", false, false }, { err.message, err.retryable, err.mayHaveRun })
          assert.equal(1, #server.links)
        end
      end)
    end
  end)

  it("fails with the reason why it cannot connect again", function()
    with("legacy", nil, { restart = true }, function(client, link, server)
      local states = {}
      client:on_state(function(state, err)
        states[#states + 1] = state .. (err and ": " .. err.message or "")
      end)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      function server.opens()
        return errors.new("EXECUTION_ERROR", "no such program", { kind = "command" })
      end
      assert.equal("s is not connected (lost): no such program", select(2, client:request("x")).message)
      assert.same({ "lost: it ended", "connecting", "lost: no such program" }, states)
      server.opens, server.methods.initialize = nil, function()
        return nil, { code = -32000, message = "not now" }
      end

      assert.matches("initialize: not now", select(2, client:request("x", nil, { timeout = 20 })).message)
      assert.is_table(server.links[2].closed)
      local restarted, err = client:restart()
      assert.is_nil(restarted)
      assert.equal("initialize: not now", err.message)
      assert.equal("retrying", client.state)
    end)
  end)

  it("is connected once for all callers", function()
    with("legacy", { x = function() return { n = 1 } end, ["logging/setLevel"] = operations.object },
      { restart = true, log_level = "info" }, function(client, link, server)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      assert.equal("it ended", select(2, client:request("x", nil, { attached = true })).message)
      assert.equal(1, #server.links)
      local results = operations.map({ 1, 2, 3 }, function()
        return assert(client:request("x")).n
      end)
      assert.same({ 1, 1, 1 }, results)
      assert.equal(2, #server.links)
      operations.sleep(0.1)
      assert.equal(2, #mcp_link.params(server, "tools/list")) -- of the first connection, and of the second
      assert.same({ { level = "info" }, { level = "info" } }, mcp_link.params(server, "logging/setLevel"))
    end, { tools = operations.object(), logging = operations.object() })
  end)

  it("is closed as soon as it is open where it was ended meanwhile", function()
    with("legacy", nil, { restart = true }, function(client, link, server)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      function server.opens()
        client:close()
      end
      local value, err = client:request("x")
      assert.is_nil(value)
      assert.same({ "ABORTED", false }, { err.code, err.mayHaveRun })
      assert.is_table(server.links[2].closed)
    end)
  end)

  it("takes the revision that a server of the modern era names instead", function()
    local refusals = 1
    with("modern", { x = function()
      refusals = refusals - 1
      if refusals >= 0 then
        return nil, { code = -32022, message = "no", data = { supported = { MODERN } } }
      end
      return { n = 1 }
    end }, nil, function(client, _, server)
      assert.same({ n = 1 }, client:request("x"))
      assert.equal(2, #mcp_link.params(server, "x"))
      assert.same({ "modern " .. MODERN, "modern " .. MODERN, "modern " .. MODERN }, server.spoken)
      refusals = 9
      assert.equal("MCP_-32022", select(2, client:request("x")).code)
      assert.equal(4, #mcp_link.params(server, "x"))
    end)
    refusals = 9
    with("legacy", { x = function()
      return nil, { code = -32022, message = "no", data = { supported = { MODERN } } }
    end }, nil, function(client, _, server)
      assert.equal("MCP_-32022", select(2, client:request("x")).code)
      assert.equal(1, #mcp_link.params(server, "x"))
    end)
  end)

  it("repeats a request once where the server's session is over, and what may be repeated where its answer was lost",
    function()
      for _, case in ipairs({ { "session", false, 2 }, { "lost", true, 2 }, { "lost", false, 1 }, { "closed", true, 1 }
        }) do
        with("legacy", { x = function(_, link)
          link.pending:fail(nil, errors.new("EXECUTION_ERROR", "gone", { kind = case[1] }))
        end }, nil, function(client, _, server)
          local _, err = client:request("x", nil, { repeatable = case[2] })
          assert.same({ "gone", case[3] }, { err.message, #mcp_link.params(server, "x") })
          assert.same({}, mcp_link.params(server, "notifications/cancelled"))
        end)
      end
    end)

  it("says in each request what level is logged, in the modern era", function()
    with("modern", { x = function() return { n = 1 } end }, { log_level = "info" }, function(client, _, server)
      assert(client:request("x"))
      assert.is_true(client:set_log_level("error"))
      assert(client:request("x"))
      local levels = {}
      for i, params in ipairs(mcp_link.params(server, "x")) do
        levels[i] = params._meta["io.modelcontextprotocol/logLevel"]
      end
      assert.same({ "info", "error" }, levels)
      assert.same({}, mcp_link.params(server, "logging/setLevel"))
    end)
  end)

  it("knows the server as it describes itself", function()
    local info = { name = "n", version = "1" }
    for _, case in ipairs({ { "instructions", "do", "do" }, { "instructions", 7 } }) do
      local server = mcp_link.server("legacy", nil, { initialize = function()
        return { protocolVersion = LEGACY, capabilities = { tools = operations.object() }, serverInfo = info,
          [case[1]] = case[2] }
      end })
      operations.run(function()
        local client = assert(mcp_link.connect(server))
        assert.same({ info, LEGACY, case[3] }, { client.server, client.version, client.instructions })
        assert.same({ true, false }, { client:has("tools"), client:has("prompts") })
        client:close()
      end)
    end
    local server = mcp_link.server("modern")
    operations.run(function()
      local client = assert(mcp_link.connect(server, { version = MODERN })) -- which asks nothing
      assert.is_true(client:has("prompts"))
      client:close()
    end)
  end)

  it("names the client", function()
    for _, given in ipairs({ false, { name = "c", version = "2" } }) do
      with("legacy", nil, { client = given or nil }, function(_, _, server)
        local named = mcp_link.params(server, "initialize")[1].clientInfo
        assert.same(given or { "operations" }, given and named or { named.name })
        assert.equal("2026-07-28", mcp_link.params(server, "server/discover")[1]._meta[
          "io.modelcontextprotocol/protocolVersion"])
      end)
    end
  end)

  it("tells its connection the era and revision, and when the handshake is over", function()
    with("legacy", nil, nil, function(_, link, server)
      assert.same({ "modern " .. MODERN, "legacy", "legacy " .. LEGACY }, server.spoken)
      assert.is_true(link.is_started)
    end)
    with("modern", nil, nil, function(_, link, server)
      assert.same({ "modern " .. MODERN, "modern " .. MODERN }, server.spoken)
      assert.is_nil(link.is_started)
    end)
  end)

  it("continues where the server does not accept the end of the handshake", function()
    local server = mcp_link.server("legacy")
    server.refusal = errors.new("HTTP_400", "what?")
    operations.run(function()
      local client = assert(mcp_link.connect(server, { log = log }))
      assert.same({ "warn", "s: notifications/initialized was not accepted: what?" }, logged[1])
      client:close()
    end)
  end)

  it("speaks the oldest transport where the server is known to", function()
    local server = mcp_link.server("legacy")
    local given = mcp_link.config({ verdict = "events" })
    local function connect()
      return require("operations.mcp.client.client").connect("s", given, mcp_link.open(server))
    end
    operations.run(function()
      assert(connect()):close()
      assert.same({ false, "events" }, server.kinds)
      assert.same({ 1, true }, { server.links[1].ends, server.links[2].is_started })
      function server.opens()
        return #server.kinds == 4 and errors.new("EXECUTION_ERROR", "not reached") or nil
      end
      assert.equal("not reached", select(2, connect()).message)
    end)
  end)

  it("remembers that a connection is of the oldest transport", function()
    local server, given = mcp_link.server("legacy"), mcp_link.config()
    operations.run(function()
      local client = require("operations.mcp.client.client")
      local open = mcp_link.open(server)
      local function of_events(...)
        local link = open(...)
        link.verdict = "events"
        return link
      end
      for _ = 1, 2 do
        assert(client.connect("s", given, of_events)):close()
      end
    end)
    assert.same({ false, false, "events" }, server.kinds)
  end)

  it("remembers the era of a server", function()
    local server = mcp_link.server("legacy")
    operations.run(function()
      local given = mcp_link.config()
      for count = 1, 2 do
        local client = assert(require("operations.mcp.client.client").connect("s", given, mcp_link.open(server)))
        client:close()
        assert.equal(1, #mcp_link.params(server, "server/discover"))
        assert.equal(count, #mcp_link.params(server, "initialize"))
      end
      assert(mcp_link.connect(server)):close() -- another one
      assert.equal(2, #mcp_link.params(server, "server/discover"))
    end)
  end)

  it("takes an unusable answer of the handshake as its failure", function()
    local server = mcp_link.server("legacy", nil, { initialize = function()
      return { capabilities = {} }
    end })
    local client, err = operations.run(mcp_link.connect, server, { era = "legacy" })
    assert.is_nil(client)
    assert.matches("^initialize: malformed result: /protocolVersion: ", err.message)
  end)

  it("starts a server again that ended over the question of the modern era", function()
    local server = mcp_link.server("legacy", nil, { ["server/discover"] = function(_, link)
      link:lost(errors.new("EXECUTION_ERROR", "what?", { kind = "closed" }))
    end })
    operations.run(function()
      assert(mcp_link.connect(server)):close()
      assert.same({ 2, 1 }, { #server.links, server.links[1].ends })
      function server.opens()
        return #server.links == 3 and errors.new("EXECUTION_ERROR", "it does not start again") or nil
      end
      local client, err = mcp_link.connect(server)
      assert.is_nil(client)
      assert.equal("it does not start again", err.message)
    end)
  end)

  it("asks on, over the same connection, a server that cannot be understood", function()
    local server = mcp_link.server("legacy", nil, { ["server/discover"] = function(_, link)
      link.pending:fail(nil, errors.new("EXECUTION_ERROR", "what?", { kind = "malformed" }))
    end })
    operations.run(function()
      assert(mcp_link.connect(server)):close()
    end)
    assert.equal(1, #server.links)
  end)

  it("sends notifications while it is connected", function()
    with("legacy", nil, { roots = {} }, function(client, _, server)
      assert.is_true(client:set_roots({ "file:///a" }))
      assert.equal(1, #mcp_link.params(server, "notifications/roots/list_changed"))
      client:close()
      local ok, err = client:set_roots({})
      assert.is_nil(ok)
      assert.equal("ABORTED", err.code)
      assert.equal(1, #mcp_link.params(server, "notifications/roots/list_changed"))
    end)
  end)

  it("does not keep a client alive", function()
    local server, found = mcp_link.server("legacy"), setmetatable({}, { __mode = "v" })
    operations.run(function()
      found.client = assert(mcp_link.connect(server))
    end)
    usage.collect()
    assert.is_nil(found.client)
    server.links[1]:say({ id = 1, method = "ping" })
    server.links[1]:say({ method = "notifications/tools/list_changed" })
    server.links[1]:take(7)
  end)
end)
