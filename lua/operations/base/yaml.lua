--- Reads YAML as JSON: by the core schema of YAML 1.2 (10.3), regardless of the library, so that `on`, `no`, dates and
--- `12:30` are strings and `010` is ten. Keys are strings as written: `200:` is "200".
---
--- The events come from libyaml through the optional module `yaml` (LuaRocks lyaml, Debian lua-yaml).
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local property_order = require("operations.base.property_order")
local runtime = require("operations.base.runtime")

local yaml = {}

--- Raises an error in the text through the builder; `decode` catches it.
local function fail(event, message, ...)
  error({ message = ("line %d: " .. message):format(event.start_mark.line + 1, ...) })
end

local words = {
  [""] = core.null, ["~"] = core.null, null = core.null, Null = core.null, NULL = core.null,
  ["true"] = true, True = true, TRUE = true, ["false"] = false, False = false, FALSE = false,
}

--- The JSON spelling of a number in the core schema, or nil.
local function number_text(text)
  local sign, digits = text:match("^([-+]?)(%d+)$")
  if digits then
    return (sign == "-" and sign or "") .. digits:gsub("^0+(%d)", "%1")
  end
  local whole, fraction, exponent
  sign, whole, fraction, exponent = text:match("^([-+]?)(%d*)%.?(%d*)(.*)$")
  if whole .. fraction == "" or exponent ~= "" and not exponent:find("^[eE][-+]?%d+$") then
    return nil
  end
  return ("%s%s.%s%s"):format(sign == "-" and sign or "", whole == "" and "0" or whole:gsub("^0+(%d)", "%1"),
    fraction == "" and "0" or fraction, exponent)
end

-- At most 52 bits, which both runtimes read exactly.
local function based_text(text)
  local octal, hex = text:match("^0o0*([0-7]+)$"), text:match("^0x0*(%x+)$")
  if octal and #octal <= 17 then
    return ("%d"):format(tonumber(octal, 8))
  elseif hex and #hex <= 13 then
    return ("%d"):format(tonumber(hex, 16))
  end
end

local function plain(text)
  local word = words[text]
  if word ~= nil then
    return word
  end
  local number = text:find("^[-+.%d]") and (number_text(text) or based_text(text))
  return number and json.decode(number) or text
end

local core_types = { int = true, float = true, bool = true, null = true }

local function scalar(event)
  local tag, is_plain = event.tag, event.plain_implicit
  if tag ~= nil then
    is_plain = core_types[tag:match("^tag:yaml%.org,2002:(.*)$")]
  end
  if is_plain then
    return plain(event.value)
  end
  return event.value
end

---@class operations.openapi.YamlReader
---@field next fun(): table  the next event
---@field anchors table<string, { value: any, size: integer? }>  size: number of nodes; nil while it is being read
---@field size integer  nodes so far; an alias counts as its value
---@field depth integer
---@field names string[]  the keys of the mapping that ended last
local Reader = {}
Reader.__index = Reader

function Reader:count(event, n)
  self.size = self.size + n
  if self.size > limits.yaml_nodes then
    fail(event, "the document has more than %d values, aliases counted as what they stand for", limits.yaml_nodes)
  end
end

function Reader:alias(event)
  local anchor = self.anchors[event.anchor]
  if not anchor then
    fail(event, "no anchor &%s precedes *%s", event.anchor, event.anchor)
  elseif not anchor.size then
    fail(event, "*%s is inside the value that it names", event.anchor)
  end
  self:count(event, anchor.size)
  return anchor.value
end

