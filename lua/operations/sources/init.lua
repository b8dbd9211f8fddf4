--- Loads what the command line remembers, for programs: `operations.sources.load("github")`.
local argument = require("operations.base.argument")
local credentials = require("operations.sources.credentials")
local errors = require("operations.base.error")
local loader = require("operations.sources.loader")
local loopback = require("operations.oauth.loopback")
local registries = require("operations.registry")
local remembered = require("operations.sources.remembered")

---@class operations.sources
local sources = {}

---@class operations.SourceOptions
---@field profile? string  of the source; default: OPERATIONS_PROFILE of the environment
---@field registry? operations.Registry  gets the operations; default: a new one
---@field refresh? boolean  fetches the document again, even if it is cached
---@field ask? fun(text: string, changed: string[]): boolean  asks a person whether the file of a project is trusted:
---  what it would run, and the files that changed since; default: the answer is no
---@field log? fun(level: string, message: string)  default: writes warnings and errors to standard error

---@class operations.LoadedSource
---@field name string
---@field kind string  "openapi", "graphql", "lua", "command", "mcp", "mcp-config", "redis" or "websocket"
---@field registry operations.Registry
---@field _things { close: fun(self: table) }[]
local LoadedSource = {}
LoadedSource.__index = LoadedSource

--- Ends its servers and connections.
function LoadedSource:close()
  while #self._things > 0 do
    table.remove(self._things):close()
  end
end

local function write(level, message)
  if level == "warn" or level == "error" then
    io.stderr:write("operations: ", message, "\n")
  end
end

-- The log gets what the terminal of the command line shows; the program is asked.
local function face_of(name, options, things)
  local log = options.log or write
  return {
    complain = function(format, ...) log("warn", format:format(...)) end,
    notice = function(format, ...) log("warn", format:format(...)) end,
    failure = function(err) log("error", errors.text(err)) end,
    problem = function(problem) log("error", ("%s: %s"):format(problem.path, problem.message)) end,
    progress = function(text) log("debug", text) end,
    person = function()
      return options.ask and { trust = function(subject, changed)
        return options.ask(table.concat(subject:text(), "\n"), changed) == true
      end } or nil
    end,
    login = function()
      return { store = credentials.store(), redirect_uri = loopback.browser(write).redirect_uri, open = function()
        return nil, errors.new("ACCESS_DENIED", ("a user has to log in to %s: operations login %s"):format(name, name),
          { kind = "oauth", error = "login_required" })
      end }
    end,
    at_end = function(thing) things[#things + 1] = thing end,
  }
end

local function failure(name, reason)
  if errors.is_error(reason) then
    return reason
  end
  return errors.new("EXECUTION_ERROR", ("the source %s: %s"):format(name, reason or "its files have problems"),
    { kind = "source" })
end

local kinds = { profile = "string", registry = "table", refresh = "boolean", ask = "function", log = "function" }

--- Loads a source that `operations add` remembered, or that a trusted project's file names: with its options, cache,
--- secrets and logins.
---@param name string
---@param options? operations.SourceOptions
---@return operations.LoadedSource?
---@return operations.Error? err
function sources.load(name, options)
  argument.expect(name, "string", 1, "load")
  argument.optional(options, "table", 2, "load")
  options = options or {}
  argument.options(options, kinds, "load")
  local things = {}
  local face = face_of(name, options, things)
  local named, message = remembered.named({ profile = options.profile }, face)
  local source
  if named then
    source, message = named:get(name)
  end
  if not source then
    return nil, failure(name, message)
  end
  local registry, log = options.registry or registries.new(), options.log or write
  local self = setmetatable({ name = name, kind = source.kind, registry = registry, _things = things }, LoadedSource)
  local list, err = loader.load(source, { face = face, log = log, refresh = options.refresh,
    reliable = source.entry.reliable }, registry)
  local ids
  if list then
    ids, err = registry:register_all(list)
  end
  if not ids then
    self:close()
    return nil, failure(name, err)
  end
  return self
end

return sources
