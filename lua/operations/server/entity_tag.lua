--- Entity tags (RFC 9110, 8.8.3): names of what is sent, by which it is not sent again.
local core = require("operations.core")

local entity_tag = {}

--- The strong tag of a body.
---@param bytes string
---@return string tag  with its quotes
function entity_tag.of(bytes)
  return '"' .. core.sha256(bytes):sub(1, 16):gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end) .. '"'
end

--- Does a field If-None-Match name the tag? Tags are compared weakly, "*" is any (RFC 9110, 13.1.2).
---@param field? string
---@param tag string
---@return boolean
function entity_tag.matches(field, tag)
  for given in (field or ""):gmatch("[^,%s]+") do
    if given == "*" or given:gsub("^W/", "") == tag then
      return true
    end
  end
  return false
end

return entity_tag
