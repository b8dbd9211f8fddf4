--- Programs as operations: a definition whose calls run a program without a shell, with typed input, its output as data
--- or events, and exit codes as errors.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local process = require("operations.net.process")
local suggestion = require("operations.base.suggestion")
local task = require("operations.task")

local command = {}

---@class operations.CommandOptions  further fields are those of a definition
---@field argv (string|string[])[]  the program and its arguments: `{name}` is a member of the input, in
---  `{ "--n", "{n}" }` a group that is left out when the input lacks it; `{{name}}` is the text `{name}`
---@field output? "text"|"lines"|"json"|"stream"|"json-stream"  what its standard output is, default "text"; streams
---  make a subscription: an event for each line, or each line of JSON
---@field inputSchema? table|boolean  default: an object of the names in `argv` and `stdin`, all texts
---@field stdin? string  the member of the input that is its standard input: a text, or JSON of anything else
---@field timeout? number  ms, default none
---@field ok? integer[]  exit codes of success, default { 0 }
---@field errors? table<integer, string>  the code of the error for other exit codes
---@field env? table<string, string|number>  added to the variables that it inherits
---@field env_allow? string[]  names of inherited variables, see `operations.process`
---@field cwd? string
---@field max_output? integer  bytes of its standard output, default 16 MiB; of streams no limit

local kinds = { argv = "table", output = "string", stdin = "string", timeout = "number", ok = "table", errors = "table",
  env = "table", env_allow = "table", cwd = "string", max_output = "number" }

local outputs = {
  text = { type = "string" }, lines = { type = "array", items = { type = "string" } }, json = true,
  stream = { type = "string" }, ["json-stream"] = true,
}

local spec_fields = members.set({ "namespace", "name", "version", "type", "title", "description", "tags", "inputSchema",
  "outputSchema", "accessControl", "errorSchemas", "normalize", "on_mismatch", "fill", "validate", "_meta" })

local function misuse(format, ...)
  error(("bad argument #1 to 'command' (%s)"):format(format:format(...)), 3)
end

local NAME = "{(%a[%w_]*)}"

