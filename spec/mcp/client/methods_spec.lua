-- Requests to a server in this process; time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")
local raises = require("spec.support.raises")

describe("a client of an MCP server", function()
  before_each(function()
    hosts.use(fake_host.new(1000))
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function with(era, capabilities, methods, more, fn)
    local server = mcp_link.server(era, capabilities, methods)
    return operations.run(function()
      local client = assert(mcp_link.connect(server, more))
      fn(client, server.links[1], server)
      client:close()
    end)
  end

  local followed = { tools = { listChanged = true }, prompts = { listChanged = false },
    resources = operations.object() }

  it("completes arguments of prompts, resources and other references", function()
    with("legacy", nil, { ["completion/complete"] = function(params)
      return { completion = { values = { params.argument.value .. "!" }, hasMore = params.argument.name == "more" } }
    end }, nil, function(client, _, server)
      assert.same({ { "a!" }, false }, { client:complete("p", "x", "a") })
      assert.same({ { "!" }, true }, { client:complete("memo://{x}", "more") })
      assert.same({ { "b!" }, false }, { client:complete({ type = "other" }, "x", "b", { y = "z" }) })
      assert.same({
        { ref = { type = "ref/prompt", name = "p" }, argument = { name = "x", value = "a" } },
        { ref = { type = "ref/resource", uri = "memo://{x}" }, argument = { name = "more", value = "" } },
        { ref = { type = "other" }, argument = { name = "x", value = "b" }, context = { arguments = { y = "z" } } },
      }, mcp_link.params(server, "completion/complete"))
    end)
    with("legacy", nil, nil, nil, function(client)
      local values, err = client:complete("p", "x", "a")
      assert.is_nil(values)
      assert.equal("MCP_-32601", err.code)
    end)
  end)

  it("sets the level of the log by a request in the legacy era", function()
    with("legacy", nil, { ["logging/setLevel"] = function(params)
      if params.level == "info" then
        return operations.object()
      end
      return nil, { code = -32602, message = "no such level" }
    end }, nil, function(client, _, server)
      assert.is_true(client:set_log_level("info"))
      local ok, err = client:set_log_level("x")
      assert.is_nil(ok)
      assert.equal("logging/setLevel: no such level", err.message)
      assert.same({ { level = "info" }, { level = "x" } }, mcp_link.params(server, "logging/setLevel"))
    end)
  end)

  it("sets the configured level of a server that has a log, at each connection", function()
    for _, case in ipairs({ { { logging = operations.object() }, 1 }, { operations.object(), 0 } }) do
      with("legacy", case[1], { ["logging/setLevel"] = operations.object }, { log_level = "info" },
        function(_, _, server)
          assert.equal(case[2], #mcp_link.params(server, "logging/setLevel"))
        end)
    end
    with("legacy", { logging = operations.object() }, { ["logging/setLevel"] = function(_, link)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "session" }))
    end }, { log_level = "info", restart = true }, function(_, _, server)
      assert.equal(1, #server.links) -- a server that ends because of that is not started for it again
    end)
    with("legacy", { logging = operations.object() }, nil, nil, function(_, _, server)
      assert.equal(0, #mcp_link.params(server, "logging/setLevel"))
    end)
  end)

  it("follows resources by requests in the legacy era", function()
    local known = { ["resources/subscribe"] = operations.object, ["resources/unsubscribe"] = operations.object }
    with("legacy", nil, known, nil, function(client, link, server)
      local seen = {}
      for i = 1, 2 do
        assert.is_true(client:subscribe("memo://a", function(uri, params)
          seen[#seen + 1] = { i, uri, params.more }
        end))
      end
      assert.is_true(client:subscribe("memo://b", function() end))
      link:say({ method = "notifications/resources/updated", params = { uri = "memo://a", more = 1 } })
      link:say({ method = "notifications/resources/updated", params = { uri = "memo://c" } })
      assert.same({ { 2, "memo://a", 1 } }, seen)
      assert.is_true(client:unsubscribe("memo://a"))
      assert.is_true(client:unsubscribe("memo://a"))
      link:say({ method = "notifications/resources/updated", params = { uri = "memo://a" } })
      assert.equal(1, #seen)
      assert.same({ { uri = "memo://a" }, { uri = "memo://b" } }, mcp_link.params(server, "resources/subscribe"))
      assert.same({ { uri = "memo://a" } }, mcp_link.params(server, "resources/unsubscribe"))
      assert.same({}, mcp_link.params(server, "subscriptions/listen"))
      assert(client:restart())
      assert.same({ { uri = "memo://a" }, { uri = "memo://b" }, { uri = "memo://b" } },
        mcp_link.params(server, "resources/subscribe"))
    end)
    with("legacy", nil, nil, nil, function(client)
      local ok, err = client:subscribe("memo://a", function() end)
      assert.is_nil(ok)
      assert.equal("resources/subscribe: no resources/subscribe", err.message)
    end)
  end)

  it("listens in the modern era for what the server says that it tells, and for resources", function()
    with("modern", followed, { ["subscriptions/listen"] = false }, nil, function(client, _, server)
      operations.sleep(0.001)
      assert(client:subscribe("memo://b", function() end))
      operations.sleep(0.001)
      assert(client:subscribe("memo://a", function() end))
      operations.sleep(0.001)
      assert(client:unsubscribe("memo://b"))
      operations.sleep(0.001)
      local filters = {}
      for i, params in ipairs(mcp_link.params(server, "subscriptions/listen")) do
        filters[i] = params.notifications
      end
      assert.same({ { toolsListChanged = true },
        { toolsListChanged = true, resourceSubscriptions = { "memo://b" } },
        { toolsListChanged = true, resourceSubscriptions = { "memo://a", "memo://b" } },
        { toolsListChanged = true, resourceSubscriptions = { "memo://a" } } }, filters)
      assert.equal(3, #mcp_link.params(server, "notifications/cancelled")) -- one listens at a time
      client:close()
      operations.sleep(0.001)
      assert.equal(4, #mcp_link.params(server, "subscriptions/listen"))
      assert.same({}, mcp_link.params(server, "resources/subscribe"))
    end)
  end)

  it("does not listen where there is nothing to hear, or the program does not want it", function()
    for _, case in ipairs({ { { tools = operations.object() } }, { followed, { stream = false } },
      { followed, { version = "2026-07-28" } } }) do
      with("modern", case[1], { ["subscriptions/listen"] = false }, case[2], function(client, _, server)
        operations.sleep(0.001)
        assert.equal(0, #mcp_link.params(server, "subscriptions/listen"))
        client:unsubscribe("memo://a")
        operations.sleep(0.001)
        assert.equal(0, #mcp_link.params(server, "subscriptions/listen"))
      end)
    end
  end)

  it("listens again, and lists the tools again, when what it listened to ends, until that is too often", function()
    with("modern", followed, { ["subscriptions/listen"] = operations.object }, nil, function(_, _, server)
      operations.sleep(0.4)
      assert.equal(1, #mcp_link.params(server, "subscriptions/listen"))
      operations.sleep(0.8)
      assert.equal(2, #mcp_link.params(server, "subscriptions/listen"))
      assert.equal(2, #mcp_link.params(server, "tools/list"))
      operations.sleep(3600)
      assert.equal(limits.reconnects, #mcp_link.params(server, "subscriptions/listen"))
    end)
  end)

  it("does not wait to listen again when it is closed", function()
    with("modern", followed, { ["subscriptions/listen"] = operations.object }, nil, function(client)
      operations.sleep(0.4)
      client:close()
      operations.sleep(0.001)
      assert.equal(0, hosts.current().timers)
    end)
  end)

  it("counts from the beginning what listened for long", function()
    local count = 0
    with("modern", followed, { ["subscriptions/listen"] = function(_, link, value)
      count = count + 1
      if count == 5 then
        operations.spawn(function()
          operations.sleep(31)
          link:say({ id = value.id, result = operations.object() })
        end)
        return nil
      end
      return operations.object()
    end }, nil, function()
      operations.sleep(7200)
      assert.equal(4 + limits.reconnects, count)
    end)
  end)

  it("does not listen again where the server refuses it", function()
    with("modern", followed, nil, nil, function(_, _, server)
      operations.sleep(3600)
      assert.equal(1, #mcp_link.params(server, "subscriptions/listen"))
      assert.equal(1, #mcp_link.params(server, "tools/list"))
    end)
  end)

  it("tells of other roots in the legacy era, where it has any", function()
    for era, count in pairs({ legacy = 1, modern = 0 }) do
      with(era, nil, nil, { roots = {} }, function(client, link, server)
        assert.is_true(client:set_roots({ "file:///b" }))
        assert.equal(count, #mcp_link.params(server, "notifications/roots/list_changed"))
        link:say({ id = "r", method = "roots/list" })
        operations.sleep(0.001)
        local last = server.heard[#server.heard]
        if era == "legacy" then
          assert.same({ roots = { { uri = "file:///b" } } }, last.result)
        end
      end)
    end
    for _, config in ipairs({ {}, { roots = false } }) do
      with("legacy", nil, nil, config, function(client, link, server)
        assert.is_nil(mcp_link.params(server, "initialize")[1].capabilities.roots)
        link:say({ id = "r", method = "roots/list" })
        operations.sleep(0.001)
        assert.equal("the client has no roots/list", server.heard[#server.heard].error.message)
        assert.has_error(function() client:set_roots({}) end)
      end)
    end
    with("legacy", nil, nil, nil, function(client)
      raises({ ["config.roots was not given: the server does not know that there are roots"] = function()
        client:set_roots({})
      end }, "methods_spec")
    end)
  end)

  it("forgets lists that it keeps when the server says that they have changed", function()
    local function list(key)
      return function()
        return { [key] = operations.array(), ttlMs = 60000 }
      end
    end
    local methods = { ["tools/list"] = list("tools"), ["resources/list"] = list("resources"),
      ["resources/templates/list"] = list("resourceTemplates"), ["prompts/list"] = list("prompts"),
      ["resources/read"] = list("contents") }
    local by = { ["tools/list_changed"] = { "tools/list" }, ["prompts/list_changed"] = { "prompts/list" },
      ["resources/list_changed"] = { "resources/list", "resources/templates/list" },
      ["resources/updated"] = { "resources/read" } }
    for notification, forgotten in pairs(by) do
      with("modern", nil, methods, nil, function(client, link, server)
        local function ask()
          local counts = {}
          for method in pairs(methods) do
            assert(client:request(method))
            counts[method] = #mcp_link.params(server, method)
          end
          return counts
        end
        local before = ask()
        assert.same(before, ask())
        link:say({ method = "notifications/" .. notification, params = { uri = "memo://a" } })
        for _, method in ipairs(forgotten) do
          before[method] = before[method] + 1
        end
        assert.same(before, ask())
      end)
    end
  end)

  it("forgets lists that it keeps when it connects again", function()
    local methods = { ["resources/list"] = function()
      return { resources = operations.array(), ttlMs = 60000 }
    end, ["prompts/list"] = function()
      return { prompts = operations.array() }
    end }
    with("modern", nil, methods, { restart = true }, function(client, _, server)
      local function asked()
        for _ = 1, 2 do
          assert(client:request("resources/list"))
        end
        return #mcp_link.params(server, "resources/list")
      end
      assert.equal(1, asked())
      assert(client:restart())
      assert.equal(2, asked())
      server.links[#server.links]:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      assert(client:request("prompts/list"))
      assert.equal(3, asked())
    end)
  end)

  it("is asked with texts and functions", function()
    with("legacy", nil, nil, nil, function(client)
      raises({
        ["bad argument #2 to 'complete' (string expected, got nil)"] = function() client:complete("p") end,
        ["bad argument #1 to 'set_log_level' (string expected, got nil)"] = function() client:set_log_level() end,
        ["bad argument #1 to 'subscribe' (string expected, got nil)"] = function() client:subscribe() end,
        ["bad argument #2 to 'subscribe' (function expected, got nil)"] = function() client:subscribe("memo://a") end,
        ["bad argument #1 to 'unsubscribe' (string expected, got nil)"] = function() client:unsubscribe() end,
      })
    end)
  end)

  it("listens over the connection that there is only", function()
    with("modern", followed, { ["subscriptions/listen"] = false }, { restart = true }, function(_, link, server)
      operations.sleep(0.001)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      operations.sleep(3600)
      assert.equal(2, #server.links)
      assert.equal(2, #mcp_link.params(server, "subscriptions/listen"))
    end)
    with("modern", followed, { ["subscriptions/listen"] = function(_, link)
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "lost" }))
    end }, { restart = true }, function(_, _, server)
      operations.sleep(3600)
      assert.is_true(#server.links < 150) -- a server that ends because of that is started after pauses that grow
    end)
  end)

  it("hears what the server logs", function()
    local seen = {}
    with("legacy", nil, nil, { on_log = function(entry)
      seen[#seen + 1] = entry
    end }, function(_, link)
      link:say({ method = "notifications/message", params = { level = "info", data = "x" } })
    end)
    assert.same({ { level = "info", data = "x" } }, seen)
    with("legacy", nil, nil, nil, function(_, link)
      link:say({ method = "notifications/message", params = { level = "info", data = "x" } })
    end)
  end)
end)
