--- Fills a registry from what `--openapi`, `--lua`, `--mcp` and `--mcp-config` name.
local cleanup = require("operations.cli.cleanup")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local scanner = require("operations.registry.scanner")
local suggestion = require("operations.cli.suggestion")
local system = require("operations.system")
local url = require("operations.base.url")

local sources = {}

---@type operations.cli.Option[]
sources.options = {
  { name = "--openapi", value = "FILE|URL", many = true, help = "the operations of an OpenAPI document" },
  { name = "--lua", value = "FILE|DIR", many = true, help = "the operations that Lua files return" },
  { name = "--mcp", value = "COMMAND|URL", many = true, help = "the tools of an MCP server" },
  { name = "--mcp-config", value = "FILE", many = true, help = "the MCP servers that a file lists (mcp.json)" },
  { name = "--redis", value = "URL", many = true, help = "what other processes on this Redis serve" },
  { name = "--reliable", help = "Redis: calls wait in a queue and outlive workers" },
  { name = "--websocket", value = "URL", many = true, help = "what a hub serves (ws://, wss://)" },
  { name = "--namespace", value = "NAME", many = true, help = "OpenAPI, MCP: namespace of the operations" },
  { name = "--base-url", value = "URL", many = true, help = "OpenAPI: where the API is, instead of its servers" },
  { name = "--bearer", value = "TOKEN", many = true, help = "OpenAPI, MCP, hub: token (or OPERATIONS_BEARER)" },
  { name = "--basic", value = "USER:PASSWORD", many = true, help = "OpenAPI, MCP: HTTP basic authentication" },
  { name = "--api-key", value = "KEY", many = true, help = "OpenAPI: API key, sent where the document says" },
  { name = "--header", value = "'NAME: VALUE'", many = true, help = "OpenAPI, MCP: a header of every request" },
  { name = "--document-header", value = "HEADER", many = true, help = "OpenAPI: a header for the document alone" },
  { name = "--remote-refs", many = true, help = "OpenAPI: fetch what $refs name by URL" },
  { name = "--verbose", short = "-v", help = "all that is logged, sent and lacking in documents" },
}

sources.help = [[
An option of an API or server counts for the --openapi or --mcp before it, or
for all when there is none. An MCP server is called after its package or host:
`npx -y @acme/server-files` offers `files.read`, ...
]]

local function set_header(headers, option, value)
  local name, content = value:match("^([^:%s]+):%s*(.*)$")
  if not name then
    return ("%s: expected 'NAME: VALUE', got %q"):format(option, value)
  end
  headers[name] = content
end

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
  ["remote-refs"] = function(config) config.remote_refs = true end,
  ["api-key"] = function(config, value) config.auth = { type = "apiKey", token = value } end,
  header = function(config, value) return set_header(config.headers, "--header", value) end,
  ["document-header"] = function(config, value)
    return set_header(config.document_headers, "--document-header", value)
  end,
}

-- What messages call a place: passwords and tokens travel in URLs and command lines.
local function shown(kind, place)
  if place:find("^%a[%w+.-]*://") then
    return place:find("^https?:") and url.redact(place) or url.redact_any(place)
  end
  return kind == "mcp" and place:match("%S+") or place
end

