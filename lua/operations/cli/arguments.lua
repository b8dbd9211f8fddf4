--- Parses command line arguments by a table of options, and prints that table as help; reads the caller's identity.
local core = require("operations.core")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local suggestion = require("operations.base.suggestion")

local arguments = {}

---@class operations.cli.Option
---@field name string    as typed: "--openapi"
---@field short? string  the short form: "-o"
---@field value? string  name of its value in capitals, for the help; nil for a switch
---@field optional? boolean  the value may be absent: it is then ""
---@field values? string[]  the values that there are, for completion
---@field many? boolean  may be repeated: the result is a list
---@field help string

---@class operations.cli.Arguments
---@field options table<string, any>       by name without dashes: true, a string, or a list of strings
---@field order { name: string, value: any }[]  the options in the given order
---@field rest string[]                    words other than options
---@field added? { method: string, path: string, names: string[], has_body: boolean }  an operation of the command line
---@field names? string[]                  remembered sources, for the added operation

local function find(options, name)
  for _, option in ipairs(options) do
    if option.name == name or option.short == name then
      return option
    end
  end
end

local function add(parsed, option, value)
  local key = option.name:gsub("^%-+", "")
  parsed.order[#parsed.order + 1] = { name = key, value = value }
  if option.many then
    parsed.options[key] = parsed.options[key] or {}
    table.insert(parsed.options[key], value)
  else
    parsed.options[key] = value
  end
end

local take_option

-- Reads the option at argv[i]; returns the number of arguments used, or nil and a message.
function take_option(parsed, options, argv, i)
  local letter, joined = argv[i]:match("^(%-%a)(.+)$")
  local short = letter and find(options, letter)
  if short and short.value then
    add(parsed, short, joined) -- -fyaml
    return 1
  elseif short then
    add(parsed, short, true) -- -qv
    return take_option(parsed, options, { "-" .. joined, argv[i + 1] }, 1)
  end
  local name, value = argv[i]:match("^(%-%-[^=]+)=(.*)$")
  name = name or (argv[i] == "-h" and "--help") or argv[i]
  local option = find(options, name)
  if not option then
    return nil, ("unknown option %s%s"):format(name, suggestion.behind(name, options, "name"))
  elseif not option.value then
    if value then
      return nil, ("%s takes no value"):format(name)
    end
    add(parsed, option, true)
    return 1
  elseif option.optional and not value and (argv[i + 1] or "-"):find("^%-") then
    add(parsed, option, "")
    return 1
  elseif not value and argv[i + 1] == nil then
    return nil, ("%s needs a value: %s"):format(name, option.value)
  end
  add(parsed, option, value or argv[i + 1])
  return value and 1 or 2
end

--- Separates options from other words. `--name value`, `--name=value`, `-nvalue`; `--` ends the options; `-` alone is
--- no option.
---@param argv string[]
---@param options operations.cli.Option[]
---@param first? integer  where to begin, default 1
---@return operations.cli.Arguments|nil parsed
---@return string|nil message  error message
function arguments.parse(argv, options, first)
  local parsed = { options = {}, order = {}, rest = {} }
  local i, ended = first or 1, false
  while argv[i] do
    local used = 1
    if not ended and argv[i] == "--" then
      ended = true
    elseif not ended and argv[i]:find("^%-.") then
      local message
      used, message = take_option(parsed, options, argv, i)
      if not used then
        return nil, message
      end
    else
      parsed.rest[#parsed.rest + 1] = argv[i]
    end
    i = i + used
  end
  return parsed
end

--- The number in an option.
---@param parsed operations.cli.Arguments
---@param name string  without dashes
---@param default number?
---@param max? number
---@return number?
---@return string? message  error message
function arguments.number(parsed, name, default, max)
  local text = parsed.options[name]
  if not text then
    return default
  end
  local number = tonumber(text)
  if not number or number < 0 or number ~= number or number == math.huge or number > (max or number) then
    return nil, ("--%s: expected a number from 0%s, got %q"):format(name, max and (" to %d"):format(max) or "", text)
  end
  return number
end

local function left_of(option)
  local names = option.short and option.short .. ", " .. option.name or option.name
  return option.value and names .. " " .. option.value or names
end

--- The options as lines of help, in two columns.
---@param options operations.cli.Option[]
---@return string
function arguments.help(options)
  local lines, width = {}, 0
  for _, option in ipairs(options) do
    width = math.max(width, #left_of(option))
  end
  for i, option in ipairs(options) do
    local left = left_of(option)
    lines[i] = ("  %s%s  %s"):format(left, (" "):rep(width - #left), option.help)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- The identity for commands that list and call operations.

---@type operations.cli.Option[]
arguments.identity_options = {
  { name = "--scopes", value = "A,B", help = "the caller has these scopes" },
  { name = "--identity", value = "JSON", help = "the caller: {\"id\", \"scopes\", \"resources\"}" },
}

--- The identity in the options.
---@param options table<string, any>  of parsed arguments
---@return operations.Identity? identity  nil: none given
---@return string? message  error message
function arguments.identity(options)
  local given
  if options.identity then
    local err
    given, err = json.decode(options.identity)
    if type(given) ~= "table" or core.kind(given) ~= "object" then
      return nil, "--identity: " .. (err and err.message or "expected a JSON object")
    end
  end
  if options.scopes then
    given = given or { id = "command line" }
    given.scopes = marked.array()
    for scope in options.scopes:gmatch("[^,%s]+") do
      table.insert(given.scopes, scope)
    end
  end
  return given
end

return arguments
