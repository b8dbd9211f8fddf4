--- The client's requests besides its operations: completions, logging, subscriptions, roots. In the modern era one
--- request stays open for messages of the server (`subscriptions/listen`, 2026-07-28), and is repeated when it ends.
local argument = require("operations.base.argument")
local backoff = require("operations.base.backoff")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

---@class operations.mcp.Client
local methods = {}

-- Listening to a server of the modern era.

-- The pause between two requests, ms: doubles with every failure.
local PAUSE, LONGEST = 500, 30000

-- Endings after which repeating is useless.
local function is_final(session, err)
  local details = err and err.details or {}
  return session._ended or details.rpcCode ~= nil or details.kind == "closed" -- the next connection gets a new listener
end

local function run(session, filter, missed)
  local failures, err = 0, nil
  while err or failures < limits.reconnects do -- a server that only ends the request is asked a few times
    local began = scheduler.now()
    local _
    _, err = session:request("subscriptions/listen", { notifications = filter },
      { timeout = session._config.max_timeout, attached = true })
    if is_final(session, err) then
      return
    end
    failures = scheduler.now() - began > LONGEST and 1 or failures + 1
    task.sleep(backoff.delay(PAUSE, failures, LONGEST) / 1000)
    missed()
  end
end

local function filter_of(session, uris)
  local filter = { resourceSubscriptions = uris[1] and uris or nil }
  for _, name in ipairs({ "tools", "prompts", "resources" }) do
    local capability = session.capabilities[name]
    if type(capability) == "table" and capability.listChanged == true then
      filter[name .. "ListChanged"] = true
    end
  end
  return next(filter) ~= nil and filter or nil
end

-- Methods.

--- Completions for the value of an argument.
---@param reference string|table  the name of a prompt, the URI template of a resource ("x://{y}"), or the table itself
---@param name string  of the argument
---@param value string  the beginning of the value
---@param others? table<string, string>  arguments with known values
---@return string[]? values
---@return operations.Error|boolean|nil more  with values: are there more than these?
function methods:complete(reference, name, value, others)
  argument.expect(name, "string", 2, "complete")
  if type(reference) == "string" then
    local is_uri = reference:find("://", 1, true)
    reference = { type = is_uri and "ref/resource" or "ref/prompt", [is_uri and "uri" or "name"] = reference }
  end
  local result, err = self:request("completion/complete", {
    ref = reference, argument = { name = name, value = value or "" }, context = others and { arguments = others },
  })
  if not result then
    return nil, err
  end
  return result.completion.values, result.completion.hasMore == true
end

--- Sets the level from which the server logs; its messages go to `config.on_log`.
---@param level "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@return true?
---@return operations.Error? err
function methods:set_log_level(level)
  argument.expect(level, "string", 1, "set_log_level")
  if self._session.modern then
    self._session:set_log_level(level)
    return true
  end
  local result, err = self:request("logging/setLevel", { level = level })
  return result and true, err
end

-- Begins to listen to a server of the modern era, or updates what it listens for.
local function listen(self)
  local owner = self._session.owner
  local filter = filter_of(self._session, members.names(self._watched))
  if not filter or self._config.stream == false then
    return self._session:listen()
  end
  self._session:listen(run, filter, function()
    local client = owner.client
    if client then
      client:_refresh_later()
    end
  end)
end

-- Tells the server which resources are watched.
local function tell_watched(self, uri, method)
  local result, err = true, nil
  if self._session.modern then
    listen(self)
  elseif method then
    result, err = self:request(method, { uri = uri })
  end
  return result and true, err
end

--- Calls a function when a resource changes.
---@param uri string
---@param fn fun(uri: string, params: table)
---@return true?
---@return operations.Error? err
function methods:subscribe(uri, fn)
  argument.expect(uri, "string", 1, "subscribe")
  argument.expect(fn, "function", 2, "subscribe")
  local was_watched = self._watched[uri] ~= nil
  self._watched[uri] = fn
  return tell_watched(self, uri, not was_watched and "resources/subscribe")
end

--- Removes the function.
---@param uri string
---@return true?
---@return operations.Error? err
function methods:unsubscribe(uri)
  argument.expect(uri, "string", 1, "unsubscribe")
  if self._watched[uri] == nil then
    return true
  end
  self._watched[uri] = nil
  return tell_watched(self, uri, "resources/unsubscribe")
end

--- Replaces the directories that the server may access.
---@param roots (string|table)[]|fun(): table[]
---@return true?
---@return operations.Error? err
function methods:set_roots(roots)
  if not self._config.roots then
    error("config.roots was not given: the server does not know that there are roots", 2)
  end
  self._config.roots = roots
  if self._session.modern then
    return true
  end
  local ok, err = self._session:notify("notifications/roots/list_changed") -- not a tail call: keeps the client alive
  return ok, err
end

-- A server that ends because of a request made for each connection is not started for it again.
local attached = { attached = true }

--- Sends the requests that each connection needs.
---@param self operations.mcp.Client
function methods._resume(self)
  local config, session = self._config, self._session
  if session.modern then
    if session.known or config.stream then
      listen(self)
    end
    return
  end
  if config.log_level and session.capabilities.logging then
    session:request("logging/setLevel", { level = config.log_level }, attached)
  end
  for _, uri in ipairs(members.names(self._watched)) do
    session:request("resources/subscribe", { uri = uri }, attached)
  end
end

return methods
