--- Loads the definitions of a source, and registers them.
local cache = require("operations.sources.cache")
local entry = require("operations.sources.entry")
local errors = require("operations.base.error")
local files = require("operations.base.files")
local limits = require("operations.base.limits")
local scanner = require("operations.registry.scanner")
local source_options = require("operations.sources.options")
local specs = require("operations.registry.spec")
local system = require("operations.system")

local loader = {}

---@class operations.sources.Face  how a load talks to a person: on a terminal, or in a program's log
---@field complain fun(format: string, ...)  warns
---@field notice fun(format: string, ...)  warns of something that leaves nothing out
---@field failure fun(err: any)  reports an error
---@field problem fun(problem: operations.ScanProblem)  reports a file that gives no definition
---@field progress fun(text: string)
---@field person fun(): operations.people.Face?  asks the user for trust; nil: no terminal, no function of the program
---@field login fun(): operations.oauth.AuthorizerOptions  how users log in to servers
---@field at_end fun(thing: { close: fun(self: table) })  keeps what is closed at the end

local function tell_problems(problems, options)
  for _, problem in ipairs(problems) do
    options.face.problem(problem)
    if options.problems then
      table.insert(options.problems, problem)
    end
  end
end

--- Reads one file; tells its problems.
---@param path string
---@param options { face: operations.sources.Face, problems: operations.ScanProblem[]? }  `problems` is filled with them
---@return operations.Definition[] list
---@return boolean whole  there were no problems
function loader.file(path, options)
  local list, problems = scanner.load(path)
  tell_problems(problems, options)
  return list, #problems == 0
end

-- Files of a directory that have problems are passed over.
local function directory(place, options)
  local list, problems = scanner.scan(place)
  if not list then
    return nil, problems
  end
  tell_problems(problems, options)
  if #list == 0 and #problems == 0 then
    options.face.notice("warning: no Lua files (*.lua) in %s", place)
  end
  return list
end

-- The refusal of a definition without a handler: the command line registers none later.
local function without_handler(definition)
  local _, err = specs.check(definition)
  return err or errors.new("VALIDATION_ERROR", "handler: expected a function, got nil",
    { { path = "/handler", keyword = "required", message = "expected a function, got nil" } })
end

--- Registers a definition. It must have a handler, unless calls of it go elsewhere.
---@param registry operations.Registry
---@param definition operations.Definition
---@param options? { replace?: boolean, is_routed?: boolean }
---@return string? id
---@return operations.Error? err
function loader.register(registry, definition, options)
  options = options or {}
  if definition.handler == nil and not options.is_routed then
    return nil, without_handler(definition)
  end
  return registry:register(definition, { replace = options.replace })
end

--- Tells why a definition was not registered.
---@param definition operations.Definition
---@param err operations.Error
---@param face operations.sources.Face
function loader.tell(definition, err, face)
  local place = ("%s: %s.%s: "):format(scanner.origin(definition), definition.namespace, definition.name)
  for _, issue in ipairs(err.details) do
    face.complain("%s%s: %s", place, issue.path, issue.message)
  end
end

-- One function for each kind. Each returns a list of definitions, or nil and an error; only nil when the error was
-- already reported.
local load = {}

