--- Loads the definitions of a source: one function for each kind. Each returns a list of definitions, or nil and an
--- error; only nil when the error was already reported.
local cache = require("operations.cli.cache")
local definitions = require("operations.cli.definitions")
local entry = require("operations.cli.entry")
local operations = require("operations")
local output = require("operations.cli.output")
local source_options = require("operations.cli.source_options")
local system = require("operations.system")

local loaders = {}

--- The log of handlers and the registry. Tracebacks are omitted: their failures are reported anyway.
---@param verbose? boolean
---@param is_reported? boolean  false: the caller is elsewhere, so the first line of the traceback is reported here
---@return fun(level: string, message: string)
function loaders.logger(verbose, is_reported)
  return function(level, message)
    local serious = level == "warn" or level == "error"
    if system.interrupted() and message:find("interrupted!", 1, true) then
      return
    elseif verbose or serious and not message:find("\nstack traceback:", 1, true) then
      output.complain("%s: %s", level, message)
    elseif serious and is_reported == false then
      output.complain("%s: %s", level, message:match("^[^\n]*"))
    end
  end
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

local function report_of(source, list, report, verbose)
  if list and report then
    tell_report(source, report, verbose)
  end
  return list, report
end

-- One operation, or all, from the cache.
local function of_cache(documents, source, options)
  local held, err, loaded = documents.open(source, options)
  if err then
    return nil, err
  elseif not held then -- it cannot be cached
    return report_of(source, loaded.definitions, loaded.report, options.verbose)
  end
  local item
  if options.id then
    local found = entry.find(options.id, cache.entries(source) or {})
    item = #found == 1 and found[1] or nil
  end
  local list, report = documents.definitions(source, held, item)
  return report_of(source, list, loaded and (loaded.report or report), options.verbose)
end

--- Reports unsupported parts of the document and skips them; a wrong option raises in the adapter. Only documents of
--- remembered sources, and of URLs, are cached. The code for documents is loaded on first use.
function load.openapi(source, options)
  local documents = require("operations.cli.documents")
  require("operations.cli.sign_in").prepare(source, options.is_rehearsal)
  source.config.eager = options.verbose or nil
  if source.name or source.place:find("^https?://") then
    return of_cache(documents, source, options)
  end
  local list, report = operations.from_openapi.file(source.place, documents.config(source))
  return report_of(source, list, report, options.verbose)
end

function load.lua(source)
  return definitions.read(source.place)
end

-- The code for MCP servers is loaded on first use.
function load.mcp(source, options)
  return require("operations.cli.mcp_sources").server(source, loaders.logger(options.verbose), options)
end

load["mcp-config"] = function(source, options)
  return require("operations.cli.mcp_sources").file(source, loaders.logger(options.verbose), options)
end

-- Registers the specs that other processes offer; calls go to those processes.
local function import(registry, options, open, ...)
  local ok, transport, err = pcall(open, ...)
  if not (ok and transport) then
    return nil, ok and err or transport
  end
  local map = operations.call_map(transport, { log = loaders.logger(options.verbose) })
  output.at_end(map)
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

--- The sources that may have an operation: leaves out MCP servers that cannot have it, as far as known before they
--- start.
---@param list operations.cli.Source[]
---@param id? string
---@return operations.cli.Source[]
function loaders.narrow(list, id)
  local count = 0
  for _, source in ipairs(id and list or {}) do
    count = count + (source.kind == "mcp" and 1 or source.kind == "mcp-config" and 2 or 0)
  end
  if count < 2 then
    return list
  end
  local known = #list == 1 and list[1].name and entry.find(id, cache.entries(list[1]) or {}) or {}
  return require("operations.cli.mcp_sources").narrow(list, #known == 1 and known[1].id or id)
end

--- Updates the cached document of a source.
---@param source operations.cli.Source
---@param options table  refresh
---@return operations.cli.CacheEntry|false held  false: there is none
---@return any err
function loaders.refresh(source, options)
  local ok, held, err = pcall(require("operations.cli.documents").open, source, options)
  if not ok then
    return false, held
  end
  return held or false, err
end

--- The definitions of a source. Reads its secrets first. Operations of other processes are already registered.
---@param source operations.cli.Source
---@param options table  verbose, reliable, refresh, identity, and the `id` if one operation is enough
---@param registry operations.Registry
---@return operations.Definition[]? list
---@return any err
function loaders.load(source, options, registry)
  local ok, list, err = pcall(function()
    if not (options.all and source.kind == "openapi") then -- listing needs no secrets
      source_options.reveal(source)
    end
    return load[source.kind](source, options, registry)
  end)
  if not ok then
    return nil, list
  end
  return list, err
end

return loaders
