--- Texts that errors must not show: their names, and removing them from messages.
local members = require("operations.base.members")
local url = require("operations.base.url")

local secrets = {}

-- Shorter texts are not treated as secrets: they would be found everywhere.
local SHORTEST = 4

--- Adds a text to a list of secrets, in plain form and as URLs and forms encode it.
---@param list string[]
---@param text any  values other than strings, and short ones, are ignored
function secrets.add(list, text)
  if type(text) == "string" and #text >= SHORTEST then
    local encoded = url.encode(text)
    list[#list + 1] = text
    list[#list + 1] = encoded ~= text and encoded or nil
  end
end

local function replace(text, secret)
  local position, pieces = 1, {}
  while true do
    local from, to = text:find(secret, position, true)
    if not from then
      pieces[#pieces + 1] = text:sub(position)
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = text:sub(position, from - 1) .. "***"
    position = to + 1
  end
end

local function hide(value, list)
  if type(value) == "string" then
    for _, secret in ipairs(list) do
      value = replace(value, secret)
    end
  elseif type(value) == "table" then
    local copy = {}
    for key, item in pairs(value) do
      copy[key] = hide(item, list)
    end
    return members.mark(copy, value)
  end
  return value
end

--- The value, or a copy of the table, with "***" in place of secrets.
---@param value any
---@param list string[]
---@return any
function secrets.hide(value, list)
  -- Longer ones first: one secret may be part of another.
  table.sort(list, function(a, b) return #a > #b end)
  return hide(value, list)
end

local parts = { "auth", "cookie", "credential", "key", "pass", "pwd", "secret", "session", "signature", "token" }

--- Does the name of a header, variable or parameter say that its value is a credential?
---@param name string
---@return boolean
function secrets.is_name(name)
  for _, part in ipairs(parts) do
    if name:lower():find(part, 1, true) then
      return true
    end
  end
  return false
end

return secrets
