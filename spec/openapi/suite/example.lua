--- Calls every operation of the example document at $TASKS_URL, and prints what became of each.
package.path = "./?.lua;" .. package.path
local calls = require("spec.openapi.suite.calls")
local operations = require("operations")

local function refusal(envelope, err)
  local status = envelope and envelope.meta.statusCode or err.details.statusCode
  return tostring(status or err)
end

for _, optional in ipairs({ true, false }) do
  local definitions = assert(operations.from_openapi.file("examples/tasks.openapi.json", {
    base_url = os.getenv("TASKS_URL"),
  }))
  local answers = calls.every(definitions, { optional = optional }, refusal)
  for _, definition in ipairs(definitions) do
    print(definition.name, answers[definition.name])
  end
  local let_in = calls.spoiled(definitions, function(envelope)
    return not envelope
  end)
  print("spoiled and let in", table.concat(let_in, " "))
end