function Reader:sequence()
  local list = setmetatable({}, core.array_mt)
  while true do
    local event = self.next()
    if event.type == "SEQUENCE_END" then
      return list
    end
    list[#list + 1] = self:node(event)
  end
end

--- `<<: *defaults` adds the members of other mappings; the mapping's own members, and earlier ones, take precedence.
local function merge(map, source, event)
  for _, from in ipairs(core.kind(source) == "array" and source or { source }) do
    if core.kind(from) ~= "object" then
      fail(event, "<< expects a mapping")
    end
    for key, value in pairs(from) do
      if map[key] == nil then
        map[key] = value
      end
    end
  end
end

function Reader:key(event, map)
  if event.type == "ALIAS" then
    local value = self:alias(event)
    return type(value) == "string" and value or fail(event, "a key must be a scalar")
  elseif event.type ~= "SCALAR" then
    fail(event, "a key must be a scalar")
  elseif map[event.value] ~= nil then
    fail(event, "the key %q is a duplicate", event.value)
  end
  if event.anchor then
    self.anchors[event.anchor] = { value = event.value, size = 1 }
  end
  return event.value
end

-- Without quotes these look like numbers (`version: 1.0`, `swagger: 2.0`); by depth.
local texts = { { openapi = true, swagger = true }, { version = true } }

function Reader:member(key, event)
  local is_text = (texts[self.depth] or {})[key] and event.type == "SCALAR" and event.tag == nil
  return is_text and words[event.value] == nil and event.value or self:node(event)
end

function Reader:mapping()
  local map, merged, names = {}, {}, {}
  while true do
    local event = self.next()
    if event.type == "MAPPING_END" then
      break
    elseif event.value == "<<" and event.plain_implicit then
      merged[#merged + 1] = { source = self:node(self.next()), event = event }
    else
      local key, value = self:key(event, map), self.next()
      names[#names + 1] = key
      map[key] = self:member(key, value)
      if key == "properties" and value.type == "MAPPING_START" then
        property_order.set(map[key], self.names)
      end
    end
  end
  for _, entry in ipairs(merged) do
    merge(map, entry.source, entry.event)
  end
  self.names = names
  return next(map) == nil and setmetatable(map, core.object_mt) or map
end

function Reader:collection(event)
  self.depth = self.depth + 1
  if self.depth > limits.json_depth then
    fail(event, "nested deeper than %d", limits.json_depth)
  end
  local value = event.type == "SEQUENCE_START" and self:sequence() or self:mapping()
  self.depth = self.depth - 1
  return value
end

function Reader:node(event)
  if event.type == "ALIAS" then
    return self:alias(event)
  end
  local before, anchor = self.size, event.anchor and {}
  self:count(event, 1)
  if anchor then
    self.anchors[event.anchor] = anchor
  end
  local value
  if event.type == "SCALAR" then
    value = scalar(event)
  else
    value = self:collection(event)
  end
  if anchor then
    anchor.value, anchor.size = value, self.size - before
  end
  return value
end

local function read(library, text)
  local events = library.parser(text)
  local function next_event()
    local ok, event = pcall(events)
    if not ok then
      error({ message = (tostring(event):gsub("^[^\n]-:%d+: ", ""):gsub("%s*\n%s*", ", "):gsub(", $", "")) })
    end
    return event
  end
  local reader = setmetatable({ next = next_event, anchors = {}, size = 0, depth = 0 }, Reader)
  next_event()
  if next_event().type == "STREAM_END" then
    return core.null
  end
  local value = reader:node(next_event())
  next_event()
  local event = next_event()
  if event.type ~= "STREAM_END" then
    fail(event, "expected one document, found another")
  end
  return value
end

--- Decodes a text with one document; sets the same marks as `json.decode`.
---@param text string
---@return any value  nil when it cannot be read
---@return string? message
function yaml.decode(text)
  -- Required late: an optional library.
  local found, library = runtime.optional("yaml")
  if not found or type(library) ~= "table" or not library.parser then
    return nil, "YAML needs the library lyaml (luarocks install lyaml, or Debian's lua-yaml)"
  end
  local ok, value = pcall(read, library, text)
  if ok then
    return value
  elseif type(value) ~= "table" then
    error(value, 0)
  end
  return nil, value.message
end

return yaml
