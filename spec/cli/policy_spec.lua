-- The real program.
local command = require("spec.support.command")
local json = require("operations.base.json")
local operations = require("operations")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local definitions = [[
  local function echo(input)
    return input
  end
  return {
    { namespace = "notes", name = "list", type = "query", handler = echo },
    { namespace = "notes", name = "create", handler = echo,
      inputSchema = { type = "object", properties = { text = { type = "string" } } } },
    { namespace = "notes", name = "delete", handler = echo },
  }
]]

local rules = [[
- { type: mutation, action: ask, name: ask before writes }
- { match: delete, action: block, name: never delete, reason: data is kept }
- { match: create, action: block, name: no force, when: { required: [force] } }
]]

describe("operations with rules", function()
  local path = os.tmpname()

  local function write(name, text)
    local file = assert(io.open(path .. name, "w"))
    file:write(text)
    file:close()
  end

  setup(function()
    write(".lua", definitions)
    write(".yaml", rules)
  end)

  teardown(function()
    for _, name in ipairs({ "", ".lua", ".yaml", ".log" }) do
      os.remove(path .. name)
    end
  end)

  before_each(function()
    os.remove(path .. ".log")
  end)

  local function run(words)
    return command.run((words:gsub("SOURCE", "--lua " .. path .. ".lua"):gsub("RULES", path .. ".yaml")
      :gsub("LOG", path .. ".log")))
  end

  local function records()
    local list = {}
    for line in io.lines(path .. ".log") do
      list[#list + 1] = assert(json.decode(line))
    end
    return list
  end

  with_yaml("shows what happens to each operation, and by which rule", function()
    local result = run("operations policy RULES SOURCE")
    assert.equal("action  operation     rule               reason\nallow   notes.list\n"
      .. "ask*    notes.create  ask before writes\nblock   notes.delete  never delete       data is kept\n",
      (result.out:gsub(" +\n", "\n")))
    assert.truthy(result.err:find("--explain OPERATION", 1, true))
  end)

  with_yaml("explains one operation, and one call of it", function()
    assert.same({ action = "ask", rule = "ask before writes", depends = true },
      json.decode(run("operations policy RULES SOURCE --explain notes.create").out))
    assert.same({ action = "block", rule = "no force" },
      json.decode(run("operations policy RULES SOURCE --explain create --input '{\"force\":1}'").out))
  end)

  with_yaml("refuses a flawed file by the place, and before anything is loaded", function()
    local result = run("echo '- { match: x, acton: ask }' >LOG.yaml; "
      .. "operations call notes.list SOURCE --policy LOG.yaml; echo $?; rm LOG.yaml")
    assert.equal("2\n", result.out)
    assert.truthy(result.err:find(".log.yaml: /0", 1, true), result.err)
  end)

  with_yaml("calls obey them: blocked ones and ones that no person can be asked about end with code 4", function()
    local result = run("for o in list create delete; do "
      .. "operations call notes.$o SOURCE --policy RULES --audit LOG; echo $?; done")
    assert.equal("{}\n0\n4\n4\n", result.out)
    assert.truthy(result.err:find("APPROVAL_REQUIRED: notes.create needs an approval (ask before writes)", 1, true))
    assert.truthy(result.err:find("the policy blocks notes.delete (never delete): data is kept", 1, true))
    local found = {}
    for i, record in ipairs(records()) do
      found[i] = record.operation .. " " .. record.outcome
    end
    assert.same({ "notes.list ok", "notes.create error", "notes.delete blocked" }, found)
  end)

  with_yaml("takes changes of operations from a file, by --transform", function()
    write(".log", "notes.create: { name: write, fix: { text: t } }\n")
    os.rename(path .. ".log", path .. ".changes.yaml")
    finally(function()
      os.remove(path .. ".changes.yaml")
    end)
    local function changed(words)
      return run((words:gsub("CHANGES", "--transform " .. path .. ".changes.yaml")))
    end
    assert.equal('{"a":"1","text":"t"}\n', changed("operations call notes.write a=1 SOURCE CHANGES --compact").out)
    assert.truthy(changed("operations list SOURCE CHANGES").out:find("notes.write", 1, true))
    write(".changes.yaml", "notes.creat: { name: write }\n")
    local result = changed("operations list SOURCE CHANGES")
    assert.equal("operations: --transform: no operation notes.creat (did you mean notes.create?)\n", result.err)
    assert.equal(12, result.code)
  end)

  it("an MCP server leaves out what is blocked, and records its client", function()
    local words = {}
    for name, value in pairs(command.environment()) do
      words[#words + 1] = name .. "=" .. value
    end
    for _, word in ipairs({ command.interpreter(), "lua/operations/cli/main.lua", "mcp", "--lua", path .. ".lua",
      "--read-only", "--audit", path .. ".log" }) do
      words[#words + 1] = word
    end
    local client = assert(operations.from_mcp.connect("notes", { command = "env", args = words }))
    finally(function()
      client:close()
    end)
    local names = {}
    for i, definition in ipairs(client.operations) do
      names[i] = definition.name
    end
    assert.same({ "notes_list" }, names)
    local _, err = client:request("tools/call", { name = "notes_delete", arguments = operations.object() })
    assert.truthy(tostring(err):find("unknown tool: notes_delete", 1, true))
    local record = records()[1]
    assert.same({ "notes.delete", "blocked", "read only", "operations" },
      { record.operation, record.outcome, record.rule, record.client.name })
  end)
end)
