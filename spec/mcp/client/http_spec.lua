local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local test_server = require("spec.support.server")

local from_mcp = operations.from_mcp

describe("an MCP server over HTTP", function()
  local server
  local clients, last = {}, 0

  lazy_setup(function()
    server = test_server.start({ directives = "lua_check_client_abort on;" })
  end)

  lazy_teardown(function()
    server:stop()
  end)

  after_each(function()
    for _, client in ipairs(clients) do
      client:close()
    end
    clients = {}
  end)

  -- Connects to a server of its own; gives the client, and what hears the requests since asked last.
  local function connect(query, more)
    last = last + 1
    local key = "k" .. last
    local config = members.merged({
      url = ("%s/mcp/%s?%s"):format(server.url, key, query), log = function() end, timeout = 5000,
    }, more)
    local client, err = from_mcp.connect("spec", config)
    clients[#clients + 1] = client
    return client, function(what)
      local found = {}
      for _, heard in ipairs(json.decode(operations.http.request({ url = server.url .. "/mcp/heard/" .. key }).body)) do
        local body = json.decode(heard.body or "null")
        heard.body = type(body) == "table" and body or nil
        if not what or heard.method == what or heard.body and heard.body.method == what then
          found[#found + 1] = heard
        end
      end
      return found
    end, err
  end

  local function text_of(envelope, err)
    return assert(envelope, err).data[1].text
  end

  for _, reply in ipairs({ "json", "sse" }) do
    for _, era in ipairs({ "legacy", "modern" }) do
      it(("of the %s era is called, and answers in %s"):format(era, reply), function()
        local client = assert(connect(("era=%s&reply=%s"):format(era, reply)))
        assert.equal(era == "modern" and "2026-07-28" or "2025-11-25", client.version)
        assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
        assert.same({ "a", "b", "c" }, assert(operations.map({ "a", "b", "c" }, function(text)
          return text_of(client:call("echo", { message = text }))
        end)))
      end)
    end
  end

  it("may answer with numbers that no runtime has: they are text, and a warning is logged", function()
    for _, reply in ipairs({ "json", "sse" }) do
      local logged = {}
      local client = assert(connect("era=legacy&reply=" .. reply, {
        log = function(level, text)
          logged[#logged + 1] = level .. " " .. text
        end,
      }))
      assert.equal("1e400", assert(client:call("huge")).data)
      assert.matches("warn spec: a number is out of range and was read as text", table.concat(logged, "\n"), 1, true)
    end
  end)

  it("hears the configuration's headers as they are when it is asked", function()
    local headers = { ["X-Mine"] = "1" }
    local client, hear = connect("era=legacy", { headers = headers })
    assert(client:call("echo", { message = "x" }))
    headers["X-Mine"], headers["X-More"] = "2", "y"
    assert(client:call("echo", { message = "x" }))
    headers["X-More"] = nil
    assert(client:call("echo", { message = "x" }))
    local mine, more = {}, {}
    for i, heard in ipairs(hear("tools/call")) do
      mine[i], more[i] = heard.headers["x-mine"], heard.headers["x-more"] or ""
    end
    assert.same({ "1", "2", "2" }, mine)
    assert.same({ "", "y", "" }, more)
  end)

  it("hears the session and the revision in every request, and its end", function()
    local client, hear = connect("session=yes", { headers = { ["X-Mine"] = "1" } })
    assert(client:call("echo", { message = "x" }))
    client:close()
    local all = hear()
    for _, heard in ipairs(all) do
      local method = heard.body and heard.body.method
      assert.equal("1", heard.headers["x-mine"])
      if method ~= "server/discover" and method ~= "initialize" then
        assert.equal("session-1", heard.headers["mcp-session-id"])
        assert.equal("2025-11-25", heard.headers["mcp-protocol-version"])
      else
        assert.is_nil(heard.headers["mcp-session-id"])
      end
    end
    assert.equal("DELETE", all[#all].method)
  end)

  it("of the modern era is reached when it only refuses the handshake, and asked nothing of that again", function()
    local client, hear, err = connect("era=modern&discover=no")
    assert(client, err)
    assert.equal("2026-07-28", client.version)
    assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
    local methods = {}
    for i, heard in ipairs(hear("POST")) do
      methods[i] = heard.body.method
      assert.is_nil(heard.headers["mcp-session-id"])
    end
    assert.same({ "server/discover", "initialize", "tools/list" }, { methods[1], methods[2], methods[3] })
    assert.equal("tools/call", methods[#methods])
  end)

  it("of the modern era hears everything in each request, and no handshake when that is pinned", function()
    local client, hear = connect("era=modern", { version = "2026-07-28" })
    assert(client:call("echo", { message = "x" }))
    local heard = hear()
    assert.equal("tools/list", heard[1].body.method)
    local call = hear("x")[1] or heard[#heard]
    assert.equal("tools/call", call.headers["mcp-method"])
    assert.equal("echo", call.headers["mcp-name"])
    assert.equal("2026-07-28", call.headers["mcp-protocol-version"])
    local meta = call.body.params._meta
    assert.equal("2026-07-28", meta["io.modelcontextprotocol/protocolVersion"])
    assert.same({ extensions = { ["io.modelcontextprotocol/tasks"] = {} } },
      meta["io.modelcontextprotocol/clientCapabilities"])
    assert.equal("operations", meta["io.modelcontextprotocol/clientInfo"].name)
  end)

  it("that has forgotten the session gets one new handshake for all calls", function()
    local client, hear = connect("session=yes")
    hear()
    local _, err = client:call("gone")
    assert.equal("session", err.details.kind)
    assert.same({ "a", "b" }, assert(operations.map({ "a", "b" }, function(text)
      return text_of(client:call("echo", { message = text }))
    end)))
    assert.is_true(#hear("initialize") <= 3) -- for "gone", for the list that is read again, for what came after
  end)

  it("that has forgotten the session is sent the subscriptions again once, for any number of callers", function()
    local client, hear = connect("session=yes&stream=no")
    assert(client:subscribe("memo://a", function() end))
    hear()
    client:call("gone") -- two sessions end
    assert(operations.map({ "a", "b", "c", "d" }, function(text)
      return text_of(client:call("echo", { message = text }))
    end))
    local counts = {}
    for _, heard in ipairs(hear()) do
      local method = heard.body and heard.body.method or heard.method
      counts[method] = (counts[method] or 0) + 1
    end
    assert.equal(2, counts.initialize)
    assert.equal(2, counts["resources/subscribe"])
  end)

  it("may ask while a call is pending", function()
    local asked
    local client = connect("", { elicitation = function(params)
      asked = params.message
      return { action = "accept", content = {} }
    end })
    assert.equal('{"action":"accept","content":{"name":"Ada"}}',
      json.encode(json.decode(text_of(client:call("ask"))), { sort_keys = true }))
    assert.equal("?", asked)
  end)

  it("may ask for input in its result, and gets its state back as it was", function()
    local client = connect("era=modern", { elicitation = function()
      return { action = "accept", content = { name = "Grace" } }
    end })
    assert.equal("s\226\130\172=Grace", text_of(client:call("input")))
  end)

  it("of the modern era asks for nothing by requests: those are logged, and not answered", function()
    local logged, asked = {}, false
    local client, hear = connect("era=modern", {
      elicitation = function()
        asked = true
        return { action = "decline" }
      end,
      log = function(level, message)
        logged[#logged + 1] = level .. " " .. message
      end,
    })
    hear()
    assert.equal("done", text_of(client:call("demand")))
    assert.equal("still", text_of(client:call("echo", { message = "still" })))
    assert.is_false(asked)
    assert.matches("warn spec: a request from a server of the modern era: elicitation/create",
      table.concat(logged, "\n"), 1, true)
    for _, heard in ipairs(hear("POST")) do
      assert.is_string(heard.body.method)
    end
  end)

  it("that lets a stream break off is asked for the rest, with the last event's id", function()
    local client, hear = connect("", { stream = false })
    assert.equal("resumed", text_of(client:call("resume")))
    assert.equal("e-1", hear("GET")[1].headers["last-event-id"])
  end)

  it("that loses an answer fails the call at once; read-only calls are sent again", function()
    local client, hear = connect("", { stream = false })
    local _, err = client:call("drop")
    assert.equal("lost", err.details.kind)
    assert.equal(2, #hear("tools/call"))
    _, err = client:request("tools/call", { name = "drop" })
    assert.equal("lost", err.details.kind)
    assert.equal(1, #hear("tools/call"))
  end)

  it("that will not have a stream taken up again has lost the answer", function()
    local client = connect("once=yes", { stream = false })
    local _, err = client:call("resume")
    assert.equal("lost", err.details.kind)
  end)

  for name, expected in pairs({
    accepted = { "protocol", "status 202" }, html = { "protocol", "text/html.*Log in" },
    unreadable = { "malformed", "malformed response" }, foreign = { "redirect", "another origin" },
  }) do
    it("fails a call at once that it answers wrongly: " .. name, function()
      local client = connect("")
      local _, err = client:call(name)
      assert.equal(expected[1], err.details.kind)
      assert.matches(expected[2], err.message)
    end)
  end

  it("may move within its origin", function()
    local client = connect("a=b")
    assert.equal("here", text_of(client:call("elsewhere")))
  end)

  for _, query in ipairs({ "era=modern", "era=legacy&session=yes" }) do
    it("is connected to again by restart: " .. query, function()
      local client = connect(query)
      local registry, states = operations.registry(), {}
      assert(client:register(registry))
      client:on_state(function(state)
        states[#states + 1] = state
      end)
      assert(client:restart())
      assert.equal("again", text_of(registry:execute(client.operations[1].namespace .. ".echo", { message = "again" })))
      client:close()
      assert.equal("ABORTED", select(2, client:call("echo", { message = "x" })).code)
      assert(client:restart())
      assert.equal("more", text_of(client:call("echo", { message = "more" })))
      assert.same({ "connecting", "connected", "stopped", "connecting", "connected" }, states)
    end)
  end

  it("has its JSON-RPC errors told, whatever the status", function()
    local client = connect("")
    local _, err = client:call("refused")
    assert.equal("MCP_-32602", err.code)
    assert.equal(400, err.details.statusCode)
    assert.same({ a = 1 }, err.details.data)
    assert.same({ false, false }, { err.retryable, err.mayHaveRun })
  end)

  it("may send foreign messages before and after the answer", function()
    local client, progress = connect(""), nil
    assert.equal("mine", text_of(client:call("twice", {}, { on_progress = function(params)
      progress = params.progress
    end })))
    assert.equal(1, progress)
    assert.equal("still", text_of(client:call("echo", { message = "still" })))
  end)

  it("is given up in time, and told so in the legacy era", function()
    local client, hear = connect("")
    hear()
    local _, err = client:call("slow", {}, { timeout = 50 })
    assert.equal("TIMEOUT", err.code)
    assert.same({ true, true }, { err.retryable, err.mayHaveRun })
    local bodies = {}
    eventually(function()
      for _, heard in ipairs(hear()) do
        bodies[heard.body and heard.body.method or heard.method] = heard.body
      end
      return bodies["notifications/cancelled"]
    end)
    assert.equal(bodies["tools/call"].id, bodies["notifications/cancelled"].params.requestId)
  end)

  for _, query in ipairs({ "era=legacy&stream=yes", "era=modern&ttl=60000" }) do
    it("is followed when its list changes: " .. query, function()
      local client, hear = connect(query)
      local changes
      client:on_change(function(found)
        changes = found
      end)
      assert(client:call("changed"))
      eventually(function()
        return changes
      end)
      assert.equal("grown", changes.added[1].name)
      local asked = hear("subscriptions/listen")[1]
      assert.same(query:find("modern") and { toolsListChanged = true } or nil,
        asked and asked.body.params.notifications)
    end)
  end

  it("is asked for a list once as long as that is fresh", function()
    local client, hear = connect("era=modern&ttl=60000", { stream = false })
    local list = assert(client:request("tools/list")).tools
    list[1].name = "changed by whoever has it"
    assert.not_equal(list[1].name, assert(client:request("tools/list")).tools[1].name)
    assert.equal(1, #hear("tools/list"))
    client, hear = connect("era=modern", { stream = false })
    assert(client:request("tools/list"))
    assert.equal(2, #hear("tools/list"))
  end)

  it("is asked again for a list that changed while it was on its way, however long that says it is fresh", function()
    local client, hear = connect("era=modern", { stream = false })
    for _ = 1, 2 do
      assert.equal("p", assert(client:request("prompts/list")).prompts[1].name)
    end
    assert.equal(2, #hear("prompts/list"))
  end)

  it("is asked again for what took input to get, however long that says it is fresh", function()
    local asked = 0
    local client = connect("era=modern&ttl=60000", { elicitation = function()
      asked = asked + 1
      return { action = "accept", content = { name = "Ada" } }
    end })
    for count = 1, 2 do
      assert.equal("Ada", assert(client:request("resources/read", { uri = "memo://a" })).contents[1].text)
      assert.equal(count, asked)
    end
  end)

  it("is asked for its list again when it says that a header is wrong", function()
    local client, hear = connect("era=modern", { stream = false })
    assert.equal("right", text_of(client:call("mismatch")))
    assert.equal(2, #hear("tools/list"))
  end)

  it("gets its credentials from an object, and may ask for better ones", function()
    local asked = {}
    local auth = { token = 1 }
    function auth:headers(url)
      asked[#asked + 1] = url
      return { Authorization = "Bearer " .. self.token }
    end
    function auth:challenged(response)
      asked.status = response.status
      self.token = self.token + 1
      return true
    end
    local client, hear = connect("", { auth = auth })
    assert(client:call("echo", { message = "x" }))
    assert.equal("Bearer 1", hear()[1].headers.authorization)
    assert.is_nil(asked.status)
  end)

  it("may speak the transport of 2024-11-05", function()
    last = last + 1
    local client = assert(from_mcp.connect("old", {
      url = ("%s/mcp/sse/k%d"):format(server.url, last), verdict = "events", log = function() end,
    }))
    clients[1] = client
    assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
  end)

  it("of the transport of 2024-11-05 may ask in one breath with saying where to", function()
    local client, hear = connect("", { url = ("%s/mcp/sse/k%d?early=yes"):format(server.url, last + 1),
      verdict = "events" })
    assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
    local answered
    eventually(function()
      for _, heard in ipairs(hear("POST")) do
        answered = answered or heard.body.id == "early" and heard.body
      end
      return answered
    end)
    assert.same({}, answered.result)
  end)

  it("may have an IPv6 address", function()
    local interfaces = io.open("/proc/net/if_inet6")
    if not (interfaces and interfaces:read("*a"):find("^0+1 ") ) then
      pending("no IPv6 on this machine")
    end
    interfaces:close()
    local port = free_port()
    local other = test_server.start({ directives = ("listen [::1]:%d;"):format(port) })
    local client = assert(from_mcp.connect("six", { url = ("http://[::1]:%d/mcp/k1"):format(port), stream = false }))
    assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
    client:close()
    other:stop()
  end)

  for _, case in ipairs({
    { path = "", query = "era=legacy&session=yes&held=yes" }, { path = "", query = "era=modern&held=yes" },
    { path = "sse/", query = "held=yes", verdict = "events", quiet = true },
  }) do
    it("sees its stream end when a client that was never closed is collected: " .. case.path .. case.query, function()
      local told, hear = case.quiet, nil
      local function use()
        local client
        local function refer() -- never called: LuaJIT's traces hold what was called when they were recorded
          return client
        end
        client, hear = connect("", {
          url = ("%s/mcp/%sk%d?%s"):format(server.url, case.path, last + 1, case.query), verdict = case.verdict,
          sampling = refer, roots = refer, on_progress = refer, elicitation = { url = refer },
          on_log = function()
            told = true
          end,
        })
        clients = {}
        assert.equal("hi", text_of(client:call("echo", { message = "hi" })))
        eventually(function()
          return told
        end)
        assert.is_true(client:has("tools")) -- held until here
      end
      use()
      eventually(function()
        collectgarbage()
        return hear("END")[1]
      end)
    end)
  end

  it("keeps listening to a client that is still referenced, whatever is collected", function()
    local told = 0
    local client = connect("era=legacy&stream=yes")
    client:on_change(function()
      told = told + 1
    end)
    collectgarbage()
    collectgarbage()
    assert(client:call("changed"))
    eventually(function()
      return told == 1
    end)
  end)

  it("takes no user in its URL, and its password is not told", function()
    local client, _, err = connect("", { url = server.url:gsub("//", "//ada:secret@") .. "/mcp/k0" })
    assert.is_nil(client)
    assert.matches("the URL contains a user name or password", err.message, 1, true)
    assert.is_nil((err.message .. json.encode(err.details)):find("secret", 1, true))
  end)

  it("may open the stream of 2024-11-05, and never say where to", function()
    local client, err = from_mcp.connect("spec", { url = server.url .. "/mcp/silent/k0", verdict = "events",
      connect_timeout = 50 })
    assert.is_nil(client)
    assert.equal("TIMEOUT", err.code)
  end)

  it("that does not speak MCP is the client's error", function()
    local client, err = from_mcp.connect("spec", { url = server.url .. "/status/404" })
    assert.is_nil(client)
    assert.equal("HTTP_404", err.code)
  end)

  it("out of reach is the client's error", function()
    for _, verdict in ipairs({ "legacy", "modern", "events" }) do
      local client, _, err = connect("", { url = "http://127.0.0.1:" .. free_port() .. "/mcp", verdict = verdict })
      assert.is_nil(client)
      assert.equal("connect", err.details.kind)
    end
  end)
end)
