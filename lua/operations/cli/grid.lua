--- `--format table`: a list of objects in rows and columns, limited to the width of the terminal. `--format csv`: the
--- same rows as comma-separated values (RFC 4180).
local cells = require("operations.people.cells")
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")

local grid = {}

local GAP = "  "
local NARROWEST = 6 -- the narrowest table column before others are left out

local function cell(value)
  if value == nil then
    return ""
  elseif type(value) ~= "string" then
    local text, err = json.encode(value, { sort_keys = true })
    return text or error(err)
  end
  return (value:gsub("%s+", " "))
end

-- The names of all columns: known ones first, in order, then the others, sorted.
local function names_of(rows, known)
  local found, names = {}, {}
  for _, row in ipairs(rows) do
    for name in pairs(row) do
      found[name] = true
    end
  end
  for _, name in ipairs(known) do
    if found[name] then
      names[#names + 1], found[name] = name, nil
    end
  end
  for _, name in ipairs(members.names(found)) do
    names[#names + 1] = name
  end
  return names
end

local function is_number(value)
  local kind = core.kind(value)
  return kind == "integer" or kind == "number"
end

local function new_column(rows, name)
  local column = { name = name, texts = {}, width = cells.width(name), right = true }
  for i, row in ipairs(rows) do
    column.texts[i] = cell(row[name])
    column.width = math.max(column.width, cells.width(column.texts[i]))
    column.right = column.right and (row[name] == nil or is_number(row[name]))
  end
  return column
end

local function total(columns)
  local width = (#columns - 1) * #GAP
  for _, column in ipairs(columns) do
    width = width + column.width
  end
  return width
end

-- Leaves out columns at the right that do not fit, and narrows the widest of the others.
local function fit(columns, width)
  local left_out = {}
  while #columns > 1 do
    local least = (#columns - 1) * #GAP
    for _, column in ipairs(columns) do
      least = least + math.min(column.width, NARROWEST)
    end
    if least <= width then
      break
    end
    table.insert(left_out, 1, table.remove(columns).name)
  end
  local over = total(columns) - width
  while over > 0 do
    local widest, second = columns[1], 0
    for _, column in ipairs(columns) do
      widest = column.width > widest.width and column or widest
    end
    for _, column in ipairs(columns) do
      second = column ~= widest and math.max(second, column.width) or second
    end
    local less = math.min(over, math.max(1, widest.width - second))
    widest.width, over = widest.width - less, over - less
  end
  return left_out
end

local function line(columns, text_of)
  local parts = {}
  for i, column in ipairs(columns) do
    local text = cells.cut(text_of(column), column.width)
    parts[i] = column.right and (" "):rep(column.width - cells.width(text)) .. text or cells.pad(text, column.width)
  end
  return (table.concat(parts, GAP):gsub(" +$", "")) .. "\n"
end

local function of_rows(rows, known, width)
  local columns = {}
  for i, name in ipairs(names_of(rows, known)) do
    columns[i] = new_column(rows, name)
  end
  local left_out = width and fit(columns, width) or {}
  local lines = { line(columns, function(column) return column.name end) }
  for i = 1, #rows do
    lines[#lines + 1] = line(columns, function(column) return column.texts[i] end)
  end
  return table.concat(lines), left_out
end

-- An object: one line for each member.
local function of_object(value, known, width)
  local rows, most = names_of({ value }, known), 0
  for _, name in ipairs(rows) do
    most = math.max(most, cells.width(name))
  end
  local lines = {}
  for i, name in ipairs(rows) do
    local text = cells.pad(name, most) .. GAP .. cell(value[name])
    lines[i] = ((width and cells.cut(text, width) or text):gsub(" +$", "")) .. "\n"
  end
  return table.concat(lines), {}
end

local function are_objects(list)
  for _, item in ipairs(list) do
    if core.kind(item) ~= "object" then
      return false
    end
  end
  return list[1] ~= nil
end

--- A value as a table: a list of objects in rows, an object in lines, other lists with one item per line.
---@param value any
---@param known? string[]  column names in order
---@param width? integer  columns of the terminal; nil: unlimited
---@return string
---@return string[] left_out  columns that did not fit
function grid.text(value, known, width)
  local kind = core.kind(value)
  if kind == "array" and are_objects(value) then
    return of_rows(value, known or {}, width)
  elseif kind == "object" then
    return of_object(value, known or {}, width)
  end
  local lines = {}
  for i, item in ipairs(kind == "array" and value or { value }) do
    local text = cell(item)
    lines[i] = (width and cells.cut(text, width) or text) .. "\n"
  end
  return table.concat(lines), {}
end

local function quoted(value)
  local text = (value == nil or value == core.null) and "" or type(value) == "string" and value or cell(value)
  return text:find('[",\r\n]') and '"' .. text:gsub('"', '""') .. '"' or text
end

local function csv_line(values, count)
  local texts = {}
  for i = 1, count do
    texts[i] = quoted(values[i])
  end
  return table.concat(texts, ",") .. "\n"
end

--- A value as comma-separated values: a line of names and one for each object of a list or the only one; of other
--- lists a line for each item. Null is empty; objects and lists within are JSON.
---@param value any
---@param known? string[]  column names in order
---@return string
function grid.csv(value, known)
  local list = core.kind(value) == "array" and value or { value }
  local lines = {}
  if not are_objects(list) then
    for i, item in ipairs(list) do
      lines[i] = csv_line({ item }, 1)
    end
    return table.concat(lines)
  end
  local names = names_of(list, known or {})
  lines[1] = csv_line(names, #names)
  for i, row in ipairs(list) do
    local values = {}
    for k, name in ipairs(names) do
      values[k] = row[name]
    end
    lines[i + 1] = csv_line(values, #names)
  end
  return table.concat(lines)
end

return grid
