--- JSON Patch (RFC 6902): changes to a value as a list of operations. The value itself stays unchanged: what the patch
--- touches is copied.
local core = require("operations.core")
local errors = require("operations.base.error")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local property_order = require("operations.base.property_order")

local json_patch = {}

---@class operations.PatchOperation
---@field op "add"|"remove"|"replace"|"move"|"copy"|"test"
---@field path string  JSON Pointer
---@field from? string  JSON Pointer, of "move" and "copy"
---@field value? any  of "add", "replace" and "test"; null is `operations.null`

-- Raised within this file.
local function refuse(message, ...)
  error({ refusal = message:format(...) }, 0)
end

local function copy_of(node)
  local copy = property_order.carry({}, node)
  for key, value in pairs(node) do
    copy[key] = value
  end
  return copy
end

local function deep_copy(value, depth)
  if type(value) ~= "table" then
    return value
  elseif depth > limits.json_depth then
    refuse("the value is nested too deeply")
  end
  local copy = copy_of(value)
  for key, member in pairs(copy) do
    copy[key] = deep_copy(member, depth + 1)
  end
  return copy
end

-- Numbers by value, objects in any order.
local function equal(a, b, depth)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  elseif core.kind(a) ~= core.kind(b) and (next(a) ~= nil or next(b) ~= nil) or depth > limits.json_depth then
    return false
  end
  for key, value in pairs(a) do
    if not equal(value, b[key], depth + 1) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

