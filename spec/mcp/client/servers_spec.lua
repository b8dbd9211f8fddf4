local json = require("operations.base.json")
local operations = require("operations")
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
    table.sort(failed)
    assert.same({ "broken", "ended", "unset", "wrong" }, failed)
    local registry = operations.registry()
    assert(servers:register(registry))
    assert.equal("hi", assert(registry:execute("one.echo", { message = "hi" })).data[1].text)
    assert.equal("more", assert(registry:execute("two.more3")).data[1].text)
    assert.equal(#servers.operations, #registry:list())
    servers:close()
    assert.same({}, registry:list())
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
      empty = { command = "" }, unset = { command = "true", env = { A = json.null } },
      unnamed = { command = "true", env = { "A=1" } }, nul = { command = "a\0b" },
      named = { url = "http://127.0.0.1:1/", headers = { "X: 1" } }, nowhere = { url = "nowhere" },
    } }, { log = function() end }))
    local failed = {}
    for _, problem in ipairs(servers.problems) do
      failed[#failed + 1] = problem.name
      assert.equal("VALIDATION_ERROR", problem.err.code)
      assert.is_nil(problem.message:find(".lua:", 1, true))
    end
    table.sort(failed)
    assert.same({ "empty", "list", "named", "nowhere", "nul", "null", "text", "unnamed", "unset" }, failed)
    assert.equal("hi", assert(servers.clients.fine:call("echo", { message = "hi" })).data[1].text)
    servers:close()
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
