--- Servers that others wrote, from npm, behind our proxy: they start late and are killed twenty times, while the
--- official clients call their tools. `make test-mcp` runs this.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")
local process = require("operations.net.process")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")
local node = modules .. "/node/bin/node"

process.allow(true)

local KILLS, CALLS = 20, 120

local function program(package)
  return ("%s/@modelcontextprotocol/server-%s/dist/index.js"):format(modules, package)
end

-- The four servers as a file. That of each is started by a shell that writes its process id, once `flag` is there.
local function configure(directory)
  local servers = {}
  local function add(name, ...)
    servers[name] = { command = "sh", args = { "-c", 'while [ ! -e "$0/flag" ]; do sleep 0.05; done; '
      .. 'echo $$ >"$0/' .. name .. '"; exec "$@"', directory, "node", ... }, env_allow = { "PATH", "HOME" } }
  end
  add("all", program("everything"), "stdio")
  add("files", program("filesystem"), directory)
  add("memory", program("memory"))
  add("fast", "spec/mcp/suite/fast.mjs", modules)
  servers.memory.env = { MEMORY_FILE_PATH = directory .. "/memory.jsonl" }
  local file = assert(io.open(directory .. "/mcp.json", "w"))
  file:write(json.encode({ mcpServers = servers }))
  file:close()
  return directory .. "/mcp.json"
end

-- Ends the server that runs under a name.
local function kill(directory, name)
  local file = assert(io.open(directory .. "/" .. name))
  os.execute("kill -KILL " .. file:read("*l") .. " 2>/dev/null")
  file:close()
end

local names = { "all", "files", "memory", "fast" }

describe("behind our proxy, servers that start late and are killed", function()
  local directory, children

  before_each(function()
    directory, children = os.tmpname(), {}
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
  end)

  after_each(function()
    for _, child in ipairs(children) do
      child:abort()
    end
    os.execute("rm -rf " .. directory)
  end)

  local function start(...)
    local words = { ... }
    words.env, words.env_allow, words.max_line = command.environment(), { "PATH", "HOME" }, 1024 * 1024
    children[#children + 1] = assert(process.spawn(words))
    return children[#children]
  end

  -- Follows a client that calls: begins the servers after its list has begun to wait, and kills one of them after every
  -- few calls. A call that a killed server may have had fails and says so, each other one succeeds.
  local function check(client)
    operations.sleep(0.5)
    assert(io.open(directory .. "/flag", "w")):close()
    local line = client:read_line()
    local listed = assert(json.decode(line or ""), client:stderr())
    local seen, failed, killed = 0, 0, 0
    local found = {}
    for _, tool in ipairs(listed.tools) do
      found[tool:match("^[^_]+")] = true
    end
    assert.same({ all = true, files = true, memory = true, fast = true }, found)
    for text in client:lines() do
      local call = assert(json.decode(text))
      seen = seen + 1
      if not call.ok then
        failed = failed + 1
        assert.matches("the call may have run", call.text, 1, true)
      end
      if seen % (CALLS / KILLS) == 0 and killed < KILLS - 1 then
        killed = killed + 1
        kill(directory, names[killed % 4 + 1])
      end
    end
    assert.equal(CALLS, seen, client:stderr())
    assert.equal(KILLS - 1, killed)
    assert.is_true(failed <= killed, failed)
    return failed
  end

  for _, kind in ipairs({ "v1", "v2", "v2-modern" }) do
    it("are called by the TypeScript client " .. kind .. " over stdio", function()
      check(start(node, "spec/mcp/suite/calls.mjs", modules, kind, tostring(CALLS), "stdio", command.interpreter(),
        "lua/operations/cli/main.lua", "mcp", "--wait", "60", "--mcp-config", configure(directory)))
    end)
  end

  it("are called by the TypeScript client v1 and the Inspector over HTTP", function()
    assert(io.open(directory .. "/flag", "w")):close()
    local served = start(command.interpreter(), "lua/operations/cli/main.lua", "serve", "--port", "0", "--no-auth",
      "--mcp-server", "--mcp-config", configure(directory), "--expose", "*")
    local url = assert(served:read_line(), served:stderr()) .. "/mcp"
    check(start(node, "spec/mcp/suite/calls.mjs", modules, "v1", tostring(CALLS), "http", url))
    for i, words in ipairs({ "all_echo --tool-arg message=m", "files_list_allowed_directories", "memory_read_graph",
      "fast_add --tool-arg a=1 --tool-arg b=2" }) do
      kill(directory, names[i])
      eventually(function()
        return command.run(("%s %s/.bin/mcp-inspector --cli %s --transport http --method tools/call --tool-name %s")
          :format(node, modules, url, words)).code == 0
      end)
    end
  end)
end)
