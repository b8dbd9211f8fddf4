--- Fills a registry from what `--openapi` and `--lua` name.
local operations = require("operations")
local output = require("operations.cli.output")
local scanner = require("operations.scanner")
local system = require("operations.system")

local sources = {}

---@type operations.cli.Option[]
sources.options = {
  { name = "--openapi", value = "FILE|URL", many = true, help = "the operations of an OpenAPI document" },
  { name = "--lua", value = "FILE|DIR", many = true, help = "the operations that Lua files return" },
  { name = "--namespace", value = "NAME", many = true, help = "OpenAPI: namespace of the operations" },
  { name = "--base-url", value = "URL", many = true, help = "OpenAPI: where the API is, instead of its servers" },
  { name = "--bearer", value = "TOKEN", many = true, help = "OpenAPI: bearer token (or OPERATIONS_BEARER)" },
  { name = "--basic", value = "USER:PASSWORD", many = true, help = "OpenAPI: HTTP basic authentication" },
  { name = "--api-key", value = "KEY", many = true, help = "OpenAPI: API key, sent where the document says" },
  { name = "--header", value = "'NAME: VALUE'", many = true, help = "OpenAPI: a header of every request" },
  { name = "--verbose", help = "everything that is logged, on stderr" },
}

sources.help = "An option of an OpenAPI document counts for the --openapi before it, or for all when there is none.\n"

--- How each option changes the configuration of an OpenAPI document; returns a message when it is wrong.
local setters = {
  namespace = function(config, value) config.namespace = value end,
  ["base-url"] = function(config, value) config.base_url = value end,
  bearer = function(config, value) config.auth = { type = "bearer", token = value } end,
  basic = function(config, value)
    local username, password = value:match("^([^:]*):(.*)$")
    if not username then
      return "--basic: expected USER:PASSWORD"
    end
    config.auth = { type = "basic", username = username, password = password }
  end,
  ["api-key"] = function(config, value) config.auth = { type = "apiKey", token = value } end,
  header = function(config, value)
    local name, content = value:match("^([^:%s]+):%s*(.*)$")
    if not name then
      return "--header: expected 'NAME: VALUE'"
    end
    config.headers[name] = content
  end,
}

local function new_config(general)
  local config = { headers = {} }
  for key, value in pairs(general) do
    config[key] = value
  end
  config.headers = {}
  for name, value in pairs(general.headers) do
    config.headers[name] = value
  end
  return config
end

--- The sources in the order they were given: { kind, place, config }; or nil, message.
local function plan(order)
  local token = os.getenv("OPERATIONS_BEARER")
  local current = { headers = {}, auth = token and { type = "bearer", token = token } or nil }
  local general, list = current, {}
  for _, option in ipairs(order) do
    if option.name == "openapi" then
      current = new_config(general)
      list[#list + 1] = { kind = "openapi", place = option.value, config = current }
    elseif option.name == "lua" then
      list[#list + 1] = { kind = "lua", place = option.value }
    elseif setters[option.name] then
      local message = setters[option.name](current, option.value)
      if message then
        return nil, message
      end
    end
  end
  return list
end

local load = {}

local function tell_report(source, report, verbose)
  if #report > 0 and not verbose then
    output.complain("%s: %d parts were not taken over (--verbose lists them)", source.place, #report)
    return
  end
  for _, problem in ipairs(report) do
    output.complain("%s%s: %s", source.place, problem.pointer, problem.message)
  end
end

--- What the document lacks is told and passed over; an option that is wrong raises in the adapter.
function load.openapi(source, verbose)
  local from_openapi = operations.from_openapi
  local is_url = source.place:find("^https?://") ~= nil
  if is_url then
    output.progress("loading " .. source.place)
  end
  local ok, definitions, report = pcall(is_url and from_openapi.url or from_openapi.file, source.place, source.config)
  if not ok then
    return nil, definitions
  elseif definitions then
    tell_report(source, report, verbose)
  end
  return definitions, report
end

--- Problems of a directory's files are told and passed over; the one file that was asked for must be right.
function load.lua(source)
  local is_directory = system.kind(source.place) == "directory"
  local definitions, problems = scanner[is_directory and "scan" or "load"](source.place)
  if not definitions then
    return nil, problems
  end
  for _, problem in ipairs(problems) do
    local said = problem.message:sub(1, #problem.path) == problem.path
    output.complain("%s", said and problem.message or problem.path .. ": " .. problem.message)
  end
  if not is_directory and #problems > 0 then
    return nil
  end
  return definitions
end

local function register(registry, source, verbose)
  local definitions, err = load[source.kind](source, verbose)
  if not definitions then
    if output.is_interrupt(err) then
      error(err, 0)
    elseif err then
      output.complain("cannot load %s", source.place)
      output.failure(err)
    end
    return false
  end
  for _, definition in ipairs(definitions) do
    local id, reason = registry:register(definition)
    if not id then
      output.complain("%s:", source.place)
      output.failure(reason)
      return false
    end
  end
  return true
end

--- Where handlers and the registry log. A traceback belongs to a failure that is reported anyway.
local function logger(verbose)
  return function(level, message)
    local serious = level == "warn" or level == "error"
    if output.is_interrupt(message) then
      return
    elseif verbose or serious and not message:find("\nstack traceback:", 1, true) then
      output.complain("%s: %s", level, message)
    end
  end
end

local function warn(warning)
  output.complain("warning: the result of %s does not fit its schema", warning.operationId)
  output.issues(warning.issues or {})
end

--- Makes a registry of everything the command line names, or says why not.
---@param parsed operations.cli.Arguments
---@return operations.Registry|nil registry
---@return integer|nil code  the exit code when there is none
function sources.registry(parsed)
  local list, message = plan(parsed.order)
  if not list then
    output.complain("%s", message)
    return nil, output.codes.USAGE
  elseif #list == 0 then
    output.complain("nothing to look in: give --openapi FILE|URL or --lua FILE|DIR")
    return nil, output.codes.USAGE
  end
  local registry = operations.registry({ on_warning = warn, log = logger(parsed.options.verbose) })
  for _, source in ipairs(list) do
    if not register(registry, source, parsed.options.verbose) then
      return nil, output.codes.SOURCE
    end
  end
  output.settle()
  return registry
end

return sources
