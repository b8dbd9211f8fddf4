--- Finds operation definitions in a directory of Lua files. A file without a definition is reported, never skipped
--- silently. A definition without a handler is a spec, whose handler is registered later.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local system = require("operations.system")

---@class operations.scanner
local scanner = {}

---@class operations.ScanOptions  for hosts where files are not read from the file system
---@field list? fun(directory: string): string[]?, string?  the paths of the files below, or nil and the reason; paths
---  that do not end in `.lua` are ignored
---@field reader? fun(path: string): string?, string?  the text of a file, or nil and the reason
---@field most? integer  files and directories that are visited; more are an error

---@class operations.ScanProblem
---@field path string     the file, or the directory that could not be read
---@field message string  the reason

---@class operations.ScanHooks
---@field path string
---@field start? fun()
---@field stop? fun()

local origins = setmetatable({}, { __mode = "k" }) -- the files of definitions
local hooks_of = setmetatable({}, { __mode = "k" }) ---@type table<table, operations.ScanHooks>  by definition

local function add_problem(found, path, format, ...)
  found.problems[#found.problems + 1] = { path = path, message = format:format(...) }
end

--- Why `value` is not a definition, or nil.
local function flaw(value)
  if type(value) ~= "table" then
    return ("expected a definition, got %s"):format(type(value))
  end
  for _, field in ipairs({ "namespace", "name" }) do
    if type(value[field]) ~= "string" then
      return ("%s: expected a string, got %s"):format(field, type(value[field]))
    end
  end
  if value.handler ~= nil and type(value.handler) ~= "function" then
    return ("handler: expected a function, got %s"):format(type(value.handler))
  end
end

local function add_definition(found, path, place, value)
  local reason = flaw(value)
  if reason then
    add_problem(found, path, "%s%s", place, reason)
  else
    found.definitions[#found.definitions + 1], origins[value] = value, path
  end
end

local is_hook = members.set({ "start", "stop" })

-- The hooks of a list of definitions; nil when there are none.
local function read_hooks(found, path, value)
  local hooks
  for name in pairs(is_hook) do
    if type(value[name]) == "function" then
      hooks = hooks or { path = path }
      hooks[name] = value[name]
    elseif value[name] ~= nil then
      add_problem(found, path, "%s: expected a function, got %s", name, type(value[name]))
    end
  end
  return hooks
end

--- Adds what a file returned: a definition, or a list of them, which may have the hooks `start` and `stop`.
local function add_returned(found, path, value)
  if type(value) ~= "table" or value.name ~= nil or value.namespace ~= nil or value.handler ~= nil then
    return add_definition(found, path, "", value)
  end
  if next(value) == nil then
    return add_problem(found, path, "expected a definition or a list of them, got an empty table")
  end
  local hooks, count = read_hooks(found, path, value), 0
  for i, item in ipairs(value) do
    add_definition(found, path, ("item %d: "):format(i), item)
    count = i
    if type(item) == "table" then
      hooks_of[item] = hooks
    end
  end
  for key in pairs(value) do
    if is_hook[key] then
      if count == 0 then
        add_problem(found, path, "%s: expected definitions beside it", key)
      end
    elseif type(key) ~= "number" or key < 1 or key > count or key ~= math.floor(key) then
      add_problem(found, path, "expected a definition or a list of them, got a table with the key %q", tostring(key))
    end
  end
end

local function describe_error(value)
  local text = tostring(value)
  return type(value) == "table" and not errors.is_error(value) and ("raised a table (%s)"):format(text) or text
end

local function chunk_of(path, reader)
  if not reader then
    return loadfile(path, "t")
  end
  local text, reason = reader(path)
  if type(text) ~= "string" then
    return nil, reason and errors.text(reason) or path .. ": cannot be read"
  end
  return load(text, "@" .. path, "t")
end

-- Lua's "cannot open FILE: REASON" behind the name of the file.
local function told_of(path, reason)
  local _, last = reason:find("^cannot %l+ " .. path:gsub("%p", "%%%0") .. ": ")
  return last and reason:sub(last + 1) or reason
end

local function load_file(found, path)
  local chunk, reason = chunk_of(path, found.reader)
  if not chunk then
    return add_problem(found, path, "%s", told_of(path, reason))
  end
  local ok, value = pcall(chunk, path)
  if not ok then
    return add_problem(found, path, "%s", describe_error(value))
  end
  if value == nil then
    return add_problem(found, path, "returned nothing; expected return { namespace =, name =, handler = }")
  end
  add_returned(found, path, value)
end

local visit

--- Visits the entries of `directory` in the order of their names; returns nil, message when it cannot be read.
local function visit_entries(found, directory)
  local names, reason = system.list(directory)
  if not names then
    return nil, reason
  end
  table.sort(names)
  local prefix = directory:find("/$") and directory or directory .. "/"
  for _, name in ipairs(names) do
    visit(found, prefix .. name)
  end
  return true
end

--- Is this the first path to the file with `identity`? Links may lead to a file twice, or form a cycle.
local function is_new(found, identity)
  local seen = found.seen[identity]
  found.seen[identity] = true
  return not seen
end

function visit(found, path)
  found.left = found.left - 1
  if found.left < 0 then
    return
  end
  local kind, identity = system.kind(path)
  if kind == nil then
    if path:find("%.lua$") then
      add_problem(found, path, "%s", identity)
    end
  elseif kind == "directory" then
    if is_new(found, identity) then
      local ok, reason = visit_entries(found, path)
      if not ok then
        add_problem(found, path, "%s", reason)
      end
    end
  elseif path:find("%.lua$") and is_new(found, identity) then
    if kind == "file" then
      found.take(found, path)
    else
      add_problem(found, path, "is not a regular file")
    end
  end
end

-- Loads the files listed by the program's own function.
local function load_listed(found, directory, list)
  local paths, reason = list(directory)
  if type(paths) ~= "table" then
    return nil, reason and errors.text(reason) or directory .. ": cannot be read"
  end
  paths = members.joined(paths)
  table.sort(paths)
  for _, path in ipairs(paths) do
    if path:find("%.lua$") then
      found.take(found, path)
    end
  end
  return true
end

local option_kinds = { list = "function", reader = "function", most = "number" }

-- The level is that of `error`: the message names the line that calls the public function.
local function start(path, options, name, take, level)
  argument.expect(path, "string", 1, name, level + 1)
  argument.optional(options, "table", 2, name, level + 1)
  argument.options(options or {}, option_kinds, name, level + 1)
  if path:find("\0", 1, true) then
    error(("bad argument #1 to '%s' (path with a zero byte)"):format(name), level)
  end
  options = options or {}
  return { definitions = {}, problems = {}, seen = {}, left = options.most or math.huge, reader = options.reader,
    take = take }
end

-- Calls `take(found, path)` for every file.
local function walk(directory, options, name, take)
  local found = start(directory, options, name, take, 4)
  local ok, reason
  if options and options.list then
    ok, reason = load_listed(found, directory, options.list)
  else
    local _, identity = system.kind(directory)
    if identity then
      found.seen[identity] = true
    end
    ok, reason = visit_entries(found, directory)
  end
  if found.left < 0 then
    ok, reason = nil, ("%s: more than %d files and directories"):format(directory, options.most)
  end
  if not ok then
    return nil, errors.new("EXECUTION_ERROR", reason, { path = directory })
  end
  return found
end

--- The `.lua` files that `scan` would load, in order, without loading them.
---@param directory string
---@param options? operations.ScanOptions
---@return string[]|nil paths  in their order; nil when the directory cannot be read
---@return operations.ScanProblem[]|operations.Error problems
function scanner.files(directory, options)
  local paths = {}
  local found, err = walk(directory, options, "files", function(_, path)
    paths[#paths + 1] = path
  end)
  if not found then
    return nil, err
  end
  return paths, found.problems
end

--- Loads every `.lua` file below a directory, in the order of their paths, and collects the definitions they return.
--- The files run with the program's rights. Links are followed; each file and directory is visited once.
---@param directory string
---@param options? operations.ScanOptions
---@return table[]|nil definitions  nil when the directory cannot be read
---@return operations.ScanProblem[]|operations.Error problems
function scanner.scan(directory, options)
  local found, err = walk(directory, options, "scan", load_file)
  if not found then
    return nil, err
  end
  return found.definitions, found.problems
end

--- Loads one file of any name, as `scan` does.
---@param path string
---@param options? operations.ScanOptions
---@return table[] definitions
---@return operations.ScanProblem[] problems
function scanner.load(path, options)
  local found = start(path, options, "load", load_file, 3)
  load_file(found, path)
  return found.definitions, found.problems
end

local function nothing() end

-- Calls the hooks `stop` of these, the last first; the error of the first that raised.
local function stop_all(begun)
  local err
  while #begun > 0 do
    local hooks = table.remove(begun)
    local ok, raised = pcall(hooks.stop or nothing)
    if not ok and not err then
      err = errors.new("EXECUTION_ERROR", ("%s: stop: %s"):format(hooks.path, errors.text(raised)))
    end
  end
  return err == nil or nil, err
end

--- Calls the hook `start` of each file that one of these definitions is from, in the order of the definitions. They may
--- wait.
---@param definitions operations.Definition[]  as `scan` and `load` return them
---@return (fun(): boolean?, operations.Error?)? stop  calls the hooks `stop`, the last first; nil and the first error
---@return operations.Error? err  EXECUTION_ERROR: a hook raised; those that had started were stopped
function scanner.start(definitions)
  argument.expect(definitions, "table", 1, "start")
  local begun, seen = {}, {}
  for _, definition in ipairs(definitions) do
    local hooks = hooks_of[definition]
    if hooks and not seen[hooks] then
      seen[hooks] = true
      local ok, raised = pcall(hooks.start or nothing)
      if not ok then
        stop_all(begun)
        return nil, errors.new("EXECUTION_ERROR", ("%s: start: %s"):format(hooks.path, errors.text(raised)))
      end
      begun[#begun + 1] = hooks
    end
  end
  return function()
    return stop_all(begun)
  end
end

--- The file that a definition was loaded from.
---@param definition operations.Definition
---@return string? path  nil: it is from no file
function scanner.origin(definition)
  return origins[definition]
end

return scanner
