--- The HTTP requests that carry messages (Streamable HTTP), without bodies: the headers that repeat parts of the body
--- (revision 2026-07-28; SEP-2243), and the other parts, which rarely change.
local base64 = require("operations.base.base64")
local compat = require("operations.base.compat")
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")

local outgoing = {}

-- Headers.

-- The parameter repeated in `Mcp-Name`.
local named_by = {
  ["tools/call"] = "name", ["prompts/get"] = "name", ["resources/read"] = "uri",
  ["tasks/get"] = "taskId", ["tasks/update"] = "taskId", ["tasks/cancel"] = "taskId",
}

--- A value in a form for headers: unchanged if it is printable ASCII without blanks at its ends, else in Base64 between
--- marks; also if it looks like that form.
---@param value string
---@return string
function outgoing.encode(value)
  if value:find("[^\32-\126]") or value:find("^ ") or value:find(" $") or value:find("^=%?base64%?.*%?=$") then
    return "=?base64?" .. base64.encode(value) .. "?="
  end
  return value
end

-- An integer in decimal digits, without JSON's exponent.
local function digits(value)
  local text = json.encode(value)
  local whole, fraction, exponent = text:match("^(-?%d+)%.?(%d*)e%+?(%d+)$")
  if not exponent then
    return text
  end
  return whole .. fraction .. ("0"):rep(tonumber(exponent) - #fraction)
end

-- The text of an argument; nil if it has no header.
local function text_of(value)
  if type(value) == "string" then
    return outgoing.encode(value)
  elseif type(value) == "boolean" then
    return tostring(value)
  elseif core.kind(value) == "integer" or type(value) == "number" and value % 1 == 0 then
    return digits(value)
  end
end

local function value_at(arguments, path)
  for _, key in ipairs(path) do
    if type(arguments) ~= "table" then
      return nil
    end
    arguments = arguments[key]
  end
  return arguments
end

--- The parameter of a request that names its subject.
---@param method string
---@param params? table
---@return string?
function outgoing.name_of(method, params)
  local name = params and params[named_by[method]]
  return type(name) == "string" and name or nil
end

--- The headers of a request of the modern era.
---@param method string
---@param params? table
---@param version string
---@param mirrored? operations.mcp.Mirrored[]  the arguments of a tool that have headers
---@return table<string, string>
function outgoing.headers(method, params, version, mirrored)
  local name, arguments = outgoing.name_of(method, params), params and params.arguments
  local list = {
    ["MCP-Protocol-Version"] = version,
    ["Mcp-Method"] = method,
    ["Mcp-Name"] = name and outgoing.encode(name),
  }
  for _, parameter in ipairs(mirrored or {}) do
    list["Mcp-Param-" .. parameter.header] = text_of(value_at(arguments, parameter.path))
  end
  return list
end

-- Types whose values have one text form; numbers have many.
local mirrorable = { string = true, integer = true, boolean = true }

---@class operations.mcp.Mirrored
---@field header string  after "Mcp-Param-"
---@field path string[]  names of properties, starting from the arguments

local function problem_of(name, property, taken)
  if type(name) ~= "string" or not name:find("^[%w!#$%%&'*+.^_`|~-]+$") then
    return "is not a valid name of a header"
  elseif not mirrorable[property.type] then
    return "is on a property other than a string, integer or boolean"
  elseif taken[name:lower()] then
    return "is a duplicate"
  end
  taken[name:lower()] = true
end

local function collect(schema, path, list, taken)
  local properties = type(schema.properties) == "table" and schema.properties or {}
  for _, key in ipairs(members.names(properties)) do
    local property = properties[key]
    if type(property) == "table" then
      local here = { compat.unpack(path) }
      here[#here + 1] = key
      local name = property["x-mcp-header"]
      local problem = name ~= nil and problem_of(name, property, taken)
      if problem then
        return ("/%s: x-mcp-header %s"):format(table.concat(here, "/"), problem)
      elseif name ~= nil then
        list[#list + 1] = { header = name, path = here }
      end
      problem = #here < 16 and collect(property, here, list, taken)
      if problem then
        return problem
      end
    end
  end
end

--- The arguments of a tool that are repeated in headers.
---@param schema any  its inputSchema
---@return operations.mcp.Mirrored[]? list  nil without any
---@return string? problem  an annotation is wrong: the tool must not be used
function outgoing.mirrored(schema)
  local list = {}
  local problem = type(schema) == "table" and collect(schema, {}, list, {}) or nil
  return not problem and list[1] and list or nil, problem
end

-- Requests.

local MAX_KEPT = 64 -- requests

---@class operations.mcp.Outgoing
---@field _kept table<any, operations.mcp.HttpRequest>
---@field _count integer
local Outgoing = {}
Outgoing.__index = Outgoing

---@return operations.mcp.Outgoing
function outgoing.new()
  return setmetatable({ _kept = {}, _count = 0 }, Outgoing)
end

-- A call with effects must not be repeated; other requests may be.
local function is_repeatable(method, options)
  return method ~= "tools/call" or options.repeatable == true
end

local function make(link, method, params, options)
  local own = link._modern and method and outgoing.headers(method, params, link._version, options.mirrored) or nil
  return {
    url = link._config.url, method = "POST", headers = members.merged(link:headers(), own),
    idempotent = is_repeatable(method, options),
    session = link._session, version = link._version,
  }
end

-- The key under which similar messages share a request; nil if arguments are among the headers.
local function key_of(link, method, params, options)
  local again = is_repeatable(method, options)
  if not (link._modern and method) then
    return again
  elseif not options.mirrored then
    return (again and "" or "once ") .. method .. " " .. (outgoing.name_of(method, params) or "")
  end
end

-- Keeps a request; drops all others when there are too many.
local function keep(self, key, request)
  if self._kept[key] == nil then
    if self._count == MAX_KEPT then
      self._kept, self._count = {}, 0
    end
    self._count = self._count + 1
  end
  self._kept[key] = request
  return request
end

--- The request for a message.
---@param link operations.mcp.Http
---@param method? string  nil for an answer
---@param params? table
---@param options operations.mcp.RequestOptions
---@return operations.mcp.HttpRequest
function Outgoing:request(link, method, params, options)
  local key = key_of(link, method, params, options)
  if key == nil then
    return make(link, method, params, options)
  end
  local kept = self._kept[key]
  if kept and kept.session == link._session and kept.version == link._version then
    return kept
  end
  return keep(self, key, make(link, method, params, options))
end

return outgoing
