--- All sources of the editor, those of setup() and those that plugins added, in one registry. They start on first use,
--- in the background. A failing source is reported and does not affect the others.
local asking = require("operations.people.asking")
local form = require("operations.nvim.form")
local log = require("operations.nvim.log")
local members = require("operations.base.members")
local operations = require("operations")
local source = require("operations.nvim.source")
local task = require("operations.task")
local task_wait = require("operations.task.wait")

local vim = rawget(_G, "vim")

local sources = {}

---@class operations.nvim.Sources
---@field registry operations.Registry
---@field _list operations.nvim.Source[]
---@field _waiting table  tasks that wait for a change
---@field _listeners fun(name?: string, state?: string, err?: operations.Error)[]
local Sources = {}
Sources.__index = Sources

local function teller(self)
  return function(name, state, err)
    local waiting = self._waiting
    self._waiting = {}
    task_wait.wake(waiting)
    for _, listener in ipairs(members.joined(self._listeners)) do
      listener(name, state, err)
    end
  end
end

--- Starts the sources that are not started yet; does not wait.
---@param completes? boolean  for a completion: nothing that the current directory brought is started or asked for
function Sources:begin(completes)
  self._begun = true
  for _, one in ipairs(members.joined(self._list)) do
    if not (completes and one.is_brought) then
      one:begin()
    end
  end
end

local function add(self, one)
  table.insert(self._list, one)
  if self._begun and not one.is_brought or one.kind == "operations" then
    one:begin()
  end
  return one
end

-- The source that has a part of this name.
local function find(self, name)
  for _, one in ipairs(self._list) do
    if vim.tbl_contains(one.names, name) then
      return one
    end
  end
end

--- Replaces the sources of setup() by those that it names now.
---@param options operations.nvim.Options
function Sources:configure(options)
  for i = #self._list, 1, -1 do
    if not self._list[i].is_added then
      table.remove(self._list, i):close()
    end
  end
  self.configuration, self._begun = options, false
  local tell, apis = self._tell, options.apis or {}
  if options.servers ~= nil then
    add(self, source.servers(options.servers, {}, options.mcp, self.registry, tell))
  end
  local names = vim.tbl_keys(apis)
  table.sort(names)
  for _, name in ipairs(names) do
    add(self, source.api(name, apis[name], self.registry, tell))
  end
end

--- Adds a source of a plugin.
---@param name string
---@param spec operations.nvim.SourceSpec  checked
---@return operations.nvim.Source
function Sources:add(name, spec)
  local one
  if spec.mcp then
    one = source.servers({ mcpServers = { [name] = spec.mcp } }, { name }, self.configuration.mcp, self.registry,
      self._tell)
  elseif spec.openapi then
    one = source.api(name, spec.openapi, self.registry, self._tell)
  elseif spec.directory then
    one = source.directory(name, spec.directory, self.registry, self._tell)
  else
    one = source.operations(name, spec.operations, self.registry, self._tell)
  end
  one.is_added = true
  return add(self, one)
end

--- Removes a source and its operations; does not wait.
---@param one operations.nvim.Source
function Sources:remove(one)
  if members.remove(self._list, one) then
    one:close()
  end
end

--- The state of every source, in order.
---@return operations.nvim.State[]
function Sources:states()
  local list = {}
  for _, one in ipairs(self._list) do
    for _, name in ipairs(one.names) do
      local state, err, count = one:state(name)
      list[#list + 1] = { name = name, kind = one.kind, state = state, err = err, operations = count,
        is_added = one.is_added == true }
    end
  end
  return list
end

--- Why the file of servers of setup() could not be read.
---@return operations.Error?
function Sources:problem()
  for _, one in ipairs(self._list) do
    if one.kind == "mcp" and one.problem then
      return one.problem
    end
  end
end

--- Restarts, enables or disables a source. Waits.
---@param action "restart"|"enable"|"disable"
---@param name string
---@return true?
---@return any err
function Sources:act(action, name)
  local one = find(self, name)
  if not one then
    return nil, ("there is no server or API '%s'"):format(name)
  end
  return one:act(action, name)
end

--- Reads the files and documents again: closes running servers, and starts those that are in the file now. Waits.
function Sources:reload()
  for _, one in ipairs(members.joined(self._list)) do
    if one.kind ~= "operations" then
      one:reload()
    end
  end
end

--- The sources that are starting, as text.
---@return string[]
function Sources:pending()
  local names = {}
  for _, one in ipairs(self._list) do
    if one.pending then
      names[#names + 1] = one.pending
    end
  end
  for _, entry in ipairs(self:states()) do
    if entry.state == "connecting" then
      names[#names + 1] = entry.name
    end
  end
  table.sort(names)
  return names
end

--- Starts the sources that are not started yet and waits until the operation is registered, or no more will come.
---@param id string
---@return operations.Spec?
function Sources:spec(id)
  self:begin()
  while not self.registry:get_spec(id) and #self:pending() > 0 do
    task.await(function(wake)
      return task_wait.add(self._waiting, wake)
    end)
  end
  return (self.registry:get_spec(id))
end

--- Calls a function when operations were added or removed, or the state of a source has changed. It must not wait.
---@param fn fun(name?: string, state?: operations.mcp.State, err?: operations.Error)
---@return fun() stop
function Sources:follow(fn)
  table.insert(self._listeners, fn)
  return function()
    members.remove(self._listeners, fn)
  end
end

--- The file of the servers of setup() and its current entries.
---@return string? path
---@return table<string, table>? servers
---@return operations.Error? err
function Sources:configured()
  for _, one in ipairs(self._list) do
    if one.kind == "mcp" and not one.is_added then
      return one:configured()
    end
  end
  return nil, {}
end

--- Ends all sources; may be called where waiting is impossible.
---@param ended? fun()  called when all have ended
function Sources:close(ended)
  local list = self._list
  local left = #list + 1
  local function one_ended()
    left = left - 1
    if left == 0 and ended then
      vim.schedule(ended)
    end
  end
  self._list = {}
  for _, one in ipairs(list) do
    one:close(one_ended)
  end
  one_ended()
end

-- Rules that cannot be read must not leave calls without rules: then each is blocked, and the log says why.
local function policy_of(given)
  if not given then
    return nil
  end
  local ask = function(call)
    return asking.approve(form.person, call)
  end
  local path, is_brought, policy, err
  if type(given) == "string" then
    path, is_brought = source.find(given)
  end
  if is_brought then
    err = path .. ": rules are not taken from the current directory"
  else
    policy, err = operations.policy(path or given, { ask = ask, face = "editor" })
  end
  if not policy then
    log.write("error", "policy: " .. tostring(err))
    policy = assert(operations.policy({ { action = "block", name = "the policy cannot be read" } }))
  end
  return policy
end

---@param registry? operations.Registry
---@param policy? operations.PolicyRule[]|string
---@return operations.nvim.Sources
function sources.new(registry, policy)
  policy = policy_of(policy)
  registry = registry or operations.registry({ log = log.write, policy = policy })
  local self = setmetatable({ registry = registry, policy = policy, _list = {}, _waiting = {}, _listeners = {},
    configuration = {} }, Sources)
  self._tell = teller(self)
  return self
end

return sources
