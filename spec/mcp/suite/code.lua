--- The official TypeScript clients write programs, whose questions are answered and declined. `make test-mcp-server`
--- and `make test-code` run this.
local command = require("spec.support.command")
local json = require("operations.base.json")
local pipe = require("spec.support.mcp_server.pipe")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the clients")
local PROGRAM = command.interpreter() .. " spec/support/mcp_server/code.lua"

-- What a client saw that gives one answer to all forms.
local function seen_by(kind, answer, place)
  local words = "ANSWER=%s LUA_PATH='%s' LUA_CPATH='%s' %s/node/bin/node spec/mcp/suite/code.mjs %s %s %s"
  local result = command.run(words:format(answer, package.path, package.cpath, modules, modules, kind, place))
  return assert(json.decode(result.out), result.err)
end

local function check(seen, answer)
  local code = answer == "accept" and "ok" or "ACCESS_DENIED"
  assert.same({ codes = { code, code, code }, left = answer == "accept" and 2 or 5 }, seen.removed)
  assert.same({ 3 }, seen.forms) -- one form for the three calls
  assert.same({ "search_operations", "describe_operation", "run_lua" }, seen.tools)
  assert.is_true(seen.destructive)
  assert.matches('^call%("tasks%.remove", input: { id: integer }%)', seen.found)
  assert.same({ sum = 3 }, seen.sum)
  assert.equal("It printed:\nhello", seen.printed)
  assert.same({ true, "EXECUTION_ERROR: line 2: no" }, seen.failed)
end

local clients = { v1 = "the TypeScript client 1.32", v2 = "the TypeScript client 2.4, of the legacy era,",
  ["v2-modern"] = "the TypeScript client 2.4, of the modern era," }

for kind, name in pairs(clients) do
  describe(name, function()
    for _, answer in ipairs({ "accept", "decline" }) do
      it("writes programs over stdio, and answers " .. answer, function()
        check(seen_by(kind, answer, "stdio " .. PROGRAM), answer)
      end)

      it("writes programs over HTTP, and answers " .. answer, function()
        local server = pipe.run("code", "port=0")
        local ok, raised = pcall(function()
          check(seen_by(kind, answer, "http " .. assert(server.child:read_line())), answer)
        end)
        server.child:abort()
        assert(ok, raised)
      end)
    end
  end)
end
