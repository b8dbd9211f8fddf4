--- `operations policy`: what a file of rules does to the operations of sources.
local arguments = require("operations.cli.arguments")
local grid = require("operations.cli.grid")
local guard = require("operations.registry.guard")
local json = require("operations.base.json")
local operations = require("operations")
local output = require("operations.cli.output")
local rules_of = require("operations.cli.rules")
local sources = require("operations.cli.sources")

local policy = {
  usage = "operations policy FILE [SOURCE...] [OPTIONS]",
  summary = "Prints what the rules of a file (.json, .yaml, .lua) do to each operation of its\n"
    .. "sources, and by which rule. With --explain: to one operation, or one call of it.",
  options = {
    { name = "--explain", value = "OPERATION", help = "why is a call of it allowed, asked about or blocked?" },
    { name = "--input", value = "JSON", help = "the input of this call" },
    rules_of.transform, arguments.identity_options[1], arguments.identity_options[2],
  },
}

local function explain(registry, rules, who, given)
  local spec, code = sources.find(registry, given.explain)
  if not spec then
    return code
  end
  local id, value = spec.namespace .. "." .. spec.name, nil
  if given.input then
    local err, fits
    value, err = json.decode(given.input)
    if err then
      return output.usage("--input: %s", err.message)
    end
    fits, value = registry:admit(id, value, { identity = who })
    if not fits then
      return output.fail(value)
    end
  end
  output.data(rules:explain(guard.facts(registry, id), who, value), true)
  return output.codes.OK
end

local columns = { "action", "operation", "rule", "reason" }

---@param parsed operations.cli.Arguments
---@return integer code
function policy.run(parsed)
  local path = table.remove(parsed.rest, 1)
  if not path then
    return output.usage("policy: expected a FILE of rules")
  end
  local who, message = arguments.identity(parsed.options)
  if message then
    return output.usage("policy: %s", message)
  end
  local rules, err = operations.policy(path)
  if not rules then
    return output.fail(err)
  end
  local registry, code = sources.registry(parsed, { names = parsed.rest, identity = who, all = true })
  if not registry then
    return code
  elseif parsed.options.explain then
    return explain(registry, rules, who, parsed.options)
  end
  local rows, depends = operations.array(), false
  for i, spec in ipairs(registry:specs({ schemas = false })) do
    local id = spec.namespace .. "." .. spec.name
    local found = rules:explain(guard.facts(registry, id), who)
    rows[i] = { action = found.action .. (found.depends and "*" or ""), operation = id, rule = found.rule or "",
      reason = found.reason }
    depends = depends or found.depends
  end
  output.text((grid.text(rows, columns, output.is_terminal() and output.width() or nil)))
  if depends then
    output.notice("* other inputs or callers meet a stricter rule: --explain OPERATION --input JSON")
  end
  return output.codes.OK
end

return policy
