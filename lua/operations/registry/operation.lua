--- A call of one operation: C prepares and finishes it (access, defaults, validation; detection, wrapping,
--- normalization, validation); the handler runs in between, where it may wait.
local compat = require("operations.base.compat")
local core = require("operations.core")
local errors = require("operations.base.error")
local scheduler = require("operations.task.scheduler")
local scope = require("operations.task.scope")
local specs = require("operations.registry.spec")
local turn = require("operations.task.turn")

local operation = {}

--- An operation in the registry's C object (src/registry/operation.c). Programs never get it.
---@class operations.Operation
---@field id fun(self): string
---@field spec fun(self, schemas?: boolean): operations.Spec  a copy, without schemas when that is false
---@field field fun(self, name: string): any  a field of its spec, not to be changed
---@field finishes_all fun(self): boolean  are results of other processes finished here as well?
---@field handler fun(self): function?
---@field set_handler fun(self, handler: function, takes_context: boolean)
---@field made fun(self): boolean, operations.Error?  are its schemas compiled? or the error
---@field make fun(self, spec: operations.Spec, input?: operations.Schema, output?: operations.Schema)
---@field flaw fun(self, err: operations.Error)
---@field accepts fun(self): "any"|"object"|nil  results that need no check; objects if unmarked
---@field ahead fun(self, envelope: operations.Envelope): operations.Ahead?  nil: there are no long lists
---@field finish fun(self, value: any, ahead?: operations.Ahead): operations.Envelope?, table|operations.Error?,
---  operations.Change[]?  no envelope where the result does not fit and on_mismatch is "fail"

--- Casts the long lists of a result before `finish`, which then uses them.
---@class operations.Ahead
---@field step fun(self): boolean  works for some milliseconds; is there more to do?

-- Envelopes whose data may take long to cast, and whether there has been any: most programs never have one.
local long, any_long = setmetatable({}, { __mode = "k" }), false

--- Lets the host's loop run while this result of a handler is cast, which takes long.
---@param envelope operations.Envelope
function operation.takes_long(envelope)
  long[envelope], any_long = true, true
end

--- Reports misfits: takes what `finish` of an operation returned.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param envelope? operations.Envelope
---@param warning? table|operations.Error
---@param changes? operations.Change[]
---@return operations.Envelope?
---@return operations.Error? err  OUTPUT_INVALID
function operation.report(found, options, envelope, warning, changes)
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

--- Detects, wraps, normalizes and validates the handler's result; reports misfits.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param value any
---@param ahead? operations.Ahead
---@return operations.Envelope?
---@return operations.Error? err  OUTPUT_INVALID
local function answer(found, options, value, ahead)
  local envelope, warning, changes = found:finish(value, ahead)
  -- a known count of results: else LuaJIT compiles no loop around it
  return operation.report(found, options, envelope, warning, changes)
end
operation.answer = answer

-- As `answer` for an envelope that takes long, unless the task is to stop.
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

-- Compiled patterns and schemas of declared errors, by declaration; false without one, or with an invalid one.
local patterns = setmetatable({}, { __mode = "k" })
local schemas = setmetatable({}, { __mode = "k" })

local function compile(known, declared, schema)
  if known[declared] == nil then
    known[declared] = schema ~= nil and core.schema_compile(schema) or false
  end
  return known[declared]
end

-- The declaration of a code (`errorSchemas`): the one that names it, else the first whose `pattern` it matches.
local function declaration(list, code)
  local family
  for _, declared in ipairs(list or {}) do
    if declared.code == code then
      return declared
    end
    local pattern = not family and declared.pattern and compile(patterns, declared, { pattern = declared.pattern })
    family = pattern and pattern:check(code) and declared or family
  end
  return family
end

-- The issues of an error's details by the error's declaration.
local function details_issues(declared, details)
  local schema = details ~= nil and compile(schemas, declared, declared.schema)
  if schema then
    local _, issues = schema:check(details)
    return issues
  end
end

