--- What the HTTP headers of a request repeat of its body (revision 2026-07-28, Streamable HTTP; SEP-2243).
local base64 = require("operations.base.base64")
local compat = require("operations.base.compat")
local json = require("operations.base.json")

local headers = {}

-- The parameter that `Mcp-Name` repeats.
local named_by = {
  ["tools/call"] = "name", ["prompts/get"] = "name", ["resources/read"] = "uri",
  ["tasks/get"] = "taskId", ["tasks/update"] = "taskId", ["tasks/cancel"] = "taskId",
}

--- A value as a header can carry it: as it is when it is printable ASCII without blanks at its ends, else in Base64
--- between marks; so too what looks as if it were between those marks.
---@param value string
---@return string
function headers.encode(value)
  if value:find("[^\32-\126]") or value:find("^ ") or value:find(" $") or value:find("^=%?base64%?.*%?=$") then
    return "=?base64?" .. base64.encode(value) .. "?="
  end
  return value
end

-- An integer in decimal digits: those of its text in JSON, without that one's exponent.
local function digits(value)
  local text = json.encode(value)
  local whole, fraction, exponent = text:match("^(-?%d+)%.?(%d*)e%+?(%d+)$")
  if not exponent then
    return text
  end
  return whole .. fraction .. ("0"):rep(tonumber(exponent) - #fraction)
end

-- The text of an argument; nil when there is nothing to mirror.
local function text_of(value)
  if type(value) == "string" then
    return headers.encode(value)
  elseif type(value) == "boolean" then
    return tostring(value)
  elseif type(value) == "number" and value % 1 == 0 then
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

--- The parameter of a request that says what it is about.
---@param method string
---@param params? table
---@return string?
function headers.name_of(method, params)
  local name = params and params[named_by[method]]
  return type(name) == "string" and name or nil
end

--- The headers of a request of the modern era.
---@param method string
---@param params? table
---@param version string
---@param mirrored? operations.mcp.Mirrored[]  the arguments of a tool that have headers of their own
---@return table<string, string>
function headers.of(method, params, version, mirrored)
  local name, arguments = headers.name_of(method, params), params and params.arguments
  local list = {
    ["MCP-Protocol-Version"] = version,
    ["Mcp-Method"] = method,
    ["Mcp-Name"] = name and headers.encode(name),
  }
  for _, parameter in ipairs(mirrored or {}) do
    list["Mcp-Param-" .. parameter.header] = text_of(value_at(arguments, parameter.path))
  end
  return list
end

-- Types whose values have one form as text; numbers have many.
local mirrorable = { string = true, integer = true, boolean = true }

---@class operations.mcp.Mirrored
---@field header string  behind "Mcp-Param-"
---@field path string[]  names of properties, from the arguments down

local function problem_of(name, property, taken)
  if type(name) ~= "string" or not name:find("^[%w!#$%%&'*+.^_`|~-]+$") then
    return "is no name of a header"
  elseif not mirrorable[property.type] then
    return "is of a property that is no string, integer or boolean"
  elseif taken[name:lower()] then
    return "is there twice"
  end
  taken[name:lower()] = true
end

local function collect(schema, path, list, taken)
  for key, property in pairs(type(schema.properties) == "table" and schema.properties or {}) do
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

--- The arguments of a tool that are mirrored in headers.
---@param schema any  its inputSchema
---@return operations.mcp.Mirrored[]? list  nil when there are none
---@return string? problem  an annotation is wrong: the tool must not be used
function headers.mirrored(schema)
  local list = {}
  local problem = type(schema) == "table" and collect(schema, {}, list, {}) or nil
  return not problem and list[1] and list or nil, problem
end

return headers
