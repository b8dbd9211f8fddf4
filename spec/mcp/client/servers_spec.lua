local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local json = require("operations.base.json")
local load_servers = require("operations.mcp.client.servers").load
local mcp_link = require("spec.support.mcp_link")
local operations = require("operations")
local raises = require("spec.support.raises")
local support = require("spec.support.mcp")

local function entry(...)
  local config = support.config("legacy", { server = { ... } })
  return { command = config.command, args = config.args, env = config.env }
end

describe("from_mcp.load", function()
  it("connects to many servers, of which some fail", function()
    local servers = assert(operations.from_mcp.load({ mcpServers = {
      one = entry(), two = entry("tools=3"), off = { command = "no-such-program", disabled = true },
      broken = { command = "no-such-program" }, wrong = { comand = "sh" }, ended = { command = "false" },
      unset = { command = "${NO_SUCH_VARIABLE}" },
    } }, { log = function() end }))
    local failed = {}
    for _, problem in ipairs(servers.problems) do
      failed[#failed + 1] = problem.name
    end
    assert.same({ "broken", "ended", "unset", "wrong", "wrong" }, failed) -- in the order of the names
    assert.equal("/mcpServers/wrong/comand: unknown key", servers.problems[4].message)
    assert.equal("/mcpServers/wrong/comand", servers.problems[4].path)
    assert.matches("/mcpServers/unset/command: the environment has no NO_SUCH", servers.problems[3].message, 1, true)
    assert.same({ "broken", "ended", "off", "one", "two", "unset", "wrong" }, servers.names)
    local registry = operations.registry()
    assert(servers:register(registry))
    assert.equal("hi", assert(registry:execute("one.echo", { message = "hi" })).data[1].text)
    assert.equal("more", assert(registry:execute("two.more3")).data[1].text)
    local ids = {}
    for i, definition in ipairs(servers.operations) do
      ids[i] = definition.namespace .. "." .. definition.name
    end
    for i, spec in ipairs(registry:specs()) do
      assert.equal(ids[i], spec.namespace .. "." .. spec.name)
    end
    servers:close()
    assert.same({}, registry:list())
  end)

  it("starts the servers that a function chooses; the others can be enabled", function()
    local servers = assert(operations.from_mcp.load({ mcpServers = { ["my one"] = entry(), two = entry() } }, {
      log = function() end, start = function(name, namespace) return name == "two" or namespace == "none" end,
    }))
    assert.same({ "my one", "two" }, servers.names)
    assert.equal("stopped", servers:state("my one"))
    assert.equal("connected", servers:state("two"))
    assert.same({}, servers.problems)
    assert(servers:enable("my one"))
    assert.equal("connected", servers:state("my one"))
    servers:close()
    assert.has_error(function() operations.from_mcp.load({}, { start = "two" }) end,
      "from_mcp: config.start: function expected, got string")
  end)

  it("tells the namespaces of a file's servers without starting them", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('{"mcpServers":{"my server":{"command":"no-such-program"},"my_server":{}}}')
    file:close()
    assert.same({ "my_server", "my_server_2" }, operations.from_mcp.namespaces(path))
    file = assert(io.open(path, "w"))
    file:write('{"mcpServers":7}')
    file:close()
    local _, err = operations.from_mcp.namespaces(path)
    assert.equal(path .. ": an object of servers expected", err.message)
    os.remove(path)
    assert.is_nil((operations.from_mcp.namespaces(path)))
  end)

  it("reads a file, and takes variables from the environment", function()
    local path = os.tmpname()
    local server = entry()
    server.env.GREETING = "${HOME}-${env:PATH}-${NOPE:-else}"
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ servers = { ["my server"] = server, my_server = server } }))
    file:close()
    local servers = assert(operations.from_mcp.load(path, { log = function() end }))
    os.remove(path)
    assert.equal("my_server", servers.clients["my server"].operations[1].namespace)
    assert.equal("my_server_2", servers.clients["my_server"].operations[1].namespace)
    assert.matches("is taken", servers.problems[1].message)
    local expected = ("%s-%s-else"):format(os.getenv("HOME"), os.getenv("PATH"))
    assert.equal(expected, servers.clients["my_server"]._config.env.GREETING)
    servers:close()
  end)

  it("tells of every entry that cannot be used, and connects to the others", function()
    local servers = assert(operations.from_mcp.load({ mcpServers = {
      fine = entry(), text = "npx server", null = json.null, list = { command = "true", args = { {} } },
      text_env = { command = "true", env = { FOO = { 1 } } },
      empty = { command = "" }, unset = { command = "true", env = { A = json.null } },
      unnamed = { command = "true", env = { "A=1" } }, nul = { command = "a\0b" },
      named = { url = "http://127.0.0.1:1/", headers = { "X: 1" } }, nowhere = { url = "nowhere" },
    } }, { log = function() end }))
    local failed = {}
    for _, problem in ipairs(servers.problems) do
      failed[#failed + 1] = problem.name
      assert.equal("VALIDATION_ERROR", problem.err.code)
      assert.is_nil(problem.message:find(".lua:", 1, true))
      assert.is_nil(problem.message:find("bad argument", 1, true))
      if problem.name == "unset" then
        assert.equal("mcpServers.unset.env.A: expected a string, got null", problem.message)
      elseif problem.name == "text_env" then
        assert.equal("mcpServers.text_env.env.FOO: expected a string, got array", problem.message)
      end
    end
    table.sort(failed)
    assert.same({ "empty", "list", "named", "nowhere", "nul", "null", "text", "text_env",
      "unnamed", "unset" }, failed)
    assert.equal("hi", assert(servers.clients.fine:call("echo", { message = "hi" })).data[1].text)
    servers:close()
  end)

  it("names the place in the file, in the words of JSON", function()
    for text, given in pairs({
      ["mcpServers.s.args: expected an array, got string"] = { command = "x", args = "y" },
      ["mcpServers.s.environment: expected an object, got string"] = { command = "x", environment = "A=1" },
      ["mcpServers.s.headers: expected an object, got number"] = { url = "http://a.test", headers = 7 },
      ["mcpServers.s.cwd: expected a string, got boolean"] = { command = "x", cwd = true },
      ["mcpServers.s.timeout: expected a number, got string"] = { command = "x", timeout = "soon" },
      ["mcpServers.s.restart: expected true or false, got string"] = { command = "x", restart = "yes" },
    }) do
      local servers = assert(operations.from_mcp.load({ mcpServers = { s = given } }, { log = function() end }))
      assert.equal(text, servers.problems[1].message)
      servers:close()
    end
  end)

  it("takes arguments and variables that are written as numbers, or true and false", function()
    local server = entry()
    server.env.PORT, server.env.DEBUG = 8080, true
    local line = ("exec %s %s"):format(server.command, table.concat(server.args, " "))
    server.command, server.args = "sh", { "-c", line, 5 }
    local servers = assert(operations.from_mcp.load({ one = server }, { log = function() end }))
    assert.same({}, servers.problems)
    local config = servers.clients.one._config
    assert.equal("8080 true 5", table.concat({ config.env.PORT, config.env.DEBUG, config.args[#config.args] }, " "))
    servers:close()
  end)

  for _, list in ipairs({ json.null, "x", 5, { { command = "true" } } }) do
    it("says that there is no object of servers: " .. json.encode(list), function()
      local servers, err = operations.from_mcp.load({ mcpServers = list })
      assert.is_nil(servers)
      assert.equal("VALIDATION_ERROR", err.code)
    end)
  end

  it("says what is wrong with a file", function()
    local servers, err = operations.from_mcp.load("/no/such/file")
    assert.is_nil(servers)
    assert.equal("file", err.details.kind)
    servers, err = operations.from_mcp.load("README.md")
    assert.is_nil(servers)
    assert.matches("README.md: ", err.message)
  end)
end)

describe("servers that are loaded", function()
  local servers, registry, states

  local function load(source, options)
    options = options or {}
    options.log = function() end
    servers, registry, states = assert(operations.from_mcp.load(source, options)), operations.registry(), {}
    assert(servers:register(registry))
    servers:on_state(function(name, state, err)
      states[#states + 1] = name .. " " .. state .. (err and " " .. err.code or "")
    end)
    return servers
  end

  after_each(function()
    servers:close()
  end)

  local function count(namespace)
    return #registry:specs({ namespace = namespace })
  end

  it("are disabled and enabled, and registries follow", function()
    local off, also_off = entry(), entry()
    off.disabled, also_off.enabled = true, false
    load({ mcpServers = { one = entry(), off = off, also_off = also_off } })
    assert.same({}, servers.problems)
    assert.same({ "connected", "disabled", "disabled" },
      { servers:state("one"), (servers:state("off")), (servers:state("also_off")) })
    assert.equal(0, count("off"))
    assert(servers:enable("off"))
    assert.equal("hi", assert(registry:execute("off.echo", { message = "hi" })).data[1].text)
    assert(servers:disable("one"))
    assert.equal(0, count("one"))
    assert.equal(#servers.operations, #registry:specs())
    assert(servers:enable("one"))
    assert(servers:enable("one"))
    assert.is_true(count("one") > 0)
    assert(servers:disable("also_off"))
    assert.same({ "off connected", "one disabled", "one connecting", "one connected" }, states)
  end)

  it("may fail, be mended and be enabled then", function()
    local flag = os.tmpname()
    os.remove(flag)
    local server = entry()
    local line = ("[ -e %s ] || exit 9; exec %s %s"):format(flag, server.command, table.concat(server.args, " "))
    server.command, server.args = "sh", { "-c", line }
    server.restart = false
    load({ mcpServers = { flaky = server } })
    local state, err = servers:state("flaky")
    assert.same({ "lost", "flaky" }, { state, servers.problems[1].name })
    assert.equal(err, servers.problems[1].err)
    assert.equal("closed", select(2, servers:enable("flaky")).details.kind)
    assert(io.open(flag, "w")):close()
    assert(servers:enable("flaky"))
    assert.is_true(count("flaky") > 0)
    assert.same({ "flaky connecting", "flaky lost EXECUTION_ERROR", "flaky connecting", "flaky connected" }, states)
    assert.same({ "connected" }, { servers:state("flaky") })
    os.remove(flag)
  end)

  it("are known by their names", function()
    load({ mcpServers = { one = entry() } })
    for _, method in ipairs({ "enable", "disable" }) do
      assert.matches('no server "two"', select(2, servers[method](servers, "two")).message)
    end
    assert.is_nil(servers:state("two"))
  end)

  it("hold their names at their end where that was asked for", function()
    load({ mcpServers = { one = entry() } })
    local before = count("one")
    servers:close({ keep = true })
    assert.equal(before, count("one"))
    assert.equal("ABORTED", select(2, registry:execute("one.echo", { message = "hi" })).code)
  end)

  it("are in the order of their list, where they are one", function()
    local first, second = entry(), entry()
    first.name, second.name = "z", "a"
    load({ mcpServers = { first, second } })
    assert.same({ "z", "a" }, servers.names)
    assert.equal("z", servers.operations[1].namespace)
    assert.equal("z", registry:specs()[1].namespace)
    second.name = "z"
    local again = assert(operations.from_mcp.load({ servers = { first, second } }, { log = function() end }))
    assert.same({ "z", "z_2" }, again.names)
    again:close()
  end)

  it("find out what variables stand for at each start", function()
    local path = os.tmpname()
    local server = entry()
    server.env.TOKEN, server.disabled = ("${cmd: echo x >>%s; wc -l <%s; }"):format(path, path), true
    local function runs()
      local file = assert(io.open(path))
      local text = file:read("*a")
      file:close()
      return select(2, text:gsub("x", ""))
    end
    load({ mcpServers = { late = server } })
    assert.equal(0, runs())
    assert(servers:enable("late"))
    assert.equal("1", servers.clients.late._config.env.TOKEN)
    assert(servers.clients.late:restart())
    assert.equal("2", servers.clients.late._config.env.TOKEN)
    os.remove(path)
  end)
end)

-- Servers in this process; time passes in jumps.
describe("servers that are connected", function()
  local registry, failing

  before_each(function()
    failing = {}
    hosts.use(fake_host.new(1000))
    registry = operations.registry()
  end)

  after_each(function()
    hosts.use("plain")
  end)

  -- Loads entries; each server has the tool `t`, and one that is none where its command is "flawed".
  local function load(source, options)
    options = options or {}
    options.log = function() end
    return load_servers(source, options, function(config, events)
      if config.command == "slow" then
        operations.sleep(1)
      end
      if failing[config.command] then
        return nil, errors.new("EXECUTION_ERROR", config.command .. " fails")
      end
      local tools = operations.array({ { name = "t", inputSchema = operations.object() } })
      tools[2] = config.command == "flawed" and 7 or nil
      return mcp_link.open(mcp_link.server("modern", nil, { ["tools/list"] = function()
        return { tools = tools }
      end }))(config, events)
    end)
  end

  -- The operations of the tool, sorted.
  local function ids()
    local list = {}
    for _, spec in ipairs(registry:specs({ schemas = false })) do
      list[#list + 1] = spec.name == "t" and spec.namespace .. "." .. spec.name or nil
    end
    table.sort(list)
    return list
  end

  it("have their problems told in order: of the file, the connection, the tools", function()
    failing.down = true
    operations.run(function()
      local all = assert(load({ mcpServers = { c = { command = "flawed", kommand = 1 }, a = { command = "down" }, b = 7,
        d = { command = "up", timeout = -1 } } }))
      local told = {}
      for i, problem in ipairs(all.problems) do
        told[i] = ("%s %s %s %s"):format(problem.name, problem.namespace, problem.path or "-", problem.message)
      end
      assert.same({ "a a - down fails", "b b - mcpServers.b: its entry is not an object",
        "c c /mcpServers/c/kommand /mcpServers/c/kommand: unknown key",
        "c c - tool tools/list[2]: a tool is an object",
        "d d - mcpServers.d.timeout: a number above 0 expected, got -1" }, told)
      assert.equal("down fails", all.problems[1].err.message)
      assert.same({ "a", "b", "c", "d" }, all.names)
      local state, err = all:state("a")
      assert.same({ "retrying", "down fails" }, { state, err.message })
      assert.same({ "connected" }, { all:state("c") })
      assert.same({}, { all:state("none") })
      all:close()
      assert.same({ "stopped" }, { all:state("c") })
      assert.same({}, all.operations)
    end)
  end)

  it("may be connected behind the program, which hears of each", function()
    failing.down = true
    operations.run(function()
      local heard = {}
      local all = assert(load({ mcpServers = { a = { command = "slow" }, b = { command = "down" },
        c = { command = "up", disabled = true }, d = { command = "other", kommand = 1 } } },
        { wait = false, start = function(name) return name ~= "d" end }))
      all:on_state(function(name, state, err)
        heard[#heard + 1] = name .. " " .. state .. (err and ": " .. err.message or "")
      end)
      assert.same({}, all:register(registry))
      assert.same({ "connecting", "connecting", "disabled", "stopped" }, { all:state("a"), (all:state("b")),
        all:state("c"), all:state("d") })
      assert.equal("/mcpServers/d/kommand: unknown key", all.problems[1].message)
      operations.sleep(2)
      assert.same({ "b retrying: down fails", "a connected" }, heard)
      assert.same({ "a.t" }, ids())
      assert.is_true(all:enable("c"))
      assert.same({ "a.t", "c.t" }, ids())
      assert.is_true(all:disable("a"))
      assert.same({ "c.t" }, ids())
      assert.is_true(all:enable("a"))
      assert.is_true(all:enable("a"))
      assert.same({ "a.t", "c.t" }, ids())
      assert.same({ "a disabled", "a connecting", "a connected" }, { heard[4], heard[5], heard[6] })
      all:close()
    end)
  end)

  it("are enabled again after they have failed, once for all callers", function()
    failing.down = true
    operations.run(function()
      local all = assert(load({ mcpServers = { a = { command = "down" } } }, { restart = false }))
      local ok, err = all:enable("a")
      assert.same({ nil, "down fails" }, { ok, err.message })
      failing.down = false
      assert.same({ true, true }, operations.map({ 1, 2 }, function()
        return all:enable("a")
      end))
      assert.same({ "connected" }, { all:state("a") })
      for _, method in ipairs({ "enable", "disable" }) do
        local none, unknown = all[method](all, "x")
        assert.same({ nil, 'there is no server "x"' }, { none, unknown.message })
      end
      assert(registry:register({ namespace = "a", name = "t", handler = function() end }))
      local none, taken = all:register(registry)
      assert.is_nil(none)
      assert.equal("VALIDATION_ERROR", taken.code)
      all:close()
    end)
  end)

  it("are registered together, and added when they are enabled, unless their names are taken", function()
    operations.run(function()
      local options = { workspace = "/w", wait = true, start = function(name) return name ~= "c" end }
      local all = assert(load({ mcpServers = { a = { command = "up" }, b = { command = "new" },
        c = { command = "slow" } } }, options))
      assert.same({ "/w", true }, { options.workspace, options.wait })
      assert.is_function(options.start)
      local given = assert(all:register(registry))
      assert.same({ "a.t", "b.t" }, { given[1], given[#given] })
      assert(registry:register({ namespace = "c", name = "t", handler = function() end }))
      local enabling = operations.spawn(function()
        return all:enable("c")
      end)
      operations.sleep(0.1)
      assert.same({ "connecting" }, { all:state("c") })
      local ok, err = enabling:wait()
      assert.is_nil(ok)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.same({ "connected" }, { all:state("c") })
      raises({
        ["bad argument #1 to 'register' (table expected, got nil)"] = function() all:register() end,
        ["bad argument #1 to 'on_state' (function expected, got nil)"] = function() all:on_state() end,
        ["bad argument #1 to 'enable' (string expected, got nil)"] = function() all:enable() end,
        ["bad argument #1 to 'disable' (string expected, got nil)"] = function() all:disable() end,
      }, "servers_spec")
      all:close()
      assert.same({ "c.t" }, ids())
    end)
  end)

  it("have listeners whose errors harm no other listener", function()
    local raised
    local before = operations.on_error(function(value)
      raised = tostring(value)
    end)
    operations.run(function()
      local all = assert(load({ mcpServers = { a = { command = "up" } } }))
      local states = {}
      all:on_state(function()
        error("boom", 0)
      end)
      all:on_state(function(_, state)
        states[#states + 1] = state
      end)
      all:disable("a")
      assert.same({ "disabled" }, states)
    end)
    operations.on_error(before)
    assert.matches("boom", raised)
  end)

  it("are in a list of a file or table that can be read", function()
    local none, err = load("/no/such/file.json")
    assert.is_nil(none)
    assert.equal("file", err.details.kind)
    none, err = load({ mcpServers = 7 })
    assert.is_nil(none)
    assert.same({ "VALIDATION_ERROR", "an object of servers expected" }, { err.code, err.message })
  end)
end)
