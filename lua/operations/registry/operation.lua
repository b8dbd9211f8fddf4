--- One registered operation: its spec, its handler and the two halves of the pipeline around it, which are C.
local compat = require("operations.base.compat")
local contexts = require("operations.registry.context")
local core = require("operations.core")
local error_schema = require("operations.registry.error_schema")
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")
local specs = require("operations.registry.spec")

local operation = {}

local now = core.now
local trust = core.trust()

---@class operations.Operation
---@field id string
---@field spec operations.Spec
---@field handler? function
---@field takes_context boolean  for a handler that names no second parameter none is made
---@field options operations.RegistryOptions
local Operation = {}
Operation.__index = Operation

--- The two halves of the pipeline around the handler, and the guards that tell when they are not needed.
local function set_pipeline(self, compiled)
  local spec = self.spec
  self.prepare, self.finish, self.input_guard, self.output_guard = core.operation(self.id, spec.accessControl,
    compiled.inputSchema, compiled.outputSchema, spec.normalize or self.options.normalize)
  self.wants_changes = self.options.on_change ~= nil
end

--- Stands in for `prepare` until the first call: access is judged first, then the schemas are made.
local function prepare_later(self)
  return function(input, identity, trusted)
    local judge = core.operation(self.id, self.spec.accessControl, nil, nil, "off")
    local ok, err = judge(input, identity, trusted)
    if not ok then
      return false, err
    end
    ok, err = self:make()
    if not ok then
      return false, err
    end
    return self.prepare(input, identity, trusted)
  end
end

--- Makes an operation of a checked spec (`spec.check`).
---@param checked operations.CheckedSpec
---@param options operations.RegistryOptions
---@return operations.Operation
function operation.new(checked, options)
  local spec = checked.spec
  local self = setmetatable({
    id = spec.namespace .. "." .. spec.name,
    spec = spec,
    options = options,
    streams = spec.type == "subscription",
    handler = nil, takes_context = nil, prepare = nil, -- room for what every operation has
  }, Operation)
  self:set_handler(checked.handler)
  if checked.compiled then
    set_pipeline(self, checked.compiled)
  else
    self.prepare = prepare_later(self)
  end
  return self
end

--- Makes the schemas that are made on first need; there is nothing to do after the first time.
---@return boolean ok
---@return operations.Error? err  what is wrong with them; the same every time
function Operation:make()
  if not self.finish and not self._flaw then
    local compiled, err = specs.make(self.spec)
    if compiled then
      set_pipeline(self, compiled)
    end
    self._flaw = err
  end
  return self._flaw == nil, self._flaw
end

--- Each middleware takes (handler, spec) and returns the handler to use; the first one listed is the outermost.
function Operation:set_handler(handler)
  if handler then
    local middleware = self.options.middleware
    for i = #middleware, 1, -1 do
      handler = middleware[i](handler, self.spec)
      if type(handler) ~= "function" then
        error(("middleware [%d] has to return a function for %s, not a %s"):format(i, self.id, type(handler)), 0)
      end
    end
  end
  self.handler = handler
  self.takes_context = handler and compat.takes(handler, 2)
end

--- Access control and input validation. Trusted calls skip access control.
---@param input any
---@param identity? operations.Identity
---@param trusted boolean
---@return boolean ok
---@return any input_or_error  the input with defaults filled in
function Operation:admit(input, identity, trusted)
  return self.prepare(input, identity, trusted and trust)
end

