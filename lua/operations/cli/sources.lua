--- Fills a registry with the sources of the command line: given by options, or remembered ones by name.
local cache = require("operations.sources.cache")
local compat = require("operations.base.compat")
local entry = require("operations.sources.entry")
local errors = require("operations.base.error")
local loader = require("operations.sources.loader")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local scanner = require("operations.registry.scanner")
local secret = require("operations.sources.secret")
local source_options = require("operations.sources.options")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")

local sources = {}

--- How the loads of the command line talk to the user.
---@type operations.sources.Face
sources.face = {
  complain = output.complain, notice = output.notice, failure = output.failure, problem = output.problem,
  progress = output.progress, at_end = output.at_end,
  person = function()
    return output.can_ask() and require("operations.cli.person") or nil
  end,
  login = function()
    return require("operations.cli.login").options()
  end,
}

--- The log of handlers and the registry. Tracebacks are omitted: their failures are reported anyway.
---@param verbose? boolean
---@param is_reported? boolean  false: the caller is elsewhere, so the first line of the traceback is reported here
---@return fun(level: string, message: string)
function sources.logger(verbose, is_reported)
  return function(level, message)
    local serious = level == "warn" or level == "error"
    if system.interrupted() and message:find("interrupted", 1, true) then
      return
    elseif verbose or serious and not message:find("\nstack traceback:", 1, true) then
      output.complain("%s: %s", level, message)
    elseif serious and is_reported == false then
      output.complain("%s: %s", level, message:match("^[^\n]*"))
    end
  end
end

--- The remembered sources, with the options of the command line.
---@param parsed operations.cli.Arguments
---@return operations.sources.NamedSources?
---@return integer? code  the exit code of an error, which was reported
function sources.named(parsed)
  local named, message = require("operations.sources.remembered").named({ profile = parsed.options.profile,
    order = parsed.order }, sources.face)
  if not named then
    output.complain("%s", message)
  end
  return named, not named and output.codes.SOURCE or nil
end

local function tell(source, err)
  if system.interrupted() then
    error(err, 0)
  elseif err then
    output.complain("cannot load %s", source.name or source.shown)
    output.failure(err)
  end
  return output.is_unreachable(err) and output.codes.UNREACHABLE or output.codes.SOURCE
end

-- Reports why a definition was not registered.
local function tell_refused(source, definition, owners, reason)
  local id = ("%s.%s"):format(definition.namespace, definition.name)
  local path = scanner.origin(definition)
  local owner = owners[id]
  if owner then
    output.complain("%s: %s is also an operation of %s%s", path or source.shown, id,
      scanner.origin(owner[1]) or owner[2].shown, path and "" or ": give one of them another --namespace")
  elseif path then
    loader.tell(definition, reason, sources.face)
  else
    output.complain("%s:", source.shown)
    output.failure(reason)
  end
  return output.codes.SOURCE
end

-- Registers the operations of one source; returns the exit code of a failure. `given` is the table made by
-- `sources.registry`.
local function register(registry, source, given, owners)
  local exposure = given.exposure
  if given.behind and not given.changes and (source.kind == "mcp" or source.kind == "mcp-config") then
    return not given.behind(source, registry) and output.codes.SOURCE or nil
  end
  if exposure and exposure:any() and loader.has_document(source) then
    source.config.files = false -- remote callers must not name files of this machine
  end
  for name, value in pairs(given.plain_headers and source.config.headers or {}) do
    given.plain_headers[name] = not secret.is_reference(value) or nil
  end
  if given.references and source.entry then
    table.insert(given.references, source.entry)
  end
  if given.sources then
    table.insert(given.sources, source)
  end
  source.call = { http = given.http, decode_text = given.decode_text, max_body = given.max_body }
  local list, err = loader.load(source, given, registry)
  if not list and given.may_fail and given.may_fail(err) then
    return nil
  elseif not list then
    return tell(source, err)
  end
  if given.changes then
    list, err = require("operations").transform(list, given.changes, { partial = true })
    if not list then
      return tell(source, err)
    end
    for id in pairs(err) do
      given.changed[id] = true
    end
  end
  for _, definition in ipairs(list) do
    if exposure then
      exposure:open(definition)
    end
    if not given.include or given.include(definition) then
      local id, reason = loader.register(registry, definition, given)
      if not id then
        return tell_refused(source, definition, owners, reason)
      end
      owners[id] = { definition, source }
      if given.starts then
        table.insert(given.definitions, definition)
      end
      if given.kinds then
        given.kinds[id] = source.kind
      end
    end
  end