-- The placeholders of an argument, with `{{name}}` taken for a text.
local function names_in(text)
  local found = {}
  for name in text:gsub("{{%a[%w_]*}}", ""):gmatch(NAME) do
    found[#found + 1] = name
  end
  return found
end

-- Reads argv as a list of groups; notes each placeholder as required (true) or optional (false).
local function read_argv(argv, used)
  local groups = {}
  for i, item in ipairs(argv) do
    local is_group = type(item) == "table"
    local group = is_group and item or { item }
    for _, text in ipairs(group) do
      if type(text) ~= "string" or text:find("\0", 1, true) then
        misuse("argv[%d]: text without NUL expected, got %s", i, type(text))
      end
      for _, name in ipairs(names_in(text)) do
        used[name] = used[name] or not is_group
      end
    end
    groups[i] = { optional = is_group, list = group }
  end
  local first = groups[1]
  if not first or first.optional or first.list[1] == "" or names_in(first.list[1])[1] then
    misuse("argv[1]: the name of a program expected")
  end
  return groups
end

-- The schema of an input without a description: texts.
local function schema_of(used, stdin)
  local properties, required = {}, {}
  for name, is_required in pairs(used) do
    properties[name] = { type = "string" }
    required[#required + 1] = is_required and name or nil
  end
  if stdin then
    properties[stdin] = { type = "string" }
  end
  table.sort(required)
  return { type = "object", properties = properties, required = setmetatable(required, json.array_mt),
    additionalProperties = false }
end

local function check_names(used, schema)
  local known = type(schema) == "table" and schema.properties
  for name in pairs(type(known) == "table" and used or {}) do
    if known[name] == nil then
      misuse("argv: {%s} is no member of inputSchema%s; {{%s}} is the text", name,
        suggestion.behind(name, members.names(known)), name)
    end
  end
end

-- Arguments.

local function invalid(name, message)
  error(errors.new("VALIDATION_ERROR", ("/%s: %s"):format(name, message),
    { { path = "/" .. name, keyword = "argv", message = message } }), 0)
end

local function text_of(name, value)
  local kind = core.kind(value)
  if kind == "string" then
    if value:find("\0", 1, true) then
      invalid(name, "contains a NUL")
    end
    return value
  elseif kind == "integer" or kind == "number" then
    return type(value) == "number" and number_text.of(value) or json.encode(value)
  elseif kind == "boolean" then
    return tostring(value)
  end
  return json.encode(value)
end

-- A text that begins an argument and with "-" would be an option of the program.
local function check_option(name, value, given)
  if type(value) == "string" and value:sub(1, 1) == "-" and not given.plain then
    invalid(name, 'begins with "-", which the program would take for an option; "--" before it in argv allows that')
  end
end

local function filled(text, input, given)
  local starts = text:match("^{(%a[%w_]*)}")
  if starts and text:sub(1, 2) ~= "{{" then
    check_option(starts, input[starts], given)
  end
  local out = text:gsub("{({?)(%a[%w_]*)(}?)}", function(open, name, close)
    if open == "{" and close == "}" then
      return "{" .. name .. "}"
    end
    return open .. text_of(name, input[name]) .. close
  end)
  return out
end

local function add_group(into, group, input, given)
  for _, text in ipairs(group) do
    local name = text:match("^{(%a[%w_]*)}$")
    local value = name and input[name]
    if name and core.kind(value) == "array" then
      for _, each in ipairs(value) do
        check_option(name, each, given)
        into[#into + 1] = text_of(name, each)
      end
    elseif not (name and value == true) then -- a flag stands before its placeholder
      into[#into + 1] = filled(text, input, given)
    end
    given.plain = given.plain or text == "--"
  end
end

local function is_given(group, input)
  for _, text in ipairs(group) do
    for _, name in ipairs(names_in(text)) do
      if input[name] == nil or input[name] == false or input[name] == core.null then
        return false
      end
    end
  end
  return true
end

local function arguments_of(groups, input)
  local list, given = {}, {}
  for _, group in ipairs(groups) do
    if not group.optional or is_given(group.list, input) then
      add_group(list, group.list, input, given)
    end
  end
  return list
end

-- Runs.

local function failure(plan, how, child)
  local stderr = child:stderr()
  local last = stderr:match("([^\n]+)\n*$")
  local what = how.code and "exit code " .. how.code or how.signal and "signal " .. how.signal
    or "its exit code is not known, because another part of this program collected it"
  local code = how.code and plan.errors[how.code] or "EXECUTION_ERROR"
  return errors.new(code, ("%s: %s%s"):format(plan.program, what, last and ": " .. last or ""),
    { command = plan.program, exitCode = how.code, signal = how.signal, unknown = how.unknown,
      stderr = stderr ~= "" and stderr or nil })
end

local function outcome(plan, child)
  local how = child:wait()
  if how.code and plan.ok[how.code] then
    return nil
  end
  return failure(plan, how, child)
end

-- Gives the program its standard input beside the reading of its output.
local function feed(child, value)
  if value ~= nil then
    task.spawn(function()
      pcall(child.write, child, type(value) == "string" and value or json.encode(value)) -- it may not read all
      child:close_stdin()
    end)
  else
    child:close_stdin()
  end
end

local function start(plan, input)
  local options = arguments_of(plan.groups, input)
  options.env, options.env_allow, options.cwd = plan.env, plan.env_allow, plan.cwd
  options.whole_group = true
  local child, err = process.spawn(options)
  if child then
    feed(child, plan.stdin and input[plan.stdin])
  end
  return child, err
end

local function too_large(plan)
  return errors.new("EXECUTION_ERROR", ("%s: it printed more than %d bytes"):format(plan.program, plan.max_output),
    { command = plan.program, kind = "size" })
end

local function no_json(plan, err)
  return errors.new("EXECUTION_ERROR", ("%s: it printed no JSON: %s"):format(plan.program, err.message),
    { command = plan.program, kind = "parse" })
end

local readers = {}

function readers.text(_, text)
  return text
end

function readers.lines(_, text)
  local lines = setmetatable({}, json.array_mt)
  for line in (text:find("[^\n]$") and text .. "\n" or text):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = (line:gsub("\r$", ""))
  end
  return lines
end

function readers.json(plan, text)
  local value, err = json.decode(text)
  if err then
    return nil, no_json(plan, err)
  end
  return value
end

local function run(plan, input)
  local child, err = start(plan, input)
  if not child then
    return nil, err
  end
  local pieces, size = {}, 0
  for piece in child:chunks() do
    pieces[#pieces + 1], size = piece, size + #piece
    if size > plan.max_output then
      return nil, too_large(plan) -- the end of the call ends the program
    end
  end
  err = outcome(plan, child)
  if err then
    return nil, err
  end
  return readers[plan.output](plan, table.concat(pieces))
end

local function follow(plan, input, context)
  local child, err = start(plan, input)
  if not child then
    return nil, err
  end
  for line in child:lines() do
    local value, problem = line
    if plan.output == "json-stream" then
      value, problem = json.decode(line)
    end
    if problem then
      return nil, no_json(plan, problem)
    end
    context.emit(value)
  end
  return nil, outcome(plan, child)
end

local function limited(plan, fn)
  return function(input, context)
    if not plan.timeout then
      return fn(plan, input or {}, context)
    end
    local value, err = task.within(plan.timeout, fn, plan, input or {}, context)
    if err and err.code == "TIMEOUT" then
      err = errors.new("TIMEOUT", ("%s: took longer than %s ms"):format(plan.program, number_text.of(plan.timeout)))
      err.mayHaveRun = true
    end
    return value, err
  end
end

local function check(options)
  argument.expect(options, "table", 1, "command", 4)
  for name, value in pairs(options) do
    if not kinds[name] and not spec_fields[name] then
      misuse("unknown option '%s'%s", tostring(name), suggestion.behind(tostring(name),
        members.joined(members.names(kinds), members.names(spec_fields))))
    elseif kinds[name] and type(value) ~= kinds[name] then
      misuse("%s: %s expected, got %s", name, kinds[name], type(value))
    end
  end
  if not options.argv then
    misuse("argv: table expected, got nil")
  elseif options.output and not outputs[options.output] then
    misuse("output: %q is none of json, json-stream, lines, stream, text", options.output)
  end
end

-- The errors that exit codes stand for, declared as those of the operation.
local function error_schemas(given, by_code)
  local list, known = members.joined(given or {}), {}
  for _, each in ipairs(list) do
    known[each.code] = true
  end
  local codes = {}
  for exit, code in pairs(by_code) do
    if not tonumber(exit) or type(code) ~= "string" then
      misuse("errors: codes by exit code expected")
    end
    codes[tonumber(exit)] = code -- names of members in JSON and YAML are texts
    if not known[code] then
      known[code] = true
      list[#list + 1] = { code = code, description = "exit code " .. tostring(exit), schema = true }
    end
  end
  return list, codes
end

--- Makes a definition whose calls run a program: `registry:register(operations.command{ ... })`. There is no shell:
--- a member of the input is one argument, whatever it contains. The program ends with its call.
---@param options operations.CommandOptions
---@return operations.Definition
function command.new(options)
  check(options)
  local definition, used = {}, {}
  local plan = {
    groups = read_argv(options.argv, used), program = options.argv[1], output = options.output or "text",
    stdin = options.stdin, timeout = options.timeout, ok = members.set(options.ok or { 0 }),
    errors = options.errors or {}, env = options.env, env_allow = options.env_allow, cwd = options.cwd,
    max_output = options.max_output or limits.body,
  }
  for name in pairs(spec_fields) do
    definition[name] = options[name]
  end
  if definition.inputSchema == nil then
    definition.inputSchema = schema_of(used, plan.stdin)
  end
  check_names(used, definition.inputSchema)
  if definition.outputSchema == nil then
    definition.outputSchema = outputs[plan.output]
  end
  local is_stream = plan.output:find("stream$") ~= nil
  definition.type = is_stream and "subscription" or definition.type
  definition.errorSchemas, plan.errors = error_schemas(definition.errorSchemas, plan.errors)
  definition.handler = limited(plan, is_stream and follow or run)
  return definition
end

return command