--- Turns the failure that the handler raised or returned into an error object. Unexpected errors are logged with their
--- traceback, which remote callers never see. `mayHaveRun = false` of a call that the handler made is removed.
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
  if not expected and (err.message:find("stack overflow", 1, true) or err.message:find("error handling", 1, true)) then
    err.message = "calls within calls, or functions, are nested too deeply (stack overflow)"
  end
  if log then
    options.log("error", id .. ": " .. log)
  end
  local declared = declaration(declarations, err.code)
  local issues = declared and details_issues(declared, err.details)
  if issues then
    options.on_warning({ operationId = id, code = err.code, issues = issues })
  end
  return err.mayHaveRun == false and errors.of_handler(err, found:handler()) or err
end

-- Runs where the handler raised, while the traceback exists. It is kept apart from the error value, which to-be-closed
-- variables get.
local function on_raise(raised)
  if not errors.is_error(raised) then
    local traceback, strand = errors.traced(raised, 2), scheduler.here()
    strand.raised, strand.traceback = raised == nil and compat.raised_nil or raised, traceback
  end
  return raised
end

local function take_traceback(raised)
  local strand = scheduler.here()
  local traceback = rawequal(strand.raised, raised) and strand.traceback or nil
  strand.raised, strand.traceback = nil, nil
  return traceback
end

--- The error of a call whose deadline has passed.
---@param found operations.Operation
---@param deadline integer  ms since the epoch
---@param ran boolean  was the handler started?
---@return operations.Error
function operation.late(found, deadline, ran)
  local err = errors.new("TIMEOUT", found:id() .. ": deadline passed", { deadline = deadline })
  err.mayHaveRun = ran
  return err
end

-- The last value: does the deadline hold to the end? The sink of a body removes it with the first piece.
local function with_deadline(deadline, handler, input, context)
  local strand = scheduler.here()
  local outer = strand.deadline
  if not outer or deadline < outer then
    strand.deadline = deadline -- never later than the deadline of the surrounding call
  end
  local ok, value, failure = xpcall(handler, on_raise, input, context)
  local holds = strand.deadline ~= nil
  strand.deadline = outer
  return ok, value, failure, holds
end

-- Finishes the result of a handler: `ok`, `value` and `failure` are what `xpcall` returned.
local function ended(found, options, context, ok, value, failure)
  if scope.used then
    scope.close()
  end
  if context then
    context._running = false
  end
  if ok and (value ~= nil or failure == nil) then
    if any_long and long[value] then
      return answer_long(found, options, value)
    elseif value == nil and context and rawget(context, "sink") then
      value = core.local_envelope(nil, found:id()) -- the sink has got the data
    end
    return answer(found, options, value)
  elseif ok then
    return nil, operation.failure(found, options, failure)
  end
  return nil, operation.failure(found, options, value, not errors.is_error(value) and take_traceback(value) or nil)
end

--- Runs the handler of a prepared call and finishes its result.
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param handler function
---@param input any
---@param context operations.Context|false  false for a handler that takes none
---@return operations.Envelope?
---@return operations.Error?
function operation.run(found, options, handler, input, context)
  if scope.used then
    scope.open()
  end
  local ok, value, failure = xpcall(handler, on_raise, input, context)
  if ok and value ~= nil and not (context or any_long or scope.used) then
    return answer(found, options, value) -- most calls: nothing else ends with this one
  end
  return ended(found, options, context, ok, value, failure)
end

--- As `run`, for a call that must end by its deadline, which has not passed.
---@param deadline integer  ms since the epoch
---@param found operations.Operation
---@param options operations.RegistryOptions
---@param handler function
---@param input any
---@param context operations.Context|false
---@return operations.Envelope?
---@return operations.Error?
function operation.run_until(deadline, found, options, handler, input, context)
  if scope.used then
    scope.open()
  end
  local ok, value, failure, holds = with_deadline(deadline, handler, input, context)
  if ok and failure == nil and holds and scheduler.now() >= deadline then -- what was waited for may be cut off
    ok, value, failure = true, nil, operation.late(found, deadline, true)
  end
  return ended(found, options, context, ok, value, failure)
end

return operation