end

local function warn(warning)
  output.notice("warning: the result of %s does not fit its schema", warning.operationId)
  output.issues(warning.issues or {})
end

-- Caches the operations of sources other than documents.
local function remember(registry, list, given)
  local source = list[1]
  -- What is served may be a part, or changed, or come later.
  local is_whole = not given.behind and not given.include and not given.changes
  if is_whole and #list == 1 and source.name and not loader.has_document(source) and not source.wanted then
    cache.write_specs(source, (registry:specs()), {})
  end
end

-- Whether calls of operations without a handler here go to other processes.
local function is_routed(list)
  for _, source in ipairs(list) do
    if source.kind == "redis" or source.kind == "websocket" then
      return true
    end
  end
  return false
end

---@class operations.cli.SourceOptions
---@field but? fun(option: { name: string, value: any }): boolean?  true: the option means something else to the command
---@field exposure? operations.cli.Exposure  of a command that serves other callers
---@field include? fun(definition: table): boolean  selects operations
---@field behind? fun(source: table, registry: operations.Registry): boolean  takes over MCP servers, whose tools are
---  registered later
---@field all? boolean  the command only looks at what there is: without sources on the command line all remembered
---  ones are loaded, and no secrets of documents are asked for
---@field none? boolean  no source is required
---@field identity? operations.Identity  the identity for listing the operations of other processes
---@field id? string  the command's only operation: just its remembered source is loaded
---@field names? string[]  of remembered sources
---@field normalize? "cast"|"off"  of results; default "cast"
---@field on_warning? fun(warning: table)  called for results that do not fit
---@field is_routed? boolean  definitions need no handlers: calls go elsewhere, or there are none
---@field is_reported? boolean  false: the caller is elsewhere, so failures of handlers are reported on stderr
---@field problems? operations.ScanProblem[]  filled with those of Lua files; the others of a directory are loaded
---@field may_fail? fun(err: any): boolean  true: a source that fails so has no operations yet
---@field partial? boolean  a source that fails leaves the others: the registry is returned with the exit code
---@field kinds? table<string, string>  filled with the kind of source ("openapi", ...) of each operation
---@field plain_headers? table<string, boolean>  filled with the names of headers whose values are not secret
---@field references? table[]  filled with the members of the remembered sources, which may name variables
---@field sources? operations.sources.Source[]  filled with the sources that are loaded
---@field on_message? fun(way: "in"|"out", message: any)  called for the messages of MCP servers
---@field max_body? integer  bytes of an answer's JSON
---@field decode_text? boolean  false: answers keep their charset
---@field http? table  the HTTP client of APIs
---@field added? table  an operation that the document does not have, and the only one that is loaded
---@field asks? boolean  the policy asks the person at the terminal, not the user of a client
---@field is_rehearsal? boolean  nothing must be sent to the APIs
---@field middleware? operations.Middleware[]  of the registry
---@field is_bare? boolean  the operations are registered again elsewhere, with the middleware of that registry
---@field starts? fun(definitions: operations.Definition[]): any  called with what was registered, before it can be
---  called; `sources.start`; nil: it failed, which was reported

