--- Builds an input from its parts: parameters by name, other keys in the request's body; `a.b` and `a[0]` name members
--- of objects and lists.
local core = require("operations.core")
local file_input = require("operations.people.file_input")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local schema_place = require("operations.people.schema_place")

local fields = {}

---@class operations.people.Fields
---@field value any
---@field texts table<string, any[]>  plain texts by place (JSON Pointer)
---@field schema any                  of the input
---@field has_body boolean            keys other than parameters belong to `body`
local Fields = {}
Fields.__index = Fields

local NEXT = {} -- the token of "[]": after the last item

-- Splits "a.b[0].c"; a backslash escapes a dot or bracket. Nil for a malformed key.
local function path_of(key)
  local tokens, at = {}, 1
  while at <= #key do
    local inner, stop = key:match("^%[(%d*)%]()", at)
    if inner then
      tokens[#tokens + 1] = inner == "" and NEXT or tonumber(inner)
    else
      local start = at > 1 and key:match("^%.()", at) or at
      local name = ""
      stop = start
      repeat
        local plain, behind = key:match("^([^.%[%]\\]+)()", stop)
        local escaped, after = key:match("^\\(.)()", stop)
        name, stop = name .. (plain or escaped or ""), behind or after or stop
      until not plain and not escaped
      if name == "" or at > 1 and start == at then
        return nil
      end
      tokens[#tokens + 1] = name
    end
    at = stop
  end
  return tokens
end

local function prefixed(tokens)
  local list = { "body" }
  for i, token in ipairs(tokens) do
    list[i + 1] = token
  end
  return list
end

-- Does the path lead into a parameter? Parameters other than objects and lists have no parts.
local function is_parameter(self, tokens, known)
  if not known[tokens[1]] or not tokens[2] then
    return known[tokens[1]]
  end
  local schemas = schema_place.find(self.schema, { tokens[1] })
  return schema_place.allows(schemas, "object") or schema_place.allows(schemas, "array")
end

-- The place of a key: a parameter as written, else a path into a parameter, else a path into the body.
local function tokens_of(self, key)
  local _, known = schema_place.names(self.schema, {})
  if known[key] then
    return { key }
  end
  local tokens = path_of(key)
  if tokens and type(tokens[1]) ~= "string" then
    tokens = nil
  end
  if tokens and is_parameter(self, tokens, known) or not self.has_body then
    return tokens or { key }
  end
  local _, in_body = schema_place.names(self.schema, { "body" })
  return in_body[key] and { "body", key } or prefixed(tokens or { key })
end

local function pointer_of(tokens)
  local parts = {}
  for i, token in ipairs(tokens) do
    parts[i] = "/" .. (type(token) == "number" and tostring(token) or json_pointer.escape(token))
  end
  return table.concat(parts)
end

local function index_of(node, token, key)
  if token == NEXT then
    return #node + 1
  elseif token > #node then
    return nil, ("%s: the list has %d item%s, so the next one is [%d]"):format(key, #node, #node == 1 and "" or "s",
      #node)
  end
  return token + 1
end

local function called(kind)
  return kind == "array" and "a list" or (kind:find("^[io]") and "an " or "a ") .. kind
end

-- Walks to the object or list that contains the last token, and makes missing ones on the way. Returns it, the key, and
-- the tokens with every "[]" resolved; or nil and a message.
local function walk(self, tokens, key)
  local node, resolved = self.value, {}
  for i, token in ipairs(tokens) do
    local kind, is_index, message = core.kind(node), type(token) ~= "string", nil
    local at = token
    if is_index and kind == "array" then
      at, message = index_of(node, token, key)
    elseif is_index or kind ~= "object" then
      message = ("%s: %s is %s already"):format(key, pointer_of(resolved), called(kind))
    end
    if message then
      return nil, message
    end
    resolved[i] = is_index and at - 1 or token
    if i == #tokens then
      return node, at, resolved
    elseif node[at] == nil then
      node[at] = type(tokens[i + 1]) == "string" and marked.object() or marked.array()
    end
    node = node[at]
  end
end

-- Sets a text or a file; a second one for the same place makes a list.
local function put_text(self, node, at, pointer, item)
  local before = self.texts[pointer]
  if before == nil then
    node[at], self.texts[pointer] = item, { item }
  else
    before[#before + 1] = item
    node[at] = marked.array(before)
  end
end

-- A text for a body that must be an object goes to the object's field `body`. Returns a message where it has none.
local function body_field(self)
  local schemas = schema_place.find(self.schema, { "body" })
  if schema_place.allows(schemas, "string") or not schema_place.allows(schemas, "object") then
    return nil
  end
  local names, known = schema_place.names(self.schema, { "body" })
  return known.body and { "body", "body" } or nil, not known.body
    and ("body: expected an object: give its fields (%s=...) or body:=JSON"):format(names[1] or "name") or nil
end

local function put(self, item)
  local tokens = item.is_parameter and { item.key } or tokens_of(self, item.key)
  if self.has_body and item.text and #tokens == 1 and tokens[1] == "body" then
    local field, message = body_field(self)
    if message then
      return message
    end
    tokens = field or tokens
  end
  local node, at, resolved = walk(self, tokens, item.key)
  if not node then
    return at
  end
  local pointer = pointer_of(resolved)
  if item.value ~= nil then
    node[at], self.texts[pointer] = item.value, nil
    return nil
  end
  local value, message = item.text, nil
  if item.path then
    value, message = file_input.value(item.path, schema_place.find(self.schema, resolved),
      schema_place.find(self.schema, resolved, 0))
  end
  if message then
    return ("%s: %s"):format(item.key, message)
  end
  put_text(self, node, at, pointer, value)
end

-- Sets a whole input: puts its members where their names belong.
local function put_whole(self, value)
  if core.kind(value) ~= "object" then
    if self.has_body then
      self.value.body = value
    else
      self.value = value
    end
    return nil
  elseif core.kind(self.value) ~= "object" then
    self.value = value
    return nil
  end
  local _, known = schema_place.names(self.schema, {})
  for key, item in pairs(value) do
    local is_own = known[key] or not self.has_body
    local target = is_own and self.value or self.value.body
    if target == nil then
      self.value.body = marked.object()
      target = self.value.body
    end
    target[key] = item
    self.texts[pointer_of(is_own and { key } or { "body", key })] = nil
  end
end

--- Makes the input from the items that were read.
---@param items operations.people.InputItem[]
---@param schema any          of the operation's input
---@param has_body? boolean   the operation takes a body, for keys other than parameters
---@return any value
---@return table<string, any[]>|string texts  the places (JSON Pointers) of plain texts; or a message
function fields.build(items, schema, has_body)
  local self = setmetatable({ value = marked.object(), texts = {}, schema = schema, has_body = has_body or false },
    Fields)
  for _, item in ipairs(items) do
    local message
    if item.key == nil then
      message = put_whole(self, item.whole)
    elseif core.kind(self.value) ~= "object" then
      message = ("%s: an earlier argument made the input a value other than an object"):format(item.key)
    else
      message = put(self, item)
    end
    if message then
      return nil, message
    end
  end
  return self.value, self.texts
end

return fields