--- The sources in the order they were given: { kind, place, shown, config }; or nil, message.
local function plan(order, options)
  local token = os.getenv("OPERATIONS_BEARER")
  local current = { headers = {}, document_headers = {}, http = options.http, decode_text = options.decode_text,
    max_body = options.max_body }
  current.auth = token and { type = "bearer", token = token } or nil
  local general, list = current, {}
  for _, option in ipairs(order) do
    if option.name == "openapi" or option.name == "mcp" or option.name == "websocket" then
      current = members.merged(general, {
        headers = members.copy(general.headers), document_headers = members.copy(general.document_headers),
      })
      list[#list + 1] = {
        kind = option.name, place = option.value, shown = shown(option.name, option.value), config = current,
      }
    elseif option.name == "lua" or option.name == "mcp-config" or option.name == "redis" then
      list[#list + 1] = { kind = option.name, place = option.value, shown = shown(option.name, option.value) }
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
    output.complain("%s: %s not taken over (--verbose tells more)", source.shown,
      #report == 1 and "one part was" or #report .. " parts were")
    return
  end
  for _, problem in ipairs(report) do
    output.complain("%s%s: %s", source.shown, problem.pointer, problem.message)
  end
end

--- What the document lacks is told and passed over; an option that is wrong raises in the adapter.
function load.openapi(source, options)
  local from_openapi = operations.from_openapi
  local is_url = source.place:find("^https?://") ~= nil
  if is_url then
    output.progress("loading " .. source.shown)
  end
  source.config.eager = options.verbose or nil
  local ok, definitions, report = pcall(is_url and from_openapi.url or from_openapi.file, source.place, source.config)
  if not ok then
    return nil, definitions
  elseif definitions then
    tell_report(source, report, options.verbose)
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
    output.problem(problem)
  end
  if not is_directory and #problems > 0 then
    return nil
  end
  return definitions
end

--- Where handlers and the registry log. A traceback belongs to a failure that is reported anyway.
---@param verbose? boolean
---@return fun(level: string, message: string)
function sources.logger(verbose)
  return function(level, message)
    local serious = level == "warn" or level == "error"
    if system.interrupted() and message:find("interrupted!", 1, true) then
      return
    elseif verbose or serious and not message:find("\nstack traceback:", 1, true) then
      output.complain("%s: %s", level, message)
    end
  end
end

-- What talks to MCP servers is loaded when one is named.
function load.mcp(source, options)
  return require("operations.cli.mcp_sources").server(source, sources.logger(options.verbose), options.verbose)
end

load["mcp-config"] = function(source, options)
  return require("operations.cli.mcp_sources").file(source, sources.logger(options.verbose), options.verbose)
end

-- What other processes serve is known here by its spec, and called there. Registers what they offer; a list of
-- definitions, which is empty, or nil and an error.
local function import(registry, options, open, ...)
  local ok, transport, err = pcall(open, ...)
  if not (ok and transport) then
    return nil, ok and err or transport
  end
  local map = operations.call_map(transport, { log = sources.logger(options.verbose) })
  cleanup.add(map)
  local ids
  ids, err = operations.import(registry, map, nil, { identity = options.identity })
  if not ids then
    return nil, err
  end
  registry:route(map)
  return {}
end

function load.redis(source, options, registry)
  return import(registry, options, operations.transports.redis, source.place,
    { mode = options.reliable and "reliable" or "fast" })
end

function load.websocket(source, options, registry)
  local auth = source.config.auth
  return import(registry, options, operations.transports.websocket, source.place,
    { token = auth and auth.type == "bearer" and auth.token or nil })
end

-- `options`: `verbose`, `reliable`, and the `identity` that asks.
local function register(registry, source, options, exposure)
  if options.behind and (source.kind == "mcp" or source.kind == "mcp-config") then
    return options.behind(source, registry)
  end
  if exposure and exposure:any() and source.kind == "openapi" then
    source.config.files = false -- callers elsewhere may not name files of this machine
  end
  local definitions, err = load[source.kind](source, options, registry)
  if not definitions then
    if system.interrupted() then
      error(err, 0)
    elseif err then
      output.complain("cannot load %s", source.shown)
      output.failure(err)
    end
    return false
  end
  for _, definition in ipairs(definitions) do
    if exposure then
      exposure:open(definition)
    end
    local wanted = not options.include or options.include(definition)
    local id, reason = wanted, nil
    if wanted then
      id, reason = registry:register(definition)
    end
    if wanted and not id then
      output.complain("%s:", source.shown)
      output.failure(reason)
      return false
    elseif id and options.kinds then
      options.kinds[id] = source.kind
    end
  end
  return true
end

local function warn(warning)
  output.complain("warning: the result of %s does not fit its schema", warning.operationId)
  output.issues(warning.issues or {})
end

---@class operations.cli.SourceOptions
---@field but? fun(option: { name: string, value: any }): boolean?  true: it means something else to the command
---@field exposure? operations.cli.Exposure  of a command that serves others
---@field include? fun(definition: table): boolean  which operations are taken
---@field behind? fun(source: table, registry: operations.Registry): boolean  takes MCP servers, whose tools come later
---@field none? boolean  no source is all right
---@field identity? operations.Identity  who asks other processes what they serve
---@field normalize? "cast"|"off"  of results; default "cast"
---@field on_warning? fun(warning: table)  told of results that do not fit
---@field kinds? table<string, string>  filled with the kind of source ("openapi", ...) of each operation
---@field max_body? integer  bytes of an answer's JSON
---@field decode_text? boolean  false: answers stay in the charset they came in
---@field http? table  the HTTP client of APIs and MCP servers

--- Makes a registry of everything the command line names, or says why not.
---@param parsed operations.cli.Arguments
---@param options? operations.cli.SourceOptions
---@return operations.Registry|nil registry
---@return integer|nil code  the exit code when there is none
function sources.registry(parsed, options)
  options = options or {}
  local order = {}
  for _, option in ipairs(parsed.order) do
    order[#order + 1] = not (options.but and options.but(option)) and option or nil
  end
  local list, message = plan(order, options)
  if not list then
    return nil, output.usage("%s", message)
  elseif #list == 0 and not options.none then
    return nil, output.usage(
      "nothing to look in: give --openapi FILE|URL, --lua FILE|DIR, --mcp COMMAND|URL or another source")
  end
  local registry = operations.registry({
    on_warning = options.on_warning or warn, normalize = options.normalize,
    log = sources.logger(parsed.options.verbose),
  })
  local given = { verbose = parsed.options.verbose, reliable = parsed.options.reliable, identity = options.identity,
    include = options.include, behind = options.behind, kinds = options.kinds }
  for _, source in ipairs(list) do
    if not register(registry, source, given, options.exposure) then
      return nil, output.codes.SOURCE
    end
  end
  output.settle()
  return registry
end

--- The spec of an operation; when it is not there, what may have been meant is told.
---@param registry operations.Registry
---@param id string
---@return operations.Spec|nil spec
---@return integer|nil code  the exit code when there is none
function sources.find(registry, id)
  local spec, err = registry:get_spec(id)
  if spec then
    return spec
  elseif not err then
    local near = suggestion.of(id, (registry:specs({ schemas = false })))
    err = operations.error("OPERATION_NOT_FOUND", ("no operation '%s'%s"):format(id,
      #near > 0 and "; did you mean " .. table.concat(near, " or ") .. "?" or ""))
  end
  return nil, output.fail(err)
end

return sources