local function planned(parsed, options)
  local order = {}
  for _, option in ipairs(parsed.order) do
    order[#order + 1] = not (options.but and options.but(option)) and option or nil
  end
  return source_options.plan(order)
end

local function nothing()
  return output.usage("nothing to look in: remember a source with operations add NAME URL, or give --openapi FILE|URL, "
    .. "--lua FILE|DIR, --mcp COMMAND|URL or another source")
end

-- The option for a file that was given as the name of a remembered source.
local function file_hint(name)
  local kind = system.kind(name)
  return (kind == "file" or kind == "directory")
    and ("no source %q; for the %s, say --%s %s"):format(name, kind, source_options.kind_of(name), name) or nil
end

-- The remembered sources for the command; or nil and the exit code.
local function remembered_of(parsed, options, is_needed)
  local named, code = sources.named(parsed)
  if not named then
    return nil, code
  end
  local list, message = {}
  if options.names and options.names[1] then
    for i, name in ipairs(options.names) do
      list[i], message = named:get(name)
      if not list[i] then
        return nil, output.usage("%s", file_hint(name) or message)
      end
    end
  elseif is_needed and options.id and (named.names[1] or named.is_partial) then
    local source, why, kind = named:of(options.id)
    if not source then
      output.complain("%s", kind == "OPERATION_NOT_FOUND" and kind .. ": " .. why or why)
      return nil, output.codes[kind or "SOURCE"]
    end
    list[1] = source
  elseif is_needed and options.all then
    for _, name in ipairs(named.names) do
      list[#list + 1] = named:get(name)
    end
  end
  if is_needed and #list == 0 and named.is_partial and not options.none then
    return nil, output.codes.SOURCE -- that the project is not trusted was reported
  end
  return list
end

-- Reports changes of operations that no source has.
local function tell_unchanged(registry, given)
  local failed
  for _, id in ipairs(members.names(given.changes)) do
    if not given.changed[id] then
      local near = suggestion.of(id, (registry:specs({ schemas = false })))
      output.complain("--transform: no operation %s%s", id, near[1]
        and (" (did you mean %s?)"):format(table.concat(near, ", ")) or "")
      failed = output.codes.SOURCE
    end
  end
  return failed
end

-- The id at its source of an operation that a change gave another one.
local function id_at_source(changes, wanted)
  for id, change in pairs(changes) do
    local namespace, name = id:match("^(.+)%.([^.]+)$")
    if type(change) == "table" and (change.namespace or namespace) .. "." .. (change.name or name) == wanted then
      return id
    end
  end
  return wanted
end

--- Makes a registry of these sources, or reports the error.
---@param list operations.sources.Source[]
---@param given table  options of `sources.registry` and of the command line: verbose, reliable, refresh; a new table,
---  in which the loads keep theirs
---@return operations.Registry|nil registry
---@return integer|nil code  the exit code of an error
function sources.of(list, given)
  local owners, registry = {}, require("operations").registry({
    on_warning = given.on_warning or warn, normalize = given.normalize, policy = given.policy,
    middleware = given.middleware,
    log = sources.logger(given.verbose, given.is_reported),
  })
  list = loader.narrow(list, given.id)
  given.face, given.log, given.changed = sources.face, sources.logger(given.verbose), {}
  given.is_routed, given.definitions = given.is_routed or is_routed(list), given.starts and {}
  local failed
  for _, source in ipairs(list) do
    local code = register(registry, source, given, owners)
    if code and not given.partial then
      return nil, code
    end
    failed = failed or code
  end
  if not failed and given.changes and not given.id then
    failed = tell_unchanged(registry, given)
  end
  if failed and not given.partial then
    return nil, failed
  end
  if not failed then
    remember(registry, list, given)
  end
  output.settle()
  if given.starts and not given.starts(given.definitions) then
    return nil, output.codes.SOURCE
  end
  return registry, failed
end

--- Calls the hooks `start` of files of definitions, and those to stop at the end of the program.
---@param definitions operations.Definition[]
---@return (fun())? stop  calls the hooks `stop` now; nil: a hook failed, which was reported
function sources.start(definitions)
  local stop, err = scanner.start(definitions)
  if not stop then
    output.complain("%s", tostring(err))
    return nil
  end
  local function close()
    local ok, failure = stop()
    if not ok then
      output.complain("%s", tostring(failure))
    end
  end
  output.at_end({ close = close })
  return close
end

--- Makes a registry of everything on the command line, or reports the error.
---@param parsed operations.cli.Arguments
---@param options? operations.cli.SourceOptions
---@return operations.Registry|nil registry
---@return integer|nil code  the exit code of an error
function sources.registry(parsed, options)
  options = options or {}
  local ruled, wrong = rules.read(parsed.options, sources.logger(parsed.options.verbose), options.asks)
  if not ruled then
    return nil, output.usage("%s", wrong)
  elseif ruled.changes and options.id then
    options = members.merged(options, { id = id_at_source(ruled.changes, options.id) })
  end
  local list, message = planned(parsed, options)
  if not list then
    return nil, output.usage("%s", message)
  end
  if #list == 0 or options.names and options.names[1] then
    local more, code = remembered_of(parsed, options, #list == 0)
    if not more then
      return nil, code
    end
    list = members.joined(list, more)
  end
  if #list == 0 and not options.none then
    return nil, nothing()
  end
  return sources.of(list, members.merged(options, ruled, { verbose = parsed.options.verbose,
    reliable = parsed.options.reliable, refresh = parsed.options.refresh or options.refresh }))
end

local reread = { lua = true, openapi = true, graphql = true } -- kinds of sources; the others follow changes themselves

--- Reads Lua files and documents again, and replaces their operations; the previous ones stay if one fails.
---@param parsed operations.cli.Arguments
---@param registry operations.Registry
---@param given operations.cli.SourceOptions  with which it was made, and `kinds`
---@return boolean ok
function sources.reload(parsed, registry, given)
  local kinds = {}
  local fresh = sources.registry(parsed, members.merged(given, { kinds = kinds, none = true, is_bare = true,
    middleware = {}, refresh = true, behind = function()
      return true
    end, but = function(option)
      return option.name == "redis" or option.name == "websocket" or given.but and given.but(option)
    end }))
  if not fresh then
    return false
  end
  for id, kind in pairs(given.kinds) do
    if reread[kind] and not fresh:get_spec(id) then
      registry:unregister(id)
      given.kinds[id] = nil
    end
  end
  for _, definition in ipairs(fresh:list()) do
    local id = definition.namespace .. "." .. definition.name
    local ok, err = registry:register(definition, { replace = given.kinds[id] ~= nil })
    if ok then
      given.kinds[id] = kinds[id]
    else
      output.failure(err)
    end
  end
  return true
end

-- The entries of a remembered source, from the cache if it is current; or nil and the exit code.
local function entries_of(source, given)
  if loader.has_document(source) and not given.refresh then
    local held, err = loader.refresh(source, given)
    if held then
      return cache.entries(source)
    elseif err then -- else it cannot be cached
      return nil, tell(source, err)
    end
  end
  local known = source.kind ~= "lua" and source.kind ~= "command" and not given.refresh and cache.entries(source)
  if known then
    return known
  end
  local registry, code = sources.of({ source }, given)
  return registry and entry.list((registry:specs()), source.name), code
end

--- The entries of all remembered sources. A source that fails does not affect the others.
---@param parsed operations.cli.Arguments
---@param names? string[]  only these sources
---@return operations.sources.Entry[]? list
---@return integer code  the exit code: of the last source that failed, else 0
function sources.entries(parsed, names)
  local list, code = remembered_of(parsed, { all = true, names = names }, true)
  if not list then
    return nil, code
  elseif #list == 0 then
    return nil, nothing()
  end
  local all, last = {}, output.codes.OK
  for _, source in ipairs(list) do
    local some, failed = entries_of(source, { face = sources.face, all = true, verbose = parsed.options.verbose,
      reliable = source.entry.reliable, refresh = parsed.options.refresh })
    all, last = members.joined(all, some or {}), failed or last
  end
  output.settle()
  return all, last
end

--- The words of a command line without the source that the first one names, and that source.
---@param parsed operations.cli.Arguments
---@return string[] words
---@return string[]? names  nil: it names none, or the sources are on the command line
function sources.named_first(parsed)
  local first = parsed.rest[1]
  local all = first and not sources.are_given(parsed) and require("operations.sources.remembered").read()
  if not all or not (all.by_name[first] or all.left_out[first]) then
    return parsed.rest, nil
  end
  return { compat.unpack(parsed.rest, 2) }, { first }
end

--- Does the command line itself name sources?
---@param parsed operations.cli.Arguments
---@return boolean
function sources.are_given(parsed)
  for _, kind in ipairs(source_options.kinds) do
    if parsed.options[kind] then
      return true
    end
  end
  return false
end

--- The spec of the operation that a word means; without one, reports suggestions.
---@param registry operations.Registry
---@param word string  its id, a unique name, or METHOD /path
---@return operations.Spec|nil spec
---@return integer|nil code  the exit code of an error
function sources.find(registry, word)
  local spec, err = registry:get_spec(word)
  if spec then
    return spec
  elseif err then
    return nil, output.fail(err)
  end
  local list = entry.list((registry:specs({ schemas = false })))
  local found = entry.find(word, list)
  if #found == 1 then
    return sources.find(registry, found[1].id)
  end
  local why = entry.problem(word, found, list)
  if #found > 1 then
    return nil, output.usage("%s", why)
  end
  return nil, output.fail(errors.new("OPERATION_NOT_FOUND", why))
end

return sources