-- The tokens of a pointer, unescaped.
local function tokens_of(pointer, name)
  if type(pointer) ~= "string" or pointer ~= "" and pointer:sub(1, 1) ~= "/" or pointer:find("~[^01]")
    or pointer:find("~$") then
    refuse("%s: expected a JSON Pointer, got %s", name, type(pointer) == "string" and ("%q"):format(pointer)
      or core.kind(pointer) or "nothing")
  end
  local tokens = {}
  for token in pointer:gmatch("/([^/]*)") do
    tokens[#tokens + 1] = json_pointer.unescape(token)
  end
  return tokens
end

local function pointer_of(tokens, last)
  local texts = {}
  for i = 1, last do
    texts[i] = "/" .. json_pointer.escape(tokens[i])
  end
  return table.concat(texts)
end

local function is_list(node)
  return core.kind(node) == "array"
end

-- The key of a member that is there; nil without one.
local function key_of(node, token)
  if is_list(node) then
    local index = (token == "0" or token:find("^[1-9]%d*$")) and tonumber(token) + 1
    return index and node[index] ~= nil and index or nil
  end
  return node[token] ~= nil and token or nil
end

-- The node that holds the last token, copied with all above it; `state.own` has the copies of this patch.
local function parent_of(state, tokens)
  local node = state.root
  for i, token in ipairs(tokens) do
    if type(node) ~= "table" then
      refuse("there is no %s: %s holds a %s", pointer_of(tokens, #tokens), i == 1 and "the document"
        or pointer_of(tokens, i - 1), core.kind(node))
    elseif i == #tokens then
      return node
    end
    local key = key_of(node, token)
    if key == nil then
      refuse("there is no %s", pointer_of(tokens, i))
    end
    if type(node[key]) == "table" and not state.own[node[key]] then
      node[key] = copy_of(node[key])
      state.own[node[key]] = true
    end
    node = node[key]
  end
end

local function get(state, tokens)
  local node = state.root
  for i, token in ipairs(tokens) do
    local key = type(node) == "table" and key_of(node, token)
    if not key then
      refuse("there is no %s", pointer_of(tokens, i))
    end
    node = node[key]
  end
  return node
end

-- A new member is the last one.
local function set_member(node, name, value)
  if node[name] == nil and core.property_order[node] then
    local names = property_order.names(node)
    names[#names + 1] = name
    property_order.set(node, names)
  end
  node[name] = value
end

local function add(state, tokens, value)
  if not tokens[1] then
    state.root = value
    return
  end
  local node, token = parent_of(state, tokens), tokens[#tokens]
  if token == "-" and (is_list(node) or next(node) == nil and getmetatable(node) == nil) then
    node[#node + 1] = value
  elseif is_list(node) then
    local index = (token == "0" or token:find("^[1-9]%d*$")) and tonumber(token) + 1
    if not index or index > #node + 1 then
      refuse("there is no %s: the list has %d items", pointer_of(tokens, #tokens), #node)
    end
    table.insert(node, index, value)
  else
    set_member(node, token, value)
  end
end

local function remove(state, tokens)
  if not tokens[1] then
    refuse("the whole document cannot be removed")
  end
  local node = parent_of(state, tokens)
  local key = key_of(node, tokens[#tokens])
  if key == nil then
    refuse("there is no %s", pointer_of(tokens, #tokens))
  end
  local value = node[key]
  if is_list(node) then
    table.remove(node, key)
  else
    node[key] = nil
  end
  return value
end

local function value_of(operation)
  if operation.value == nil then
    refuse("it has no value")
  end
  return deep_copy(operation.value, 0)
end

local apply = {}

function apply.add(state, tokens, operation)
  add(state, tokens, value_of(operation))
end

function apply.remove(state, tokens)
  remove(state, tokens)
end

function apply.replace(state, tokens, operation)
  local value = value_of(operation)
  get(state, tokens)
  if not tokens[1] then
    state.root = value
    return
  end
  local node = parent_of(state, tokens)
  node[key_of(node, tokens[#tokens])] = value
end

function apply.move(state, tokens, operation)
  local from = tokens_of(operation.from, "from")
  if operation.from ~= operation.path and operation.path:sub(1, #operation.from + 1) == operation.from .. "/" then
    refuse("%s cannot be moved into itself", operation.from)
  elseif operation.from == operation.path then
    get(state, from)
    return
  end
  add(state, tokens, remove(state, from))
end

function apply.copy(state, tokens, operation)
  add(state, tokens, deep_copy(get(state, tokens_of(operation.from, "from")), 0))
end

function apply.test(state, tokens, operation)
  local expected = value_of(operation)
  if not equal(get(state, tokens), expected, 0) then
    refuse("the value at %s is another one", operation.path == "" and "the document" or operation.path)
  end
end

local function run(state, operation)
  if core.kind(operation) ~= "object" then
    refuse("expected an object, got %s", core.kind(operation))
  elseif type(operation.op) ~= "string" or not apply[operation.op] then
    refuse("op: expected add, remove, replace, move, copy or test, got %s", tostring(operation.op))
  end
  apply[operation.op](state, tokens_of(operation.path, "path"), operation)
  if type(state.root) == "table" then
    state.own[state.root] = true
  end
end

local function shown(operation)
  return type(operation) == "table" and type(operation.op) == "string" and type(operation.path) == "string"
    and (" (%s %s)"):format(operation.op, operation.path) or ""
end

--- Applies a patch. All of it succeeds, or nothing is changed.
---@param value any
---@param patch operations.PatchOperation[]
---@return any patched  nil with an error
---@return operations.Error? err  EXECUTION_ERROR, which names the operation; details { kind = "patch", index, path }
function json_patch.apply(value, patch)
  local state = { root = type(value) == "table" and copy_of(value) or value, own = {} }
  for i, operation in ipairs(patch) do
    local ok, raised = pcall(run, state, operation)
    if not ok then
      if type(raised) ~= "table" or not raised.refusal then
        error(raised, 0)
      end
      return nil, errors.new("EXECUTION_ERROR", ("operation %d%s of the patch: %s"):format(i, shown(operation),
        raised.refusal), { kind = "patch", index = i, path = type(operation) == "table" and operation.path or nil })
    end
  end
  return state.root
end

return json_patch
