--- Official clients are asked for approvals, and answer, decline or cannot. `make test-policy` runs this.
local command = require("spec.support.command")
local json = require("operations.base.json")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the clients")
local node = modules .. "/node/bin/node"

local program = [[
  local operations = require("operations")
  local registry = operations.registry({ policy = { { type = "mutation", action = "ask", name = "ask before writes" },
    { match = "*delete", action = "block", name = "never delete" } } })
  for _, name in ipairs({ "create", "delete" }) do
    assert(registry:register({ namespace = "notes", name = name, handler = function(input)
      return "created " .. tostring(input.text)
    end }))
  end
  operations.to_mcp(registry):stdio()
]]

local clients = {
  { kind = "v1", name = "the TypeScript client 1.32" },
  { kind = "v2", name = "the TypeScript client 2.4, of the legacy era," },
  { kind = "v2-modern", name = "the TypeScript client 2.4, of the modern era," },
}

for _, client in ipairs(clients) do
  describe(client.name, function()
    local path = os.tmpname()

    teardown(function()
      os.remove(path)
    end)

    it("is asked about writes, and learns nothing of what is blocked", function()
      local file = assert(io.open(path, "w"))
      file:write(program)
      file:close()
      local result = command.run(("LUA_PATH='%s' LUA_CPATH='%s' %s spec/policy/approving.mjs %s %s %s %s"):format(
        package.path, package.cpath, node, modules, client.kind, command.interpreter(), path))
      local seen = assert(json.decode(result.out), result.err)
      for _, one in pairs(seen) do
        assert.same({ "notes_create" }, one.tools)
        assert.equal(-32602, one.hidden)
      end
      assert.same({ false, "created milk" }, { seen.accepted.failed, seen.accepted.text })
      assert.same({ 'notes.create: {"text":"milk"} (ask before writes)' }, seen.accepted.questions)
      for _, name in ipairs({ "refused", "declined", "cancelled" }) do
        assert.is_true(seen[name].failed, name)
        assert.matches("ACCESS_DENIED: the call was not approved", seen[name].text)
        assert.equal(1, #seen[name].questions)
      end
      assert.is_true(seen.incapable.failed)
      assert.matches("APPROVAL_REQUIRED: notes.create needs an approval %(ask before writes%)", seen.incapable.text)
    end)
  end)
end
