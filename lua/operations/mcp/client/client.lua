--- One MCP server (2024-11-05 to 2026-07-28) for the program.
local argument = require("operations.base.argument")
local cache = require("operations.mcp.protocol.cache")
local core = require("operations.core")
local errors = require("operations.base.error")
local lifecycle = require("operations.mcp.client.lifecycle")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local methods = require("operations.mcp.client.methods")
local offer = require("operations.mcp.client.offer")
local result = require("operations.mcp.protocol.result")
local scheduler = require("operations.task.scheduler")
local single_flight = require("operations.task.single_flight")
local task = require("operations.task")
local tasks = require("operations.mcp.client.tasks")
local waits = require("operations.mcp.client.waits")

local client = {}

---@class operations.mcp.Client
---@field name string
---@field operations operations.Definition[]  its tools, and operations for its resources and prompts
---@field problems { name: string, message: string }[]  tools that could not be imported
---@field state operations.mcp.State
---@field refused? operations.Error  why a registry has not taken an operation
---@field reason? operations.Error  for the states "lost" and "retrying"
---@field server? table  the server's description of itself
---@field instructions? string
---@field version string  of the protocol
local Client = {}
Client.__index = Client
Client.__name = "operations.mcp_client"

-- Calls functions of the program; errors that they raise are logged.
function Client:_tell(listeners, ...)
  for _, listener in ipairs(listeners) do
    local ok, raised = xpcall(listener, errors.traced, ...)
    if not ok then
      self._config.log("error", self.name .. ": " .. raised)
    end
  end
end

--- Handlers of the server's notifications, by method.
local notified = {}

notified["notifications/tools/list_changed"] = function(self)
  self._cache:forget("tools/list")
  self:_refresh_later()
end

notified["notifications/resources/list_changed"] = function(self)
  self._cache:forget("resources/list")
  self._cache:forget("resources/templates/list")
end

notified["notifications/prompts/list_changed"] = function(self)
  self._cache:forget("prompts/list")
end

notified["notifications/message"] = function(self, params)
  if self._config.on_log then
    self:_tell({ self._config.on_log }, params)
  end
end

notified["notifications/resources/updated"] = function(self, params)
  self._cache:forget("resources/read")
  self:_tell({ self._watched[params.uri] }, params.uri, params)
end

Client._notified = notified

local now = scheduler.now

-- Has a client closed when its worker of nginx ends: first it has the time in which requests may still call it, then
-- its server has that of `stop` to end. Dropped clients are not kept.
local function close_with_worker(self)
  local host, kept = scheduler.host(), setmetatable({ self }, { __mode = "v" })
  return host.on_exit and host.on_exit(function()
    if kept[1] then
      task.sleep(limits.drain / 1000)
    end
    if kept[1] then
      kept[1]:close()
    end
  end)
end

--- A client that is not connected yet: see `_begin` and `_start`.
---@param name string
---@param config operations.mcp.Config  checked
---@param open function  of the transport
---@param renew? fun(): operations.mcp.Config  the parts of the configuration that are made again for a restart
---@return operations.mcp.Client
function client.new(name, config, open, renew)
  local self = setmetatable({
    name = name, operations = {}, problems = {}, state = "connecting", _config = config, _open = open, _renew = renew,
    _plans = {}, _listed = {}, _listeners = {}, _watched = {}, _followers = {}, _observers = {}, _registries = {},
    _askers = {}, _waiting = {}, _disabled = members.set(config.disabled_tools or {}), _cache = cache.new(now),
    _restarting = single_flight.new(),
  }, Client)
  self._stay = close_with_worker(self)
  self:_prepare()
  if config.tools then
    self:_take(config.tools)
  end
  return self
end

--- Connects to a server and lists its tools.
---@param name string
---@param config operations.mcp.Config  checked
---@param open function  of the transport
---@return operations.mcp.Client?
---@return operations.Error? err
function client.connect(name, config, open)
  local self = client.new(name, config, open)
  local returned, ok, err = pcall(self._begin, self)
  if not (returned and ok) then
    self:close()
  end
  if not returned then
    error(ok, 0)
  elseif not ok then
    return nil, err
  end
  return self
end

--- Does the server support this? True also if it was not asked: its answer will tell.
---@param capability string  "tools", "resources", "prompts", "completions", "logging"
---@return boolean
function Client:has(capability)
  return not self._session.known or message.present(self._session.capabilities[capability]) ~= nil
end

-- Calls.

-- The options of a call: the caller's, completed by the tool's plan and the configuration.
local function completed(self, plan, options)
  local all = members.merged(plan.options, options)
  local on_progress = all.on_progress or self._config.on_progress
  if on_progress then
    all.on_progress = function(progress)
      self:_tell({ on_progress }, progress, { tool = plan.tool })
    end
  end
  return all
