--- Servers that others wrote, from npm, behind `operations mcp`: they answer as they do directly. `make test-mcp` runs
--- this.
local pipe = require("spec.support.mcp_server.pipe")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")

local function program(package)
  return ("%s/@modelcontextprotocol/server-%s/dist/index.js"):format(modules, package)
end

local function shell(line)
  local output = assert(io.popen(line))
  local text = output:read("*a")
  output:close()
  return text
end

local function tools_of(server)
  local found = {}
  for _, tool in ipairs(server:request("tools/list").result.tools) do
    found[tool.name] = tool
  end
  return found
end

-- The server itself, and the same one behind ours.
local function both(...)
  local words = { "node", ... }
  local direct = pipe.spawn("node", ...)
  direct:initialize(nil, {})
  local proxy = pipe.operations("mcp", "--mcp", table.concat(words, " "), "--namespace", "far")
  proxy:initialize(nil, {})
  return direct, proxy
end

local function compare(direct, proxy, calls)
  local there, here = tools_of(direct), tools_of(proxy)
  for name, tool in pairs(there) do
    local ours = assert(here["far_" .. name:gsub("[^%w_-]", "_")], name)
    ours.name, tool.execution = name, nil -- tasks end at the proxy
    assert.same(tool, ours)
  end
  for _, call in ipairs(calls) do
    local expected, got = direct:call(call[1], call[2]), proxy:call("far_" .. call[1], call[2])
    assert.same(expected.result, got.result, call[1])
    assert.is_table(expected.result)
  end
end

describe("behind our proxy", function()
  local direct, proxy

  after_each(function()
    direct.child:abort()
    proxy.child:abort()
  end)

  it("server-everything answers as it does directly", function()
    direct, proxy = both(program("everything"), "stdio")
    compare(direct, proxy, {
      { "echo", { message = "hi" } }, { "get-sum", { a = 1, b = 2 } }, { "get-tiny-image", {} },
      { "get-structured-content", { location = "Chicago" } }, { "get-resource-links", { count = 3 } },
      { "get-annotated-message", { messageType = "error", includeImage = true } },
    })
    local links = proxy:call("far_get-resource-links", { count = 2 }).result.content
    local uri
    for _, block in ipairs(links) do
      uri = uri or block.uri
    end
    assert.equal(uri, proxy:request("resources/read", { uri = uri }).result.contents[1].uri)
    local expected = direct:request("prompts/get", { name = "args-prompt", arguments = { city = "Berlin" } })
    local got = proxy:request("prompts/get", { name = "far_args-prompt", arguments = { city = "Berlin" } })
    assert.same(expected.result, got.result)
    assert.equal(#direct:request("resources/list").result.resources, #proxy:request("resources/list").result.resources)
  end)

  it("server-filesystem answers as it does directly", function()
    local directory = shell("mktemp -d"):gsub("%s+$", "")
    shell("printf hello > " .. directory .. "/a.txt")
    direct, proxy = both(program("filesystem"), directory)
    compare(direct, proxy, {
      { "read_text_file", { path = directory .. "/a.txt" } }, { "list_directory", { path = directory } },
      { "read_text_file", { path = "/etc/passwd" } }, { "directory_tree", { path = directory } },
      { "write_file", { path = directory .. "/b.txt", content = "b" } }, { "list_allowed_directories", {} },
      { "search_files", { path = directory, pattern = "*.txt" } },
    })
    shell("rm -r " .. directory)
  end)

  it("server-memory answers as it does directly", function()
    direct, proxy = both(program("memory"))
    compare(direct, proxy, {
      { "read_graph", {} }, { "search_nodes", { query = "nothing" } }, { "open_nodes", { names = { "none" } } },
    })
  end)

  it("a server of fastmcp answers as it does directly", function()
    direct, proxy = both("spec/mcp/suite/fast.mjs", modules)
    compare(direct, proxy, { { "add", { a = 1, b = 2 } } })
    assert.is_true(proxy:call("far_add", { a = "x", b = 2 }).result.isError)
  end)
end)
