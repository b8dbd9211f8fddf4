--- Reads the LuaLS annotations of lua/: the classes, and the fields that they list.
local annotations = {}

---@class annotations.Class
---@field file string
---@field parents string[]
---@field fields string[]  the names; those that begin with "_" are private and left out

local function each_file()
  local pipe = assert(io.popen("find lua -name '*.lua' | LC_ALL=C sort"))
  return function()
    local path = pipe:read("*l")
    return path or pipe:close() and nil
  end
end

local function read_class(line, path, classes)
  local name, rest = line:match("^%-%-%-@class%s+%(?e?x?a?c?t?%)?%s*([%w_.]+)(.*)$")
  if not name then
    return nil
  end
  local class = classes[name] or { file = path, parents = {}, fields = {} }
  for parent in (rest:match("^%s*:%s*(.*)$") or ""):gsub("%s%s.*", ""):gmatch("[%w_.]+") do
    table.insert(class.parents, parent)
  end
  classes[name] = class
  return class
end

--- All classes, by name.
---@return table<string, annotations.Class>
function annotations.classes()
  local classes = {}
  for path in each_file() do
    local current
    for line in io.lines(path) do
      local class = read_class(line, path, classes)
      local field = line:match("^%-%-%-@field%s+([%a][%w_]*)")
      if class then
        current = class
      elseif current and field then
        table.insert(current.fields, field)
      elseif not line:find("^%-%-%-") then
        current = nil
      end
    end
  end
  return classes
end

--- The fields of a class and of those that it extends.
---@param classes table<string, annotations.Class>
---@param name string
---@return string[]
function annotations.fields(classes, name)
  local class, found = classes[name] or error("no class " .. name), {}
  for _, field in ipairs(class.fields) do
    found[#found + 1] = field
  end
  for _, parent in ipairs(class.parents) do
    for _, field in ipairs(classes[parent] and annotations.fields(classes, parent) or {}) do
      found[#found + 1] = field
    end
  end
  return found
end

local texts = {}
local function lines_of(path)
  if not texts[path] then
    texts[path] = {}
    for line in io.lines(path) do
      table.insert(texts[path], line)
    end
  end
  return texts[path]
end

--- The options that a function's annotation lists itself, as in `---@param options? { limit?: integer }`.
---@param fn function
---@return string[]
function annotations.inline_options(fn)
  local info, found = debug.getinfo(fn, "S"), {}
  local path = info.source:match("^@(.*lua/operations/.*)$")
  local lines, at = path and lines_of(path) or {}, info.linedefined - 1
  while lines[at] and lines[at]:find("^%-%-%-") do
    local body = lines[at]:match("^%-%-%-@param%s+options%??%s+(%b{})")
    for name in (body or ""):gsub("fun%b()", ""):gmatch("([%a][%w_]*)%??:") do
      found[#found + 1] = name
    end
    at = at - 1
  end
  return found
end

return annotations
