--- What a server offers, as its client has it: listed, listed again when it changes, kept in step in registries.
local argument = require("operations.base.argument")
local core = require("operations.core")
local definitions = require("operations.mcp.client.definitions")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")
local task = require("operations.task")

---@class operations.mcp.Client
local offer = {}

-- How long after a list news of the server wait to be listed, together, ms: twice as long each time there are some.
local PAUSE, LONGEST = 50, 30000

-- All items of a list that comes page by page. A cursor is opaque, "" is one too; no cursor, or null, is the end. A
-- server that gives the same cursor twice, or does not come to an end, is told of and asked no further.
function offer:_list(method, key, options)
  local items, seen, cursor = marks.array(), {}, nil
  local problem = ("the list has more than %d pages"):format(limits.mcp_pages)
  for _ = 1, limits.mcp_pages do
    local page, err = self:request(method, { cursor = cursor }, options)
    if not page then
      return nil, err
    end
    for _, item in ipairs(page[key]) do
      items[#items + 1] = item
    end
    cursor = page.nextCursor
    if cursor == nil or cursor == core.null then
      return items
    elseif seen[cursor] then
      problem = "the list repeats itself: the cursor of one page leads back to it"
      break
    end
    seen[cursor] = true
  end
  self._config.log("warn", ("%s: %s: %s"):format(self.name, method, problem))
  return items
end

-- The list of a method that a server need not have.
local function list_of(self, method, key, options)
  local items, err = self:_list(method, key, options)
  if not items and err.details and err.details.rpcCode == message.codes.METHOD_NOT_FOUND then
    return {}
  end
  return items, err
end

local function load(self, options)
  local problems, tools, err = {}, {}, nil
  if self:has("tools") then
    tools, err = list_of(self, "tools/list", "tools", options)
  end
  if not tools then
    return nil, err
  end
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
  local difference = definitions.changes(self.operations, list)
  self.operations, self.problems, self._plans = list, problems, plans
  return difference
end

local function refresh(self, options)
  return self._refreshing:run(function()
    self._stale = false -- what the server says from here on is news
    self._cache:forget("tools/list")
    local session = self._session
    self.server, self.instructions, self.version = session.server, session.instructions, session.version
    local difference, err = load(self, options)
    if difference and #difference.added + #difference.removed + #difference.changed > 0 then
      self:_tell(self._followers, difference)
    end
    return difference, err
  end)
end

--- Lists again what the server has; whoever follows is told of what changed. Who asks while it is being listed gets
--- that list.
---@return operations.mcp.Changes?
---@return operations.Error? err
function offer:refresh()
  return refresh(self, {})
end

local attached = { attached = true }

-- Lists again if there is news; false when there is none, or nobody for it.
local function catch_up(self)
  if not self or self._closed then
    return false
  elseif not self._stale then
    self._following = false
    return false
  end
  local returned, ok, err = pcall(refresh, self, attached)
  if not returned then
    self._following = false
    error(ok, 0)
  elseif not ok and not self._closed and not (err.details and err.details.kind == "closed") then
    self._config.log("warn", ("%s: the list could not be read again: %s"):format(self.name, err.message))
  end
  return true
end

-- Between two lists, this does not keep the client.
local function follow(owner)
  local pause = PAUSE
  while catch_up(owner.client) do
    task.sleep(pause / 1000)
    pause = math.min(2 * pause, LONGEST)
  end
end

-- The server says that its list changed; several times is once. A list that is on its way then may be the old one.
function offer:_refresh_later()
  self._stale = true
  if not self._following then
    self._following = true
    task.detach(follow, self._session.owner)
  end
end

--- Has a function told when the server's list changes.
---@param fn fun(changes: operations.mcp.Changes)
function offer:on_change(fn)
  argument.expect(fn, "function", 1, "on_change")
  table.insert(self._followers, fn)
end

--- Has a function told of every notification of the server.
---@param fn fun(method: string, params: table)
function offer:on_notification(fn)
  argument.expect(fn, "function", 1, "on_notification")
  table.insert(self._listeners, fn)
end

--- Registers the server's operations, and keeps the registry in step with its list.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function offer:register(registry)
  argument.expect(registry, "table", 1, "register")
  local ids, err = registry:register_all(self.operations)
  if not ids then
    return nil, err
  end
  self:on_change(function(difference)
    local ok, problem = definitions.apply(registry, difference)
    if not ok then
      self._config.log("warn", ("%s: %s"):format(self.name, tostring(problem)))
    end
  end)
  return ids
end

return offer
