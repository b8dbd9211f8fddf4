-- Lists of a server in this process; time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local ids = require("spec.support.ids")
local limits = require("operations.base.limits")
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")
local raises = require("spec.support.raises")

describe("the list of an MCP server", function()
  local logged, host

  before_each(function()
    host, logged = fake_host.new(1000), {}
    hosts.use(host)
  end)

  after_each(function()
    hosts.use("plain")
  end)

  local function tools(...)
    local list = operations.array()
    for i, name in ipairs({ ... }) do
      list[i] = { name = name, inputSchema = operations.object() }
    end
    return { tools = list }
  end

  -- Calls fn(client, link, server) with a client of a server whose tools are those of `listed()`.
  local function with(listed, more, fn, capabilities)
    local server = mcp_link.server("modern", capabilities, { ["tools/list"] = listed,
      ["subscriptions/listen"] = false })
    local config = { log = function(level, text)
      logged[#logged + 1] = level .. " " .. text
    end }
    for key, value in pairs(more or {}) do
      config[key] = value
    end
    return operations.run(function()
      local client = assert(mcp_link.connect(server, config))
      fn(client, server.links[1], server)
      client:close()
    end)
  end

  local function names(client)
    local list = {}
    for i, definition in ipairs(client.operations) do
      list[i] = definition.name
    end
    return list
  end

  it("comes in pages: any text is a cursor, none or null is the end", function()
    for _, last in ipairs({ false, operations.null }) do
      local cursors = {}
      with(function(params)
        cursors[#cursors + 1] = params.cursor or "none"
        local page = tools("t" .. #cursors)
        page.nextCursor = ({ "", "x" })[#cursors] or last or nil
        return page
      end, nil, function(client)
        assert.same({ "t1", "t2", "t3" }, names(client))
        assert.same({ "none", "", "x" }, cursors)
      end)
    end
    assert.same({}, logged)
  end)

  it("is read no further where a page leads back, or there are too many", function()
    with(function(params)
      local page = tools("t" .. (params.cursor or ""))
      page.nextCursor = params.cursor == "1" and "2" or "1"
      return page
    end, nil, function(client, _, server)
      assert.equal(3, #mcp_link.params(server, "tools/list"))
      assert.same({ "t", "t1", "t2" }, names(client))
    end)
    assert.same({ "warn s: tools/list: the list repeats itself: the cursor of one page leads back to it" }, logged)
    logged = {}
    local count = 0
    with(function()
      count = count + 1
      local page = tools("t" .. count)
      page.nextCursor = tostring(count)
      return page
    end, nil, function(client)
      assert.equal(limits.mcp_pages, #client.operations)
    end)
    assert.same({ ("warn s: tools/list: the list has more than %d pages"):format(limits.mcp_pages) }, logged)
  end)

  it("is read no further than its bytes and its items may take memory", function()
    for _, case in ipairs({ { 5, ("x"):rep(4 * 1024 * 1024) }, { 3, "", 100000 } }) do
      logged = {}
      local count = 0
      with(function()
        count = count + 1
        local page = tools("t" .. count)
        page.tools[1].description = case[2]
        for i = 2, case[3] or 1 do
          page.tools[i] = page.tools[1]
        end
        page.nextCursor = tostring(count)
        return page
      end, { exclude = function()
        return true
      end }, function()
        assert.is_true(count < case[1], count)
      end)
      assert.same({ ("warn s: tools/list: the list is larger than %d bytes"):format(limits.mcp_list) },
        { logged[#logged] and logged[1] })
    end
  end)

  it("is empty where the server does not know the method, and not asked for where it has no tools", function()
    with(function()
      return nil, { code = -32601, message = "no" }
    end, nil, function(client)
      assert.same({}, client.operations)
    end)
    with(function()
      return tools("t")
    end, nil, function(client, _, server)
      assert.same({}, client.operations)
      assert.same({}, mcp_link.params(server, "tools/list"))
    end, { logging = operations.object() })
  end)

  it("fails otherwise, and the connection with it", function()
    local server = mcp_link.server("modern", nil, { ["tools/list"] = function()
      return nil, { code = -32000, message = "no" }
    end })
    local client, err = operations.run(mcp_link.connect, server)
    assert.is_nil(client)
    assert.equal("tools/list: no", err.message)
    assert.is_table(server.links[1].closed)
  end)

  it("keeps a tool that has the name of an operation of ours, which is left out then", function()
    with(function()
      return tools("resources.list")
    end, nil, function(client)
      assert.same({ "resources.list", "resources.templates", "resources.read" }, names(client))
      assert.equal("resources.list", client.operations[1]._meta.tool)
      assert.same({ { name = "resources.list", message = "a tool has the name of an operation of ours" } },
        client.problems)
    end, { tools = operations.object(), resources = operations.object() })
  end)

  it("tells of tools that cannot be used", function()
    with(function()
      return { tools = { { name = "a", inputSchema = 7 }, 7, { name = "" }, { name = 7 } } }
    end, nil, function(client)
      assert.same({ { name = "a", message = "inputSchema is not a JSON Schema object" },
        { name = "tools/list[2]", message = "a tool is an object" }, { name = "", message = "a tool has a name" },
        { name = "tools/list[4]", message = "a tool has a name" } }, client.problems)
      assert.equal("warn s: tool a: inputSchema is not a JSON Schema object", logged[1])
      assert.equal(4, #logged)
    end)
  end)

  it("is fetched again when the server says that it has changed, and changes are reported", function()
    local listed = tools("a", "b")
    with(function() return listed end, nil, function(client, link)
      local registry, changes = operations.registry(), {}
      assert.same({ "s.a", "s.b" }, client:register(registry))
      assert.is_nil((client:register(registry))) -- it has them already
      client:on_change(function(change)
        changes[#changes + 1] = ("+%d -%d ~%d"):format(#change.added, #change.removed, #change.changed)
      end)
      listed = tools("b", "c", "d")
      listed.tools[1].description = "new"
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.same({ "+2 -1 ~1" }, changes)
      assert.same({ "s.b", "s.c", "s.d" }, ids(registry))
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.equal(1, #changes)
      local timers = host.timers
      listed = tools("b", "c")
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.equal("+0 -1 ~1", changes[2])
      assert.equal(timers, host.timers)
      assert.same({ added = {}, removed = {}, changed = {} }, client:refresh())
      client:close()
      assert.same({}, ids(registry))
      assert.same({}, logged)
    end)
  end)

  it("is fetched again once for many changes, with a pause that doubles", function()
    with(function(_, link)
      link:say({ method = "notifications/tools/list_changed" })
      return tools()
    end, nil, function(_, _, server)
      local counts = {}
      for i, seconds in ipairs({ 0.01, 0.05, 0.1, 0.2, 0.4 }) do
        operations.sleep(seconds)
        counts[i] = #mcp_link.params(server, "tools/list")
      end
      assert.same({ 2, 3, 4, 5, 6 }, counts)
      operations.sleep(3600)
      assert.is_true(#mcp_link.params(server, "tools/list") < 140) -- every 30 s at last
      assert.is_true(#mcp_link.params(server, "tools/list") > 120)
    end)
  end)

  it("stays as it was where it cannot be read again, until it changes again", function()
    local listed, failure = tools("a"), nil
    with(function()
      return not failure and listed or nil, failure
    end, nil, function(client, link)
      failure = { code = -32000, message = "not now" }
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.same({ "a" }, names(client))
      assert.same({ "warn s: the list could not be read again: tools/list: not now" }, logged)
      failure, listed = nil, tools("b")
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.same({ "b" }, names(client))
    end)
  end)

  it("is fetched again after a function of the program has raised", function()
    local listed, is_raising, raised = tools("a"), false, {}
    local before = operations.on_error(function(value)
      raised[#raised + 1] = tostring(value)
    end)
    with(function() return listed end, { accessControl = function()
      if is_raising then
        error("boom", 0)
      end
      return { requiredScopes = {} }
    end }, function(client, link)
      is_raising = true
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      is_raising, listed = false, tools("b")
      link:say({ method = "notifications/tools/list_changed" })
      operations.sleep(1)
      assert.same({ "b" }, names(client))
    end)
    operations.on_error(before)
    assert.equal(1, #raised)
    assert.equal("boom", raised[1])
  end)

  it("is not fetched again from a server that has ended, where that is not started again", function()
    with(function() return tools("a") end, { restart = false }, function(client, link, server)
      link:say({ method = "notifications/tools/list_changed" })
      link:lost(errors.new("EXECUTION_ERROR", "it ended", { kind = "closed" }))
      operations.sleep(1)
      assert.equal(1, #server.links)
      assert.same({ "a" }, names(client))
      for _, text in ipairs(logged) do
        assert.is_nil(text:find("could not be read", 1, true))
      end
    end)
  end)

  it("is not fetched again for a client that was closed", function()
    with(function() return tools("a") end, nil, function(client, link, server)
      link:say({ method = "notifications/tools/list_changed" })
      client:close()
      operations.sleep(1)
      assert.equal(1, #mcp_link.params(server, "tools/list"))
    end)
  end)

  it("does not displace what the program has registered, and says so", function()
    local listed = tools("a")
    with(function() return listed end, nil, function(client)
      local registry = operations.registry()
      assert(client:register(registry))
      assert(registry:register({ namespace = "s", name = "b", handler = function() end }))
      listed = tools("a", "b", "c")
      assert.equal(2, #assert(client:refresh()).added)
      assert.same({ "s.a", "s.b", "s.c" }, { ids(registry)[1], ids(registry)[2], ids(registry)[3] })
      assert.equal(1, #logged)
      assert.matches("^warn s: .*s%.b", logged[1])
      local ids_of, err = client:register(registry)
      assert.is_nil(ids_of)
      assert.is_true(errors.is_error(err))
    end)
  end)

  it("is offered without tools that are disabled", function()
    with(function() return tools("a b", "c") end, { disabled_tools = { "c" } }, function(client)
      local registry = operations.registry()
      assert.same({ "s.a_b" }, client:register(registry))
      assert.same({ { name = "a b", id = "s.a_b", enabled = true }, { name = "c", id = "s.c", enabled = false } },
        client:tools())
      assert.is_true(client:disable("a b"))
      assert.is_true(client:enable("c"))
      assert.same({ "s.c" }, ids(registry))
      local value, err = client:call("a b")
      assert.is_nil(value)
      assert.same({ "OPERATION_NOT_FOUND", "s: the tool a b is disabled" }, { err.code, err.message })
      assert.is_false(client:disable("none"))
      assert.is_false(client:enable("none"))
    end)
  end)

  it("is fetched again by refresh, however recent it is", function()
    local listed = tools("a")
    listed.ttlMs = 60000
    with(function() return listed end, nil, function(client, _, server)
      assert(client:refresh())
      assert.equal(2, #mcp_link.params(server, "tools/list"))
    end)
  end)

  it("is followed in each registry", function()
    local listed = tools("a")
    with(function() return listed end, nil, function(client)
      local one, other = operations.registry(), operations.registry()
      assert(client:register(one))
      assert(client:register(other))
      listed = tools("b")
      local change = client:refresh()
      assert.same({ 1, 1 }, { #change.added, #change.removed })
      assert.same({ { "s.b" }, { "s.b" } }, { ids(one), ids(other) })
      one:unregister("s.b")
      assert.same({ "s.b" }, client:register(one))
      listed = tools("c")
      assert(client:refresh())
      assert.same({ { "s.c" }, { "s.c" } }, { ids(one), ids(other) })
      assert.same({}, logged)
    end)
  end)

  it("is one change where one tool is another", function()
    local listed, count = tools("a"), 0
    with(function() return listed end, nil, function(client)
      client:on_change(function()
        count = count + 1
      end)
      listed = tools("a", "b")
      client:refresh()
      assert.equal(1, count)
    end)
  end)

  it("has tools that get what the context of a call says", function()
    local server = mcp_link.server("modern", nil, { ["tools/list"] = function() return tools("t") end,
      ["tools/call"] = function(params, link, value)
        local token = params._meta.progressToken
        if token then
          link:say({ method = "notifications/progress", params = { progressToken = token, progress = 1, total = 2,
            message = "m" } })
        end
        operations.spawn(function()
          operations.sleep(0.001)
          link:say({ id = value.id, result = { resultType = "complete", content = operations.array(),
            structuredContent = { trace = params._meta.traceparent or "none", wanted = token ~= nil } } })
        end)
      end })
    operations.run(function()
      local client = assert(mcp_link.connect(server))
      local handler, reports = client.operations[1].handler, {}
      local function told(...)
        reports[#reports + 1] = { ... }
      end
      for _, case in ipairs({
        { nil, { trace = "none", wanted = false } }, { {}, { trace = "none", wanted = false } },
        { { traceparent = "00-a" }, { trace = "00-a", wanted = false } },
        { { metadata = {}, progress_wanted = true, progress = told }, { trace = "none", wanted = true } },
        { { progress_wanted = false, progress = told }, { trace = "none", wanted = false } },
      }) do
        assert.same(case[2], handler({}, case[1]).data)
      end
      assert.same({ { 1, 2, "m" } }, reports)
      client:close()
    end)
  end)

  it("has the lists and resources of the server as operations", function()
    local failing
    local server = mcp_link.server("modern", { resources = operations.object() }, {
      ["resources/list"] = function(params)
        if failing then
          return nil, { code = -32000, message = "no" }
        end
        return { resources = { { uri = params.cursor and "b" or "a" } }, nextCursor = not params.cursor and "2" or nil }
      end,
      ["resources/read"] = function(params)
        if failing then
          return nil, { code = -32002, message = "none" }
        end
        return { contents = { { uri = params.uri, text = "x" } }, ttlMs = 0 }
      end,
    })
    operations.run(function()
      local client = assert(mcp_link.connect(server))
      local registry = operations.registry()
      assert(client:register(registry))
      assert.same({ resources = { { uri = "a" }, { uri = "b" } } }, assert(registry:execute("s.resources.list")).data)
      assert.same({ contents = { { uri = "c", text = "x" } } },
        assert(registry:execute("s.resources.read", { uri = "c" })).data)
      assert.equal("VALIDATION_ERROR", select(2, registry:execute("s.resources.list", { a = 1 })).code)
      failing = true
      assert.equal("MCP_-32000", select(2, registry:execute("s.resources.list")).code)
      assert.equal("MCP_-32002", select(2, registry:execute("s.resources.read", { uri = "c" })).code)
      client:close()
    end)
  end)

  it("is asked for with names and functions", function()
    with(function() return tools() end, nil, function(client)
      raises({
        ["bad argument #1 to 'on_change' (function expected, got nil)"] = function() client:on_change() end,
        ["bad argument #1 to 'on_notification' (function expected, got nil)"] = function() client:on_notification() end,
        ["bad argument #1 to 'disable' (string expected, got nil)"] = function() client:disable() end,
        ["bad argument #1 to 'enable' (string expected, got nil)"] = function() client:enable() end,
        ["bad argument #1 to 'register' (table expected, got nil)"] = function() client:register() end,
      })
    end)
  end)

  it("stays registered after the end where that is asked for", function()
    with(function() return tools("a") end, nil, function(client)
      local registry, states = operations.registry(), {}
      assert(client:register(registry))
      client:on_state(function(state)
        states[#states + 1] = state
      end)
      client:close({ keep = true })
      assert.same({ "s.a" }, ids(registry))
      assert.equal("ABORTED", select(2, registry:execute("s.a")).code)
      client:close()
      assert.same({}, ids(registry))
      assert.same({ "stopped" }, states)
    end)
  end)
end)
