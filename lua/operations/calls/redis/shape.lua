--- The shapes of replies by command: a Redis that answers something else is not one, or lies, and its connection ends.
--- A shape is a text of alternatives ("string", "integer", "entry" for the id of one, "nil", "=OK" for that text);
--- `{ each = shape }`, a list; or `{ shape, ... }`, a list that begins so.
local shape = {}

local kinds = { string = "string", integer = "number" }

local function is_one_of(alternatives, value)
  for kind in alternatives:gmatch("[^|]+") do
    if kind == "nil" and value == false or kinds[kind] == type(value) or kind == "=" .. tostring(value)
      or kind == "entry" and type(value) == "string" and value:find("^%d+%-%d+$") then
      return true
    end
  end
  return false
end

--- Has a reply a shape?
---@param wanted string|table
---@param value any
---@return boolean
function shape.fits(wanted, value)
  if kinds[wanted] then
    return kinds[wanted] == type(value)
  elseif type(wanted) == "string" then
    return is_one_of(wanted, value)
  elseif type(value) ~= "table" or value.err ~= nil then
    return wanted.optional == true and value == false
  elseif wanted.pairs and #value % 2 == 1 then
    return false
  end
  for i = 1, wanted.each and #value or #wanted do
    if not shape.fits(wanted.each or wanted[i], value[i]) then
      return false
    end
  end
  return true
end

local texts = { each = "string" }
local fields = { each = "string", pairs = true }
local entries = { each = { "entry", fields } }

--- By command. The replies to other commands are not read.
shape.of = {
  AUTH = "=OK", SELECT = "=OK", PING = "=PONG", GET = "string|nil", UNLINK = "integer", PUBLISH = "integer",
  SUBSCRIBE = { "=subscribe", "string", "integer" }, TIME = { "string", "string" },
  PUBSUB = { "string", "integer" }, SMEMBERS = texts, XRANGE = entries, XREVRANGE = entries,
  XREADGROUP = { each = { "string", entries }, optional = true },
}

--- Lists of texts, and of the fields of an entry.
shape.texts, shape.fields = texts, fields

return shape
