--- One registered operation: its spec, its handler and the two halves of the pipeline around it, which are C.
local compat = require("operations.compat")
local contexts = require("operations.context")
local core = require("operations.core")
local errors = require("operations.error")
local scheduler = require("operations.scheduler")

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

--- Makes an operation of a checked spec (`spec.check`).
---@param checked table
---@param options operations.RegistryOptions
---@return operations.Operation
function operation.new(checked, options)
  local spec = checked.spec
  local id = spec.namespace .. "." .. spec.name
  local self = setmetatable({
    id = id,
    spec = spec,
    options = options,
    streams = spec.type == "subscription",
    wants_changes = options.on_change ~= nil,
  }, Operation)
  local normalize = spec.normalize or options.normalize
  self.prepare, self.finish, self.input_guard, self.output_guard =
    core.operation(id, spec.accessControl, checked.input, checked.output, normalize)
  self:set_handler(checked.handler)
  return self
end

--- Each middleware takes (handler, spec) and returns the handler to use; the first one listed is the outermost.
function Operation:set_handler(handler)
  if handler then
    local middleware = self.options.middleware
    for i = #middleware, 1, -1 do
      handler = middleware[i](handler, self.spec)
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

local function find_declared(schemas, code)
  for _, declared in ipairs(schemas or {}) do
    if declared.code == code then
      return declared
    end
  end
end

--- Turns what the handler raised or returned as failure into an error object; what nobody foresaw is logged with its
--- traceback, which remote callers never see.
---@param failure any
---@param traceback? string
---@return operations.Error
function Operation:failure(failure, traceback)
  local err, expected = errors.from(failure, self.spec.errorSchemas)
  if not expected then
    self.options.log("error", self.id .. ": " .. (traceback or tostring(failure)))
  end
  local declared = find_declared(self.spec.errorSchemas, err.code)
  if declared and declared.schema ~= nil and err.details ~= nil then
    self:_check_details(declared, err)
  end
  return err
end

function Operation:_check_details(declared, err)
  self._details = self._details or {}
  local schema = self._details[declared]
  if schema == nil then
    schema = core.schema_compile(declared.schema)
    self._details[declared] = schema or false
  end
  if schema then
    local ok, issues = schema:check(err.details)
    if not ok then
      self.options.on_warning({ operationId = self.id, code = err.code, issues = issues })
    end
  end
end

-- Runs where the handler raised, so that the traceback is still to be had.
local function on_raise(raised)
  if errors.is_error(raised) then
    return raised
  end
  return { raised = raised, traceback = debug.traceback(tostring(raised), 2) }
end

local function with_deadline(self, input, context, deadline)
  if core.now() >= deadline then
    return false, errors.new("TIMEOUT", self.id .. ": deadline passed", { deadline = deadline })
  end
  local outer = scheduler.deadline(deadline)
  if outer and outer < deadline then
    scheduler.deadline(outer) -- nothing has longer than what it is part of
  end
  local ok, value, failure = xpcall(self.handler, on_raise, input, context)
  scheduler.deadline(outer)
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
  if ok and (value ~= nil or failure == nil) then
    return answer(self, value)
  elseif ok then
    return nil, self:failure(failure)
  elseif type(value) ~= "table" or errors.is_error(value) then
    return nil, self:failure(value) -- not a table: out of memory, so on_raise did not run
  end
  return nil, self:failure(value.raised, value.traceback)
end

return operation