local function replaced(changes)
  local list = {}
  for _, change in ipairs(changes) do
    if change.kind == "replaced" then
      list[#list + 1] = change
    end
  end
  return list
end

local function report(self, warning, changes)
  local options = self.options
  local lost = replaced(changes or {})
  if #lost > 0 then
    warning = warning or { operationId = self.id, issues = {} }
    warning.changes = lost
  end
  if options.on_change and changes and #changes > 0 then
    options.on_change(self.id, changes)
  end
  if warning then
    options.on_warning(warning)
  end
end

-- Answers of HTTP APIs, and so every event of their streams, come as envelopes already. Asks what core's detector asks.
local function is_http(meta)
  return type(meta) == "table" and getmetatable(meta) == nil and meta.source == "http"
    and type(meta.statusCode) == "number"
end

local function is_plain_object(data)
  return type(data) == "table" and getmetatable(data) == nil and data[1] == nil
end

--- Detects, wraps, normalizes and validates what the handler gave; reports what did not fit.
---@param self operations.Operation
---@param value any
---@return operations.Envelope
local function answer(self, value)
  local guard = self.output_guard
  if guard and type(value) == "table" and getmetatable(value) == nil then
    -- What finish does with it, without the call into C: under LuaJIT that costs more than all the rest.
    local meta = value.meta
    if meta == nil then
      if guard == "any" or value[1] == nil then
        return { data = value, meta = { source = "local", operationId = self.id, timestamp = now() } }
      end
    elseif is_http(meta) and (guard == "any" or is_plain_object(value.data)) then
      return value
    end
  end
  local envelope, warning, changes = self.finish(value, self.wants_changes)
  if warning or changes then
    report(self, warning, changes)
  end
  return envelope
end
Operation.answer = answer

--- Turns what the handler raised or returned as failure into an error object; what nobody foresaw is logged with its
--- traceback, which remote callers never see.
---@param failure any
---@param traceback? string
---@return operations.Error
function Operation:failure(failure, traceback)
  self:make()
  local err, expected = errors.from(failure, self.spec.errorSchemas)
  local log = errors.take_traceback(err) or not expected and (traceback or errors.text(failure))
  if log then
    self.options.log("error", self.id .. ": " .. log)
  end
  local declared = error_schema.find(self.spec.errorSchemas, err.code)
  local issues = declared and error_schema.issues(declared, err.details)
  if issues then
    self.options.on_warning({ operationId = self.id, code = err.code, issues = issues })
  end
  return err
end

-- Runs where the handler raised, so that the traceback still exists. It is kept beside what was raised: that is what
-- to-be-closed variables see.
local function on_raise(raised)
  if not errors.is_error(raised) then
    local traceback, strand = debug.traceback(errors.text(raised), 2), scheduler.here()
    strand.raised, strand.traceback = raised, traceback
  end
  return raised
end

local function take_traceback(raised)
  local strand = scheduler.here()
  local traceback = rawequal(strand.raised, raised) and strand.traceback or nil
  strand.raised, strand.traceback = nil, nil
  return traceback
end

local function with_deadline(self, input, context, deadline)
  if core.now() >= deadline then
    return false, errors.new("TIMEOUT", self.id .. ": deadline passed", { deadline = deadline })
  end
  local strand = scheduler.here()
  local outer = strand.deadline
  if not outer or deadline < outer then
    strand.deadline = deadline -- nothing has longer than what it is part of
  end
  local ok, value, failure = xpcall(self.handler, on_raise, input, context)
  strand.deadline = outer
  return ok, value, failure
end

--- A whole call of a query or mutation: admit, run the handler, answer.
---@param self operations.Operation
---@param input any
---@param given? operations.Context|table
---@param registry operations.Registry
---@param trusted boolean
---@return operations.Envelope?
---@return operations.Error?
function operation.call(self, input, given, registry, trusted)
  local identity, deadline = contexts.read(given)
  local guard, admitted = self.input_guard, input
  local ok, value, failure
  if not guard or guard == "object" and (type(input) ~= "table" or getmetatable(input) or input[1] ~= nil) then
    ok, admitted = self.prepare(input, identity, trusted and trust)
    if not ok then
      return nil, admitted
    end
  end
  local context = self.takes_context and contexts.new(given, registry, deadline)
  if deadline then
    ok, value, failure = with_deadline(self, admitted, context, deadline)
  else
    ok, value, failure = xpcall(self.handler, on_raise, admitted, context)
  end
  if context then
    context._running = false
  end
  if ok and (value ~= nil or failure == nil) then
    return answer(self, value)
  elseif ok then
    return nil, self:failure(failure)
  end
  return nil, self:failure(value, not errors.is_error(value) and take_traceback(value) or nil)
end

return operation
