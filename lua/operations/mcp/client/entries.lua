--- Entries of `mcp.json` files: JSON with comments and trailing commas, as editors write it, with an entry for each
--- server. Reads the forms of VS Code, Claude, Cursor, Gemini, Windsurf, Zed and others.
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local printable = require("operations.base.printable")
local variables = require("operations.mcp.client.variables")

local entries = {}

-- Files.

-- A string from its opening quote on, up to the end of the text if it is not closed.
local function quoted(text, from)
  local at = from + 1
  while true do
    local found = text:find('["\\]', at)
    if not found then
      return text:sub(from)
    elseif text:sub(found, found) == '"' then
      return text:sub(from, found)
    end
    at = found + 2
  end
end

-- Replaces comments and trailing commas by blanks, so that positions in errors stay right.
local function without_comments(text)
  local pieces, at, comma, last = {}, 1, nil, "["
  while at <= #text do
    local comment = text:match("^//[^\n]*", at) or text:match("^/%*.-%*/", at)
    local piece = comment or text:match("^%s+", at)
    if piece then
      pieces[#pieces + 1] = piece:gsub("[^\r\n]", " ")
    else
      piece = text:find('^"', at) and quoted(text, at) or text:match('^[^%s"/,]+', at) or text:sub(at, at)
      pieces[#pieces + 1] = piece
      if comma and piece:find("^[%]}]") then
        pieces[comma] = " "
      end
      comma = piece == "," and not last:find("[%[{,]$") and #pieces or nil
      last = piece
    end
    at = at + #piece
  end
  return table.concat(pieces)
end

--- Reads a file.
---@param path string
---@return table?
---@return operations.Error? err
function entries.read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = path })
  end
  local text = (file:read(limits.mcp_file + 1) or ""):gsub("^\239\187\191", "")
  file:close()
  if #text > limits.mcp_file then
    return nil, errors.new("VALIDATION_ERROR", ("%s: larger than %d bytes"):format(path, limits.mcp_file),
      { location = path })
  end
  local value, err = json.decode(without_comments(text))
  if type(value) ~= "table" then
    return nil, errors.new("VALIDATION_ERROR",
      ("%s: %s"):format(path, err and err.message or "a JSON object expected"), { location = path })
  end
  return value
end

-- Lists.

---@class operations.mcp.Entry
---@field name string  of the server
---@field path string  JSON Pointer
---@field place string  the same with dots, for messages
---@field namespace string  of its operations
---@field value any  as written

-- Members that contain the servers.
local places = { { "mcpServers" }, { "servers" }, { "context_servers" }, { "mcp", "servers" }, { "mcp" } }

local function find(source)
  for _, place in ipairs(places) do
    local value = source
    for _, key in ipairs(place) do
      value = type(value) == "table" and value[key] or nil
    end
    if value ~= nil then
      return value, "/" .. table.concat(place, "/"), true
    end
  end
  return source, "", false
end

-- The list form, whose order is kept.
local function of_list(list, path)
  local found = {}
  for i, value in ipairs(list) do
    if type(value) ~= "table" or type(value.name) ~= "string" then
      return nil, ("%s/%d: an object with a name expected"):format(path, i - 1)
    end
    found[i] = { name = value.name, path = ("%s/%d"):format(path, i - 1), value = value }
  end
  return found
end

