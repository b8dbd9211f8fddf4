--- Tools of an MCP server (`Tool`, 2024-11-05 to 2026-07-28) as specs of operations.
local core = require("operations.core")
local schema = require("operations.schema")

local tool = {}

-- Characters that neither the specification nor an operation's name allows.
local function name_of(text)
  return (text:gsub("[%s%c]+", "_"))
end

local function text_or_nil(value)
  return type(value) == "string" and value or nil
end

local function object_or_nil(value)
  return core.kind(value) == "object" and value or nil
end

-- The schema, when it can be used; else nil and why not.
local function usable(value)
  if type(value) ~= "table" or core.kind(value) ~= "object" then
    return nil, "is no JSON Schema object"
  end
  local compiled, err = schema.compile(value)
  if not compiled then
    return nil, err.message
  end
  return value
end

--- Is this entry of tools/list a tool at all?
---@param value any
---@return boolean ok
---@return string? problem
function tool.check(value)
  if core.kind(value) ~= "object" then
    return false, "a tool is an object"
  elseif type(value.name) ~= "string" or name_of(value.name) == "" then
    return false, "a tool has a name"
  end
  return true
end

--- The spec of a tool's operation. A schema that cannot be used is left out and told: any input is then sent, any
--- output is taken.
---@param namespace string
---@param value table  as tools/list gives it
---@param report fun(problem: string)
---@return operations.Spec
function tool.spec(namespace, value, report)
  local hints = object_or_nil(value.annotations) or {}
  local spec = {
    namespace = namespace,
    name = name_of(value.name),
    type = hints.readOnlyHint == true and "query" or "mutation",
    title = text_or_nil(value.title) or text_or_nil(hints.title),
    description = text_or_nil(value.description) or text_or_nil(value.title) or value.name,
    _meta = {
      source = "mcp", tool = value.name, title = value.title, annotations = value.annotations, icons = value.icons,
      execution = value.execution, _meta = value._meta,
    },
  }
  local problem
  spec.inputSchema, problem = usable(value.inputSchema)
  if problem then
    report("inputSchema " .. problem)
  end
  if value.outputSchema ~= nil then
    spec.outputSchema, problem = usable(value.outputSchema)
    if problem then
      report("outputSchema " .. problem)
    end
  end
  return spec
end

--- May a call be sent again when its answer was lost?
---@param value table  the tool
---@return boolean
function tool.is_repeatable(value)
  local hints = object_or_nil(value.annotations) or {}
  return hints.readOnlyHint == true or hints.idempotentHint == true
end

return tool
