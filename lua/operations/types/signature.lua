--- Types for models: an operation as one line of Lua, and its types as a short text, both within a number of bytes.
local json = require("operations.base.json")
local members = require("operations.base.members")
local prose = require("operations.people.prose")
local schema_text = require("operations.people.schema_text")
local words = require("operations.types.words")

local signature = {}

local DEEPEST = 4 -- objects in objects that one line writes out
local NOTE = 160 -- bytes of the words beside a field

local plain = { null = "null", any = "any", never = "nil", boolean = "boolean", string = "string", number = "number",
  integer = "integer" }

local function key_of(name)
  return name:find("^[%a_][%w_]*$") and name or ("[%s]"):format(assert(json.encode(name)))
end

-- The name of a type beside its operation: without the namespace, and without the operation's name.
local function name_of(named, operation)
  local from = named.parts[2] == operation.name and #named.parts > 2 and 3 or 2
  return table.concat(named.parts, ".", from)
end

-- Does it need parentheses before "[]"?
local function is_union(of)
  return of.kind == "union" or of.kind == "ref" and of.of.type ~= nil and of.of.type.kind == "union"
end

--- Writes a type; `object(named)` writes a reference to one with members.
local function text_of(of, object)
  local own
  own = words.of({ plain = plain, map = "table<string, %s>", bar = "|", is_union = is_union, ref = function(named)
    return named.fields and object(named) or words.written(named.type, own)
  end })
  return words.written(of, own)
end

-- One line: objects are written out to a depth; then only `table`.

local inline

-- Of more fields than there is room for, the required ones come first.
local function by_need(fields)
  local list = {}
  for _, is_required in ipairs({ true, false }) do
    for _, field in ipairs(fields) do
      list[#list + 1] = field.required == is_required and field or nil
    end
  end
  return list
end

local function object_of(named, depth, most, open)
  if depth <= 0 or open[named] then
    return "table"
  end
  open[named] = true
  local parts, size = {}, 0
  for _, field in ipairs(most and by_need(named.fields) or named.fields) do
    local part = ("%s%s: %s"):format(key_of(field.name), field.required and "" or "?",
      inline(field.type, depth - 1, nil, open))
    size = size + #part + 2
    if most and size > most and parts[1] then
      parts[#parts + 1] = "..."
      break
    end
    parts[#parts + 1] = part
  end
  parts[#parts + 1] = named.extra and ("[string]: %s"):format(inline(named.extra, depth - 1, nil, open)) or nil
  open[named] = nil
  return "{ " .. table.concat(parts, ", ") .. " }"
end

function inline(of, depth, most, open)
  return text_of(of, function(named)
    return object_of(named, depth, most, open or {})
  end)
end

-- The deepest form that has room.
local function fitting(of, most)
  for depth = DEEPEST, 1, -1 do
    local text = inline(of, depth)
    if #text <= most then
      return text
    end
  end
  return inline(of, 1, most)
end

local function errors_of(operation)
  local codes = operation.errors
  if not codes[1] then
    return ""
  end
  return "  -- errors: " .. table.concat(codes, ", ", 1, math.min(#codes, 8)) .. (codes[9] and ", ..." or "")
end

--- One line of Lua with types: input, result and codes of errors. Types without room are shortened from the inside;
--- alternatives of a union are never left out.
---@param operation operations.types.Operation
---@param head string  how it is called: 'call("tasks.add", ' or "tasks_add("
---@param most integer  bytes of input and result together, about
---@return string
function signature.line(operation, head, most)
  local free = operation.optional_input and operation.input.kind == "map" and operation.input.item.kind == "any"
  local takes = not free and fitting(operation.input, math.floor(most * 0.6)) or nil
  local input = takes and ("input%s: %s"):format(operation.optional_input and "?" or "", takes) or ""
  if input == "" then
    head = head:gsub(", $", "")
  end
  local output = fitting(operation.output, most - #input)
  if operation.kind == "subscription" then
    output = (is_union(operation.output) and "(%s)[]" or "%s[]"):format(output)
  end
  return ("%s%s): %s%s"):format(head, input, output, errors_of(operation))
end

-- A text: each object that is referenced once, in the order of their use.

local function note_of(field)
  local node, said = field.node, {}
  if field.description then
    said[1] = prose.summary(field.description)
  end
  local bounds = type(node) == "table" and not node["$ref"] and schema_text.limits(node) or {}
  said = members.joined(said, { bounds[1] and "(" .. table.concat(bounds, ", ") .. ")" or nil })
  local text = table.concat(said, " "):gsub("%s+", " ")
  if #text > NOTE then
    text = text:sub(1, NOTE):gsub("[\192-\255][\128-\191]*$", "") .. "..."
  end
  return text ~= "" and "  -- " .. text or ""
end

local Page = {}
Page.__index = Page

function Page:type(of)
  return text_of(of, function(named)
    if not self.seen[named] then
      self.seen[named] = true
      self.waiting[#self.waiting + 1] = named
    end
    return name_of(named, self.operation)
  end)
end

local function block_of(self, named, name)
  local lines = {}
  for _, field in ipairs(named.fields) do
    lines[#lines + 1] = ("  %s%s: %s,%s"):format(key_of(field.name), field.required and "" or "?",
      self:type(field.type), note_of(field))
  end
  lines[#lines + 1] = named.extra and ("  [string]: %s,"):format(self:type(named.extra)) or nil
  return ("%s: {\n%s\n}"):format(name, table.concat(lines, "\n"))
end

-- Input and result, or the one type that is asked for.
local function begin(self, types, wanted)
  if not wanted then
    for _, part in ipairs({ "input", "output" }) do
      local text = self:type(self.operation[part])
      if text ~= part then
        self.blocks[#self.blocks + 1] = ("%s: %s"):format(part, text)
      end
    end
    return true
  end
  for _, named in ipairs(types.named) do
    if named.fields and name_of(named, self.operation) == wanted then
      self.seen[named], self.waiting[1] = true, named
      return true
    end
  end
end

--- The types of an operation and those that they use. When there is no room for all, those that come first, and the
--- names of the others, each of which can be asked for.
---@param types operations.types.Tree  of one operation
---@param most integer  bytes
---@param wanted? string  begins with this type
---@return string? text  nil: there is no such type
---@return string[] left  names of types that are left out
function signature.page(types, most, wanted)
  local self = setmetatable({ operation = types.operations[1], seen = {}, waiting = {}, blocks = {} }, Page)
  if not begin(self, types, wanted) then
    return nil, {}
  end
  local size, at, left = 0, 1, {}
  while self.waiting[at] do
    local named = self.waiting[at]
    local name = name_of(named, self.operation)
    local block = #left == 0 and block_of(self, named, name)
    if block and (size + #block <= most or at == 1) then
      self.blocks[#self.blocks + 1], size = block, size + #block
    else
      left[#left + 1] = name
    end
    at = at + 1
  end
  return table.concat(self.blocks, "\n"), left
end

return signature
