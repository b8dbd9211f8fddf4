--- luacheck with one more check: of assignments to the control variable of a `for` loop, which Lua 5.5 refuses.
local core_utils = require("luacheck.core_utils")
local stages = require("luacheck.stages")

local CODE, FIELDS = "581", { "code", "line", "column", "end_column", "name" }

local stage = {}

function stage.run(chstate)
  local controls = {}
  core_utils.each_statement(chstate, { "Fornum", "Forin" }, function(_, loop)
    local control = loop.tag == "Forin" and loop[1][1] or loop[1]
    controls[control.var] = true
  end)
  core_utils.each_statement(chstate, { "Set" }, function(_, assignment)
    for _, target in ipairs(assignment[1]) do
      if controls[target.var] then
        chstate:warn_range(CODE, target, { name = target[1] })
      end
    end
  end)
end

local is_field = {}
for _, name in ipairs(FIELDS) do
  is_field[name] = true
end
stages.warnings[CODE] = { message_format = "assigning to the variable {name!} of a loop, a constant in Lua 5.5",
  fields = FIELDS, fields_set = is_field }
table.insert(stages.modules, stage)

require("luacheck.main")