local function tell_report(source, report, options)
  local notice = options.face.notice
  if #report > 0 and not options.verbose then
    notice("%s: %s not taken over (--verbose tells more)", source.shown,
      #report == 1 and "one part was" or #report .. " parts were")
    return
  end
  for _, problem in ipairs(report) do
    notice("%s%s: %s", source.shown, problem.pointer, problem.message)
  end
end

local function report_of(source, list, report, options)
  if list and report then
    tell_report(source, report, options)
  end
  return list, report
end

-- One operation, or all, from the cache.
local function of_cache(openapi_documents, source, options)
  local held, err, loaded = openapi_documents.open(source, options)
  if err then
    return nil, err
  elseif not held then -- it cannot be cached
    return report_of(source, loaded.definitions, loaded.report, options)
  end
  local item
  if options.id then
    local found = entry.find(options.id, cache.entries(source) or {})
    item = #found == 1 and found[1] or nil
  end
  local list, report = openapi_documents.definitions(source, held, item)
  return report_of(source, list, loaded and (loaded.report or report), options)
end

--- Reports unsupported parts of the document and skips them; a wrong option raises in the adapter. Only documents of
--- remembered sources, and of URLs, are cached. The code for documents is loaded on first use.
function load.openapi(source, options)
  local openapi_documents = require("operations.sources.openapi_documents")
  require("operations.sources.credentials").prepare(source, options.is_rehearsal)
  source.config.eager = options.verbose or nil
  if options.added then
    return openapi_documents.added(source, options.added, options)
  end
  if source.name or source.place:find("^https?://") then
    return of_cache(openapi_documents, source, options)
  end
  local list, report = require("operations.openapi").file(source.place, openapi_documents.config(source))
  return report_of(source, list, report, options)
end

-- The code for GraphQL is loaded on first use.
function load.graphql(source, options)
  require("operations.sources.credentials").prepare(source, options.is_rehearsal)
  local list, report = require("operations.sources.graphql_services").definitions(source, options)
  return report_of(source, list, report, options)
end

-- Files of a directory that have problems are passed over; the one file that was asked for must be right.
function load.lua(source, options)
  if system.kind(source.place) == "directory" then
    return directory(source.place, options)
  end
  local list, is_whole = loader.file(source.place, options)
  return is_whole and list or nil
end

--- The descriptions of programs in a file: one, or a list of them, in JSON or YAML.
---@param path string
---@return table[]?
---@return any err
function loader.descriptions(path)
  local text, message = files.read(path)
  if not text or #text > limits.document then
    return nil, message or ("%s: larger than %d bytes"):format(path, limits.document)
  end
  local list, err = require("operations.openapi.document").parse(text, path)
  return list and list.argv and { list } or list, err
end

-- The code for programs is loaded on first use.
function load.command(source)
  local list, err = loader.descriptions(source.place)
  if not list then
    return nil, err
  end
  local definitions = {}
  for _, description in ipairs(list) do
    definitions[#definitions + 1] = require("operations").command(description)
  end
  return definitions
end

-- The code for MCP servers is loaded on first use.
function load.mcp(source, options)
  return require("operations.sources.mcp_servers").server(source, options.log, options)
end

load["mcp-config"] = function(source, options)
  return require("operations.sources.mcp_servers").file(source, options.log, options)
end

-- Registers the specs that other processes offer; calls go to those processes.
local function import(registry, options, kind, ...)
  local operations = require("operations")
  local ok, transport, err = pcall(operations.transports[kind], ...)
  if not (ok and transport) then
    return nil, ok and err or transport
  end
  local map = operations.call_map(transport, { log = options.log })
  options.face.at_end(map)
  local ids
  ids, err = operations.import(registry, map, nil, { identity = options.identity })
  if not ids then
    return nil, err
  end
  registry:route(map)
  return {}
end

function load.redis(source, options, registry)
  return import(registry, options, "redis", source.place,
    { mode = options.reliable and "reliable" or "fast" })
end

function load.websocket(source, options, registry)
  local auth = source.config.auth
  return import(registry, options, "websocket", source.place,
    { token = auth and auth.type == "bearer" and auth.token or nil })
end

--- The sources that may have an operation: leaves out MCP servers that cannot have it, as far as known before they
--- start.
---@param list operations.sources.Source[]
---@param id? string
---@return operations.sources.Source[]
function loader.narrow(list, id)
  local count = 0
  for _, source in ipairs(id and list or {}) do
    count = count + (source.kind == "mcp" and 1 or source.kind == "mcp-config" and 2 or 0)
  end
  if count < 2 then
    return list
  end
  local known = #list == 1 and list[1].name and entry.find(id, cache.entries(list[1]) or {}) or {}
  return require("operations.sources.mcp_servers").narrow(list, #known == 1 and known[1].id or id)
end

-- What reads the documents of sources, by their kind: loaded on first use.
local readers = { openapi = "operations.sources.openapi_documents", graphql = "operations.sources.graphql_services" }

--- Has a source a document, which is cached with its operations?
---@param source operations.sources.Source
---@return boolean
function loader.has_document(source)
  return readers[source.kind] ~= nil
end

--- Updates the cached document of a source.
---@param source operations.sources.Source
---@param options table  face, refresh
---@return operations.sources.CacheEntry|false held  false: there is none
---@return any err
function loader.refresh(source, options)
  local current, is_current = cache.current(source)
  if is_current and not options.refresh and not source.config.documents then
    return current -- without loading what reads documents
  end
  local ok, held, err = pcall(require(readers[source.kind]).open, source, options)
  if not ok then
    return false, held
  end
  return held or false, err
end

--- The definitions of a source. Reads its secrets first. Operations of other processes are already registered.
---@param source operations.sources.Source
---@param options table  face, log, verbose, reliable, refresh, identity, and the `id` if one operation is enough
---@param registry operations.Registry
---@return operations.Definition[]? list
---@return any err
function loader.load(source, options, registry)
  local ok, list, err = pcall(function()
    if not (options.all and readers[source.kind]) then -- listing needs no secrets
      source_options.reveal(source)
    end
    return load[source.kind](source, options, registry)
  end)
  if not ok then
    return nil, list
  end
  return list, err
end

return loader
