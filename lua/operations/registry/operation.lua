--- A call of one operation: C prepares it and finishes it (access, defaults, validation; detection, wrapping,
--- normalizing, validation), the handler runs in between, where it may wait.
local core = require("operations.core")
local error_schema = require("operations.registry.error_schema")
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")
local specs = require("operations.registry.spec")
local turn = require("operations.task.turn")

local operation = {}

--- One operation as the registry in C holds it (src/registry/operation.c). No program gets it.
---@class operations.Operation
---@field id fun(self): string
---@field spec fun(self, schemas?: boolean): operations.Spec  a copy, without schemas when that is false
---@field field fun(self, name: string): any  what its spec says there, not to be changed
---@field finishes_all fun(self): boolean  are results that come from elsewhere finished here as well?
---@field handler fun(self): function?
---@field set_handler fun(self, handler: function, takes_context: boolean)
---@field made fun(self): boolean, operations.Error?  are its schemas compiled? or why they cannot be
---@field make fun(self, spec: operations.Spec, input?: operations.Schema, output?: operations.Schema)
---@field flaw fun(self, err: operations.Error)
---@field accepts fun(self): "any"|"object"|nil  results that are accepted as they are; objects when they are unmarked
---@field ahead fun(self, envelope: operations.Envelope): operations.Ahead?  nil: nothing takes long
---@field finish fun(self, value: any, ahead?: operations.Ahead): operations.Envelope?, table|operations.Error?,
---  operations.Change[]?  no envelope where the result does not fit and on_mismatch is "fail"

--- Casts the long lists of a result before `finish`, which takes them then.
---@class operations.Ahead
---@field step fun(self): boolean  works for some milliseconds; is there more to do?

-- Envelopes whose data may take long to cast, and whether there has been one: most programs never have one to look for.
local long, any_long = setmetatable({}, { __mode = "k" }), false

--- Has the host's loop turn while this result of a handler is cast, which takes long.
---@param envelope operations.Envelope
function operation.takes_long(envelope)
  long[envelope], any_long = true, true
end

--- Detects, wraps, normalizes and validates what the handler gave; reports what did not fit.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param value any
---@param ahead? operations.Ahead
---@return operations.Envelope?
---@return operations.Error? err  OUTPUT_INVALID
local function answer(found, options, value, ahead)
  local envelope, warning, changes = found:finish(value, ahead)
  if changes then
    options.on_change(found:id(), changes)
  end
  if warning then
    if not envelope then
      return nil, warning
    end
    options.on_warning(warning)
  end
  return envelope
end
operation.answer = answer

-- The same of an envelope that takes long, unless the task is to stop.
local function answer_long(found, options, envelope)
  local take_turn = turn.taker()
  local ahead = take_turn and found:ahead(envelope) or nil
  while ahead and ahead:step() do
    local stopped = take_turn()
    if stopped then
      return nil, operation.failure(found, options, stopped)
    end
  end
  return answer(found, options, envelope, ahead)
end

--- Turns what the handler raised or returned as failure into an error object; what nobody foresaw is logged with its
--- traceback, which remote callers never see. That a call which the handler made did nothing is not said of the
--- handler.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param failure any
---@param traceback? string
---@return operations.Error
function operation.failure(found, options, failure, traceback)
  specs.make(found)
  local id, declarations = found:id(), found:field("errorSchemas")
  local err, expected = errors.from(failure, declarations)
  local log = errors.take_traceback(err) or not expected and (traceback or errors.text(failure))
  if log then
    options.log("error", id .. ": " .. log)
  end
  local declared = error_schema.find(declarations, err.code)
  local issues = declared and error_schema.issues(declared, err.details)
  if issues then
    options.on_warning({ operationId = id, code = err.code, issues = issues })
  end
  return err.mayHaveRun == false and errors.of_handler(err, found:handler()) or err
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

--- The error of a call whose time has passed.
---@param found operations.Operation
---@param deadline integer  ms since the epoch
---@param ran boolean  was the handler started?
---@return operations.Error
function operation.late(found, deadline, ran)
  local err = errors.new("TIMEOUT", found:id() .. ": deadline passed", { deadline = deadline })
  err.mayHaveRun = ran
  return err
end

local function with_deadline(handler, input, context, deadline)
  local strand = scheduler.here()
  local outer = strand.deadline
  if not outer or deadline < outer then
    strand.deadline = deadline -- nothing has longer than what it is part of
  end
  local ok, value, failure = xpcall(handler, on_raise, input, context)
  strand.deadline = outer
  return ok, value, failure
end

--- Runs the handler of a prepared call and answers.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param handler function
---@param input any
---@param context operations.Context|false  false for a handler that takes none
---@param deadline? integer  ms since the epoch
---@param now? integer  ms since the epoch, if the caller knows
---@return operations.Envelope?
---@return operations.Error?
function operation.run(found, options, handler, input, context, deadline, now)
  local ok, value, failure
  if deadline and (now or core.now()) >= deadline then
    return nil, operation.late(found, deadline, false)
  elseif deadline then
    ok, value, failure = with_deadline(handler, input, context, deadline)
  else
    ok, value, failure = xpcall(handler, on_raise, input, context)
  end
  if context then
    context._running = false
  end
  if ok and (value ~= nil or failure == nil) then
    if any_long and long[value] then
      return answer_long(found, options, value)
    elseif value == nil and context and rawget(context, "sink") then
      value = core.local_envelope(nil, found:id()) -- the sink has the data
    end
    return answer(found, options, value)
  elseif ok then
    return nil, operation.failure(found, options, failure)
  end
  return nil, operation.failure(found, options, value, not errors.is_error(value) and take_traceback(value) or nil)
end

return operation
