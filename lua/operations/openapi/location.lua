--- Locations of documents and operations: URLs and paths, relative ones, base URLs, `servers`, and path templates (RFC
--- 3986, 3.3).
local number_text = require("operations.base.number_text")
local url = require("operations.base.url")

local location = {}

--- Is it an absolute http or https URL?
---@param text string
---@return boolean
function location.is_url(text)
  local parsed = url.parse(text)
  return parsed ~= nil and (parsed.scheme == "http" or parsed.scheme == "https") and parsed.host ~= ""
end

--- Resolves a relative file path against the file that names it, and removes "." and "..".
local function beside(base, path)
  if path:sub(1, 1) ~= "/" then
    path = (base:match("^(.*/)") or "") .. path
  end
  local segments = {}
  for segment in path:gmatch("[^/]+") do
    local last = segments[#segments]
    if segment == ".." and last and last ~= ".." then
      segments[#segments] = nil
    elseif segment ~= "." then
      segments[#segments + 1] = segment
    end
  end
  return (path:sub(1, 1) == "/" and "/" or "") .. table.concat(segments, "/")
end

--- The path of a `file:` URL on this machine; other texts as they are.
---@param text string
---@return string
function location.file_path(text)
  local path = text:match("^[Ff][Ii][Ll][Ee]:(/.*)$")
  if not path then
    return text
  end
  local host, rest = path:match("^//([^/]*)(/.*)$")
  return (host == nil or host == "" or host == "localhost") and url.decode(rest or path) or text
end

--- Resolves a reference against the URL or path of its file. A reference from a path is a path, with the escapes of
--- URLs decoded.
---@param base string
---@param reference string
---@return string
function location.resolve(base, reference)
  local from = url.parse(base)
  if reference:find("^%a[%w+.-]+:") then
    return from and reference or location.file_path(reference)
  end
  return from and url.resolve(base, reference) or beside(base, url.decode(reference))
end

--- A base URL to which paths can be appended: without query, fragment and final slash.
---@param text string
---@return string? base
---@return string? message
function location.base(text)
  if not location.is_url(text) then
    return nil, "is not an absolute http or https URL"
  elseif url.parse(text).userinfo then
    return nil, "must not contain a user name or password"
  elseif text:find("[%z\1-\32\127]") then
    return nil, "must not contain blanks or control characters"
  end
  return (text:match("^[^?#]*"):gsub("/+$", ""))
end

local function fill(template, variables, given)
  return (template:gsub("{([^{}]*)}", function(name)
    local variable = type(variables) == "table" and variables[name]
    local value = given and given[name]
    if value == nil and type(variable) == "table" then
      value = variable.default
    end
    return value ~= nil and number_text.of(value) or nil
  end))
end

local function resolved(text, from)
  if text:find("[{}]") then
    return nil, ("the server URL %q has a variable without a value; give config.server_variables or config.base_url")
      :format(text)
  elseif not location.is_url(text) and from and location.is_url(from) then
    -- An empty one would be the document itself; it stands for the default, the root of its origin.
    text = location.resolve(from, text:find("^[^?#]") and text or "/")
  end
  local base, message = location.base(text)
  return base, message and ("the server URL %q %s; give config.base_url"):format(text, message)
end

-- The server selected by the configuration: by position, name, description or URL.
local function pick(servers, wanted)
  for i = 1, #servers do
    local node = servers[i]
    local is_server = type(node) == "table" and type(node.url) == "string"
    if is_server and (i == wanted or node.name == wanted or node.description == wanted or node.url == wanted) then
      return node
    end
  end
end

-- The allowed values of a variable as text, if the given value is not among them.
local function allowed_instead(variable, value)
  local allowed = type(variable) == "table" and type(variable.enum) == "table" and variable.enum or {}
  local texts = {}
  for i = 1, #allowed do
    texts[i] = number_text.of(allowed[i])
    if texts[i] == number_text.of(value) then
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

--- The base URL of an operation. Levels are given from the inside out; the first with a server counts, and of its
--- servers the one selected by `options.server`. If an operation's or path's own servers lack that one, their first is
--- used.
---@param levels table[]  `servers` arrays: of the operation, its path item, the document
---@param from? string  the document's URL, to resolve relative ones
---@param options { server: integer|string?, server_variables: table<string, string>? }
---@return string? base
---@return string? message
function location.of_server(levels, from, options)
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

-- Encodes a literal part of a path template (RFC 3986, 3.3; keeps existing triplets).
local function literal(text)
  return (text:gsub("[^A-Za-z0-9%-._~!$&'()*+,;=:@%%]", url.encode))
end

--- Splits a path template into segments of literal texts and names, { text } or { name = }.
---@param path string
---@return table[][] segments
---@return string[] names  in order; also a set
---@return { name: string, text: string }[]? query  the pairs after "?", without templates and fragment
function location.read_path(path)
  local route, query = path:gsub("#.*$", ""):match("^([^?]*)%??(.*)$")
  local segments, names = {}, {}
  for segment in (route:gsub("^/", "") .. "/"):gmatch("([^/]*)/") do
    local parts, position = {}, 1
    while true do
      local from, to, name = segment:find("{([^{}]*)}", position)
      parts[#parts + 1] = literal(segment:sub(position, (from or 0) - 1))
      if not from then
        break
      end
      parts[#parts + 1] = { name = name }
      if not names[name] then
        names[name], names[#names + 1] = true, name
      end
      position = to + 1
    end
    segments[#segments + 1] = parts
  end
  local pairs_of_query = {}
  for pair in query:gmatch("[^&]+") do
    local name = pair:match("^[^=]*")
    pairs_of_query[#pairs_of_query + 1] = not pair:find("{[^{}]*}")
      and { name = url.decode(name) or name, text = pair } or nil
  end
  return segments, names, pairs_of_query[1] and pairs_of_query
end

--- A segment that is empty, "." or ".." (also encoded, or before a ";") would change the path.
local function is_escape(segment)
  segment = segment:gsub("%%2[eE]", ".")
  return segment == "" or segment:find("^%.%.?$") ~= nil or segment:find("^%.%.?;") ~= nil
end

local function segment_text(plan, parts, texts, keys)
  local pieces, key = {}, nil
  for i, part in ipairs(parts) do
    if type(part) == "table" then
      pieces[i], key = texts[part.name], keys[part.name]
    else
      pieces[i] = part
    end
  end
  local text = table.concat(pieces)
  if key and is_escape(text) then
    return nil, key, "must not be empty, '.' or '..' in the path"
  elseif key and plan.encoded_slashes == false and (text:find("%%2[fF]") or text:find("%%5[cC]")) then
    return nil, key, "must not contain a slash or backslash"
  end
  return text
end

--- Fills in a template.
---@param plan operations.openapi.Plan
---@param texts table<string, string>  of the parameters, encoded, by name
---@param keys table<string, string>   names in the input
---@return string? path
---@return string? key      of the value that would change the path
---@return string? message
function location.fill_path(plan, texts, keys)
  local list = {}
  for i, parts in ipairs(plan.segments) do
    local text, key, message = segment_text(plan, parts, texts, keys)
    if not text then
      return nil, key, message
    end
    list[i] = text
  end
  return "/" .. table.concat(list, "/")
end

return location
