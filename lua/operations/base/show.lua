--- Values as texts for people: at a prompt, in messages of tests.
local core = require("operations.core")
local printable = require("operations.base.printable")

local show = {}

local DEEPEST, MOST = 8, 100 -- levels, and members of a table, that are shown

local words = { ["and"] = true, ["break"] = true, ["do"] = true, ["else"] = true, ["elseif"] = true, ["end"] = true,
  ["false"] = true, ["for"] = true, ["function"] = true, ["goto"] = true, ["if"] = true, ["in"] = true,
  ["local"] = true, ["nil"] = true, ["not"] = true, ["or"] = true, ["repeat"] = true, ["return"] = true,
  ["then"] = true, ["true"] = true, ["until"] = true, ["while"] = true }

local function key_text(key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") and not words[key] then
    return key
  end
  return "[" .. (type(key) == "string" and ("%q"):format(key):gsub("\n", "n") or tostring(key)) .. "]"
end

local text_of

-- Lists in their order, then the other members by name; tables that tell their own text give that.
local function table_text(value, indent, seen)
  local own = getmetatable(value)
  if type(own) == "table" and own.__tostring then
    return tostring(value)
  elseif seen[value] then
    return "{ ... }" -- a cycle
  elseif #indent >= 2 * DEEPEST then
    return "{ deeper }"
  end
  seen[value] = true
  local lines, inner, length = {}, indent .. "  ", #value
  for i = 1, math.min(length, MOST) do
    lines[i] = text_of(value[i], inner, seen)
  end
  local others = {}
  for key in next, value do
    if not (type(key) == "number" and key >= 1 and key <= length and key % 1 == 0) then
      others[#others + 1] = key
    end
  end
  table.sort(others, function(a, b) return tostring(a) < tostring(b) end)
  for i = 1, math.min(#others, MOST) do
    lines[#lines + 1] = key_text(others[i]) .. " = " .. text_of(rawget(value, others[i]), inner, seen)
  end
  if length > MOST or #others > MOST then
    lines[#lines + 1] = ("... %d more"):format(math.max(length - MOST, 0) + math.max(#others - MOST, 0))
  end
  seen[value] = nil
  local line = table.concat(lines, ", ")
  if lines[1] == nil then
    return core.kind(value) == "array" and "{} (array)" or "{}"
  elseif #line + #indent <= 72 and not line:find("\n", 1, true) then
    return "{ " .. line .. " }"
  end
  return "{\n" .. inner .. table.concat(lines, ",\n" .. inner) .. "\n" .. indent .. "}"
end

function text_of(value, indent, seen)
  if value == core.null then
    return "null"
  elseif type(value) == "string" then
    return '"' .. printable.text((value:gsub('[\\"]', "\\%0"):gsub("\n", "\\n"):gsub("\t", "\\t"))) .. '"'
  elseif type(value) == "table" then
    return table_text(value, indent, seen)
  end
  return tostring(value)
end

--- The text of a value: tables with their members, sorted by name; texts quoted, control characters visible.
---@param value any
---@return string
function show.value(value)
  return text_of(value, "", {})
end

return show
