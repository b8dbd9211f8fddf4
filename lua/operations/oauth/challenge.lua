--- Reads the challenges of a WWW-Authenticate header (RFC 9110, 11.6.1): schemes with a token or with parameters,
--- several in one field or in several fields joined by commas; and scopes (RFC 6749, 3.3), which are unordered names
--- separated by blanks.
local header_field = require("operations.net.http.header_field")

local challenge = {}

-- Challenges.

---@class operations.oauth.Challenge
---@field scheme string  lower case
---@field token? string  of the form token68
---@field params table<string, string>  names in lower case; the first of duplicates

local TOKEN = header_field.token
local TOKEN68 = "[%w._~+/-]+=*" -- RFC 9110, 11.2

-- The elements between commas outside quoted strings. Drops one whose quotes do not end.
local function elements(text)
  local list, from, at = {}, 1, 1
  while at and at <= #text do
    local mark = text:match('[",]()', at)
    at = mark and mark - 1 or #text + 1
    if text:sub(at, at) == '"' then
      local _, stop = header_field.quoted(text, at)
      at = stop
    else
      list[#list + 1] = header_field.trim(text:sub(from, at - 1))
      at = at + 1
      from = at
    end
  end
  if at and from < at then
    list[#list + 1] = header_field.trim(text:sub(from))
  end
  return list
end

-- The parameter at `position`: its name, its value, the start of the next one; nothing when there is none.
local function parameter(text, position)
  local name, at = text:match("^(" .. TOKEN .. ")[ \t]*=[ \t]*()", position)
  if not name then
    return nil
  end
  local value, stop
  if text:sub(at, at) == '"' then
    value, stop = header_field.quoted(text, at)
  else -- some servers write a URL without quotes, or in single ones
    value, stop = text:match("^'(%a[%w+.-]*://[^'%s]*)'()", at)
    if not value then
      value, stop = text:match("^(%a[%w+.-]*://[^%s\"]*)()", at)
    end
    if not value then
      value, stop = text:match("^(" .. TOKEN .. ")()", at)
    end
  end
  return value and name:lower(), value, value and text:match("^[ \t]*()", stop)
end

-- Reads the parameters from `position` on; some servers omit the commas between them.
local function read_parameters(text, position, params)
  local name, value, stop = parameter(text, position)
  while name do
    params[name] = params[name] or value
    name, value, stop = parameter(text, stop)
  end
end

local function read_challenge(element)
  local scheme, rest = element:match("^(" .. TOKEN .. ")[ \t]*()")
  if not scheme then
    return nil
  end
  local one = { scheme = scheme:lower(), token = element:match("^" .. TOKEN68 .. "$", rest), params = {} }
  if not one.token then
    read_parameters(element, rest, one.params)
  end
  return one
end

--- Reads a header. Invalid parts are ignored.
---@param text any
---@return operations.oauth.Challenge[]
function challenge.parse(text)
  local list, last = {}, nil
  for _, element in ipairs(type(text) == "string" and elements(text) or {}) do
    if parameter(element, 1) then
      read_parameters(element, 1, last and last.params or {})
    else
      last = read_challenge(element) or last
      if list[#list] ~= last then
        list[#list + 1] = last
      end
    end
  end
  return list
end

--- The parameters of the Bearer challenges (RFC 6750, 3): the first value of each name, but an error that a login can
--- mend counts before others. Empty without such a challenge.
---@param headers table  of a response
---@return table<string, string>
function challenge.bearer(headers)
  local params = {}
  for _, one in ipairs(challenge.parse(headers["www-authenticate"])) do
    if one.scheme == "bearer" then
      for name, value in pairs(one.params) do
        params[name] = params[name] or value
      end
      if one.params.error == "insufficient_scope" then
        params.error, params.scope = one.params.error, one.params.scope or params.scope
      end
    end
  end
  return params
end

-- Scopes.

--- All names of both, without duplicates, those of the first before those of the second.
---@param first? string
---@param second? string
---@return string? union  nil when both are empty
function challenge.union(first, second)
  local names, seen = {}, {}
  for name in ((first or "") .. " " .. (second or "")):gmatch("[^ ]+") do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names[1] and table.concat(names, " ")
end

--- Does `held` contain all names of `wanted`?
---@param held? string
---@param wanted? string
---@return boolean
function challenge.covers(held, wanted)
  return challenge.union(held, wanted) == challenge.union(held)
end

return challenge
