--- Where the requests of an operation go: its `servers`, or those of its path, or the document's.
local location = require("operations.openapi.location")

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

local function is_server(node)
  return type(node) == "table" and type(node.url) == "string"
end

-- The server of a list that the configuration asks for: by its place, name, description or URL.
local function pick(servers, wanted)
  for i = 1, #servers do
    local node = servers[i]
    if is_server(node) and (i == wanted or node.name == wanted or node.description == wanted or node.url == wanted) then
      return node
    end
  end
end

-- What a variable may be, as text for the message, when the value is none of it.
local function allowed_instead(variable, value)
  local allowed = type(variable) == "table" and type(variable.enum) == "table" and variable.enum or {}
  local texts = {}
  for i = 1, #allowed do
    texts[i] = tostring(allowed[i])
    if texts[i] == tostring(value) then
      return nil
    end
  end
  return #texts > 0 and table.concat(texts, ", ") or nil
end

local function wrong_value(node, given)
  for name, value in pairs(given or {}) do
    local allowed = type(node.variables) == "table" and allowed_instead(node.variables[name], value)
    if allowed then
      return ("the server variable %q must be one of %s; give config.server_variables or config.base_url"):format(
        name, allowed)
    end
  end
end

--- The base URL of an operation. Levels are given from the inside out; the first that names a server counts, and of
--- its servers the one that `options.server` asks for. An operation's or path's own servers may lack that one: theirs
--- is the first then.
---@param levels table[]  `servers` arrays: of the operation, its path item, the document
---@param from? string  where the document came from; relative URLs are resolved against it
---@param options { server: integer|string?, server_variables: table<string, string>? }
---@return string? base
---@return string? message
function server.base(levels, from, options)
  for i = 1, 3 do
    local servers = type(levels[i]) == "table" and levels[i] or {}
    local found = pick(servers, options.server or 1)
    if not found and i < 3 then
      found = pick(servers, 1)
    elseif not found and #servers > 0 then
      return nil, ("the document has no server %s; give config.base_url"):format(tostring(options.server or 1))
    end
    if found then
      local message = wrong_value(found, options.server_variables)
      if message then
        return nil, message
      end
      return resolved(fill(found.url, found.variables, options.server_variables), from)
    end
  end
  if from and location.is_url(from) then
    return resolved("/", from)
  end
  return nil, "the document names no server; give config.base_url"
end

return server
