--- The official TypeScript client uses our server. `make test-mcp` runs this.
local command = require("spec.support.command")
local json = require("operations.base.json")
local pipe = require("spec.support.mcp_server.pipe")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")

-- What the client saw of a server that it reaches so.
local function seen_by(transport, place)
  local result = command.run(("LUA_PATH='%s' LUA_CPATH='%s' node spec/mcp/suite/clients.mjs %s %s %s"):format(
    package.path, package.cpath, modules .. "/@modelcontextprotocol/sdk", transport, place))
  return assert(json.decode(result.out), result.err)
end

local function check(seen)
  assert.same({ number = 2 }, seen.sum)
  assert.equal("hello", seen.hello)
  assert.equal("accept Ada", seen.asked)
  assert.equal("Say hello to Ada, as you like", seen.prompt)
  assert.same({ "warm" }, seen.completed)
  assert.equal("note://hello", seen.updated)
  assert.same({ "data_all", "data_page", "other_query", "make_tool", "make_prompt", "make_update" }, seen.tools)
end

describe("the TypeScript client, of the legacy era,", function()
  it("uses our server over stdio", function()
    local seen = seen_by("stdio", command.interpreter() .. " spec/support/mcp_server/content.lua")
    check(seen)
    assert.equal(5, #seen.resources)
  end)

  it("uses our server over HTTP", function()
    local server = pipe.run("content", "port=0")
    local ok, raised = pcall(function()
      local seen = seen_by("http", assert(server.child:read_line()))
      check(seen)
      assert.equal(4, #seen.resources) -- nobody in particular may read one less
    end)
    server.child:abort()
    assert(ok, raised)
  end)
end)
