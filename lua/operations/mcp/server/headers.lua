--- The headers that repeat parts of a modern request (revision 2026-07-28), for intermediaries that do not read its
--- body. They must agree with the body.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local message = require("operations.mcp.protocol.message")

local headers = {}

local function mismatch(text, ...)
  return { code = message.codes.HEADER_MISMATCH, status = 400, message = "header mismatch: " .. text:format(...) }
end

-- The text of a header's value; nil if it is malformed.
local function decoded(value)
  value = header_field.trim(value)
  local wrapped = value:match("^=%?base64%?(.*)%?=$")
  if wrapped then
    return (base64.decode(wrapped))
  end
  return value
end

local function named(found, name, expected)
  if found == nil then
    return mismatch("%s is missing", name)
  end
  local value = decoded(found)
  if value == nil then
    return mismatch("%s is malformed", name)
  elseif value ~= expected then
    return mismatch("%s does not agree with the body", name)
  end
end

-- Is a header equal to an argument?
local function agrees(value, argument)
  local kind = type(argument)
  if kind == "number" then
    return tonumber(value) == argument
  elseif kind == "boolean" then
    return value == tostring(argument)
  end
  return value == argument
end

local function param_flaw(found, name, argument)
  if argument == core.null then
    argument = nil
  end
  if argument == nil then
    return found ~= nil and mismatch("Mcp-Param-%s has no argument in the body", name) or nil
  elseif found == nil then
    return mismatch("Mcp-Param-%s is missing", name)
  end
  local value = decoded(found)
  if value == nil then
    return mismatch("Mcp-Param-%s is malformed", name)
  elseif not agrees(value, argument) then
    return mismatch("Mcp-Param-%s does not agree with the argument", name)
  end
end

--- Checks the headers for arguments (`x-mcp-header` in a tool's inputSchema).
---@param given table<string, string>  by lower-case name
---@param schema any
---@param arguments? table
---@return operations.mcp.Failure?
function headers.params_flaw(given, schema, arguments)
  local properties = type(schema) == "table" and schema.properties
  for property, one in pairs(type(properties) == "table" and properties or {}) do
    local name = type(one) == "table" and one["x-mcp-header"]
    if type(name) == "string" then
      local flaw = param_flaw(given["mcp-param-" .. name:lower()], name, arguments and arguments[property])
      if flaw then
        return flaw
      end
    end
  end
end

--- Checks the headers of a request.
---@param call operations.mcp.ServerCall
---@param method? operations.mcp.Method
---@return operations.mcp.Failure?  nil: they agree
function headers.flaw(call, method)
  local given = call.http.headers
  local flaw = named(given["mcp-protocol-version"], "MCP-Protocol-Version", call.version)
    or named(given["mcp-method"], "Mcp-Method", call.method)
  local member = method and method.named_by
  if not flaw and member and type(call.params[member]) == "string" then
    flaw = named(given["mcp-name"], "Mcp-Name", call.params[member])
  end
  return flaw
end

return headers
