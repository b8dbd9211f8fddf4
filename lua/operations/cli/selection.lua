--- `--select`: selects the part of an answer to print: by a JSON Pointer (`/items/0/name`), a path (`items[0].name`,
--- `items[].name` for the names of all items), or a projection: the named parts of an object, or of each item of a list
--- (`id,name`, `items[].{id,owner: user.login}`).
local core = require("operations.core")
local json_pointer = require("operations.base.json_pointer")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local property_order = require("operations.base.property_order")
local suggestion = require("operations.base.suggestion")

local selection = {}

---@alias operations.cli.Step string|integer|true|operations.cli.Projection  a name, an index from 0, every item, parts

---@class operations.cli.Projection
---@field [integer] { name: string, steps: operations.cli.Step[] }

local function of_pointer(text)
  local steps = {}
  for token in text:gmatch("/([^/]*)") do
    steps[#steps + 1] = json_pointer.unescape(token)
  end
  return steps
end

-- The text in brackets: "0", "" or "*" (all), or a name in double quotes.
local function bracketed(text)
  if text == "" or text == "*" then
    return true
  elseif text:find("^%d+$") then
    return tonumber(text)
  end
  return text:match('^"(.*)"$')
end

local function unreadable(text, at)
  return ("--select: cannot read %q at %q: expected a path such as items[0].name, parts such as id,name, or a JSON "
    .. "Pointer"):format(text, text:sub(at))
end

local parts_of

-- The steps of a path up to a comma, a closing brace or the end, and the place after them; or nil and a message.
local function path_of(text, at)
  local steps = {}
  while at <= #text and not text:find("^%s*[,}]", at) do
    local inner, stop = text:match("^%[([^%]]*)%]()", at)
    local step = inner and bracketed(inner)
    local brace = not inner and text:match("^%.?{()", at)
    if brace then
      step, stop = parts_of(text, brace)
      if not step then
        return nil, stop
      elseif text:sub(stop, stop) ~= "}" then
        return nil, ("--select: %q lacks a }"):format(text)
      end
      stop = stop + 1
    elseif not inner then
      step, stop = text:match("^%.?([^.,%[%]{}]+)()", at)
    end
    if not step then
      return nil, unreadable(text, at)
    end
    steps[#steps + 1], at = step, stop
    if text:find("^%.[,}]", at) or text:find("^%.$", at) then
      return nil, ("--select: %q ends with a dot"):format(text:sub(1, at))
    end
  end
  return steps, at
end

-- Parts with commas between them, and the place after them; or nil and a message.
function parts_of(text, at)
  local parts = {}
  repeat
    local name, start = text:match("^%s*([%w_-]+):%s*()", at)
    start = start or text:match("^%s*()", at)
    local steps, stop = path_of(text, start)
    if not steps then
      return nil, stop
    elseif #steps == 0 then
      return nil, unreadable(text, start)
    end
    parts[#parts + 1] = { name = name or text:sub(start, stop - 1):gsub("^%.", ""):gsub("%s+$", ""), steps = steps }
    local comma = text:match("^%s*,()", stop)
    at = comma or text:match("^%s*()", stop)
  until not comma
  return parts, at
end

local function of_path(text)
  local parts, stop = parts_of(text, 1)
  if parts and stop <= #text then
    return nil, unreadable(text, stop)
  elseif not parts then
    return nil, stop
  end
  return #parts == 1 and not text:find("^%s*[%w_-]+:") and parts[1].steps or { parts }
end

--- Reads the option.
---@param text string
---@return operations.cli.Step[]? steps
---@return string? message
function selection.parse(text)
  if text == "" or text:sub(1, 1) == "/" then
    return of_pointer(text)
  end
  return of_path(text)
end

local function place(steps, count)
  local text = ""
  for i = 1, count do
    local step = steps[i]
    text = text .. (step == true and "[]" or type(step) == "table" and "{}"
      or type(step) == "number" and ("[%d]"):format(step) or (text ~= "" and "." or "") .. step)
  end
  return text == "" and "the answer" or text
end

local function missing(steps, at, value)
  local where, kind = place(steps, at - 1), core.kind(value)
  local step = steps[at]
  if kind == "object" then
    local names = members.names(value)
    return ("--select: %s has no %q%s%s"):format(where, tostring(step), suggestion.behind(tostring(step), names),
      #names > 0 and "; it has " .. table.concat(names, ", ", 1, math.min(#names, 12)) or "")
  elseif kind == "array" then
    return type(step) == "string" and ("--select: %s is a list: [] takes this of every item"):format(where)
      or ("--select: %s has %d items"):format(where, #value)
  end
  return ("--select: %s is %s %s, which has no parts"):format(where, kind == "integer" and "an" or "a", kind)
end

local function child(value, step)
  local kind = core.kind(value)
  if kind == "array" then
    local index = type(step) == "number" and step or type(step) == "string" and step:find("^%d+$") and tonumber(step)
    return index and value[index + 1]
  elseif kind == "object" then
    return value[tostring(step)]
  end
end

local take

-- The parts of an object; in a list, an item without one has null there.
local function project(parts, value, in_list)
  local object, names = marked.object(), {}
  for i, part in ipairs(parts) do
    local found, message = take(part.steps, 1, value)
    if found == nil and not in_list then
      return nil, message
    end
    object[part.name], names[i] = found == nil and core.null or found, part.name
  end
  property_order.set(object, names)
  return object
end

function take(steps, at, value)
  local step = steps[at]
  if step == nil then
    return value
  elseif type(step) == "table" and core.kind(value) == "array" then
    local list = marked.array()
    for i, item in ipairs(value) do
      list[i] = take(steps, at + 1, (project(step, item, true)))
    end
    return list
  elseif type(step) == "table" then
    local found, message = project(step, value, steps[at - 1] == true)
    if found == nil then
      return nil, message
    end
    return take(steps, at + 1, found)
  elseif step == true and core.kind(value) == "array" then
    local list = marked.array()
    for i, item in ipairs(value) do
      local found = take(steps, at + 1, item)
      list[i] = found == nil and core.null or found
    end
    return list
  end
  local found = child(value, step)
  if found == nil or step == true then
    local not_a_list = step == true and ("--select: %s is not a list"):format(place(steps, at - 1))
    return nil, not_a_list or missing(steps, at, value)
  end
  return take(steps, at + 1, found)
end

--- The part at the steps. After `[]`, an item without the part gives null.
---@param steps operations.cli.Step[]
---@param value any
---@return any  nil when it is absent
---@return string? message
function selection.get(steps, value)
  return take(steps, 1, value)
end

return selection
