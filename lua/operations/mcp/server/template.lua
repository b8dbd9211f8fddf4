--- URI templates (RFC 6570) of resources: matches URIs, and extracts variables. `{id}` matches a part between slashes,
--- `{+path}` anything, `{?a,b}` at the end a query string.
local json = require("operations.base.json")
local url = require("operations.base.url")

local template = {}

---@class operations.mcp.Template
---@field variables string[]  in order
---@field _pattern string  Lua pattern
---@field _captures string[]  the variable of each capture
---@field _query? table<string, true>

-- Characters with a meaning in Lua's patterns.
local function literal(text)
  return (text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"))
end

local function names_in(list)
  local names = {}
  for name in list:gmatch("[^,]+") do
    if not name:find("^[%w_.]+$") then
      return nil
    end
    names[#names + 1] = name
  end
  return names[1] and names or nil
end

-- Converts one expression to a pattern.
local function take_expression(self, expression, is_last)
  local operator, list = expression:match("^([+?]?)(.*)$")
  local names = names_in(list)
  if not names or operator ~= "?" and names[2] or operator == "?" and not is_last then
    return nil
  end
  for _, name in ipairs(names) do
    self.variables[#self.variables + 1] = name
  end
  if operator == "?" then
    self._query = {}
    for _, name in ipairs(names) do
      self._query[name] = true
    end
    return ""
  end
  self._captures[#self._captures + 1] = names[1]
  return operator == "+" and "(.+)" or "([^/?#]+)"
end

--- Compiles a template.
---@param text string
---@return operations.mcp.Template?
---@return string? problem
function template.compile(text)
  local self, pattern, at = { variables = {}, _captures = {}, _query = nil }, {}, 1
  while at <= #text do
    local before, expression, stop = text:match("^([^{}]*){([^{}]*)}()", at)
    if not before then
      before = text:match("^[^{}]+", at)
      if not before or at + #before <= #text then
        return nil, ("%q: unbalanced braces"):format(text)
      end
      pattern[#pattern + 1] = literal(before)
      break
    end
    local piece = take_expression(self, expression, stop > #text)
    if not piece then
      return nil, ("%q: an expression such as {id}, {+path} or, at the end, {?page,size} expected, got {%s}"):format(
        text, expression)
    end
    pattern[#pattern + 1], at = literal(before) .. piece, stop
  end
  if #self._captures > 30 then -- Lua's patterns have 32
    return nil, ("%q has too many expressions"):format(text)
  end
  self._pattern = "^" .. table.concat(pattern) .. "$"
  return setmetatable(self, { __index = template })
end

-- The text of a part of a URI; nil if it is not UTF-8.
local function decoded(part)
  local text = url.decode(part)
  return json.encode(text) and text or nil
end

local function read_query(self, query, found)
  for pair in query:gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    name = url.decode(name)
    if not self._query[name] or found[name] then
      return nil
    end
    found[name] = decoded((value:gsub("%+", " ")))
    if not found[name] then
      return nil
    end
  end
  return found
end

--- The variables of a matching URI; nil if it does not match.
---@param uri string
---@return table<string, string>?
function template:match(uri)
  local path, query = uri, nil
  if self._query and uri:find("?", 1, true) then
    path, query = uri:match("^([^?]*)%?(.*)$")
  end
  local values = { path:match(self._pattern) }
  if values[1] == nil then
    return nil
  end
  local found = {}
  for i, name in ipairs(self._captures) do
    found[name] = decoded(values[i])
    if not found[name] then
      return nil
    end
  end
  if query then
    return read_query(self, query, found)
  end
  return found
end

return template
