--- The request of an operation: its method, and the parts of its input in path, query and body.
local jobs = require("operations.openapi.out.jobs")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")

local requests = {}

-- The keywords of an input schema, besides annotations, that parameters can express.
local spoken = members.set({ "type", "properties", "required", "additionalProperties", "$defs", "$schema", "title",
  "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly" })

local function accepts_anything(schema)
  return schema == nil or schema == true or type(schema) == "table" and next(schema) == nil
end

-- Is it an object whose members are independent?
local function is_plain(all, schema)
  if type(schema) ~= "table" or schema.type ~= "object" or not all:is_plain(schema)
    or type(schema.additionalProperties) == "table" and next(schema.additionalProperties) ~= nil then
    return false
  end
  for keyword in pairs(schema) do
    if not spoken[keyword] then
      return false
    end
  end
  for _, name in ipairs(schema.required or {}) do
    if not schema.properties or schema.properties[name] == nil then
      return false
    end
  end
  return true
end

-- Members that a stream's query cannot have: the server uses them itself.
local function is_reserved(entry)
  local properties = type(entry.spec.inputSchema) == "table" and entry.spec.inputSchema.properties
  return entry.spec.type == "subscription" and properties and properties.lastEventId ~= nil
end

-- The method for the document, of those of the operation.
local function method_of(entry, version, fits)
  local methods = entry.methods
  if methods.GET and entry.flat and (fits or not methods.POST) then
    return "get"
  elseif version == "3.2" and methods.QUERY then
    return "query"
  end
  for _, method in ipairs({ "POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "QUERY" }) do
    if methods[method] then
      return method:lower()
    end
  end
end

local function parameter(all, schema, name, where)
  local property = type(schema.properties) == "table" and schema.properties[name]
  local made = { name = name, ["in"] = where, schema = all:part(schema, property == nil and true or property),
    required = (where == "path" or members.contains(schema.required, name)) or nil }
  if type(property) == "table" then
    made.explode = where == "query" and property.type == "array" or nil -- the default, which not all generators know
    made.description = type(property.description) == "string" and property.description or nil
    made.deprecated = property.deprecated == true or nil
  end
  return made
end

-- The schema without the members in the path.
local function without(schema, names)
  local copy = members.copy(schema)
  copy.properties = property_order.carry(members.copy(schema.properties or {}), schema.properties or {})
  copy.required = {}
  for name in pairs(names) do
    copy.properties[name] = nil
  end
  for _, name in ipairs(schema.required or {}) do
    copy.required[#copy.required + 1] = not names[name] and name or nil
  end
  copy.required = copy.required[1] and copy.required or nil
  return copy
end

local function body_of(all, entry, plain, in_path)
  local schema = entry.spec.inputSchema
  local shown = all:body(schema, entry.media)
  if plain and next(in_path) then
    shown = without(shown, in_path)
  end
  return { required = (not accepts_anything(schema) or nil),
    content = { [entry.media or "application/json"] = { schema = shown } } }
end

-- Parameters for the members of the input, those of the path first.
local function parameters_of(all, entry, in_path, by_query)
  local schema, list = entry.spec.inputSchema, {}
  local owner = type(schema) == "table" and all:is_plain(schema) and schema or {}
  for _, name in ipairs(entry.path_names) do
    list[#list + 1] = parameter(all, owner, name, "path")
  end
  for _, name in ipairs(by_query and property_order.names(owner.properties or {}) or {}) do
    list[#list + 1] = not in_path[name] and parameter(all, owner, name, "query") or nil
  end
  return list
end

-- The parameters and the body of an operation that is served as its own document says.
local function relayed(all, entry)
  local schema, plan, list = entry.spec.inputSchema, entry.relay, {}
  for i, param in ipairs(plan.parameters) do
    local made = parameter(all, schema, param.key, param.location)
    made.name, made.required = param.name, param.required or nil
    if param.media then
      made.content, made.schema = { [param.media] = { schema = made.schema } }, nil
    else
      made.style, made.explode = param.style, param.explode
    end
    made.allowReserved = param.reserved and param.location == "query" or nil
    list[i] = made
  end
  local body = plan.body and { required = plan.body.required or nil, description = plan.body.description, content = {} }
  for _, made in ipairs(body and plan.body.types or {}) do
    body.content[made.name] = { schema = made.kind == "bytes" and {} or all:part(schema, made.schema) }
  end
  return { method = plan.method:lower(), parameters = list[1] and list or nil, body = body }
end

--- The required parts of a request.
---@param all operations.openapi.Components
---@param entry operations.openapi.Entry
---@param version "3.0"|"3.1"|"3.2"
---@return { method: string, parameters: table[]?, body: table?, input: "body"|"parameters"|nil, open: true? }
function requests.of(all, entry, version)
  if entry.relay then
    return relayed(all, entry)
  end
  local schema, in_path = entry.spec.inputSchema, members.set(entry.path_names)
  local plain, nothing = is_plain(all, schema), accepts_anything(schema)
  local method = method_of(entry, version, (plain or nothing) and not is_reserved(entry))
  local by_query = method == "get" or method == "head" or method == "delete" and entry.flat
  local list = parameters_of(all, entry, in_path, by_query)
  list[#list + 1] = entry.key_required and { name = "Idempotency-Key", ["in"] = "header", required = true,
    description = "Names the request: sent again with the same key it does not run again.",
    schema = { type = "string", minLength = 1, maxLength = 255 } } or nil
  list[#list + 1] = entry.task and jobs.preference or nil
  local made = { method = method, parameters = list[1] and list or nil, input = "body", open = nil }
  if not by_query then
    made.body = body_of(all, entry, plain, in_path)
  elseif not nothing then
    made.input = "parameters"
    made.open = schema.additionalProperties ~= false or nil
  end
  return made
end

return requests
