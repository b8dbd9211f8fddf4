--- JSON texts whose objects have their keys in a wanted order.
local json = require("operations.json")

local text = {}

--- An object of key, value, key, value, ...
function text.object(...)
  return { kind = "object", n = select("#", ...), ... }
end

--- An array of its arguments.
function text.list(...)
  return { kind = "list", n = select("#", ...), ... }
end

--- An array or object of the elements of a table.
function text.of(make, elements)
  elements.kind, elements.n = make().kind, #elements
  return elements
end

local write

-- Which key comes first differs from object to object, not only from text to text.
local function members(value, state)
  local parts, count = {}, value.n / 2
  local turn = state.turn
  state.turn = (turn + 1) % 4
  for i = 0, count - 1 do
    local at = (i + turn * math.ceil(count / 4)) % count * 2 + 1
    parts[#parts + 1] = json.encode(value[at]) .. ":" .. write(value[at + 1], state)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

write = function(value, state)
  if type(value) ~= "table" then
    return assert(json.encode(value))
  elseif value.kind == "object" then
    return members(value, state)
  end
  local parts = {}
  for i = 1, value.n do
    parts[i] = write(value[i], state)
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

--- The text of a value made by object and list; `turn` (0 to 3) says with which key its first object starts.
function text.write(value, turn)
  return write(value, { turn = turn })
end

return text
