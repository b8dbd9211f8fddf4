--- The context of one call: its caller, deadline, and the call that it belongs to.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local suggestion = require("operations.base.suggestion")

local context = {}

---@class operations.Identity
---@field id string
---@field issuer? string  who gave the id
---@field scopes string[]
---@field resources? table<string, string[]>  "type:id" -> actions

---@class operations.ElicitedPage
---@field url string  https, or on this machine
---@field message? string
---@field id? string

---@class operations.Env  operations by namespace and name
---@field [string] table<string, fun(input?: any): any, operations.Error?>

--- What a caller may give.
---@class operations.GivenContext
---@field requestId? string  made on first use, unless given
---@field parentRequestId? string
---@field identity? operations.Identity
---@field deadline? integer  milliseconds since the Unix epoch
---@field timeout? integer  milliseconds from the start of the call
---@field metadata? table
---@field traceparent? string  W3C Trace Context
---@field attempt? integer  over a reliable transport: above 1, it may have run before
---@field detach? boolean  by the caller: a call that its server runs as a task ends at once with DETACHED and the id of
---  the task, which continues
---@field log? fun(level: "debug"|"info"|"warn"|"error", message: string, details: any)
---@field lastEventId? string  subscriptions: the id of the last event that the reader got; it resumes after that
---@field sink? fun(bytes: string)  when the result is a body (a string schema with `contentMediaType`) and its reader
---  takes it in pieces: sends one, and waits until it was taken
---@field on_progress? fun(done: number, total?: number, message?: string)  given by a caller who wants progress; its
---  errors are logged
---@field elicit? fun(message: string|operations.ElicitedPage, schema?: table, key?: string): string, table?  asks the
---  caller's user by a form; "decline" when the user cannot be asked. `key`: identifies the question, see `ask`
---@field sample? fun(request: table, key?: string): table?, operations.Error?  asks the model of the caller
---@field roots? fun(key?: string): table[]?, operations.Error?  the folders that the caller works in
---@field ask? fun(requests: table<string, { method: string, params: table? }>): table<string, table>, table
---  several of these at once: the answers by key, and the errors of the others
---@field hang_up? fun(retry?: integer)  ends the connection that waits for the answer; the caller reconnects after
---  `retry` ms. Does nothing when it cannot
---@field relay? operations.Relay  of `to_http` with `paths = "source"`: the request and answer of an imported
---  operation, which pass by the pipeline

--- What a handler gets: of what a caller may give it always has these.
---@class operations.Context: operations.GivenContext
---@field requestId string
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, details: any)
---@field elicit fun(message: string|operations.ElicitedPage, schema?: table, key?: string): string, table?
---@field sample fun(request: table, key?: string): table?, operations.Error?
---@field roots fun(key?: string): table[]?, operations.Error?
---@field ask fun(requests: table<string, { method: string, params: table? }>): table<string, table>, table
---@field hang_up fun(retry?: integer)
---@field as_task fun()  of an operation with `_meta.task = "late"`: what follows is a task of the caller, if it knows
---  tasks: the handler runs again as one, with the answers so far
---@field env operations.Env  `context.env.namespace.name(input)` calls another operation, trusted until this call has
---  ended
---@field ifNoneMatch? string  set by the middleware `cache`: the ETag of its stored answer; an HTTP answer with status
---  304 confirms that answer
---@field emit? fun(value: any, options?: { id: string })  subscriptions: one event, as `coroutine.yield(value)`; its
---  id is `meta.lastEventId` of the envelope
---@field progress fun(done: number, total?: number, message?: string)  reports progress to the caller's `on_progress`
---@field progress_wanted boolean  did the caller give one?
---@field _running boolean  false once the call has ended: calls that its context makes are no longer trusted
---@field defer? fun(fn: fun())  subscriptions: runs once when the subscription ends, last one first
local Context = {}

---@class operations.Context
local methods = {}

--- Should the handler stop? True once the task is cancelled, the deadline has passed or the subscription is closed.
---@return boolean
function methods:cancelled()
  local state = rawget(self, "_subscription")
  if state and state.closing then
    return true
  end
  local deadline = self.deadline
  return deadline ~= nil and scheduler.now() >= deadline or scheduler.cancelled()
end

--- Can the caller's user be asked: by questions that tell when the client cannot ("ask"), by forms alone ("elicit"), or
--- not at all (nil)?
---@return "ask"|"elicit"|nil
function methods:can_be_asked()
  local outer = self
  while rawget(outer, "_parent") do
    outer = rawget(outer, "_parent")
  end
  local given = rawget(outer, "_given")
  return given ~= nil and (given.ask and "ask" or given.elicit and "elicit") or nil
end

--- Writes to the registry's log only: unlike `log`, which MCP clients read, too.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function methods:report(level, message)
  rawget(self, "_registry")._options.log(level, message)
end

--- Tells the registry's `on_warning` that a result could not be read without a repair.
---@param id string  "namespace.name"
---@param message string
function methods:misread(id, message)
  rawget(self, "_registry")._options.on_warning({ operationId = id,
    issues = { { path = "", keyword = "format", message = message } } })
end

local kinds = {
  requestId = "string",
  parentRequestId = "string",
  identity = "table",
  deadline = "number",
  timeout = "number",
  metadata = "table",
  traceparent = "string",
  attempt = "number",
  detach = "boolean",
  log = "function",
  lastEventId = "string",
  sink = "function",
  on_progress = "function",
  elicit = "function",
  sample = "function",
  roots = "function",
  ask = "function",
  hang_up = "function",
  as_task = "function",
  relay = "table",
}

