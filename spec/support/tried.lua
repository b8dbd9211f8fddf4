--- The calls that `operations describe` prints, read as the program reads them.
local describe = require("operations.cli.describe")
local fields = require("operations.people.fields")
local input = require("operations.people.input")
local operations = require("operations")
local schema_place = require("operations.people.schema_place")

local tried = {}

--- The input that the words of a spec's example give, and what is wrong with it.
---@param spec operations.Spec
---@param is_http boolean
---@return any value
---@return string? problem
function tried.input(spec, is_http)
  local root = spec.inputSchema
  local _, known = schema_place.names(root, {})
  local items, problem = input.read(describe.words(root, is_http))
  if not items then
    return nil, problem
  end
  local value, texts = fields.build(items, root, is_http and known.body ~= nil)
  if value == nil then
    return nil, texts
  end
  local compiled = assert(operations.schema.compile(root))
  value = input.convert(value, texts, compiled)
  local ok, issues = compiled:check(value)
  return value, not ok and ("%s: %s"):format(issues[1].path, issues[1].message) or nil
end

--- Makes the request of each operation's example from a document; sends nothing.
---@param path string  of the document
---@return table<string, string> problems  by the names of operations
---@return integer count  of operations
function tried.document(path)
  local held
  local function hold(request)
    held = request
    return nil, operations.error("ABORTED", "held")
  end
  local definitions = assert(operations.from_openapi.file(path, { namespace = "api", base_url = "http://api.test",
    http = { request = hold, open = hold } }))
  local registry = operations.registry({ normalize = "off", on_warning = function() end })
  assert(registry:register_all(definitions))
  local problems = {}
  for _, definition in ipairs(definitions) do
    local id = "api." .. definition.name
    local value, problem = tried.input(registry:get_spec(id), true)
    held = nil
    if not problem and definition.type == "subscription" then
      local subscription = assert(registry:subscribe(id, value))
      local _, err = subscription:next()
      subscription:close()
      problem = not held and tostring(err) or nil
    elseif not problem then
      local _, err = registry:execute(id, value)
      problem = not held and tostring(err) or nil
    end
    problems[definition.name] = problem
  end
  return problems, #definitions
end

return tried
