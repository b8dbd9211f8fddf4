--- Reads the input of an operation from a request: the parameters of the path, then the query or the body.
---
--- A query string can carry objects whose members are scalars, enums or arrays of these, one parameter per member
--- (OpenAPI's `style: form, explode: true`). Text is converted to the type that the member's schema names, without
--- loss, or refused. A member that takes strings and other scalars gets the text itself. The schema itself is checked
--- later, by the registry.
local codec = require("operations.http_server")
local core = require("operations.core")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")

local object_mt, parse = core.object_mt, request_head.query
local input_reader = {}

-- Keywords that allow members which `properties` does not name.
local open_keywords = { "additionalProperties", "patternProperties", "unevaluatedProperties" }
local scalar = { string = true, integer = true, number = true, boolean = true }
-- The longest chain of references that is followed.
local MAX_REFS = 32

local function resolve(schema, root)
  for _ = 1, MAX_REFS do
    local ref = type(schema) == "table" and schema["$ref"]
    if not ref then
      return schema
    end
    local name = type(ref) == "string" and ref:match("^#/%$defs/([^/~%%]+)$")
    schema = name and type(root["$defs"]) == "table" and root["$defs"][name]
  end
end

-- The type of a value as JSON Schema names it.
local function type_of(value)
  return value == core.null and "null" or core.kind(value)
end

-- The type that a text of either of two types is read as; nil if it depends on the text.
local function either(one, other)
  if one == other or not one then
    return other
  elseif one == "string" or other == "string" then
    return "string"
  end
  return one ~= "boolean" and other ~= "boolean" and "number" or nil
end

-- Collects the names of types; false if one of them is no scalar, or a text may be of two.
local function add_types(list, found)
  for _, name in ipairs(list) do
    if name == "null" then
      found.null = true
    else
      found.several = found.several or found.one and found.one ~= name or nil
      found.one = scalar[name] and either(found.one, name)
      if not found.one then
        return false
      end
    end
  end
  return true
end

local function types_of(values)
  local types = {}
  for i, value in ipairs(values) do
    types[i] = type_of(value)
  end
  return types
end

local scalar_of

-- The only branch that is not null; nil if there are several.
local function only_branch(branches, root, found)
  local chosen
  for _, branch in ipairs(branches) do
    branch = resolve(branch, root)
    if type(branch) == "table" and (branch.type == "null" or branch.const == core.null) then
      found.null = true
    elseif chosen then
      return nil
    else
      chosen = branch
    end
  end
  return chosen
end

-- The types of branches that say no more than a scalar type; nil if one says more.
local function plain_types(branches, root)
  local types = {}
  for i, branch in ipairs(branches) do
    branch = resolve(branch, root)
    types[i] = type(branch) == "table" and branch.type
    if not (scalar[types[i]] or types[i] == "null") or next(branch, next(branch)) ~= nil then
      return nil
    end
  end
  return types[2] and types
end

-- Reads { one = type, null = boolean } from a schema; nil if it describes no scalar.
function scalar_of(schema, root, found)
  schema = resolve(schema, root)
  if schema == true or type(schema) == "table" and next(schema) == nil then
    found.one = found.one or "string"
    return found
  elseif type(schema) ~= "table" then
    return nil
  end
  local branches = schema.anyOf or schema.oneOf
  local types = branches and plain_types(branches, root)
  if branches and not types then
    local branch = only_branch(branches, root, found)
    return branch and scalar_of(branch, root, found)
  end
  types = types or schema.type
  if types == nil and schema.enum then
    types = types_of(schema.enum)
  elseif types == nil and schema.const ~= nil then
    types = { type_of(schema.const) }
  end
  if types ~= nil and not add_types(type(types) == "table" and types or { types }, found)
    or found.several and found.one == "string" and (schema.enum ~= nil or schema.const ~= nil) then -- 1 or "1"?
    return nil
  end
  found.one = found.one or (found.null and "null" or "string")
  return found
end

---@class operations.FlatMember
---@field one "string"|"integer"|"number"|"boolean"|"null"
---@field null? boolean  null is accepted
---@field several? boolean  other types are accepted, too
---@field list? boolean  an array of these

-- How the text of a parameter is converted; nil if its schema describes neither a scalar nor an array of scalars.
local function member_of(schema, root)
  local member = scalar_of(schema, root, {})
  if member then
    return member
  end
  schema = resolve(schema, root)
  local found = {}
  if type(schema) == "table" and (schema.anyOf or schema.oneOf) then
    schema = only_branch(schema.anyOf or schema.oneOf, root, found)
  end
  local is_list = type(schema) == "table" and not schema.prefixItems
    and (schema.type == "array" or type(schema.type) == "table" and #schema.type == 2
      and members.contains(schema.type, "array") and members.contains(schema.type, "null"))
  member = is_list and scalar_of(schema.items == nil or schema.items, root, {})
  if member then
    member.list = true
  end
  return member
end

local function is_object(schema)
  return schema.type == "object" or schema.type == nil and schema.properties ~= nil
end

---@class operations.Flat
---@field members table<string, operations.FlatMember>
---@field open boolean  other parameters are accepted, as text
local Flat = {}
Flat.__index = Flat

--- The parameters of a path. Members that the schema does not name, or that are no scalars, are text.
---@param schema any
---@param names table<integer, string>
---@return operations.Flat
function input_reader.of_members(schema, names)
  local properties = type(schema) == "table" and type(schema.properties) == "table" and schema.properties or {}
  local found = {}
  for _, name in pairs(names) do
    local member = properties[name] ~= nil and member_of(properties[name], schema)
    found[name] = member and not member.list and member or { one = "string" }
  end
  return setmetatable({ members = found, open = false }, Flat)
end

--- Reads an input schema; composition (`allOf`, `anyOf`, ...) and references at its root are not flat.
---@param schema any
---@param elsewhere table<integer, string>  names of members that the path carries
---@return operations.Flat?  nil: a query string cannot carry all inputs
function input_reader.compile(schema, elsewhere)
  if schema == nil or schema == true or type(schema) == "table" and next(schema) == nil then
    return setmetatable({ members = {}, open = true }, Flat)
  elseif type(schema) ~= "table" or not is_object(schema) or schema["$ref"]
    or schema.allOf or schema.anyOf or schema.oneOf then
    return nil
  end
  local found, open, others = {}, false, {}
  for _, name in pairs(elsewhere) do
    others[name] = true
  end
  for name, property in pairs(schema.properties or {}) do
    if not others[name] then
      found[name] = member_of(property, schema)
      if not found[name] then
        return nil
      end
    end
  end
  for _, keyword in ipairs(open_keywords) do
    open = open or schema[keyword] ~= nil and schema[keyword] ~= false
  end
  return setmetatable({ members = found, open = open }, Flat)
end

local readers = {}

function readers.string(text)
  return text
end

function readers.boolean(text)
  if text == "true" or text == "false" then
    return text == "true"
  end
end

function readers.number(text)
  if #text < 16 and text:find("^[1-9]%d*$") then
    return tonumber(text)
  elseif text:find("^-?%d[%d.eE+-]*$") then
    return (json.decode(text)) -- checks the grammar and keeps every digit
  end
end

readers.integer = readers.number

function readers.null()
  return nil
end

-- The value of a text; nil if it is not of the member's type.
local function value_of(member, text)
  local value = readers[member.one](text)
  if value == nil and member.null and text == "null" then
    return core.null
  end
  return value
end

local function issue(name, message, keyword)
  return { path = "/" .. json_pointer.escape(name), keyword = keyword, message = message }
end

local function quoted(text)
  if #text <= 40 then
    return '"' .. text .. '"'
  end
  return '"' .. text:sub(1, 37):gsub("[\192-\255]?[\128-\191]*$", "") .. '..."'
end

-- Adds one parameter to the input. Returns the issue, if there is one.
local function take(self, input, name, text)
  local member = self.members[name]
  if not member then
    if not self.open then
      return issue(name, "unknown parameter", "additionalProperties")
    end
    member = { one = "string" }
  end
  local value = value_of(member, text)
  if value == nil then
    return issue(name, ("expected %s, got %s"):format(member.one, text == "" and "nothing" or quoted(text)), "type")
  elseif member.list then
    input[name] = input[name] or setmetatable({}, core.array_mt)
    table.insert(input[name], value)
  elseif input[name] ~= nil then
    return issue(name, "is given more than once", "type")
  else
    input[name] = value
  end
end

--- Reads the pairs of a query, or of a path's parameters, as the schema's members.
---@param query? string  as forms write it: "a=1&b=2"
---@return table? input
---@return operations.Issue[]? issues  what is wrong, the first 100
---@return string? malformed  a pair that is not percent-encoded UTF-8: nothing else is told then
function Flat:read(query)
  local input, issues = setmetatable({}, object_mt), nil
  local texts, malformed = parse(query or "")
  if not texts then
    return nil, nil, malformed
  end
  local known = self.members
  for i = 1, #texts, 2 do
    local name, text = texts[i], texts[i + 1]
    local member, value, flaw = known[name], nil, nil
    if member and not member.list and input[name] == nil then
      value = readers[member.one](text)
    end
    if value ~= nil then
      input[name] = value
    else
      flaw = take(self, input, name, text)
    end
    if flaw then
      issues = issues or {}
      issues[#issues + 1] = flaw
      if #issues == limits.issues then
        break
      end
    end
  end
  if issues then
    return nil, issues
  end
  return input
end

--- Adds one parameter to an input that exists.
---@param input table
---@param name string
---@param text string
---@return operations.Issue? issue
function Flat:add(input, name, text)
  return take(self, input, name, text)
end

local function refuse(status, message, issues)
  return nil, errors.new("VALIDATION_ERROR", message, issues), status
end

local function summary(issues)
  return ("%s: %s"):format(issues[1].path, issues[1].message)
end

local function unreadable(message, path)
  return refuse(400, message, { { path = path or "", keyword = "format", message = message } })
end

-- Media type and charset of a Content-Type field.
local function content_type(value)
  local media = value and header_field.trim(value:match("^[^;]*")):lower()
  local charset = value and value:lower():match(";%s*charset%s*=%s*\"?([^\";%s]+)")
  return media, charset
end

-- Collects a body that arrives in pieces.
local function collect(body, max)
  local collector = codec.collector(max)
  while true do
    local piece, err = body()
    if err then
      return nil, err, type(err.details) == "table" and err.details.statusCode or 400
    elseif not piece then
      return collector:take()
    elseif not collector:add(piece) then
      return refuse(413, ("the body is larger than max_body (%d bytes)"):format(max))
    end
  end
end

--- The whole body of a request.
---@param request operations.ServerRequest
---@param max integer  bytes
---@return string? body
---@return operations.Error? err
---@return integer? status
function input_reader.body(request, max)
  local body = request.body or ""
  local announced = tonumber(request.headers["content-length"])
  if announced and announced > max or type(body) == "string" and #body > max then
    return refuse(413, ("the body is larger than max_body (%d bytes)"):format(max))
  end
  local coding = request.headers["content-encoding"]
  if coding and coding:lower() ~= "identity" then
    return refuse(415, ("Content-Encoding: %s is not understood; send the body as it is"):format(coding))
  elseif type(body) == "string" then
    return body
  end
  return collect(body, max)
end

-- Reads a body that is itself the input, a string.
local function read_text(route, request, body)
  local media = content_type(request.headers["content-type"])
  local wanted = content_type(route.media)
  if media ~= wanted and wanted ~= "application/octet-stream" then
    return refuse(415, ("Content-Type: %s expected, got %s"):format(route.media, media or "none"))
  end
  return body
end

local function read_json(request, body, max_depth)
  if body == "" then
    return nil
  end
  local media, charset = content_type(request.headers["content-type"])
  if media ~= "application/json" or charset and charset ~= "utf-8" and charset ~= "utf8" then
    return refuse(415, ("Content-Type: application/json expected, got %s"):format(
      request.headers["content-type"] or "none"))
  end
  local value, err = json.decode(body, { max_depth = max_depth })
  if err then
    return unreadable("the body is not JSON: " .. err.message)
  end
  return value
end

local function read_query(route, query)
  local value, issues, malformed = route.flat:read(query)
  if malformed then
    return unreadable(("the query is malformed at '%s': percent-encoded UTF-8 expected"):format(malformed))
  elseif not value then
    return refuse(422, summary(issues), issues)
  end
  return value
end

-- Refuses a query besides a body: it would be ignored.
local function no_query(request, query)
  if query and query ~= "" then
    local message = ("%s carries its input in the body, not in the query"):format(request.method)
    return refuse(422, message, { { path = "", keyword = "additionalProperties", message = message } })
  end
end

local function read_body(route, request, query, options)
  local _, err, status = no_query(request, query)
  if err ~= nil then
    return nil, err, status
  end
  local body
  body, err, status = input_reader.body(request, options.max_body)
  if err ~= nil then
    return nil, err, status
  elseif route.media then
    return read_text(route, request, body)
  end
  return read_json(request, body, options.max_depth)
end

-- Adds the parameters of the path to the input; they replace members of the same name.
local function add_path(route, value, values)
  value = value == nil and {} or value
  if type(value) ~= "table" then
    return refuse(422, ": expected an object, for the parameters of the path",
      { { path = "", keyword = "type", message = "expected an object" } })
  end
  for at, name in pairs(route.names) do
    value[name] = nil
    local flaw = route.path:add(value, name, values[at])
    if flaw then
      return refuse(422, summary({ flaw }), { flaw })
    end
  end
  return value
end

--- Reads the input of a request: GET, HEAD and, where it can, DELETE carry it in the query, others in the body.
---@param route operations.Route
---@param request operations.ServerRequest
---@param query? string  without what is the server's own
---@param values table<integer, string>  of the path's parameters
---@param options { max_body: integer, max_depth: integer }
---@return any input  nil: none was sent
---@return operations.Error? err
---@return integer? status  of the failure
function input_reader.read(route, request, query, values, options)
  local method = request.method
  local value, err, status
  if method == "GET" or method == "HEAD" or method == "DELETE" and route.flat then
    value, err, status = read_query(route, query)
  else
    value, err, status = read_body(route, request, query, options)
  end
  if err ~= nil or next(route.names) == nil then
    return value, err, status
  end
  return add_path(route, value, values)
end

return input_reader