end

-- Does a text say that there is no such tool? Servers have no code of its own for it.
local function denies(text, tool)
  local words = type(text) == "string" and text:lower() or ""
  return words:find(tool:lower(), 1, true) ~= nil and (words:find("unknown tool", 1, true) ~= nil
    or words:find("no such tool", 1, true) ~= nil or words:find("tool.-not found") ~= nil
    or words:find("tool.-does not exist") ~= nil)
end

-- Reads the list again after a server has said that it has no such tool: the list is outdated.
local function notice_unknown(self, tool, value, err)
  local block = value and value.isError == true and type(value.content) == "table" and value.content[1]
  local text = err and err.details and err.details.rpcCode and err.message or type(block) == "table" and block.text
  if denies(text, tool) and self._plans[tool] then
    self:_refresh_later()
  end
end

-- Was a request ended by a restart of the client, and may it be sent again?
local function may_follow(self, session, err, options)
  local kind = err.details and err.details.kind
  return session._ended and not self._closed and (err.mayHaveRun == false
    or options and options.repeatable and (kind == "closed" or kind == "lost"))
end

-- Sends a request by `by(session, ...)`; over the next session if a restart has ended this one.
local function send(self, by, method, params, options)
  local session = self._session
  local value, err, in_rounds = by(session, method, params, options)
  if value or not may_follow(self, session, err, options) then
    return value, err, in_rounds
  end
  waits.at_most(options and options.timeout or self._config.timeout, self._restarting.follow, self._restarting, true)
  if self._closed or self._session == session then
    return nil, err
  end
  return by(self._session, method, params, options)
end

function Client:_call(plan, input, options, again)
  if core.kind(input) ~= "object" then
    return nil, errors.new("VALIDATION_ERROR", plan.tool .. ": the arguments of a tool are an object")
  elseif self._disabled[plan.tool] then
    return nil, errors.new("OPERATION_NOT_FOUND", ("%s: the tool %s is disabled"):format(self.name, plan.tool))
  end
  local session, schema = self._session, plan.schema
  local all = (options or self._config.on_progress) and completed(self, plan, options) or plan.options
  local by = plan.task and not session.modern and tasks.call or session.request
  local value, err = send(self, by, "tools/call", {
    name = plan.tool, arguments = schema and marked.value(input, schema, schema) or input,
  }, all)
  notice_unknown(self, plan.tool, value, err)
  if value and value.resultType == "task" and session.modern then
    value, err = tasks.follow(self, value, plan, all)
  end
  if value then
    return result.of_tool(value, plan, self._config, session.modern)
  elseif err.details and err.details.rpcCode == message.codes.HEADER_MISMATCH and not again then
    self:refresh() -- the list is outdated
    return self:_call(self._plans[plan.tool] or plan, input, options, true)
  end
  return nil, err
end

--- Calls a tool by its own name, without a registry.
---@param tool string
---@param arguments? table
---@param options? operations.mcp.RequestOptions
---@return operations.Envelope?
---@return operations.Error? err
function Client:call(tool, arguments, options)
  argument.expect(tool, "string", 1, "call")
  argument.optional(arguments, "table", 2, "call")
  return self:_call(self._plans[tool] or { tool = tool }, arguments or {}, options)
end

--- The task with an id that the server gave, of this program or an earlier one: its state, its result.
---@param id string
---@param tool? string  that it runs: its `outputSchema` is that of the result
---@return operations.mcp.Task
function Client:task(id, tool)
  argument.expect(id, "string", 1, "task")
  argument.optional(tool, "string", 2, "task")
  return tasks.of(self, id, tool and self._plans[tool] or { tool = tool or "the task " .. id })
end

--- Sends a request and returns the server's result unchanged: of a call that runs as a task, the task.
---@param method string
---@param params? table
---@param options? operations.mcp.RequestOptions
---@return table?
---@return operations.Error? err
function Client:request(method, params, options)
  argument.expect(method, "string", 1, "request")
  local kept = not self._closed and self._cache:find(method, params)
  if kept then
    return kept
  end
  local generation = self._cache:generation(method)
  local value, err, in_rounds = send(self, self._session.request, method, params, options)
  if value and self._session.modern and not in_rounds then
    self._cache:keep(method, params, value, generation)
  end
  return value, err
end

--- Tests whether the server answers.
---@return true?
---@return operations.Error? err
function Client:ping()
  local value, err = self._session:request("ping")
  return value and true, err
end

for _, part in ipairs({ lifecycle, methods, offer }) do
  for name, method in pairs(part) do
    Client[name] = method
  end
end

function Client.__close(self)
  self:close()
end

return client
