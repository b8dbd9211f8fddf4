--- Entity tags (RFC 9110, 8.8.3): names of bodies, so that a client need not fetch the same body again.
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")

local entity_tag = {}

--- The strong tag of a body.
---@param bytes string
---@return string tag  with its quotes
function entity_tag.of(bytes)
  return '"' .. core.sha256(bytes):sub(1, 16):gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end) .. '"'
end

--- Does a field If-None-Match match the tag? Tags are compared weakly; "*" matches any (RFC 9110, 13.1.2).
---@param field? string
---@param tag string
---@return boolean
function entity_tag.matches(field, tag)
  if not field or header_field.trim(field) == "*" then
    return field ~= nil
  end
  local at = 1
  while at do
    local from, strength = field:match("^[ \t,]*()(W?/?)", at)
    local given, behind = field:match('^("[^"]*")()', from + #strength)
    if given == tag and strength ~= "W" and strength ~= "/" then
      return true
    end
    at = behind
  end
  return false
end

return entity_tag
