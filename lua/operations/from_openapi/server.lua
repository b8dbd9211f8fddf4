--- Where the requests of an operation go: its `servers`, or those of its path, or the document's.
local location = require("operations.from_openapi.location")

local server = {}

local function fill(template, variables, given)
  return (template:gsub("{([^{}]*)}", function(name)
    local variable = type(variables) == "table" and variables[name]
    local value = given and given[name]
    if value == nil and type(variable) == "table" then
      value = variable.default
    end
    return value ~= nil and tostring(value) or nil
  end))
end

local function resolved(text, from)
  if text:find("[{}]") then
    return nil, ("the server URL %q has a variable without a value; give config.server_variables or config.base_url")
      :format(text)
  elseif not location.is_url(text) and from and location.is_url(from) then
    text = location.resolve(from, text)
  end
  local base, message = location.base(text)
  return base, message and ("the server URL %q %s; give config.base_url"):format(text, message)
end

local function first_of(servers)
  local first = type(servers) == "table" and servers[1]
  return type(first) == "table" and type(first.url) == "string" and first or nil
end

--- The base URL of an operation. Levels are given from the inside out; the first that names a server counts.
---@param levels table[]  `servers` arrays: of the operation, its path item, the document
---@param from? string  where the document came from; relative URLs are resolved against it
---@param variables? table<string, string>  values of server variables, instead of their defaults
---@return string? base
---@return string? message
function server.base(levels, from, variables)
  for i = 1, 3 do
    local found = first_of(levels[i])
    if found then
      return resolved(fill(found.url, found.variables, variables), from)
    end
  end
  if from and location.is_url(from) then
    return resolved("/", from)
  end
  return nil, "the document names no server; give config.base_url"
end

return server
