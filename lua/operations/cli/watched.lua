--- A directory of definitions that are loaded again when their files change. Errors are reported, and the previous
--- definitions stay.
local loader = require("operations.sources.loader")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local scanner = require("operations.registry.scanner")
local system = require("operations.system")

local watched = {}

---@class operations.cli.WatchedFile
---@field version string
---@field ids table<string, boolean>  of its operations
---@field stop? fun()  calls its hook `stop`

---@class operations.cli.Watched
---@field _directory string
---@field _registry operations.Registry
---@field _prepare fun(definition: table)
---@field _start fun(definitions: table[]): fun()?
---@field _files table<string, operations.cli.WatchedFile>
---@field _unreadable? boolean  it cannot be read, which was reported
local Watched = {}
Watched.__index = Watched

-- Registers one definition of a file; its id, or nil when it is refused.
local function take_definition(self, file, definition)
  self._prepare(definition)
  local id = tostring(definition.namespace) .. "." .. tostring(definition.name)
  local taken, err = loader.register(self._registry, definition, { replace = file.ids[id] })
  if not taken then
    loader.tell(definition, err, output)
  end
  return taken
end

local function forget(self, ids)
  for id in pairs(ids) do
    self._registry:unregister(id)
  end
end

local function names(ids)
  return table.concat(members.names(ids), ", ")
end

-- Loads a file; removes operations that it no longer gives, unless part of it is invalid.
local function take_file(self, path, file)
  local list, whole = loader.file(path, { face = output })
  local ids, stop = {}, whole and self._start(list) or nil
  whole = stop ~= nil
  for _, definition in ipairs(whole and list or {}) do
    local id = take_definition(self, file, definition)
    whole = whole and id ~= nil
    if id then
      ids[id] = true
      file.ids[id] = nil
    end
  end
  if whole then
    forget(self, file.ids)
    file.ids, file.stop, stop = {}, stop, file.stop
  end
  if stop then -- of the previous version, or of one that was refused
    stop()
  end
  for id in pairs(file.ids) do
    ids[id] = true
  end
  file.ids = ids
  return whole
end

local function check_file(self, path, first)
  local _, _, version = system.kind(path)
  local file = self._files[path] or { version = "", ids = {} }
  if not version or file.version == version then
    return
  end
  self._files[path], file.version = file, version
  local whole = take_file(self, path, file)
  if first then
    return
  elseif whole then
    output.complain("%s: serving %s", path, names(file.ids))
  elseif next(file.ids) then
    output.complain("%s: the invalid part of %s keeps its previous version", path, names(file.ids))
  end
end

-- Removes the operations of deleted files.
local function forget_files(self, paths)
  local there = members.set(paths)
  for path, file in pairs(self._files) do
    if not there[path] then
      self._files[path] = nil
      forget(self, file.ids)
      if file.stop then
        file.stop()
      end
      output.complain("%s: the file is gone; %s is no longer served", path, names(file.ids))
    end
  end
end

--- Loads the changes.
---@return operations.Error? err  the directory cannot be read
function Watched:check()
  local paths, problems = scanner.files(self._directory)
  if not paths then
    if not self._unreadable then
      output.failure(problems)
    end
    self._unreadable = true
    return problems
  end
  local first = self._files == nil
  self._files, self._unreadable = self._files or {}, false
  if first then
    for _, problem in ipairs(problems) do
      output.problem(problem)
    end
  end
  forget_files(self, paths) -- first: a file may have been renamed
  for _, path in ipairs(paths) do
    check_file(self, path, first)
  end
end

--- Registers the definitions of a directory.
---@param directory string
---@param registry operations.Registry
---@param prepare fun(definition: table)  called with each definition before it is registered
---@param start fun(definitions: table[]): fun()?  calls the hooks `start` of a file, and returns what calls those to
---  stop
---@return operations.cli.Watched?  nil: the directory cannot be read, which was reported
function watched.new(directory, registry, prepare, start)
  local self = setmetatable({ _directory = directory, _registry = registry, _prepare = prepare, _start = start,
    _files = nil, _unreadable = nil }, Watched)
  return not self:check() and self or nil
end

return watched
