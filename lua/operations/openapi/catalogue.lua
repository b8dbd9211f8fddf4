--- The operations of a document that is fetched again: registries follow it in the background. A document that cannot
--- be fetched, read or registered changes nothing.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local log = require("operations.task.log")
local members = require("operations.base.members")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")
local url = require("operations.base.url")

local catalogue = {}

---@class operations.openapi.CatalogueChanges
---@field added string[]  ids
---@field removed string[]

---@class operations.openapi.Catalogue
---@field operations operations.Definition[]  of the last document that could be read
---@field problems operations.openapi.Problem[]  its report
---@field failure? operations.Error  of the last attempt; nil: it succeeded
---@field _registries { registry: operations.Registry, change: function?, ids: table<string, true> }[]
local Catalogue = {}
Catalogue.__index = Catalogue

local function id_of(definition)
  return definition.namespace .. "." .. definition.name
end

-- The ids of a list, or why it cannot replace the operations of an entry.
local function ids_of(entry, list)
  local ids = {}
  for _, definition in ipairs(list) do
    local id = id_of(definition)
    if not entry.ids[id] and entry.registry:get_spec(id) then
      return nil, errors.new("VALIDATION_ERROR", id .. " is already registered, by another source")
    end
    ids[id] = true
  end
  return ids
end

-- Makes a registry contain the list, and nothing else of this document.
local function apply(entry, list)
  if entry.change then
    list = entry.change(list)
  end
  local ids, err = ids_of(entry, list)
  if ids then
    local _
    _, err = entry.registry:register_all(list, { replace = true })
  end
  if err then
    return err
  end
  for id in pairs(entry.ids) do
    if not ids[id] then
      entry.registry:unregister(id)
    end
  end
  entry.ids = ids
end

local function only_in(one, other)
  local known, list = {}, {}
  for _, definition in ipairs(other) do
    known[id_of(definition)] = true
  end
  for _, definition in ipairs(one) do
    list[#list + 1] = not known[id_of(definition)] and id_of(definition) or nil
  end
  return list
end

-- Takes the list of a new document; nil and the error where a registry refuses it.
local function take(self, list, report)
  local changes = { added = only_in(list, self.operations), removed = only_in(self.operations, list) }
  for _, entry in ipairs(self._registries) do
    local ok, err = pcall(apply, entry, list)
    if not ok or err then
      return nil, (errors.from(err))
    end
  end
  self.operations, self.problems = list, report
  for _, fn in ipairs(self._followers) do
    local ok, raised = pcall(fn, changes)
    if not ok then
      log.write("error", "on_change: " .. errors.text(raised))
    end
  end
  return changes
end

local function fetch_again(self)
  local list, report, known = self._load(self._known)
  if list == nil then
    return nil, report
  elseif not list or self._closed then
    return { added = {}, removed = {} }
  end
  local changes, err = take(self, list, report)
  if changes then
    self._known = known -- otherwise the same document is tried again
  end
  return changes, err
end

--- Fetches the document now. Concurrent calls share one fetch.
---@return operations.openapi.CatalogueChanges? changes
---@return operations.Error? err  what was there stays
function Catalogue:refresh()
  argument.self(self, Catalogue, "catalogue", "refresh")
  local changes, err = self._flight:run(function()
    return fetch_again(self)
  end)
  if err and (not self.failure or self.failure.message ~= err.message) and not self._closed then
    log.write("warn", ("%s: the document was not renewed: %s"):format(self._address, err.message))
  end
  self.failure = err
  return changes, err
end

--- Registers the operations; the registry follows the document until the catalogue is closed.
---@param registry operations.Registry
---@param change? fun(definitions: operations.Definition[]): operations.Definition[]  makes the definitions to be
---  registered, each time
---@return string[]? ids
---@return operations.Error? err
function Catalogue:register(registry, change)
  argument.self(self, Catalogue, "catalogue", "register")
  argument.object(registry, "register_all", "registry", 1, "register")
  argument.optional(change, "function", 2, "register")
  local list = change and change(self.operations) or self.operations
  local ids, err = registry:register_all(list)
  if not ids then
    return nil, err
  end
  table.insert(self._registries, { registry = registry, change = change, ids = members.set(ids) })
  return ids
end

--- Calls a function when the document has changed.
---@param fn fun(changes: operations.openapi.CatalogueChanges)
function Catalogue:on_change(fn)
  argument.self(self, Catalogue, "catalogue", "on_change")
  argument.expect(fn, "function", 1, "on_change")
  table.insert(self._followers, fn)
end

--- Fetches the document no more. The operations stay registered.
function Catalogue:close()
  self._closed = true
  self._keeper:cancel()
end

local function keep(self, seconds)
  while not self._closed do
    task.sleep(seconds)
    self:refresh()
  end
end

--- Makes the catalogue of a document that was loaded, and keeps it current.
---@param address string
---@param seconds number
---@param loaded { operations: table[], problems: table[], known: table }
---@param load fun(known: table): operations.Definition[]|false|nil, any, table?  false: it has not changed
---@return operations.openapi.Catalogue
function catalogue.new(address, seconds, loaded, load)
  local self = setmetatable({ operations = loaded.operations, problems = loaded.problems, failure = nil,
    _known = loaded.known, _load = load, _address = url.redact(address), _registries = {}, _followers = {},
    _closed = false, _flight = single_flight.new() }, Catalogue)
  self._keeper = task.detach(keep, self, seconds)
  return self
end

return catalogue
