--- JSON Pointers (RFC 6901): paths into a value.
local json_pointer = {}

--- Writes a key as a token of a pointer.
---@param key any  an array index counts from 1
---@return string
function json_pointer.escape(key)
  local token = type(key) == "number" and tostring(key - 1) or tostring(key)
  if token:find("~", 1, true) then
    token = token:gsub("~", "~0")
  end
  if token:find("/", 1, true) then
    token = token:gsub("/", "~1")
  end
  return token
end

--- The key of a token: undoes its escapes.
---@param token string
---@return string
function json_pointer.unescape(token)
  return (token:gsub("~1", "/"):gsub("~0", "~"))
end

--- The member of an object or the item of an array named by a token.
---@param node any
---@param token string  unescaped
---@return any
function json_pointer.child(node, token)
  if type(node) ~= "table" then
    return nil
  end
  local child = node[token]
  if child == nil and (token == "0" or token:find("^[1-9]%d*$")) then
    child = node[tonumber(token) + 1]
  end
  return child
end

--- The value at a pointer, starting from `node`.
---@param node any
---@param pointer string
---@return any  nil without a value there
function json_pointer.get(node, pointer)
  for token in pointer:gmatch("/([^/]*)") do
    node = json_pointer.child(node, json_pointer.unescape(token))
  end
  return node
end

return json_pointer
