--- The `Link` header field (RFC 8288): what a resource says it is related to.
local header_field = require("operations.net.http.header_field")

local link_header = {}

---@class operations.Link
---@field target string  as written: a URI reference
---@field relations table<string, true>  in lower case
---@field parameters table<string, string>  by name in lower case; of one that is there twice the first

-- One parameter behind its semicolon: name, value and where the text goes on.
local function parameter(text, from)
  local name, after = text:match("^[ \t]*(" .. header_field.token .. ")[ \t]*()", from)
  if not name then
    return nil, nil, from
  elseif text:sub(after, after) ~= "=" then
    return name:lower(), "", after
  end
  after = text:match("^=[ \t]*()", after)
  if text:sub(after, after) == '"' then
    local value, finish = header_field.quoted(text, after)
    return name:lower(), value, finish
  end
  local value, finish = text:match("^([^%s;,]*)()", after)
  return name:lower(), value, finish
end

local function parameters_of(text, from)
  local found = {}
  while true do
    local position = text:match("^[ \t]*;()", from)
    if not position then
      return found, from
    end
    local name, value, after = parameter(text, position)
    if not after then
      return nil
    elseif name and found[name] == nil then
      found[name] = value
    end
    from = after
  end
end

local function relations_of(parameters)
  local relations = {}
  for relation in (parameters.rel or ""):gmatch("%S+") do
    relations[relation:lower()] = true
  end
  return relations
end

--- Reads a field's value, of one field or of several joined by commas. What cannot be read ends the list.
---@param text string
---@return operations.Link[]
function link_header.parse(text)
  local list, position = {}, 1
  while true do
    local target, after = text:match("^[ \t,]*<([^>]*)>()", position)
    local parameters
    if target then
      parameters, position = parameters_of(text, after)
    end
    if not parameters then
      return list
    end
    list[#list + 1] = { target = target, relations = relations_of(parameters), parameters = parameters }
    if not text:find("^[ \t]*,", position) then
      return list
    end
  end
end

--- The target of a relation, of what the answer itself is: links that are anchored elsewhere are others' business.
---@param text string
---@param relation string
---@return string?
function link_header.target(text, relation)
  for _, link in ipairs(link_header.parse(text)) do
    if link.relations[relation] and link.parameters.anchor == nil then
      return link.target
    end
  end
end

return link_header