-- The metatables of contexts that may have fields of their own.
local adapters = { [Context] = true }

--- Lets an adapter give contexts that have fields beside those of callers, in which it computes some on first read:
--- those with this metatable are not checked for unknown fields.
---@param class table  the metatable
---@return table class
function context.adapter(class)
  adapters[class] = true
  return class
end

local function check_names(given, level)
  for key in next, given do
    if not kinds[key] then
      error(("bad argument 'context' (unknown field '%s'%s)"):format(tostring(key),
        suggestion.behind(tostring(key), members.names(kinds))), level)
    end
  end
end

local function expect(value, key, level)
  if type(value) ~= kinds[key] or value ~= value then
    local got = value ~= value and "NaN" or type(value)
    error(("bad argument 'context' (%s: %s expected, got %s)"):format(key, kinds[key], got), level)
  end
  return value
end

-- The fields that a nested call inherits.
local inherited = { identity = true, deadline = true, metadata = true, traceparent = true, elicit = true, sample = true,
  roots = true, ask = true }

-- Defaults, computed on first read.
local made = {}

function made.requestId()
  return core.random_id()
end

function made.parentRequestId(self)
  local parent = rawget(self, "_parent")
  return parent and parent.requestId
end

local env_of

--- Sets what makes the env of a call; the registry's part, which this module cannot require.
---@param make fun(registry: operations.Registry, own: operations.Context): table
function context.use_env(make)
  env_of = make
end

function made.env(self)
  return env_of(rawget(self, "_registry"), self)
end

function made.defer(self)
  local state = rawget(self, "_subscription")
  return state and function(fn)
    argument.expect(fn, "function", 1, "defer")
    state.deferred = state.deferred or {}
    table.insert(state.deferred, fn)
  end
end

function made.log(self)
  return rawget(self, "_registry")._options.log
end

-- For a caller that cannot show or answer anything.

local function nothing() end

local function unanswered()
  local err = errors.new("CAPABILITY_MISSING", "the caller cannot be asked")
  err.retryable = false
  return nil, err
end

function made.progress(self)
  local tell, log = self.on_progress, rawget(self, "_registry")._options.log
  return tell and function(done, total, message)
    local ok, raised = pcall(tell, done, total, message)
    if not ok then
      log("error", "on_progress: " .. errors.text(raised))
    end
  end or nothing
end

function made.progress_wanted(self)
  return self.on_progress ~= nil
end

function made.hang_up()
  return nothing
end

function made.as_task()
  return nothing
end

function made.elicit()
  return function()
    return "decline"
  end
end

function made.sample()
  return unanswered
end

function made.roots()
  return unanswered
end

function made.ask()
  return function(requests)
    local failures = {}
    for key in pairs(requests) do
      failures[key] = select(2, unanswered())
    end
    return {}, failures
  end
end

--- Looks up a field on first read: most handlers read few.
local function find(self, key)
  local given, value = rawget(self, "_given"), nil
  if given ~= nil then
    value = kinds[key] and given[key]
  elseif inherited[key] then
    local parent = rawget(self, "_parent")
    value = parent and parent[key]
  end
  if value ~= nil then
    return expect(value, key, 0) -- the caller's mistake, not that of the handler's line
  end
  return made[key] and made[key](self)
end

function Context.__index(self, key)
  local value = methods[key]
  if value == nil then
    value = find(self, key)
    if value ~= nil then
      rawset(self, key, value)
    end
  end
  return value
end

--- Checks the context that a caller gave and returns what the pipeline needs from it. A `timeout` becomes a deadline;
--- the earlier of two deadlines counts.
---@param given? table
---@return operations.Identity? identity
---@return integer? deadline  ms since the epoch
---@return integer? now  with a deadline: a call reads the clock once
---@return boolean? unread  its body passes by the registry, which does not see it
function context.read(given)
  if given == nil then
    return nil
  elseif type(given) ~= "table" then
    error(("bad argument 'context' (table expected, got %s)"):format(type(given)), 3)
  elseif not adapters[getmetatable(given) or false] then
    check_names(given, 4)
  end
  local deadline, timeout = given.deadline, given.timeout
  if deadline ~= nil then
    expect(deadline, "deadline", 4)
  end
  if timeout ~= nil then
    expect(timeout, "timeout", 4)
  end
  local relay, unread = given.relay, nil
  if relay ~= nil then
    unread = expect(relay, "relay", 4).unread or nil
  end
  if not (deadline or timeout) then
    return given.identity, nil, nil, unread
  end
  local now = scheduler.now()
  if timeout ~= nil then
    deadline = deadline and math.min(deadline, now + timeout) or now + timeout
  end
  return given.identity, deadline, now, unread
end

--- Makes the context of a call from the one that the caller gave: a plain table, or the context of the surrounding
--- call, whose identity, deadline, metadata and trace are inherited.
---@param given? table  checked by `read`; not to be changed while the call runs
---@param registry table
---@param deadline? integer  as `read` returns it
---@return operations.Context
function context.new(given, registry, deadline)
  if given == nil then
    return setmetatable({ _registry = registry, _running = true }, Context)
  elseif given._registry then
    return setmetatable({ _registry = registry, _running = true, _parent = given, deadline = deadline }, Context)
  end
  return setmetatable({
    _registry = registry, _running = true, _given = given, requestId = given.requestId, deadline = deadline,
  }, Context)
end

return context
