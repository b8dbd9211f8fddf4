--- Makes doc/library/operations.lua, the annotations of what a program can use, from those of lua/: the functions of
--- `require("operations")` and of its parts, and every class and alias that their types name.
local compat = require("operations.base.compat")
local members = require("operations.base.members")
local operations = require("operations")
local samples = require("spec.support.samples")

local library = {}

-- What the pages have in code: methods, functions and fields that no page names are not for programs.
local words = {}
for path in io.popen("ls doc/*.md"):lines() do
  local pieces = {}
  for _, block in ipairs(samples.blocks(path)) do
    pieces[#pieces + 1] = block.text
  end
  for line in io.lines(path) do
    for span in line:gmatch("`([^`]+)`") do
      pieces[#pieces + 1] = span
    end
  end
  for before, word in table.concat(pieces, "\n"):gmatch("([:.]?)([%a_][%w_]*)") do
    words[word] = true
    words[before .. word] = true
  end
end

-- Fields whose names pages have with another meaning.
local hidden = {}
for class, fields in pairs({ Server = "answers options registry running streams", ServerRequest = "call",
  McpServer = "calls code cors draining info options registry running send sign", HttpOptions = "code",
  RegistryOptions = "on_call", Policy = "ask decision unmatched", RedisBuckets = "call link" }) do
  for field in fields:gmatch("%S+") do
    hidden["operations." .. class .. "." .. field] = true
  end
end

-- Reading annotations: classes, aliases and documented functions of a file.

local function lua_files()
  local pipe = assert(io.popen("find lua -name '*.lua' | LC_ALL=C sort"))
  local list = {}
  for path in pipe:lines() do
    list[#list + 1] = path
  end
  pipe:close()
  return list
end

-- Joins the lines that continue an annotation: the language server reads lines one by one.
local function joined(comments)
  local list = {}
  for _, line in ipairs(comments) do
    local rest, before = line:match("^%-%-%-  +(.*)$"), list[#list]
    if rest and before and before:find("^%-%-%-@") then
      local is_open = before:find("%S  ") or before:find("[,:|]$")
      list[#list] = before .. (is_open and " " or "  ") .. rest
    else
      list[#list + 1] = line
    end
  end
  return list
end

-- A field cannot have the name of a visibility as a word.
local function fielded(line)
  return (line:gsub("^(%-%-%-@field )(%l+)(%??) ", function(before, name, mark)
    local is_visibility = name == "public" or name == "private" or name == "package" or name == "protected"
    return is_visibility and ('%s["%s"]%s '):format(before, name, mark) or nil
  end))
end

-- The comment lines of a class without private fields, each with the lines that continue it.
local function public_lines(name, comments)
  local lines, keeps = {}, true
  for _, line in ipairs(comments) do
    if line:find("^%-%-%-@") then
      local field = line:match("^%-%-%-@field%s+([%w_]+)")
      keeps = not field or words[field] and not hidden[name .. "." .. field]
    end
    lines[#lines + 1] = keeps and fielded(line) or nil
  end
  return lines
end

-- Adds classes and aliases; returns the last one.
local function add_declarations(found, comments)
  local last, from = nil, 1
  for i, line in ipairs(comments) do
    local after = comments[i + 1]
    local is_last = after == nil or after:find("^%-%-%-@class") or after:find("^%-%-%-@alias")
    local name = line:match("^%-%-%-@class%s+([%w_.]+)") or line:match("^%-%-%-@alias%s+([%w_.]+)")
    if name then
      last = found.classes[name] or { name = name, lines = {}, methods = {}, file = found.file }
      found.classes[name] = last
    end
    if is_last and last then
      local is_known = last.lines[1] ~= nil and #comments == from -- a class that is opened again
      for _, kept in ipairs(is_known and {} or public_lines(last.name, { compat.unpack(comments, from, i) })) do
        table.insert(last.lines, kept)
      end
      from = i + 1
    end
  end
  return last
end

-- A function `X.name(...)` or `X:name(...)` of a class that the file declares.
local function add_function(found, line, comments)
  local owner, separator, name, arguments = line:match("^function ([%w_]+)([.:])([%a][%w_.]*)(%b())")
  local class = owner and found.bound[owner]
  local last = class and name:match("[%w_]+$")
  local is_public = class and (words[":" .. last] or words["." .. last]) and not hidden[class.name .. "." .. name]
  if is_public and comments[1] then
    table.insert(class.methods, { name = name, separator = separator, arguments = arguments, lines = comments })
  end
end

-- `X.name = value` below `---@type fun(...)`: a field.
local function add_field(found, line, comments)
  local owner, name = line:match("^([%w_]+)%.([%a][%w_]*) = ")
  local class = owner and found.bound[owner]
  for i, comment in ipairs(class and words["." .. name] and comments or {}) do
    local type_of = comment:match("^%-%-%-@type (fun.*)$")
    comments[i] = type_of and ("---@field %s %s"):format(name, type_of) or comment
    if type_of then
      for _, kept in ipairs(comments) do
        table.insert(class.lines, kept)
      end
      return
    end
  end
end

local function read_file(path, classes)
  local found = { file = path, classes = classes, bound = {} }
  local comments, last = {}, nil
  for line in io.lines(path) do
    if line:find("^%-%-%-") then
      comments[#comments + 1] = line
    else
      comments = joined(comments)
      last = comments[1] and add_declarations(found, comments) or line ~= "" and last or nil
      local variable = last and line:match("^local ([%w_]+) = ")
      if variable then
        found.bound[variable], last = last, nil
      end
      add_function(found, line, comments)
      add_field(found, line, comments)
      comments = {}
    end
  end
end

-- The functions of the library itself, found where they are defined.

local lines_of = {}
local function source_of(fn)
  local info = debug.getinfo(fn, "S")
  local path = info.what == "Lua" and info.source:match("(lua/operations/.*)$")
  if not path then
    return nil
  end
  if not lines_of[path] then
    lines_of[path] = {}
    for line in io.lines(path) do
      table.insert(lines_of[path], line)
    end
  end
  return lines_of[path], info.linedefined
end

local function documented(fn)
  local lines, at = source_of(fn)
  if not lines then
    return nil
  end
  local comments, above = {}, at - 1
  while lines[above] and lines[above]:find("^%s*%-%-%-") do
    table.insert(comments, 1, (lines[above]:gsub("^%s+", "")))
    above = above - 1
  end
  return comments[1] and joined(comments), lines[at]:match("function[^(]*(%b())")
end

local function sorted(names)
  local list = {}
  for name in pairs(names) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

-- Adds the functions of a table that its class does not declare with `function`.
local function add_functions(class, value)
  local has = {}
  for _, method in ipairs(class.methods) do
    has[method.name] = true
  end
  for _, name in ipairs(sorted(value)) do
    local comments, arguments
    if type(name) == "string" and type(value[name]) == "function" and not has[name] then
      comments, arguments = documented(value[name])
    end
    if comments then
      table.insert(class.methods, { name = name, separator = ".", arguments = arguments, lines = comments })
    end
  end
end

local function field_names(class)
  local names = {}
  for _, line in ipairs(class.lines) do
    names[#names + 1] = line:match("^%-%-%-@field%s+([%a][%w_]*)")
  end
  return names
end

-- Leaves out the fields that are functions with a description of their own.
local function without_functions(class)
  local is_function, lines, keeps = {}, {}, true
  for _, method in ipairs(class.methods) do
    is_function[method.name] = true
  end
  for _, line in ipairs(class.lines) do
    if line:find("^%-%-%-@") then
      keeps = not is_function[line:match("^%-%-%-@field%s+([%a][%w_]*)")]
    end
    lines[#lines + 1] = keeps and line or nil
  end
  class.lines = lines
end

-- What the annotations of a class name.
local function each_name(class, fn)
  local function read(lines)
    for _, line in ipairs(lines) do
      for name in (line:match("^%-%-%-@%a+%s+(.*)$") or ""):gmatch("operations[%w_.]*%w") do
        fn(name)
      end
    end
  end
  read(class.lines)
  for _, method in ipairs(class.methods) do
    read(method.lines)
  end
end

local function reach(classes, roots)
  local order, seen, at = members.joined(roots), members.set(roots), 1
  while order[at] do
    each_name(classes[order[at]], function(name)
      if classes[name] and not seen[name] then
        seen[name], order[#order + 1] = true, name
      end
    end)
    at = at + 1
  end
  table.sort(order)
  return order
end

--- All classes and aliases that a program can meet, by name, and their names in order.
---@return table<string, table> classes
---@return string[] names
function library.read()
  local classes = {}
  for _, path in ipairs(lua_files()) do
    read_file(path, classes)
  end
  for _, name in ipairs(field_names(classes.operations)) do
    local value = operations[name]
    local part = classes["operations." .. name]
    if type(value) == "table" and part then
      for _, field in ipairs(field_names(part)) do
        local _ = value[field] -- loads it
      end
      add_functions(part, value)
    end
  end
  add_functions(classes.operations, operations)
  local names = reach(classes, { "operations", "operations.Context", "operations.Events" })
  for _, name in ipairs(names) do
    without_functions(classes[name])
  end
  return classes, names
end

local function block_of(class)
  local lines = { table.concat(class.lines, "\n") }
  if class.methods[1] then
    local variable = class.name:match("([%w_]+)$")
    lines[#lines + 1] = "local " .. variable .. " = {}"
    local tables = {}
    for _, method in ipairs(class.methods) do
      local inner = method.name:match("^([%w_]+)%.")
      if inner and not tables[inner] then
        tables[inner], lines[#lines + 1] = true, ("%s.%s = {}"):format(variable, inner)
      end
      lines[#lines + 1] = ("\n%s\nfunction %s%s%s%s end"):format(table.concat(method.lines, "\n"), variable,
        method.separator, method.name, method.arguments)
    end
  end
  return table.concat(lines, "\n")
end

--- The text of the file.
---@return string
function library.make()
  local classes, names = library.read()
  local parts = { "---@meta operations\n-- What programs use, for editors: made of lua/ by `make help-file`." }
  for _, name in ipairs(names) do
    parts[#parts + 1] = block_of(classes[name])
  end
  return table.concat(parts, "\n\n") .. "\n\nreturn operations\n"
end

return library
