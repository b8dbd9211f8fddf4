--- What types state, one line for each fact, the same for both languages: `Interface.field?: type` of every field,
--- `Name = type` of every alias, and input, output and errors of every operation.
local luacats = require("spec.support.luacats")

local facts = {}

-- Lua, as TypeScript writes it.

local words = { ["operations.Null"] = "null", any = "unknown", ["nil"] = "never", integer = "number" }

local function interface_of(name)
  local parts = {}
  for part in name:gmatch("[^.]+") do
    parts[#parts + 1] = part:gsub("[^%w]+", "_"):gsub("^_*(.)", string.upper):gsub("_+(.?)", string.upper)
  end
  return (table.concat(parts):gsub("^%d", "_%0"))
end

local function written(of)
  if of.kind == "name" then
    return words[of.name] or of.name:find(".", 1, true) and interface_of(of.name) or of.name
  elseif of.kind == "literal" then
    return of.value
  elseif of.kind == "generic" then
    return ("Record<%s, %s>"):format(written(of.list[1]), written(of.list[2]))
  elseif of.kind == "array" then
    return (of.item.kind == "union" and "(%s)[]" or "%s[]"):format(written(of.item))
  end
  local list = {}
  for i, item in ipairs(of.list) do
    list[i] = written(item)
  end
  return table.concat(list, " | ")
end

-- The declared errors of a result `declared|operations.Error?`.
local function error_of(of)
  local list = {}
  for _, item in ipairs(of.list) do
    list[#list + 1] = item.name ~= "operations.Error" and written(item) or nil
  end
  return list[1] and table.concat(list, " | ") or "never"
end

local function add_operations(list, read, namespace, class)
  for _, field in ipairs(class.fields) do
    local id = ("%s.%s"):format(namespace, field.name or field.key:sub(2, -2))
    local input, output = field.type.parameters[1], field.type.returns[1]
    local events = read.classes[output.list[1].name or ""]
    local is_stream = events and events.parents[1] == "operations.Events"
    list[#list + 1] = id .. " input: " .. written(input.type) .. (input.optional and " | undefined" or "")
    list[#list + 1] = id .. " output: " .. written(is_stream and events.overloads[1].returns[1] or output)
    list[#list + 1] = id .. " error: " .. error_of(field.type.returns[2])
  end
end

--- The facts of annotations of Lua.
---@param text string
---@return string[] sorted
function facts.lua(text)
  local read, list = luacats.read(text), {}
  assert(#read.problems == 0, read.problems[1])
  for name, class in pairs(read.classes) do
    local namespace = name:match("^([^.]+)%.client$")
    local is_own = not name:find("^operations") and not name:find("%.env$") and class.parents[1] ~= "operations.Events"
      and class.parents[1] ~= "operations.Subscription"
    if namespace then
      add_operations(list, read, namespace, class)
    elseif is_own then
      for _, field in ipairs(class.fields) do
        local key = field.name or type(field.key) == "string" and field.key
        local is_optional = field.optional or not field.name and field.type.optional
        list[#list + 1] = key and ("%s.%s%s: %s"):format(interface_of(name), key:gsub("^\"(%a+)\"$", "%1"),
          is_optional and "?" or "", written(field.type)) or interface_of(name) .. " has others"
      end
    end
  end
  for name, of in pairs(read.aliases) do
    list[#list + 1] = interface_of(name) .. " = " .. written(of)
  end
  table.sort(list)
  return list
end

--- The facts of TypeScript. A number with a fraction is no literal in Lua, so it is a number here.
---@param text string
---@return string[] sorted
function facts.typescript(text)
  local list, interface, id = {}, nil, nil
  for given in text:gmatch("[^\n]+") do
    local line = given:gsub("([ (])%-?%d+%.%d[%deE+-]*%f[ ;)]", "%1number")
    interface = line:match("^export interface (%w+)") or interface
    id = line:match('^  "(.*)": {$') or line:find("^  };") and nil or id
    local alias, of = line:match("^export type (%w+) = (.*);$")
    local key, mark, field = line:match('^  (".-")(%??): (.*);$')
    if not key then
      key, mark, field = line:match("^  ([%a_][%w_]*)(%??): (.*);$")
    end
    local part, kind = line:match("^    (%l+): (.*);$")
    if alias then
      list[#list + 1] = alias .. " = " .. of
    elseif line:find("^  %[name: string%]") then
      list[#list + 1] = interface .. " has others"
    elseif id and part and part ~= "type" then
      list[#list + 1] = ("%s %s: %s"):format(id, part, kind)
    elseif key and interface ~= "Operations" then
      list[#list + 1] = ("%s.%s%s: %s"):format(interface, key, mark, field)
    end
  end
  table.sort(list)
  return list
end

return facts
