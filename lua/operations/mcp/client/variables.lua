--- Expands `${...}` in `mcp.json` files: environment variables, the workspace, the output of a command.
local errors = require("operations.base.error")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local process = require("operations.net.process")
local waits = require("operations.mcp.client.waits")

local variables = {}

-- The longest output of a command in bytes.
local LONGEST = 65536

local function invalid(text, ...)
  error(errors.new("VALIDATION_ERROR", text:format(...)))
end

local function read_all(child)
  local pieces, size = {}, 0
  for piece in child:chunks() do
    pieces[#pieces + 1], size = piece, size + #piece
    if size > LONGEST then
      return nil, ("it printed more than %d bytes"):format(LONGEST)
    end
  end
  return table.concat(pieces)
end

local function said_by(child)
  local said, problem = read_all(child)
  if not said then
    return nil, problem
  end
  local how = child:wait()
  if how.signal or (how.code or 0) ~= 0 then
    local log = child:stderr()
    return nil, (how.code and "exit code " .. how.code or "signal " .. how.signal) .. (log ~= "" and ": " .. log or "")
  end
  return (said:gsub("[\r\n]+$", ""))
end

-- The output of a shell command line, without its final line end.
local function output_of(line)
  local child, err = process.spawn({ "sh", "-c", line, env_allow = { "*" } })
  if not child then
    error(err, 0)
  end
  child:close_stdin()
  local said, problem = waits.at_most(limits.mcp_connect_timeout, said_by, child)
  if not said then
    child:stop({ close = 0, term = 0 })
    problem = errors.is_error(problem) and problem.message or problem
    invalid("the command %q failed: %s", line, tostring(problem))
  end
  return said
end

local function workspace(options)
  return options.workspace or output_of("pwd -P")
end

-- Names with a meaning in editors.
local named = {
  workspaceFolder = workspace,
  workspaceFolderBasename = function(options)
    return workspace(options):match("([^/]*)/*$")
  end,
  userHome = function()
    return os.getenv("HOME")
  end,
  pathSeparator = function()
    return "/"
  end,
}
named.cwd = function()
  return output_of("pwd -P")
end
named["/"] = named.pathSeparator

local function value_of(inner, options)
  local line = inner:match("^cmd:%s*(.*)$")
  if line then
    return output_of(line)
  elseif inner:find("^input:") then
    invalid("no prompt is available for ${%s}: use ${env:NAME} or ${cmd:...}", inner)
  end
  local name, default = inner:match("^(.-):%-(.*)$")
  name = (name or inner):gsub("^env:", "")
  local found = named[name] and named[name](options) or os.getenv(name) or default
  if not found then
    invalid("the environment has no %s", name)
  end
  return found
end

-- A loop instead of gsub: commands must be waited for.
local function expand_text(text, options)
  local pieces, at = {}, 1
  while true do
    local first, last = text:find("%$%b{}", at)
    if not first then
      pieces[#pieces + 1] = text:sub(at)
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = text:sub(at, first - 1)
    pieces[#pieces + 1] = value_of(text:sub(first + 2, last - 1), options)
    at = last + 1
  end
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return keys
end

--- Expands all `${...}` in the texts of a value: `${NAME}` and `${env:NAME}` from the environment, with `:-default`;
--- `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`, `${pathSeparator}`; `${cmd:...}`, which runs a
--- shell command and waits for it. Raises an error object that names the place.
---@param value any
---@param path string  JSON Pointer of the value, for messages
---@param options { workspace?: string }  default: the current directory
---@return any
function variables.expand(value, path, options)
  if type(value) == "string" then
    local ok, result = pcall(expand_text, value, options)
    if ok then
      return result
    elseif errors.is_error(result) and result.code == "VALIDATION_ERROR" then
      invalid("%s: %s", path, result.message)
    end
    error(result, 0)
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for _, key in ipairs(sorted_keys(value)) do
    copy[key] = variables.expand(value[key], path .. "/" .. json_pointer.escape(key), options)
  end
  return copy
end

return variables
