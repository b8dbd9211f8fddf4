-- What clients are told of changes; time passes in jumps.
local changes = require("operations.mcp.server.changes")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local operations = require("operations")

describe("the changes of an MCP server", function()
  local host, server, told, watched
  local peers = {}

  before_each(function()
    host, told, watched = fake_host.new(1000), {}, {}
    hosts.use(host)
    local function note(verb)
      return function(_, uri)
        watched[#watched + 1] = verb .. " " .. uri
      end
    end
    server = { providers = { {}, { watch = note("watch"), unwatch = note("unwatch") } } }
    server.changes = changes.new(server)
    server.changes.unfollow = function() end
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function peer(name)
    local made = { send = function(value)
      told[#told + 1] = name .. " " .. value.method .. (value.params and " " .. value.params.uri or "")
    end }
    server.changes:join(made)
    peers[#peers + 1] = made -- the server holds them weakly
    return made
  end

  -- Runs a method for a client; its result as text, or the failure's message.
  local function run(method, params, of)
    local call = { server = server, peer = of, params = params, method = method }
    local result, failure = changes.methods[method].run(call)
    return result and json.encode(result) or failure.message, failure
  end

  it("are reported to each client once, however many happen together", function()
    operations.run(function()
      server.changes:changed("tools") -- nobody hears it
      assert.equal(0, host.timers)
      local one = peer("one")
      peer("two")
      for _, kind in ipairs({ "resources", "tools", "tools" }) do
        server.changes:changed(kind)
      end
      operations.sleep(0.009)
      assert.same({}, told)
      operations.sleep(1)
      table.sort(told)
      assert.same({ "one notifications/resources/list_changed", "one notifications/tools/list_changed",
        "two notifications/resources/list_changed", "two notifications/tools/list_changed" }, told)
      told = {}
      server.changes:leave(one)
      server.changes:changed("prompts")
      operations.sleep(1)
      assert.same({ "two notifications/prompts/list_changed" }, told)
    end)
  end)

  it("of a resource are reported to its subscribers, in the legacy era", function()
    operations.run(function()
      local one, two = peer("one"), peer("two")
      for _, uri in ipairs({ "a", "a", "b" }) do
        assert.equal("{}", (run("resources/subscribe", { uri = uri }, one)))
      end
      assert.equal("{}", (run("resources/subscribe", { uri = "a" }, two)))
      assert.same({ "watch a", "watch b" }, watched)
      server.changes:updated("b")
      server.changes:updated("c")
      assert.same({ "one notifications/resources/updated b" }, told)
      for _ = 1, 2 do
        assert.equal("{}", (run("resources/unsubscribe", { uri = "a" }, one)))
      end
      assert.equal("{}", (run("resources/unsubscribe", { uri = "a" }, peer("three"))))
      told = {}
      server.changes:updated("a")
      assert.same({ "two notifications/resources/updated a" }, told)
      assert.equal(2, #watched)
      server.changes:leave(two)
      server.changes:leave(one)
      server.changes:leave(one) -- it watches nothing any more
      server.changes:leave(peer("none"))
      assert.same({ "unwatch a", "unwatch b" }, { watched[3], watched[4] })
      assert.equal(4, #watched)
    end)
  end)

  it("are subscribed to by text, and not without end", function()
    local one = peer("one")
    for _, method in ipairs({ "resources/subscribe", "resources/unsubscribe" }) do
      local text, failure = run(method, { uri = 7 }, one)
      assert.same({ method .. ": uri: string expected", -32602 }, { text, failure.code })
    end
    for i = 1, limits.mcp_watched do
      assert.equal("{}", (run("resources/subscribe", { uri = "u" .. i }, one)))
    end
    local text, failure = run("resources/subscribe", { uri = "more" }, one)
    assert.same({ ("resources/subscribe: at most %d"):format(limits.mcp_watched), -32603 }, { text, failure.code })
    assert.equal("{}", (run("resources/unsubscribe", { uri = "u1" }, one)))
    assert.equal("{}", (run("resources/subscribe", { uri = "more" }, one)))
  end)

  -- Listens as a client of the modern era; what it is sent, and the result, come in a list.
  local function listen(id, notifications)
    local heard = {}
    local call = { server = server, id = id, params = { notifications = notifications }, send = function(value)
      heard[#heard + 1] = value.method:gsub("^notifications/", "") .. " "
        .. json.encode(value.params, { sort_keys = true })
    end }
    local listening = operations.spawn(function()
      local result, failure = changes.methods["subscriptions/listen"].run(call)
      heard[#heard + 1] = result and json.encode(result) or failure
    end)
    operations.sleep(0.001)
    return heard, listening
  end

  local META = '"_meta":{"io.modelcontextprotocol/subscriptionId":%d}'

  it("are reported to the clients that listen for them, in the modern era", function()
    operations.run(function()
      local heard = listen(1, { toolsListChanged = true, promptsListChanged = false, other = true,
        resourceSubscriptions = operations.array({ "a", "b" }) })
      local lists = listen(2, { promptsListChanged = true, resourcesListChanged = true,
        resourceSubscriptions = operations.array() })
      assert.same({ "watch a", "watch b" }, watched[1] == "watch a" and watched or { watched[2], watched[1] })
      assert.same({ "subscriptions/acknowledged {" .. META:format(1)
        .. ',"notifications":{"resourceSubscriptions":["a","b"],"toolsListChanged":true}}' }, heard)
      assert.same({ "subscriptions/acknowledged {" .. META:format(2)
        .. ',"notifications":{"promptsListChanged":true,"resourcesListChanged":true}}' }, lists)
      for _, kind in ipairs({ "resources", "prompts", "tools" }) do
        server.changes:changed(kind)
      end
      server.changes:updated("a")
      server.changes:updated("c")
      operations.sleep(1)
      assert.same({ "resources/updated {" .. META:format(1) .. ',"uri":"a"}', "tools/list_changed {" .. META:format(1)
        .. "}" }, { heard[2], heard[3] })
      assert.same({ "prompts/list_changed {" .. META:format(2) .. "}", "resources/list_changed {" .. META:format(2)
        .. "}" }, { lists[2], lists[3] })
      server.changes:close()
      operations.sleep(0.001)
      assert.equal("{" .. META:format(1) .. "}", heard[4])
      assert.equal("{" .. META:format(2) .. "}", lists[4])
      assert.equal(4, #watched)
      server.changes:changed("tools")
      operations.sleep(1)
      assert.equal(4, #heard)
    end)
  end)

  it("are listened for no longer than the caller waits", function()
    operations.run(function()
      local heard, listening = listen(1, { toolsListChanged = true, resourceSubscriptions = operations.array({ "a" }) })
      listening:cancel("enough")
      assert.equal("ABORTED", select(2, listening:wait()).code)
      assert.same({ "watch a", "unwatch a" }, watched)
      server.changes:changed("tools")
      operations.sleep(1)
      assert.equal(1, #heard)
    end)
  end)

  it("are not listened for where nothing is wanted, or it is wanted in a wrong way", function()
    operations.run(function()
      for _, nothing in ipairs({ operations.object(), { toolsListChanged = 1 },
        { resourceSubscriptions = operations.null } }) do
        assert.same({ "subscriptions/acknowledged {" .. META:format(3) .. ',"notifications":{}}',
          "{" .. META:format(3) .. "}" }, (listen(3, nothing)))
      end
      local uris = operations.array()
      for i = 1, limits.mcp_watched do
        uris[i] = "u" .. i
      end
      assert.equal(1, #listen(4, { resourceSubscriptions = uris }))
      uris[#uris + 1] = "more"
      local many = ("resourceSubscriptions: at most %d strings expected"):format(limits.mcp_watched)
      for _, case in ipairs({ { 7, "object expected" }, { operations.array(), "object expected" },
        { { resourceSubscriptions = "a" }, many }, { { resourceSubscriptions = uris }, many },
        { { resourceSubscriptions = operations.array({ 7 }) }, "resourceSubscriptions: strings expected" } }) do
        assert.same({ { code = -32602, message = "subscriptions/listen: notifications: " .. case[2], status = 400 } },
          (listen(5, case[1])))
      end
      server.changes:close()
    end)
  end)
end)
