--- Curating: new definitions of operations, whatever their source, with other names, fewer fields, fixed values, and a
--- part of the answer.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local schemas = require("operations.schema")
local selection = require("operations.base.selection")
local suggestion = require("operations.base.suggestion")

local transform = {}

--- The change of one operation. Fields are properties of its input; `body.title` names one inside of another.
---@class operations.TransformChange
---@field namespace? string  the new one
---@field name? string  the new one
---@field title? string
---@field description? string
---@field tags? string[]
---@field pinned? boolean  listed as a tool also where most tools are searched
---@field hide? string[]  fields that callers neither see nor send; they must be optional
---@field fix? table<string, any>  fields that callers neither see nor send, with the values that are sent
---@field default? table<string, any>  values that are sent where the caller gives none
---@field rename? table<string, string>  the new names of fields, by the old ones
---@field describe? table<string, string>  descriptions of fields, by their old names
---@field select? string  the part of the result that callers get: "items[].{number,title}"

local change_kinds = { namespace = "string", name = "string", title = "string", description = "string", tags = "table",
  pinned = "boolean", hide = "table", fix = "table", default = "table", rename = "table", describe = "table",
  select = "string" }

local function flaw(path, message, ...)
  return { path = path, keyword = "transform", message = select("#", ...) > 0 and message:format(...) or message }
end

-- Schemas.

local MOST_REFERENCES = 32

-- A schema with its reference replaced by a copy of what it names; other keywords beside it stay.
local function resolved(schema, root)
  for _ = 1, MOST_REFERENCES do
    local target = type(schema) == "table" and type(schema["$ref"]) == "string" and schema["$ref"]:match("^#(.*)$")
    if not target then
      return schema
    end
    local found = json_pointer.get(root, target)
    if type(found) ~= "table" then
      return schema
    end
    local beside = members.copy(schema)
    beside["$ref"] = nil
    schema = members.merged(found, beside)
  end
  return schema
end

local function copied_properties(schema)
  schema.properties = property_order.carry(members.copy(schema.properties), schema.properties)
  return schema
end

-- A copy of the schema of an object in which fields can be changed.
local function open(schema, root)
  schema = resolved(schema, root)
  if type(schema) ~= "table" or type(schema.properties) ~= "table" then
    return nil
  end
  return copied_properties(members.copy(schema))
end

