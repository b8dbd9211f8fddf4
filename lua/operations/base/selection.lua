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

-- The steps of a path up to a comma, a closing brace or the end, and the place after them; or nil and a message. `root`
-- is the path of the value where they begin, for messages.
local function path_of(text, at, root)
  local steps, start = { root = root }, at
  while at <= #text and not text:find("^%s*[,}]", at) do
    local inner, stop = text:match("^%[([^%]]*)%]()", at)
    local step = inner and bracketed(inner)
    local brace = not inner and text:match("^%.?{()", at)
    if brace then
      step, stop = parts_of(text, brace, (root and root .. "." or "") .. text:sub(start, at - 1):gsub("^%.", ""))
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
function parts_of(text, at, root)
  local parts = {}
  repeat
    local name, start = text:match("^%s*([%w_-]+):%s*()", at)
    start = start or text:match("^%s*()", at)
    local steps, stop = path_of(text, start, root)
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
  local text = steps.root or ""
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
    return type(step) == "string" and ("--select: %s is a list: %s[].%s takes this of every item"):format(where,
        at > 1 and where or "", step)
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

-- Counts the items of lists that lack a part: one that all lack is probably misspelt.
---@class operations.cli.Tally
---@field rows { key: any, items: integer, missing: integer, message: string? }[]  by place in the selection, too
local Tally = {}
Tally.__index = Tally

function Tally:add(key, is_missing, message)
  local row = self.rows[key]
  if not row then
    row = { items = 0, missing = 0 }
    self.rows[key], self.rows[#self.rows + 1] = row, row
  end
  row.items = row.items + 1
  row.missing = row.missing + (is_missing and 1 or 0)
  row.message = row.message or message
end

function Tally:message()
  for _, row in ipairs(self.rows) do
    if row.missing == row.items and row.message then
      return row.message
    end
  end
end

-- The parts of an object; in a list, an item without one has null there.
local function project(parts, value, in_list, tally)
  local object, names = marked.object(), {}
  for i, part in ipairs(parts) do
    local found, message = take(part.steps, 1, value, tally)
    if found == nil and not in_list then
      return nil, message
    elseif in_list then
      tally:add(part, found == nil, message)
    end
    object[part.name], names[i] = found == nil and core.null or found, part.name
  end
  property_order.set(object, names)
  return object
end

-- What follows `[]` or a list, of each item.
local function take_items(steps, at, list, tally)
  local taken, parts = marked.array(), type(steps[at]) == "table" and steps[at] or nil
  local key = ("%s %d"):format(tostring(steps), at)
  for i, item in ipairs(list) do
    local found, message
    if parts and core.kind(item) ~= "array" then
      found = take(steps, at + 1, (project(parts, item, true, tally)), tally)
    else
      found, message = take(steps, at, item, tally)
      tally:add(key, found == nil, message)
    end
    taken[i] = found == nil and core.null or found
  end
  return taken
end

function take(steps, at, value, tally)
  local step = steps[at]
  if step == nil then
    return value
  elseif type(step) == "table" and core.kind(value) == "array" then
    return take_items(steps, at, value, tally)
  elseif type(step) == "table" then
    local found, message = project(step, value, false, tally)
    if found == nil then
      return nil, message
    end
    return take(steps, at + 1, found, tally)
  elseif step == true and core.kind(value) == "array" then
    return take_items(steps, at + 1, value, tally)
  end
  local found = child(value, step)
  if found == nil or step == true then
    local not_a_list = step == true and ("--select: %s is not a list"):format(place(steps, at - 1))
    return nil, not_a_list or missing(steps, at, value)
  end
  return take(steps, at + 1, found, tally)
end

--- The part at the steps. After `[]`, an item without the part gives null.
---@param steps operations.cli.Step[]
---@param value any
---@return any  nil when it is absent
---@return string? message  why it is absent
---@return string? doubt  about a part that no item of a list has
function selection.get(steps, value)
  local tally = setmetatable({ rows = {} }, Tally)
  local found, message = take(steps, 1, value, tally)
  return found, message, found ~= nil and tally:message() or nil
end

return selection
