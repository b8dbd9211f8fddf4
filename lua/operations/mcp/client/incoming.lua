--- Messages that a server sends on its own: notifications, and requests, which are answered while calls run. Functions
--- of the program answer them: roots, sampling, elicitation. Until 2025-11-25 the server asks in requests, since then
--- in the rounds of ours.
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local questions = require("operations.mcp.client.questions")
local schema = require("operations.schema")
local task = require("operations.task")
local url = require("operations.base.url")

local incoming = {}

-- Answers.

local codes = message.codes

--- The client capabilities of a configuration.
---@param config operations.mcp.Config
---@return table
function incoming.capabilities(config)
  local capabilities = marks.object(members.merged(config.capabilities))
  capabilities.roots = capabilities.roots or config.roots and { listChanged = true } or nil
  capabilities.sampling = capabilities.sampling or config.sampling and marks.object() or nil
  if config.questions then
    capabilities.sampling = capabilities.sampling or marks.object()
    capabilities.elicitation = capabilities.elicitation or not config.elicitation
      and { form = marks.object(), url = marks.object() } or nil
  end
  if config.elicitation and not capabilities.elicitation then
    local modes = type(config.elicitation) == "table" and config.elicitation or { form = true }
    capabilities.elicitation = { form = modes.form and marks.object(), url = modes.url and marks.object() }
  end
  return capabilities
end

--- The same for the modern era: every call may be answered by a task.
---@param capabilities table
---@return table
function incoming.extended(capabilities)
  local extensions = members.merged(core.kind(capabilities.extensions) == "object" and capabilities.extensions or nil)
  extensions[message.TASKS] = extensions[message.TASKS] or marks.object()
  return members.merged(capabilities, { extensions = extensions })
end

local function roots_list(config)
  local roots = config.roots
  if type(roots) == "function" then
    local err
    roots, err = roots()
    if not roots then
      return nil, err
    end
  end
  local list = marks.array()
  for i, root in ipairs(roots) do
    list[i] = type(root) == "string" and { uri = root } or root
  end
  return { roots = list }
end

-- The accepted content, with missing members from the form's defaults (SEP-1034).
local function completed(form, content)
  if type(form) ~= "table" then
    return marks.object(members.merged(content))
  end
  local defaults = {}
  for name, property in pairs(type(form.properties) == "table" and form.properties or {}) do
    if type(property) == "table" then
      defaults[name] = property.default
    end
  end
  local filled = members.merged(defaults, content)
  local compiled = schema.compile(form)
  if compiled then
    local ok, issues = compiled:check(filled)
    if not ok then
      return nil, errors.new("VALIDATION_ERROR",
        ("elicitation: %s: %s"):format(issues[1].path, issues[1].message), issues)
    end
  end
  return marks.object(filled)
end

local actions = { accept = true, decline = true, cancel = true }

--- Why a question must not reach anybody, or nil: it would lead to an address that is not safe to open.
---@param method string
---@param params any
---@return operations.Error?
function incoming.refusal(method, params)
  local leads = method == "elicitation/create" and core.kind(params) == "object" and params.mode == "url"
  local problem = leads and params.url ~= nil and url.untrusted(params.url)
  return problem and errors.new("VALIDATION_ERROR", "elicitation: the url is refused: " .. problem) or nil
end

local function elicit(config, params, context)
  local mode, handler = params.mode or "form", config.elicitation
  if type(handler) == "table" then
    handler = handler[mode]
  end
  if not handler or (mode ~= "form" and type(config.elicitation) ~= "table") then
    return nil, errors.new("VALIDATION_ERROR", ("elicitation by %s is not supported"):format(mode))
  end
  local refusal = incoming.refusal("elicitation/create", params)
  if refusal then
    return nil, refusal
  end
  local answer, err = handler(params, context)
  if answer == nil then
    return nil, err
  elseif type(answer) ~= "table" or not actions[answer.action] then
    return nil, errors.new("EXECUTION_ERROR", "elicitation: the program gave no action: accept, decline or cancel")
  elseif type(answer.content or {}) ~= "table" then
    return nil, errors.new("EXECUTION_ERROR", "elicitation: the program's content is not an object")
  elseif answer.action ~= "accept" or mode ~= "form" then
    return { action = answer.action, _meta = answer._meta }
  end
  local content
  content, err = completed(params.requestedSchema, answer.content)
  if not content then
    return nil, err
  end
  return { action = "accept", content = content, _meta = answer._meta }
end

local methods = {
  ["ping"] = function()
    return marks.object()
  end,
  ["roots/list"] = roots_list,
  ["sampling/createMessage"] = function(config, params, context)
    return config.sampling(params, context)
  end,
  ["elicitation/create"] = elicit,
}

local needs = {
  ["roots/list"] = "roots", ["sampling/createMessage"] = "sampling", ["elicitation/create"] = "elicitation",
}

local POSITION = "^[^\n]-%D:%d+: " -- of code, at the beginning of the message of a raised error

