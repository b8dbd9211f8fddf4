--- Many servers at once, from `mcp.json` files. A failing server does not affect the others.
local argument = require("operations.base.argument")
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local entries = require("operations.mcp.client.entries")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")
local task_map = require("operations.task.map")
local task_wait = require("operations.task.wait")
local waits = require("operations.mcp.client.waits")

local servers = {}

---@class operations.mcp.Problem
---@field name string  of the server
---@field namespace string  of its operations
---@field message string
---@field err? operations.Error  the server failed
---@field path? string  JSON Pointer of the error in the file

---@class operations.mcp.Servers
---@field names string[]  of all servers, in order, including disabled ones
---@field clients table<string, operations.mcp.Client>  by the name of the server
---@field operations operations.Definition[]  current operations of all servers, in their order
---@field problems operations.mcp.Problem[]  failed servers, unknown keys, tools left out
local Servers = {}

function Servers.__index(self, key)
  if key ~= "operations" then
    return Servers[key]
  end
  local list = {}
  for _, name in ipairs(self.names) do
    local client = self.clients[name]
    list = members.joined(list, client and client.state ~= "stopped" and client.state ~= "disabled"
      and client.operations or {})
  end
  return list
end

-- The parts of a configuration from the file, which are read again for each start.
local in_file = { "command", "args", "env", "cwd", "url", "headers" }

-- The part of an entry that a restart reads again.
local function renewed(self, entry)
  local all, own = entries.config(entry, self._common, self._options), {}
  for _, key in ipairs(in_file) do
    own[key] = all[key]
  end
  return own
end

-- Kinds of members in the words of JSON; other tables are objects.
local words = { string = "a string", number = "a number", boolean = "true or false" }
local lists = { args = true, env_allow = true, disabled_tools = true, include = true, exclude = true }

-- The text of a misuse of `from_mcp`, which names a member of the file.
local function in_words_of_file(entry, raised)
  local text = tostring(raised):gsub("^[^\n]-:%d+: ", ""):gsub("^from_mcp: ", "")
  local wrong, expected, got = text:match("^bad option '([%w_]+)' to 'from_mcp' %((%l+).- expected, got (%l+)%)$")
  if wrong then
    text = ("config.%s: expected %s, got %s"):format(wrong, words[expected] or lists[wrong] and "an array"
      or "an object", got == "table" and "an array or object" or got)
  end
  local option, rest = text:match("^config%.([%w_]+)(.*)$")
  return option and ("%s.%s%s"):format(entry.place, entries.key_of(entry, option), rest)
    or entry.place .. text:gsub("^config", "")
end

-- A client of an entry, which is not connected yet.
local function make(self, entry)
  if type(entry.value) ~= "table" then
    return nil, errors.new("VALIDATION_ERROR", entry.place .. ": its entry is not an object")
  end
  local ok, made = pcall(function()
    local own = entries.config(entry, self._common, self._options)
    own.tools = own.tools and own.tools[entry.name]
    own = config.check(entry.name, own)
    return clients.new(entry.name, own, self._open, function()
      return renewed(self, entry)
    end)
  end)
  if ok then
    return made
  elseif errors.is_error(made) then
    return nil, made
  end
  return nil, errors.new("VALIDATION_ERROR", in_words_of_file(entry, made))
end

function Servers:_tell(name, state, err)
  local waiting = self._waiting
  self._waiting = {}
  task_wait.wake(waiting)
  for _, listener in ipairs(self._listeners) do
    local ok, raised = xpcall(listener, errors.traced, name, state, err)
    if not ok then
      task.on_error(raised, raised)
    end
  end
end

-- Begins to connect to one server; afterwards it has a client or a failure.
local function start(self, entry)
  local client, err = make(self, entry)
  self._starting[entry.name] = nil
  self._failures[entry.name] = err
  if not client then
    return nil, err
  end
  self.clients[entry.name] = client
  client:on_state(function(state, reason)
    self:_tell(entry.name, state, reason)
  end)
  for _, registry in ipairs(self._registries) do
    client:register(registry)
  end
  local ok
  ok, err = client:_start()
  if ok and client.refused then
    return nil, client.refused
  end
  return ok, err
end

local function problem_of(entry, message, path, err)
  return { name = entry.name, namespace = entry.namespace, message = message, path = path, err = err }
end

-- The problems, in the order of the servers.
local function collect(self, found)
  for _, entry in ipairs(self._entries) do
    for _, problem in ipairs(found[entry] or {}) do
      table.insert(self.problems, problem_of(entry, problem.message, problem.path))
    end
    local client = self.clients[entry.name]
    local err = self._failures[entry.name] or client and client.reason
    if err then
      table.insert(self.problems, problem_of(entry, err.message, nil, err))
    end
    for _, problem in ipairs(client and client.problems or {}) do
      local message = ("tool %s: %s"):format(problem.name, problem.message)
      table.insert(self.problems, problem_of(entry, message))
    end
  end
end

-- An object with the entries of a file or table, and their problems by entry.
local function new(source, common, options, open)
  local found = {}
  local function report(entry, message, path)
    found[entry] = found[entry] or {}
    table.insert(found[entry], { message = message, path = path })
  end
  local list, problem = entries.list(source, report)
  if not list then
    return nil, problem
  end
  local self = setmetatable({
    names = {}, clients = {}, problems = {}, _entries = list, _common = common, _options = options, _open = open,
    _failures = {}, _starting = {}, _registries = {}, _listeners = {}, _waiting = {},
    _flights = single_flight.new(),
  }, Servers)
  for i, entry in ipairs(list) do
    self.names[i], self._entries[entry.name] = entry.name, entry
    entries.check(entry, report)
  end
  return self, found
