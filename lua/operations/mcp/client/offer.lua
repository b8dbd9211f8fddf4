--- The client's list of a server's tools, resources and prompts: fetched again when it changes, applied to registries.
local argument = require("operations.base.argument")
local definitions = require("operations.mcp.client.definitions")
local message = require("operations.mcp.protocol.message")
local results = require("operations.mcp.protocol.result")
local task = require("operations.task")

---@class operations.mcp.Client
local offer = {}

-- The pause after a list before the next one, ms; doubles while changes keep coming.
local PAUSE, LONGEST = 50, 30000

-- All items of a list; a list that is not read to its end is reported.
function offer:_list(method, key, options)
  local items, err, problem = results.collect(key, function(cursor)
    return self:request(method, { cursor = cursor }, options)
  end)
  if problem then
    self._config.log("warn", ("%s: %s: %s"):format(self.name, method, problem))
  end
  return items, err
end

-- The list of an optional method.
local function list_of(self, method, key, options)
  local items, err = self:_list(method, key, options)
  if not items and err.details and err.details.rpcCode == message.codes.METHOD_NOT_FOUND then
    return {}
  end
  return items, err
end

--- Makes operations of the tools, and offers them.
---@param tools table[]
---@return operations.mcp.Changes
function offer:_take(tools)
  local problems = {}
  local list, plans = definitions.of_tools(self, tools, function(name, text)
    problems[#problems + 1] = { name = name, message = text }
    self._config.log("warn", ("%s: tool %s: %s"):format(self.name, name, text))
  end)
  local taken = {}
  for _, definition in ipairs(list) do
    taken[definition.name] = true
  end
  for _, definition in ipairs(definitions.of_server(self)) do
    if taken[definition.name] then
      problems[#problems + 1] = { name = definition.name, message = "a tool has the name of an operation of ours" }
    else
      list[#list + 1] = definition
    end
  end
  self._listed, self.problems, self._plans = list, problems, plans
  return self:_offer()
end

local function load(self, options)
  local tools, err = {}, nil
  if self._session.known and next(self._session.capabilities) == nil then
    self._config.log("warn", self.name .. ": the server declares no capabilities, so it is not asked for tools")
  end
  if self:has("tools") then
    tools, err = list_of(self, "tools/list", "tools", options)
  end
  if not tools then
    return nil, err
  end
  return self:_take(tools)
end

-- Makes each registry contain the list, and nothing else of this server.
function offer:_publish(list)
  for _, entry in ipairs(self._registries) do
    local ok, problem = definitions.apply(entry.registry, definitions.changes(entry.has, list))
    entry.has, self.refused = list, problem
    if not ok then
      self._config.log("warn", ("%s: %s"):format(self.name, tostring(problem)))
    end
  end
end

-- Offers the list without disabled tools; notifies listeners of the changes.
function offer:_offer()
  local list = {}
  for _, definition in ipairs(self._listed) do
    list[#list + 1] = not self._disabled[definition._meta.tool] and definition or nil
  end
  local difference = definitions.changes(self.operations, list)
  self.operations = list
  if #difference.added + #difference.removed + #difference.changed > 0 then
    self:_tell(self._followers, difference)
  end
  if not self._closed then
    self:_publish(list)
  end
  return difference
end

local function refresh(self, options)
  return self._refreshing:run(function()
    self._stale = false -- messages from here on are new
    self._cache:forget("tools/list")
    local session = self._session
    self.server, self.instructions, self.version = session.server, session.instructions, session.version
    local difference, err = load(self, options)
    if difference and self._session == session and not self._closed then
      self._has_list = true
      if session._is_up then
        self:_enter("connected")
      end
    end
    return difference, err
  end)
end

--- Fetches the lists again and notifies listeners of changes. Concurrent calls get the same lists.
---@return operations.mcp.Changes?
---@return operations.Error? err
function offer:refresh()
  return refresh(self, {})
end

local attached = { attached = true }

-- Lists again if there are changes; false if there are none, or no client.
local function catch_up(self)
  if not self then
    return false
  elseif self._closed or not self._stale then
    self._following = false
    return false
  end
  local returned, ok, err = pcall(refresh, self, attached)
  if not returned then
    self._following = false
    error(ok, 0)
  elseif not ok and not self._closed and not (err.details and err.details.kind == "closed") then
    if self._unread ~= err.message then
      self._config.log("warn", ("%s: the list could not be read again: %s"):format(self.name, err.message))
    end
    self._stale = true -- tries again
  end
  self._unread = err and err.message
  return true
end

-- Between two lists, this does not keep the client alive.
local function follow(owner)
  local pause = PAUSE
  while catch_up(owner.client) do
    task.sleep(pause / 1000)
    pause = math.min(2 * pause, LONGEST)
  end
end

-- The server reports a change of its list; several reports count once. A list being fetched may be the old one.
function offer:_refresh_later()
  self._stale = true
  if not self._following then
    self._following = true
    task.detach(follow, self._session.owner)
  end
end

--- Calls a function when the server's list changes.
---@param fn fun(changes: operations.mcp.Changes)
function offer:on_change(fn)
  argument.expect(fn, "function", 1, "on_change")
  table.insert(self._followers, fn)
end

--- Calls a function for every notification of the server.
---@param fn fun(method: string, params: table)
function offer:on_notification(fn)
  argument.expect(fn, "function", 1, "on_notification")
  table.insert(self._listeners, fn)
end

--- The tools of the server, in its order, including disabled ones.
---@return { name: string, id: string, enabled: boolean }[]  name: the server's own; id: of the operation
function offer:tools()
  local list = {}
  for _, definition in ipairs(self._listed) do
    local tool = definition._meta.tool
    if tool then
      local id = definition.namespace .. "." .. definition.name
      list[#list + 1] = { name = tool, id = id, enabled = not self._disabled[tool] }
    end
  end
  return list
end

local function switch(self, tool, is_disabled)
  self._disabled[tool] = is_disabled
  self:_offer()
  for _, entry in ipairs(self:tools()) do
    if entry.name == tool then
      return true
    end
  end
  return false
end

--- Disables a tool: removes it from the client's operations and registries; calls of it fail.
---@param tool string  the server's own name
---@return boolean known  false: the server has no such tool now; it is disabled if it appears
function offer:disable(tool)
  argument.expect(tool, "string", 1, "disable")
  return switch(self, tool, true)
end

--- Enables a disabled tool.
---@param tool string  the server's own name
---@return boolean known
function offer:enable(tool)
  argument.expect(tool, "string", 1, "enable")
  return switch(self, tool, nil)
end

-- The state of a registry with the operations.
local function entry_of(self, registry)
  for _, entry in ipairs(self._registries) do
    if entry.registry == registry then
      return entry
    end
  end
  local entry = { registry = registry }
  table.insert(self._registries, entry)
  return entry
end

--- Registers the server's operations, and updates the registry with the server's list until the client is closed.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function offer:register(registry)
  argument.expect(registry, "table", 1, "register")
  local ids, err = registry:register_all(self.operations)
  if not ids then
    return nil, err
  end
  entry_of(self, registry).has = self.operations
  return ids
end

return offer