-- The schema of the object that has a field, opened on the way from the root; the field's name in it; and its place in
-- inputs: the names of the objects around it, and its own. Or nil and a suggestion.
local function holder_of(root, path)
  local node, name, place = root, path, {}
  while node.properties[name] == nil do
    local first, rest = name:match("^([^.]+)%.(.+)$")
    local inner = first and node.properties[first] ~= nil and open(node.properties[first], root)
    if not inner then
      return nil, suggestion.behind(name, property_order.names(node.properties))
    end
    node.properties[first], place[#place + 1] = inner, first
    node, name = inner, rest
  end
  place[#place + 1] = name
  return node, name, place
end

local function without(list, name)
  local kept = marked.array()
  for _, item in ipairs(type(list) == "table" and list or {}) do
    kept[#kept + 1] = item ~= name and item or nil
  end
  return kept[1] and kept or nil
end

local function rename_in(node, old, new)
  local order = property_order.names(node.properties)
  for i, name in ipairs(order) do
    order[i] = name == old and new or name
  end
  node.properties[new], node.properties[old] = node.properties[old], nil
  property_order.set(node.properties, order)
  for i, name in ipairs(type(node.required) == "table" and node.required or {}) do
    if name == old then
      node.required = members.copy(node.required)
      node.required[i] = new
    end
  end
end

-- Values.

-- The object that holds a field in a copy of the input; with `make`, it is made where it is missing.
local function object_at(input, place, make)
  local node = input
  for i = 1, #place - 1 do
    local inner = node[place[i]]
    if inner == nil and make then
      inner = marked.object({})
    elseif core.kind(inner) ~= "object" then
      return nil
    else
      inner = members.copy(inner)
    end
    node[place[i]] = inner
    node = inner
  end
  return node
end

local function copied(value)
  return type(value) == "table" and json.decode(json.encode(value)) or value
end

-- Gives renamed fields their old names, those of outer objects first. What a caller sends by an old name is dropped.
local function restore(input, renamed)
  local at = 1
  while renamed[at] do
    local depth, last, values = #renamed[at].place, at, {}
    while renamed[last + 1] and #renamed[last + 1].place == depth do
      last = last + 1
    end
    for i = at, last do
      local node = object_at(input, renamed[i].place)
      if node then
        values[i], node[renamed[i].new] = node[renamed[i].new], nil
      end
    end
    for i = at, last do
      local place = renamed[i].place
      local node = object_at(input, place, values[i] ~= nil)
      if node then
        node[place[depth]] = nil
      end
    end
    for i = at, last do
      if values[i] ~= nil then
        object_at(input, renamed[i].place)[renamed[i].place[depth]] = values[i]
      end
    end
    at = last + 1
  end
end

-- The input that the operation takes, made of what a caller gave.
local function input_of(plan, given)
  if core.kind(given) ~= "object" then
    return given
  end
  local input = members.copy(given)
  restore(input, plan.renamed)
  for _, place in ipairs(plan.hidden) do
    local node = object_at(input, place)
    if node then
      node[place[#place]] = nil
    end
  end
  for _, item in ipairs(plan.given) do
    local node = object_at(input, item.place, true)
    local name = item.place[#item.place]
    if node and (item.always or node[name] == nil) then
      node[name] = copied(item.value)
    end
  end
  return input
end

-- Results.

local function text_blocks(data)
  return marked.array({ { type = "text", text = type(data) == "string" and data or json.encode(data) } })
end

local function selected(steps, value)
  if not core.is_response_envelope(value) then
    local part = selection.get(steps, value)
    return part == nil and core.null or part
  elseif value.meta.source == "mcp" and value.meta.isError then
    return value
  end
  local part = selection.get(steps, value.data)
  part = part == nil and core.null or part
  local meta = members.copy(value.meta)
  if meta.source == "mcp" then
    meta.structuredContent, meta.content = part, text_blocks(part)
    return core.mcp_envelope(part, meta)
  elseif meta.source == "http" then
    return core.http_envelope(part, meta)
  end
  return core.local_envelope(part, meta.operationId)
end

-- The schema of the part of a value; true where it is not known.
local function part_schema(schema, root, steps, at)
  schema = resolved(schema, root)
  local step = steps[at]
  if step == nil then
    return schema
  elseif type(schema) ~= "table" then
    return true
  elseif step == true then
    local items = type(schema.items) == "table" and part_schema(schema.items, root, steps, at + 1) or true
    return { type = "array", items = items }
  elseif type(step) == "number" then
    return type(schema.items) == "table" and part_schema(schema.items, root, steps, at + 1) or true
  elseif type(step) == "string" then
    local property = type(schema.properties) == "table" and schema.properties[step]
    return property ~= nil and property ~= false and part_schema(property, root, steps, at + 1) or true
  end
  local properties, order = {}, {}
  for _, part in ipairs(step) do
    properties[part.name], order[#order + 1] = part_schema(schema, root, part.steps, 1), part.name
  end
  property_order.set(properties, order)
  local object = { type = "object", properties = properties }
  return schema.type == "array" and { type = "array", items = true } or object
end

local function output_of(schema, steps)
  if type(schema) ~= "table" then
    return true
  end
  local part = part_schema(schema, schema, steps, 1)
  if type(part) ~= "table" then
    return true
  end
  part = members.copy(part)
  part["$defs"], part.definitions = part["$defs"] or schema["$defs"], part.definitions or schema.definitions
  part["$schema"] = schema["$schema"]
  return schemas.compile(part) and part or true
end

-- One definition.

local function schema_of(value)
  if type(value) ~= "function" then
    return value
  end
  return value()
end

local function fits(schema, root, value)
  schema = type(schema) == "table" and members.merged({ ["$defs"] = root["$defs"], definitions = root.definitions },
    schema) or schema
  local compiled = schemas.compile(schema)
  if not compiled then
    return true
  end
  local ok, issues = compiled:check(value)
  return ok, not ok and issues[1].message or nil
end

-- The change of an input: its schema, opened, and what is done to each input.
---@class operations.transform.Work
---@field change operations.TransformChange
---@field place string  for issues
---@field issues table[]
---@field root table  the new schema
---@field plan { renamed: table[], hidden: table[], given: table[] }

local function report(work, kind, path, message, ...)
  table.insert(work.issues, flaw(("%s/%s/%s"):format(work.place, kind, json_pointer.escape(path)), message, ...))
end

-- Calls `act(node, name, place)` for a field: the schema that has it, its name there, and its place in inputs.
local function field(work, kind, path, act)
  local node, name, place = holder_of(work.root, path)
  if not node then
    report(work, kind, path, "no such field%s", name)
  else
    act(node, name, place)
  end
end

local function set_in(node, name, more)
  local property = node.properties[name]
  node.properties[name] = members.merged(type(property) == "table" and property or {}, more)
end

-- Fields whose values do not come from the caller alone.
local function give(work, kind, path)
  local value = work.change[kind][path]
  field(work, kind, path, function(node, name, place)
    local ok, message = fits(node.properties[name], work.root, value)
    if not ok then
      report(work, kind, path, message)
    end
    if kind == "fix" then
      node.properties[name] = nil
    else
      set_in(node, name, { default = value })
    end
    node.required = without(node.required, name)
    table.insert(work.plan.given, { place = place, value = value, always = kind == "fix" })
  end)
end

local function hide(work, path)
  field(work, "hide", path, function(node, name, place)
    if members.contains(type(node.required) == "table" and node.required or {}, name) then
      report(work, "hide", path, "the field is required: fix it, or give it a default")
    end
    node.properties[name] = nil
    table.insert(work.plan.hidden, place)
  end)
end

-- Renames a field unless another one has the name; `is_last`: then this is reported. Returns whether it waits.
local function rename(work, path, is_last)
  local new, waits = work.change.rename[path], false
  field(work, "rename", path, function(node, name, place)
    if type(new) ~= "string" or new == "" then
      report(work, "rename", path, "a name expected, got %s", type(new))
    elseif node.properties[new] ~= nil and is_last then
      report(work, "rename", path, "there is already a field %s", new)
    elseif node.properties[new] ~= nil then
      waits = true
    else
      rename_in(node, name, new)
      table.insert(work.plan.renamed, { place = place, new = new })
    end
  end)
  return waits
end

local function depth_of(path)
  return select(2, path:gsub("%.", ""))
end

local function rename_all(work)
  local waiting, left = members.names(work.change.rename or {}), math.huge
  table.sort(waiting, function(one, other) -- inner fields first: their paths have the old names
    local deep, flat = depth_of(one), depth_of(other)
    return deep > flat or deep == flat and one < other
  end)
  while #waiting > 0 do -- a name may be free once another field has a new one
    local still = {}
    for _, path in ipairs(waiting) do
      still[#still + 1] = rename(work, path, #waiting == left) and path or nil
    end
    left, waiting = #waiting, still
  end
  table.sort(work.plan.renamed, function(one, other)
    return #one.place < #other.place
  end)
end

-- The new schema of the input, and the plan for inputs; nil: they stay as they are.
local function change_input(definition, change, place, issues)
  if not (change.hide or change.fix or change.default or change.rename or change.describe) then
    return definition.inputSchema, nil
  end
  local original = schema_of(definition.inputSchema)
  local root = open(original, original)
  if not root then
    issues[#issues + 1] = flaw(place, "its input has no named fields")
    return original, nil
  end
  local work = { change = change, place = place, issues = issues, root = root,
    plan = { renamed = {}, hidden = {}, given = {} } }
  for _, path in ipairs(members.names(change.describe or {})) do
    field(work, "describe", path, function(node, name)
      set_in(node, name, { description = change.describe[path] })
    end)
  end
  for _, kind in ipairs({ "default", "fix" }) do
    for _, path in ipairs(members.names(change[kind] or {})) do
      give(work, kind, path)
    end
  end
  for _, path in ipairs(change.hide or {}) do
    hide(work, path)
  end
  rename_all(work)
  return root, work.plan
end

local function change_kinds_of(change, place, issues)
  if type(change) ~= "table" then
    issues[#issues + 1] = flaw(place, "a table expected, got %s", type(change))
    return
  end
  for _, name in ipairs(members.names(change)) do
    local kind = change_kinds[name]
    if not kind then
      issues[#issues + 1] = flaw(place .. "/" .. json_pointer.escape(name), "unknown%s",
        suggestion.behind(name, members.names(change_kinds)))
    elseif type(change[name]) ~= kind then
      issues[#issues + 1] = flaw(place .. "/" .. name, "%s expected, got %s", kind, type(change[name]))
    end
  end
end

local function meta_of(definition, change, id)
  local meta = members.copy(definition._meta or {})
  meta.schemas, meta.transforms = nil, id
  meta.title = meta.title and (change.title or meta.title)
  if change.pinned ~= nil then
    meta.pinned = change.pinned
  end
  return meta
end

-- The handler with the changed input and the selected result.
local function handler_of(definition, plan, steps)
  local inner = definition.handler
  if not inner or not plan and not steps then
    return inner
  end
  local streams = definition.type == "subscription"
  return errors.relay(function(input, context)
    if streams and steps then
      local emit = context.emit
      rawset(context, "emit", function(value, options)
        return emit(selected(steps, value), options)
      end)
    end
    local value, err = inner(plan and input_of(plan, input) or input, context)
    if value == nil or not steps or streams then
      return value, err
    end
    return selected(steps, value)
  end, inner)
end

local function transformed(definition, change, id, issues)
  local place = "/" .. json_pointer.escape(id)
  change_kinds_of(change, place, issues)
  if #issues > 0 then
    return definition
  end
  local schema, plan = change_input(definition, change, place, issues)
  local steps, message
  if change.select then
    steps, message = selection.parse(change.select)
    if not steps then
      issues[#issues + 1] = flaw(place .. "/select", (message:gsub("^%-%-select: ", "")))
    end
  end
  local made = members.copy(definition)
  made.namespace, made.name = change.namespace or definition.namespace, change.name or definition.name
  made.title, made.description = change.title or definition.title, change.description or definition.description
  made.tags, made.inputSchema = change.tags or definition.tags, schema
  if steps then
    made.outputSchema = output_of(schema_of(definition.outputSchema), steps)
  end
  made._meta, made.handler = meta_of(definition, change, id), handler_of(definition, plan, steps)
  return made
end

--- New definitions with these changes, in the same order; the given ones are not changed.
---@param definitions operations.Definition[]
---@param changes table<string, operations.TransformChange>  by the id of the operation
---@param options? { partial?: boolean }  partial: ids that are not among the definitions are no errors
---@return operations.Definition[]? definitions
---@return operations.Error|table<string, true>|nil used  VALIDATION_ERROR: details lists every issue by path
function transform.new(definitions, changes, options)
  argument.expect(definitions, "table", 1, "transform")
  argument.expect(changes, "table", 2, "transform")
  local list, seen, issues = {}, {}, {}
  for i, definition in ipairs(definitions) do
    local id = ("%s.%s"):format(tostring(definition.namespace), tostring(definition.name))
    seen[id] = true
    list[i] = changes[id] ~= nil and transformed(definition, changes[id], id, issues) or definition
  end
  for _, id in ipairs(members.names(changes)) do
    if not seen[id] and not (options and options.partial) then
      local near = suggestion.of(id, definitions)
      issues[#issues + 1] = flaw("/" .. json_pointer.escape(id), "no such operation%s",
        near[1] and (" (did you mean %s?)"):format(table.concat(near, ", ")) or "")
    end
  end
  if #issues > 0 then
    return nil, errors.new("VALIDATION_ERROR", ("transform: %s: %s"):format(issues[1].path, issues[1].message), issues)
  end
  return list, options and options.partial and seen or nil
end

return transform
