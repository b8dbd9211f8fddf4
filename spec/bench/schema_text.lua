--- JSON texts whose objects have their keys in a wanted order.
local json = require("operations.base.json")

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

local function below(state, n)
  state.seed = state.seed * 16807 % 2147483647
  return state.seed % n
end

-- Which key comes first differs from object to object, not only from text to text.
local function order(count, state)
  local list, turn = {}, state.turn
  state.turn = (turn + 1) % 4
  for i = 1, count do
    list[i] = (i - 1 + turn * math.ceil(count / 4)) % count
  end
  for i = count, state.seed and 2 or count + 1, -1 do
    local j = below(state, i) + 1
    list[i], list[j] = list[j], list[i]
  end
  return list
end

local function members(value, state)
  local parts = {}
  for i, at in ipairs(order(value.n / 2, state)) do
    parts[i] = json.encode(value[at * 2 + 1]) .. ":" .. write(value[at * 2 + 2], state)
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

--- The text of a value made by object and list; `turn` (0 to 3) says with which key its first object starts. With
--- `seed`, a positive number, every object has an order of its own, the same ones for the same seed.
function text.write(value, turn, seed)
  return write(value, { turn = turn, seed = seed })
end

return text
