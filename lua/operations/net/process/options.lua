--- Options of a process: checks them, and makes of them what the reactor is asked.
local limits = require("operations.base.limits")
local reactor = require("operations.reactor")

local process_options = {}

-- What a program inherits of our environment; a star stands for any end.
process_options.inherited = { "PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "SHELL", "TERM" }

local kinds = {
  env = "table", env_allow = "table", cwd = "string", max_line = "number", window = "number", queue = "number",
  stderr_lines = "number", on_stderr = "function", shared = "boolean",
  whole_group = "boolean", no_pidfd = "boolean",
}

local function fail(text, ...)
  error(("bad argument #1 to 'spawn' (" .. text .. ")"):format(...), 5)
end

local function check_text(value, place)
  if type(value) ~= "string" then
    fail("%s: string expected, got %s", place, type(value))
  elseif value:find("\0", 1, true) then
    fail("%s: contains a NUL", place)
  end
  return value
end

local function check_kinds(options)
  if type(options) ~= "table" then
    fail("table expected, got %s", type(options))
  end
  local count = 0
  for name, value in pairs(options) do
    if type(name) == "number" then
      count = count + 1
    elseif not kinds[name] then
      fail("unknown option '%s'", tostring(name))
    elseif type(value) ~= kinds[name] then
      fail("%s: %s expected, got %s", name, kinds[name], type(value))
    elseif kinds[name] == "number" and (value ~= value or value < (name == "stderr_lines" and 0 or 1)) then
      fail("%s: %s is too small", name, tostring(value))
    end
  end
  for i = 1, count do -- one that is missing would take those behind it along
    check_text(options[i], ("[%d]"):format(i))
  end
  if check_text(options[1], "[1]") == "" then
    fail("[1]: the command is empty")
  end
end

-- Adds to `env` what may be inherited.
local function inherit(env, allowed)
  local names, prefixes = {}, {}
  for i, name in ipairs(allowed) do
    local prefix = check_text(name, ("env_allow[%d]"):format(i)):match("^(.*)%*$")
    if prefix then
      prefixes[#prefixes + 1] = prefix
    end
    names[name] = true
  end
  for _, entry in ipairs(reactor.environment()) do
    local name, value = entry:match("^([^=]+)=(.*)$")
    local allow = names[name]
    for i = 1, name and #prefixes or 0 do
      allow = allow or name:sub(1, #prefixes[i]) == prefixes[i]
    end
    if allow then
      env[name] = value
    end
  end
end

local function environment(options)
  local env, list = {}, {}
  inherit(env, options.env_allow or process_options.inherited)
  for name, value in pairs(options.env or {}) do
    if type(name) ~= "string" or name == "" or name:find("[=%z]") then
      fail("env: '%s' is no name of a variable", tostring(name))
    end
    env[name] = check_text(type(value) == "number" and tostring(value) or value, "env." .. name)
  end
  for name, value in pairs(env) do
    list[#list + 1] = name .. "=" .. value
  end
  table.sort(list)
  return list, env.PATH
end

-- The files that a command may be: itself when it names a directory, else in those of the program's own PATH.
local function candidates(command, path)
  if command:find("/", 1, true) then
    return { command }
  end
  local files = {}
  for directory in ((path or "/usr/local/bin:/usr/bin:/bin") .. ":"):gmatch("([^:]*):") do
    files[#files + 1] = (directory == "" and "." or directory) .. "/" .. command
  end
  return files
end

--- Raises at its caller's caller when something is wrong.
---@param options operations.ProcessOptions
---@return table request  for the reactor
function process_options.prepare(options)
  check_kinds(options)
  local arguments = {}
  for i = 1, #options do
    arguments[i] = options[i]
  end
  local env, path = environment(options)
  return {
    files = candidates(options[1], path),
    arguments = arguments,
    environment = env,
    cwd = options.cwd and check_text(options.cwd, "cwd"),
    window = options.window or limits.window,
    max_line = options.max_line or limits.line,
    queue = options.queue or limits.window,
    no_pidfd = options.no_pidfd,
  }
end

return process_options