local function of_object(object, path, is_place)
  local found = {}
  for _, name in ipairs(members.names(object)) do
    local value = object[name]
    if type(value) == "table" or is_place then
      found[#found + 1] = { name = name, path = path .. "/" .. json_pointer.escape(name), value = value }
    end
  end
  return found
end

-- Gives all entries unique names and namespaces: equal ones get a number.
local function tell_apart(list, report)
  local names, taken = {}, {}
  for _, entry in ipairs(list) do
    local wanted = printable.name(entry.name)
    entry.place = entry.path:sub(2):gsub("/", "."):gsub("~1", "/"):gsub("~0", "~")
    if wanted == "" then
      wanted = "server"
      report(entry, "the name is empty; its operations are called server.*")
    end
    local given, n = wanted, 1
    while taken[given] do
      n = n + 1
      given = wanted .. "_" .. n
    end
    if n > 1 then
      report(entry, ("the name %q is taken; its operations are called %s.*"):format(wanted, given))
    end
    if names[entry.name] then
      entry.name = given
    end
    names[entry.name], taken[given], entry.namespace = true, true, given
  end
  return list
end

--- The entries of a file or table: in the order of a list, else sorted by name.
---@param source table
---@param report fun(entry: operations.mcp.Entry, message: string)
---@return operations.mcp.Entry[]?
---@return string? problem  it lists no servers
function entries.list(source, report)
  local value, path, is_place = find(source)
  local list, problem
  if type(value) ~= "table" then
    return nil, "an object of servers expected"
  elseif value[1] ~= nil then
    list, problem = of_list(value, path)
  else
    list = of_object(value, path, is_place)
  end
  if not list then
    return nil, problem
  end
  return tell_apart(list, report)
end

--- Is a server only started on request?
---@param entry operations.mcp.Entry
---@return boolean
function entries.is_disabled(entry)
  local value = entry.value
  return type(value) == "table" and (value.disabled == true or value.enabled == false)
end

-- Configurations.

-- Keys and their options.
local options_of = {
  command = "command", args = "args", env = "env", environment = "env", cwd = "cwd", url = "url",
  env_allow = "env_allow", envAllow = "env_allow", restart = "restart", serverUrl = "url", httpUrl = "url",
  headers = "headers", timeout = "timeout", include = "include", includeTools = "include", enabledTools = "include",
  enabled_tools = "include", tools = "include", exclude = "exclude", excludeTools = "exclude",
  disabledTools = "disabled_tools", disabled_tools = "disabled_tools",
}

-- Keys that are read elsewhere, or are for other programs and people: names, pictures, approval.
local others = members.set({
  "type", "transport", "envFile", "disabled", "enabled", "name", "title", "description", "icon", "$schema", "gallery",
  "version", "dev", "source", "autoApprove", "alwaysAllow", "trust",
})

local kinds = {
  stdio = true, ["local"] = true, custom = true, http = true, ["streamable-http"] = true, streamableHttp = true,
  streamable_http = true, remote = true, sse = "events",
}

-- Times below this are seconds: some clients count in them, and none gives a server less than a second.
local SECOND = 1000

--- Reports unknown keys of an entry, and values that are read in another way than written.
---@param entry operations.mcp.Entry
---@param report fun(entry: operations.mcp.Entry, message: string, path: string)
function entries.check(entry, report)
  for _, key in ipairs(type(entry.value) == "table" and members.names(entry.value) or {}) do
    local path = entry.path .. "/" .. json_pointer.escape(key)
    if not options_of[key] and not others[key] then
      report(entry, path .. ": unknown key", path)
    elseif (key == "type" or key == "transport") and not kinds[entry.value[key]] then
      report(entry, ("%s: expected stdio, http or sse, got %s"):format(path, tostring(entry.value[key])), path)
    elseif key == "timeout" and type(entry.value[key]) == "number" and entry.value[key] > 0
      and entry.value[key] < SECOND then
      report(entry, ("%s: %g is taken as seconds; from 1000 on it is milliseconds"):format(path, entry.value[key]),
        path)
    elseif key == "tools" and core.kind(entry.value[key]) == "object" and next(entry.value[key]) ~= nil then
      report(entry, path .. ": a list of tools expected; an object is not read", path)
    end
  end
end

--- The key of an entry for an option; without one, the option's name.
---@param entry operations.mcp.Entry
---@param option string
---@return string
function entries.key_of(entry, option)
  for _, key in ipairs(members.names(entry.value)) do
    if options_of[key] == option then
      return key
    end
  end
  return option
end

local function is_empty(value)
  return value == nil or value == json.null or value == ""
end

-- The members of an entry in one form: a command may be a list (opencode) or an object (Zed), a place that is not used
-- an empty text, and `tools` an object of changes (FastMCP).
local function normal(value)
  local own = members.merged(value)
  local command = own.command
  if type(command) == "table" then
    if core.kind(command) == "array" then
      own.command = command[1]
      own.args = members.joined({ compat.unpack(command, 2) }, type(value.args) == "table" and value.args or {})
    else
      own.command, own.args, own.env = command.path, command.args or own.args, command.env or own.env
    end
  end
  local url_key = own.url ~= nil and "url" or own.serverUrl ~= nil and "serverUrl" or "httpUrl"
  if is_empty(own.command) ~= is_empty(own[url_key]) then
    own.command = not is_empty(own.command) and own.command or nil
    own[url_key] = not is_empty(own[url_key]) and own[url_key] or nil
  end
  if core.kind(own.tools) == "object" then
    own.tools = nil
  end
  return own
end

--- An entry's options by their names in `operations.mcp.Config`, and `envFile`; as written, nothing is expanded.
---@param entry operations.mcp.Entry
---@return table<string, any>
function entries.options(entry)
  local value = normal(entry.value)
  local own = { envFile = value.envFile }
  for _, key in ipairs(members.names(value)) do
    local name = options_of[key]
    if name and value[key] ~= json.null then
      own[name] = value[key]
    end
  end
  return own
end

-- Arguments and variables become texts, however JSON has them.
local function as_texts(list)
  local copy = {}
  for key, item in pairs(type(list) == "table" and list or {}) do
    local kind = type(item)
    copy[key] = (kind == "number" or kind == "boolean") and number_text.of(item) or item
  end
  return type(list) == "table" and copy or list
end

-- Variables whose value is null or empty are those of the environment, as other clients have it.
local function from_environment(env)
  for name, value in pairs(type(env) == "table" and members.copy(env) or {}) do
    if is_empty(value) then
      env[name] = os.getenv(name) or value
    end
  end
  return env
end

-- The value of a line NAME=value: quoted, or up to a comment.
local function unquoted(text)
  local quote = text:match("^[\"']")
  local inner = quote and text:match(quote .. "(.-)" .. quote .. "%s*$", 1)
  if quote then
    inner = inner and not inner:find(quote, 1, true) and inner
      or text:match("^" .. quote .. "(.-)" .. quote .. "%s+#") or inner
  end
  return inner or (text:gsub("%s+#.*$", ""))
end

-- The variables in a file of lines NAME=value, as shells read it.
local function read_variables(path, place)
  local file, message = io.open(path, "rb")
  if not file then
    error(errors.new("VALIDATION_ERROR", ("%s: %s"):format(place, message)))
  end
  local found = {}
  for line in file:lines() do
    local name, value = line:gsub("^%s*export%s+", ""):match("^%s*([%w_]+)%s*=%s*(.-)%s*$")
    if name then
      found[name] = unquoted(value)
    end
  end
  file:close()
  return found
end

--- The configuration of an entry, with its variables expanded now. Raises an error object.
---@param entry operations.mcp.Entry
---@param common operations.mcp.Config  for all servers
---@param options { workspace?: string }
---@return operations.mcp.Config
function entries.config(entry, common, options)
  local value, own = normal(entry.value), members.merged({ namespace = entry.namespace }, common)
  for _, key in ipairs(members.names(value)) do
    if options_of[key] and value[key] ~= json.null then
      own[options_of[key]] = variables.expand(value[key], entry.path .. "/" .. json_pointer.escape(key), options)
    end
  end
  if members.contains(type(own.include) == "table" and own.include or {}, "*") then
    own.include = nil
  end
  own.args, own.env = as_texts(own.args), from_environment(as_texts(own.env))
  if type(value.timeout) == "number" and value.timeout > 0 and value.timeout < SECOND then
    own.timeout = value.timeout * 1000
  end
  if type(value.envFile) == "string" then
    local path = entry.path .. "/envFile"
    own.env = members.merged(read_variables(variables.expand(value.envFile, path, options), path), own.env)
  end
  own.verdict = kinds[value.type or value.transport] == "events" and "events" or own.verdict
  return own
end

return entries