end

-- Is a server started at once?
local function is_wanted(self, entry)
  local chosen = self._options.start
  return not entries.is_disabled(entry) and (chosen == nil or chosen(entry.name, entry.namespace))
end

-- Connects to the servers in the background; `on_state` reports each.
local function start_behind(self)
  for _, entry in ipairs(self._entries) do
    if is_wanted(self, entry) then
      self._starting[entry.name] = true
      task.detach(function()
        self:enable(entry.name)
      end)
    end
  end
end

--- Connects to all servers of a file or table, several at the same time.
---@param source string|table  a path; or `{ mcpServers = { name = { command =, args =, env =, url =, ... } } }`
---@param common operations.mcp.Config  for all servers, and `workspace`; `wait = false`: returns before they are
---  connected; `start`: function(name, namespace) that selects the servers to start
---@param open function
---@return operations.mcp.Servers?
---@return operations.Error? err  the file cannot be read, or lists no servers
function servers.load(source, common, open)
  local path = type(source) == "string" and source or nil
  if path then
    local value, err = entries.read(path)
    if not value then
      return nil, err
    end
    source = value
  end
  local options, is_awaited = { workspace = common.workspace, start = common.start }, common.wait ~= false
  common = members.merged(common)
  common.workspace, common.wait, common.start = nil, nil, nil
  local self, found = new(source, common, options, open)
  if not self then
    return nil, errors.new("VALIDATION_ERROR", (path and path .. ": " or "") .. found, { location = path })
  end
  if not is_awaited then
    collect(self, found)
    start_behind(self)
    return self
  end
  local ok, err = task_map.map(self._entries, function(entry)
    if is_wanted(self, entry) then
      start(self, entry)
    end
  end)
  if not ok then
    self:close()
    return nil, err
  end
  collect(self, found)
  return self
end

--- Registers the operations of all servers, in order, and updates the registry with their lists, also for servers that
--- are enabled later.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function Servers:register(registry)
  argument.expect(registry, "table", 1, "register")
  local all = {}
  for _, name in ipairs(self.names) do
    local client = self.clients[name]
    if client then
      local ids, err = client:register(registry)
      if not ids then
        return nil, err
      end
      all = members.joined(all, ids)
    end
  end
  table.insert(self._registries, registry)
  return all
end

--- The state of a server: its client's; without one "connecting" before it is made, "lost" when its entry is wrong,
--- "disabled" by the file, or "stopped" when `start` has not selected it.
---@param name string
---@return operations.mcp.State? state  nil: unknown server
---@return operations.Error? err  why it is not connected
function Servers:state(name)
  local client, entry = self.clients[name], self._entries[name]
  if client then
    return client.state, client.reason
  elseif not entry then
    return nil
  elseif self._starting[name] then
    return "connecting"
  elseif self._failures[name] then
    return "lost", self._failures[name]
  end
  return entries.is_disabled(entry) and "disabled" or "stopped"
end

local function is_connecting(self, fresh)
  for _, name in ipairs(self.names) do
    local client = self.clients[name]
    if self:state(name) == "connecting" and (fresh or not (client and client.operations[1])) then
      return true
    end
  end
  return false
end

--- Waits until no server is connecting, as `client:wait` does.
---@param timeout? number  ms
---@param fresh? boolean
function Servers:wait(timeout, fresh)
  argument.optional(timeout, "number", 1, "wait")
  local ends = timeout and scheduler.now() + timeout or math.huge
  while is_connecting(self, fresh) and scheduler.now() < ends do
    local interruption = waits.woken(self._waiting, timeout and ends - scheduler.now())
    if interruption ~= nil then
      return
    end
  end
end

--- Calls a function when the state of a server changes. It must not wait.
---@param fn fun(name: string, state: operations.mcp.State, err: operations.Error?)
function Servers:on_state(fn)
  argument.expect(fn, "function", 1, "on_state")
  table.insert(self._listeners, fn)
end

local function find(self, name)
  local entry = self._entries[name]
  if not entry then
    return nil, errors.new("VALIDATION_ERROR", ("there is no server %q"):format(name))
  end
  return entry
end

local function first_start(self, entry)
  local ok, err = start(self, entry)
  if not self.clients[entry.name] then
    self:_tell(entry.name, self:state(entry.name))
  end
  return ok, err
end

--- Starts a server that is disabled, stopped or has failed; its operations are added to the registries of `register`.
---@param name string
---@return true?
---@return operations.Error? err
function Servers:enable(name)
  argument.expect(name, "string", 1, "enable")
  local entry, unknown = find(self, name)
  if not entry then
    return nil, unknown
  end
  return self._flights:run(function()
    local client = self.clients[name]
    if not client then
      return first_start(self, entry)
    elseif client.state == "connected" then
      return true
    end
    return client:restart()
  end, name)
end

--- Closes a server; its operations are removed from the registries.
---@param name string
---@return true?
---@return operations.Error? err
function Servers:disable(name)
  argument.expect(name, "string", 1, "disable")
  local entry, unknown = find(self, name)
  if not entry then
    return nil, unknown
  elseif self.clients[name] then
    self.clients[name]:_end("disabled")
  end
  return true
end

--- Ends all connections at the same time.
---@param options? { keep?: boolean }  as for `client:close`
function Servers:close(options)
  local list = {}
  for _, name in ipairs(self.names) do
    list[#list + 1] = self.clients[name]
  end
  task_map.map(list, function(client)
    client:close(options)
    return true
  end)
end

function Servers.__close(self)
  self:close()
end

return servers
