--- What other programs have configured: listed, taken over, and changed. The files are those that the programs write.
local command = require("spec.support.command")
local json = require("operations.base.json")

local files = {
  [".cursor/mcp.json"] = [[{ // Cursor allows comments
    "mcpServers": {
      "tools": { "command": "LUA", "args": ["spec/support/mcp/server.lua", "legacy"], "env": ENV },
      "spaced": { "command": "npx", "args": ["-y", "@acme/server", "/a b", "it's"] },
      "key": { "command": "npx", "env": { "ACME_API_KEY": "s3cret" } },
      "flag": { "command": "acme", "args": ["--token", "s3cret"] },
      "flags": { "command": "acme", "args": ["--api-key=s3cret"] },
      "place": { "command": "acme", "cwd": "/tmp" },
      "web": { "url": "https://mcp.test/mcp?token=s3cret" },
      "bearer": { "url": "https://mcp.test/mcp", "headers": { "Authorization": "Bearer s3cret" } },
      "variable": { "url": "http://127.0.0.1:1/mcp", "headers": { "Authorization": "Bearer ${env:ACME}", "X-A": "b" } },
    } }]],
  [".config/zed/settings.json"] = [[{ "theme": "One",
    "context_servers": { "z": { "command": { "path": "zz", "args": ["1"] } } } }]],
  [".gemini/settings.json"] = [[{ "theme": "x" }]],
  [".claude.json"] = [[{"theme":"dark","mcpServers":{"old":{"command":"x"}},"numStartups":3}]],
  [".config/Code/User/mcp.json"] = [[{ "servers": { "v": { "type": "http", "url": "https://v.test" } } }]],
  [".config/mcphub/servers.json"] = [[{ "mcpServers": { "m": { "command": "mm" } } }]],
  [".config/opencode/opencode.json"] = [[{ "mcp": { "o": { "type": "local", "command": ["oo", "1"] } } }]],
}

describe("the servers of other programs", function()
  local home

  local function run(script)
    return command.run(("HOME=%s; export HOME; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME; %s"):format(home,
      script))
  end

  local function read(path)
    local file = assert(io.open(home .. "/" .. path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end

  setup(function()
    home = os.tmpname()
    os.remove(home)
    for path, text in pairs(files) do
      os.execute(("mkdir -p %s/%s"):format(home, path:match("^(.*/)") or ""))
      text = text:gsub("LUA", (command.interpreter():gsub("%%", "%%%%"))):gsub("ENV",
        (assert(json.encode(command.environment())):gsub("%%", "%%%%")))
      local file = assert(io.open(home .. "/" .. path, "w"))
      file:write(text)
      file:close()
    end
  end)

  teardown(function()
    os.execute("rm -rf " .. home)
  end)

  it("are listed without their secrets", function()
    local result = run("operations sources --from cursor")
    assert.equal("", result.err)
    assert.is_nil(result.out:find("s3cret", 1, true))
    for line in ([[tools  %S+  %(/%S+/%.cursor/mcp%.json%)
spaced  npx  %(/%S+%)
key  npx  %(/%S+; cannot be taken over: the variable ACME_API_KEY has a secret or an expression%)
flag  acme  %(/%S+; cannot be taken over: the argument after %-%-token is a secret%)
flags  acme  %(/%S+; cannot be taken over: the argument after %-%-api%-key is a secret%)
place  acme  %(/%S+; cannot be taken over: it has a directory of its own %(cwd%)%)
bearer  https://mcp%.test/mcp  %(/%S+; cannot be taken over: the header Authorization has a secret or an expression%)
variable  http://127%.0%.0%.1:1/mcp  %(/%S+%)]]):gmatch("[^\n]+") do
      assert.matches("\n" .. line .. "\n", "\n" .. result.out)
    end
  end)

  it("are found in the files of each program", function()
    local names = {}
    for _, client in ipairs({ "claude", "mcphub", "opencode", "vscode", "zed" }) do
      names[#names + 1] = assert(json.decode(run("operations sources --json --from " .. client).out))[1].name
    end
    assert.same({ "old", "m", "o", "v", "z" }, names)
    local none = run("operations sources --from gemini")
    assert.same({ "", "operations: gemini has no MCP server configured\n", 0 }, { none.out, none.err, none.code })
    local wrong = run("operations sources --from curser")
    assert.matches('got "curser" (did you mean cursor?)', wrong.err, 1, true)
    assert.equal(2, wrong.code)
  end)

  it("are taken over as remembered sources, which work", function()
    local result = run("operations add --from cursor:tools && operations call tools.add a=1 b=2 --select sum; "
      .. "operations remove tools")
    assert.matches("remembered tools: %d+ operations", result.err)
    assert.matches("3", result.out, 1, true)
    assert.equal(0, result.code)
  end)

  it("are refused by name where they have a secret", function()
    for _, name in ipairs({ "key", "flag", "flags", "place", "web", "bearer" }) do
      local result = run("operations add --from cursor:" .. name)
      assert.matches("^operations: add: " .. name .. " in /%S+ cannot be taken over: ", result.err)
      assert.is_nil(result.err:find("s3cret", 1, true), name)
      assert.equal(2, result.code)
    end
    assert.matches('cursor has no server "tool" (did you mean tools?)', run("operations add --from cursor:tool").err, 1,
      true)
  end)

  it("get the sources that are installed, their file keeps its order and a backup", function()
    local before = read(".claude.json")
    local result = run("operations add tasks examples/tasks.openapi.json -q; operations install claude tasks")
    assert.matches("/%.claude%.json is not changed: %-y writes it\n$", result.err)
    assert.same({ 7, before }, { result.code, read(".claude.json") })
    result = run("operations install claude tasks -y --name todo")
    assert.equal(0, result.code)
    assert.same({ todo = { command = "operations", args = { "mcp", "tasks" } } }, json.decode(result.out))
    assert.equal(before, read(".claude.json.backup"))
    assert.equal('{"theme":"dark","mcpServers":{"old":{"command":"x"},"todo":{"command":"operations",'
      .. '"args":["mcp","tasks"]}},"numStartups":3}', (read(".claude.json"):gsub("%s", "")))
    result = run("operations install claude tasks -y --name todo; operations install claude tasks -yq --name todo "
      .. "--replace >/dev/null")
    assert.matches("^operations: install: there is a server todo in /%S+: give %-%-replace, or %-%-name\n$", result.err)
    assert.equal(0, result.code)
  end)

  it("keep a file with comments as it is; the entry is printed", function()
    local before = read(".cursor/mcp.json")
    local result = run("operations install cursor tasks -y")
    assert.matches("cannot be changed without losing its comments", result.err, 1, true)
    assert.same({ 12, before, "operations" }, { result.code, read(".cursor/mcp.json"),
      json.decode(result.out).operations.command })
  end)

  it("have the form of each program", function()
    local forms = { mcphub = { command = "operations", args = { "mcp", "tasks" } },
      vscode = { type = "stdio", command = "operations", args = { "mcp", "tasks" } },
      zed = { source = "custom", command = "operations", args = { "mcp", "tasks" } },
      opencode = { type = "local", command = { "operations", "mcp", "tasks" } } }
    for client, form in pairs(forms) do
      local result = run("operations install -y -q " .. client .. " tasks; operations sources --json --from " .. client)
      local entry, list = result.out:match("^(.-\n})\n(.*)$")
      assert.same(form, json.decode(entry).operations)
      assert.equal(2, #assert(json.decode(list)), client)
    end
  end)
end)
