local eventually = require("spec.support.eventually")
local is_running = require("spec.support.running")
local operations = require("operations")
local support = require("spec.support.mcp")

local function ids(registry)
  local list = {}
  for _, spec in ipairs(registry:specs({ schemas = false })) do
    list[#list + 1] = spec.namespace .. "." .. spec.name
  end
  return list
end

local function say(client, text)
  return assert(client:call("echo", { message = text })).data[1].text
end

describe("the life of an MCP client", function()
  local client, registry, states

  local function connect(config)
    client = support.connect("legacy", config)
    registry, states = operations.registry(), {}
    assert(client:register(registry))
    client:on_state(function(state, err)
      states[#states + 1] = state .. (err and ": " .. err.details.kind or "")
      assert.equal(state, client.state)
    end)
  end

  after_each(function()
    client:close()
  end)

  it("has a state, whose changes are told", function()
    connect()
    assert.equal("connected", client.state)
    client:call("exit")
    assert.equal("disconnected", client.state)
    client:close()
    client:close()
    assert.same({ "disconnected: closed", "closed" }, states)
  end)

  it("goes on by itself where that was asked for", function()
    connect({ restart = true })
    client:call("exit")
    assert.equal("back", say(client, "back"))
    assert.same({ "disconnected: closed", "connecting", "connected" }, states)
  end)

  it("begins again with restart, and registries keep their operations in order", function()
    local pids = {}
    connect({ server = { "pid=stderr" }, on_stderr = function(line)
      pids[#pids + 1] = line
    end })
    local before = ids(registry)
    local waiting = operations.spawn(function()
      return client:call("never")
    end)
    operations.sleep(0.01)
    assert(client:restart())
    assert.equal("ABORTED", select(2, waiting:wait()).code)
    assert.same(before, ids(registry))
    assert.equal("again", assert(registry:execute("spec.echo", { message = "again" })).data[1].text)
    assert.same({ "connecting", "connected" }, states)
    eventually(function()
      return pids[2] and not is_running(pids[1])
    end)
  end)

  it("follows the list of the server that was restarted", function()
    connect()
    assert(registry:execute("spec.grow", { name = "sprout" }))
    eventually(function()
      return registry:get("spec.sprout") ~= nil
    end)
    assert(client:restart())
    assert.is_nil(registry:get("spec.sprout"))
  end)

  it("follows lists after a restart, too, when it was closed over news of one", function()
    connect()
    operations.run(function()
      assert(client:call("grow", { name = "sprout" })) -- its news is under way
      client:close()
      operations.sleep(0.2)
    end)
    assert(client:restart())
    assert(client:call("grow", { name = "shoot" }))
    eventually(function()
      return registry:get("spec.shoot") ~= nil
    end)
  end)

  it("begins again after the server has ended, and after close", function()
    connect()
    client:call("exit")
    assert(client:restart())
    assert.equal("one", say(client, "one"))
    client:close()
    assert.same({}, ids(registry))
    assert(client:restart())
    assert.equal("two", assert(registry:execute("spec.echo", { message = "two" })).data[1].text)
    assert.same({ "disconnected: closed", "connecting", "connected", "closed", "connecting", "connected" }, states)
  end)

  it("is restarted once by those who ask for it at the same time", function()
    connect()
    assert(operations.map({ 1, 2, 3 }, function()
      return client:restart()
    end))
    assert.same({ "connecting", "connected" }, states)
  end)

  it("has its operations fail with the cause when a restart fails, until one succeeds", function()
    local flag = os.tmpname()
    local config = support.config("legacy")
    local line = ("[ -e %s ] || { echo lost >&2; exit 9; }; exec %s %s"):format(flag, config.command,
      table.concat(config.args, " "))
    config.command, config.args = "sh", { "-c", line }
    client = assert(operations.from_mcp.connect("spec", config))
    registry = operations.registry()
    assert(client:register(registry))
    os.remove(flag)
    local ok, err = client:restart()
    assert.is_nil(ok)
    assert.matches("lost", err.message)
    assert.equal("disconnected", client.state)
    local _, failure = registry:execute("spec.echo", { message = "x" })
    assert.equal(tostring(err), tostring(failure))
    assert.same({ false, false }, { failure.retryable, failure.mayHaveRun })
    assert(io.open(flag, "w")):close()
    assert(client:restart())
    assert.equal("back", assert(registry:execute("spec.echo", { message = "back" })).data[1].text)
    os.remove(flag)
  end)

  it("takes its operations out of registries at its end, and no others", function()
    connect()
    local other = operations.registry()
    assert(client:register(other))
    assert(registry:register({ namespace = "spec", name = "mine", handler = function() end }))
    client:close()
    assert.same({ "spec.mine" }, ids(registry))
    assert.same({}, ids(other))
    local again = support.connect("legacy")
    assert(again:register(registry))
    again:close()
  end)

  it("holds its names at its end where that was asked for", function()
    connect()
    local before = ids(registry)
    client:close({ keep = true })
    assert.same(before, ids(registry))
    assert.equal("ABORTED", select(2, registry:execute("spec.echo", { message = "x" })).code)
    assert(client:restart())
    assert.equal("on", assert(registry:execute("spec.echo", { message = "on" })).data[1].text)
    client:close({ keep = true })
    client:close()
    assert.same({}, ids(registry))
  end)

  it("refuses options of close that nobody knows", function()
    connect()
    assert.error_matches(function()
      client:close({ kept = true })
    end, "bad option 'kept' to 'close'")
  end)

  it("has tools that are disabled and enabled, and the registry follows", function()
    connect({ disabled_tools = { "add", "no such tool" } })
    local function is_enabled(name)
      for _, tool in ipairs(client:tools()) do
        if tool.name == name then
          assert.equal("spec." .. name, tool.id)
          return tool.enabled
        end
      end
    end
    local changes = {}
    client:on_change(function(difference)
      changes[#changes + 1] = ("%d %d"):format(#difference.added, #difference.removed)
    end)
    assert.is_nil(registry:get("spec.add"))
    assert.is_false(is_enabled("add"))
    assert.equal("OPERATION_NOT_FOUND", select(2, client:call("add", { a = 1, b = 2 })).code)
    assert.is_true(client:enable("add"))
    assert.is_true(is_enabled("add"))
    assert.equal(3, assert(registry:execute("spec.add", { a = 1, b = 2 })).data.sum)
    assert.is_true(client:disable("echo"))
    assert.is_nil(registry:get("spec.echo"))
    assert.is_false(client:disable("no such tool"))
    assert.same({ "1 0", "0 1" }, changes)
    assert(client:restart())
    assert.is_nil(registry:get("spec.echo"))
    assert.equal("echo", client:tools()[1].name)
  end)
end)
