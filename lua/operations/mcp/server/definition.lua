--- Operations as MCP's tools: their entries in `tools/list`.
local bytes = require("operations.mcp.server.bytes")
local core = require("operations.core")
local marks = require("operations.base.marked")
local members = require("operations.base.members")

local definition = {}

-- The input of a tool is an object, whatever else its schema allows.
local function input_schema(schema)
  if type(schema) ~= "table" or next(schema) == nil then
    return { type = "object", properties = marks.object() }
  elseif schema.type == "object" then
    return schema
  end
  return members.merged(schema, { type = "object" })
end

--- Can clients of this era be told the shape of the tool's result? Bytes are blocks, no structured content.
---@param schema any
---@param modern boolean
---@return boolean
function definition.tells_output(schema, modern)
  return type(schema) == "table" and next(schema) ~= nil and (modern or schema.type == "object")
    and not bytes.media(schema)
end

local function boolean(value)
  if type(value) == "boolean" then
    return value
  end
end

-- Hints: queries change nothing; the specs of mutations say more.
local function annotations(spec, meta)
  local given = type(meta.annotations) == "table" and meta.annotations or {}
  if meta.source == "mcp" and meta.tool then
    return meta.annotations -- from its server, unchanged
  end
  if spec.type == "query" then
    return members.merged({ readOnlyHint = true }, given)
  end
  return members.merged({ readOnlyHint = false, destructiveHint = boolean(meta.destructive),
    idempotentHint = boolean(meta.idempotent) }, given)
end

local function list_of(value)
  return core.kind(value) == "array" and value[1] ~= nil and value or nil
end

--- The definition of a tool.
---@param spec operations.Spec  whole
---@param name string
---@param modern boolean
---@return table  `Tool`
function definition.of(spec, name, modern)
  local meta = type(spec._meta) == "table" and spec._meta or {}
  local imported = meta.source == "mcp" and meta.tool ~= nil
  return members.merged(imported and meta.unknown or nil, {
    name = name, title = type(meta.title) == "string" and meta.title or not imported and spec.title or nil,
    _meta = imported and meta._meta or nil, description = spec.description,
    inputSchema = input_schema(spec.inputSchema),
    outputSchema = definition.tells_output(spec.outputSchema, modern) and spec.outputSchema or nil,
    annotations = annotations(spec, meta), icons = list_of(meta.icons),
  })
end

return definition