-- The failure for what the program's function raised, or gave with nil. The server gets the words; positions in the
-- program's code, and values that are not words, are for the program's log.
local function failure_of(config, method, raised)
  local err, is_expected = errors.from(raised)
  local words, count = err.message, 0
  if not is_expected and type(raised) ~= "string" then
    words, count = method .. ": the client failed", 1
  end
  while words:find(POSITION) do
    words, count = words:gsub(POSITION, ""), count + 1
  end
  if count == 0 then
    return err
  end
  config.log("error", ("%s: the program's function failed: %s"):format(method, err.message))
  return errors.new(is_expected and err.code or "EXECUTION_ERROR", (words:match("^[^\n]*")))
end

--- Answers one request. May wait for the program's function.
---@param config operations.mcp.Config
---@param method string
---@param params table
---@param context { client: any, requestId: any }
---@return table? result
---@return { code: integer, message: string, data: any }? failure  of JSON-RPC
function incoming.answer(config, method, params, context)
  local answer, need = methods[method], needs[method]
  if config.questions and need and not config[need] and questions.methods[method] then
    function answer(_, asked)
      local refusal = incoming.refusal(method, asked)
      if refusal then
        return nil, refusal
      end
      return questions.answer(context.client, method, asked)
    end
  elseif not answer or need and not config[need] then
    return nil, { code = codes.METHOD_NOT_FOUND, message = ("the client has no %s"):format(method) }
  end
  local ok, result, err = pcall(answer, config, core.kind(params) == "object" and params or {}, context)
  if ok and core.kind(result) == "object" then
    return result
  elseif ok and result ~= nil then
    result, err = nil, ("%s: the program gave a %s, not an object"):format(method, type(result))
  end
  err = failure_of(config, method, ok and (err ~= nil and err or method .. " was refused") or result)
  local code = err.code == "VALIDATION_ERROR" and codes.INVALID_PARAMS or codes.INTERNAL_ERROR
  if err.code == "ABORTED" then
    code = -1 -- the user's refusal, by the specification
  end
  return nil, { code = code, message = err.message }
end

-- Requests and notifications.

---@class operations.mcp.Incoming
---@field _running table<operations.mcp.Id, operations.Task>
---@field _count integer
---@field reports table<string, table|false>  of progress, by the tokens of tasks: the latest unread one
local Incoming = {}
Incoming.__index = Incoming

--- Makes one for a session.
---@param notified fun(method: string, params: table)  called with notifications that belong to no request
---@return operations.mcp.Incoming
function incoming.new(notified)
  return setmetatable({ _notified = notified, _running = {}, _count = 0, reports = {} }, Incoming)
end

-- Removes a running request; nil if it is not running.
local function forget(self, id)
  local running = self._running[id]
  if running then
    self._running[id] = nil
    self._count = self._count - 1
  end
  return running
end

-- The message for a result or a failure; a result that is not JSON is a failure.
local function reply_of(config, request, result, failure)
  local reply = result and message.result(request.id, result)
    or message.failure(request.id, failure.code, failure.message, failure.data)
  local text, err = message.encode(reply)
  if text then
    return reply
  end
  config.log("error", ("%s: the program's answer cannot be sent: %s"):format(request.method, err.message))
  return message.failure(request.id, message.codes.INTERNAL_ERROR, request.method .. ": the answer is not JSON")
end

local function answer(self, request, link, client)
  local running = task.current()
  local config = client._config
  local result, failure = incoming.answer(config, request.method, request.params or {},
    { client = client, requestId = request.id })
  if self._running[request.id] == running then -- otherwise it was cancelled
    forget(self, request.id)
    link:send(reply_of(config, request, result, failure))
  end
end

--- Handles a request of the server; slow functions of the program do not block others.
---@param request operations.mcp.Message
---@param link table
---@param client operations.mcp.Client
function Incoming:request(request, link, client)
  if self._count >= limits.mcp_server_requests or self._running[request.id] then
    link:send(message.failure(request.id, message.codes.INTERNAL_ERROR, "too many requests at once"))
    return
  end
  self._count = self._count + 1
  self._running[request.id] = task.detach(answer, self, request, link, client)
end

--- Handles a notification of the server.
---@param notification operations.mcp.Message
---@param link table
function Incoming:notification(notification, link)
  local method, params = notification.method, notification.params or {}
  if method == "notifications/progress" then
    local token = params.progressToken
    link:progress(token, params)
    if self.reports[token] ~= nil then
      self.reports[token] = params
    end
  elseif method == "notifications/cancelled" then
    local running = params.requestId ~= nil and forget(self, params.requestId)
    if running then
      running:cancel("the server cancelled its request")
    end
  else
    self._notified(method, params)
  end
end

--- Cancels all running requests.
function Incoming:close()
  for id, running in pairs(self._running) do
    forget(self, id)
    running:cancel("the client was closed")
  end
end

return incoming
