local rules = require("operations.policy.rules")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local function facts(id, fields)
  fields = fields or {}
  return { id = id, name = id:match("%.(.+)$"), type = fields.type or "mutation",
    destructive = fields.destructive == true }
end

local function names_of(list, id, fields)
  local found = {}
  for i, rule in ipairs(rules.of(assert(rules.read(list)), facts(id, fields))) do
    found[i] = rule.name
  end
  return found
end

describe("the rules of a policy", function()
  local scratch

  local function file(name, text)
    scratch = scratch or os.tmpname()
    local path = scratch .. name
    local handle = assert(io.open(path, "wb"))
    handle:write(text)
    handle:close()
    finally(function()
      os.remove(path)
      os.remove(scratch)
      scratch = nil
    end)
    return path
  end

  it("fit ids and names by patterns, whatever stands between", function()
    local patterns = { "github.*", "*.list", "delete_*", "*", "git*.is*_get", "github.issues_get", "*_get", "g*b.*",
      "issues_get", "github", "*hub*s_g*t", "github.*.x", "GitHub.*" }
    local list = {}
    for i, pattern in ipairs(patterns) do
      list[i] = { match = pattern, action = "block", name = pattern }
    end
    assert.same({ "github.*", "*", "git*.is*_get", "github.issues_get", "*_get", "g*b.*", "issues_get", "*hub*s_g*t" },
      names_of(list, "github.issues_get"))
    assert.same({ "*.list", "*" }, names_of(list, "tasks.list"))
    assert.same({ "delete_*", "*" }, names_of(list, "mail.delete_all"))
  end)

  it("do not fit where two parts of a pattern would share letters", function()
    local list = { { match = "a.ab*ba", action = "block" } }
    assert.same({}, names_of(list, "a.aba"))
    assert.same({ "rule 1" }, names_of(list, "a.abba"))
    assert.same({}, names_of({ { match = "x*aa*aa", action = "block" } }, "n.xaaa"))
  end)

  it("fit names in other scripts, and signs that Lua's patterns have", function()
    assert.same({ "rule 1" }, names_of({ { match = "größe.*-%d+", action = "ask" } }, "größe.löschen-%d+"))
    assert.same({}, names_of({ { match = "größe.%a*", action = "ask" } }, "größe.löschen"))
  end)

  it("fit by type and by what is destroyed", function()
    local list = { { type = "query", action = "allow", name = "reads" },
      { type = { "mutation", "subscription" }, action = "ask", name = "writes" },
      { destructive = true, action = "block", name = "destroys" },
      { destructive = false, action = "ask", name = "keeps" } }
    assert.same({ "reads", "keeps" }, names_of(list, "a.b", { type = "query" }))
    assert.same({ "writes", "destroys" }, names_of(list, "a.b", { destructive = true }))
  end)

  it("are refused with every flaw by path", function()
    local read, err = rules.read({ { match = "a.b", action = "allow" },
      { mach = "a", action = "blok", when = true }, { action = "ask", when = { type = "strng" } } })
    assert.is_nil(read)
    local told = {}
    for _, issue in ipairs(err.details) do
      told[#told + 1] = issue.path .. ": " .. issue.message
    end
    table.sort(told)
    assert.equal('/1/action: expected one of "allow", "ask" or "block", got "blok"', told[1])
    assert.equal("/1/mach: unknown field (did you mean match?)", told[2])
    assert.truthy(told[3]:find("/2/when/type: unknown type", 1, true))
    assert.truthy(tostring(err):find("^VALIDATION_ERROR: /1/", 1))
  end)

  it("are refused when two have one name, or they are no list", function()
    local _, err = rules.read({ { action = "ask", name = "x" }, { action = "block", name = "x" } })
    assert.equal('VALIDATION_ERROR: /1/name: rule 1 has the name "x", too', tostring(err))
    _, err = rules.read({ rules = { { action = "ask" } }, defaults = 1 })
    assert.equal("VALIDATION_ERROR: /defaults: unknown field", tostring(err))
    _, err = rules.read({ action = "ask" })
    assert.equal("VALIDATION_ERROR: a list of rules expected, got table", tostring(err))
  end)

  with_yaml("come from files of JSON, YAML and Lua", function()
    local json = file(".json", '{"rules":[{"match":"a.*","action":"block"}]}')
    local yaml = file(".yaml", "- match: a.*\n  action: block\n")
    local lua = file(".lua", 'return { { match = "a.*", action = "block" } }')
    for _, path in ipairs({ json, yaml, lua }) do
      assert.same("block", assert(rules.file(path)).list[1].action)
    end
  end)

  with_yaml("of a flawed file are refused by its name and the place", function()
    local path = file(".yaml", "- match: a.*\n  action: block\n  resaon: x\n")
    local _, err = rules.file(path)
    assert.equal(("VALIDATION_ERROR: %s: /0/resaon: unknown field (did you mean reason?)"):format(path), tostring(err))
    path = file(".json", '{"rules":[')
    _, err = rules.file(path)
    assert.truthy(tostring(err):find(path, 1, true))
    path = file(".lua", "error('no')")
    _, err = rules.file(path)
    assert.truthy(tostring(err):find("no", 1, true))
    _, err = rules.file("/nowhere/rules.json")
    assert.truthy(tostring(err):find("/nowhere/rules.json", 1, true))
    _, err = rules.file("rules.txt")
    assert.equal("VALIDATION_ERROR: rules.txt: a file .json, .yaml, .yml or .lua expected", tostring(err))
  end)

  it("bear patterns of a megabyte and ten thousand of them", function()
    local list = { { match = ("*a"):rep(500000), action = "block" }, { match = ("a"):rep(1000000), action = "block" } }
    for i = 3, 10000 do
      list[i] = { match = ("ns%d.*_%d"):format(i % 100, i), action = "block" }
    end
    local read = assert(rules.read(list))
    assert.same("rule 142", rules.of(read, facts("ns42.x_142"))[1].name)
    assert.same({}, rules.of(read, facts(("a"):rep(2000) .. ".b")))
  end)
end)
