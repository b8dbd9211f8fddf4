--- Bodies in pieces: a handler whose result is a body (a string schema with `contentMediaType`) may send it piece by
--- piece with `context.sink(bytes)`. Each piece waits until the previous one was sent.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local task = require("operations.task")

local sink = {}

-- A place for one piece between the handler's task and the reader of the body.
local function new_slot()
  return { piece = nil, ended = false, on_piece = nil, on_taken = nil }
end

local function wake(slot, name)
  local fn = slot[name]
  if fn then
    slot[name] = nil
    fn()
  end
end

-- The timeout of a call ends when its answer begins; after that the reader sets the pace.
local function give(slot)
  return function(bytes)
    argument.expect(bytes, "string", 1, "sink")
    if slot.ended then
      error(errors.new("ABORTED", "the operation has returned: its body is over"), 0)
    elseif slot.piece then
      error("context.sink: the piece before is still on its way, and the order of pieces is to be certain", 2)
    elseif bytes ~= "" then
      task.deadline(nil)
      slot.piece = bytes
      wake(slot, "on_piece")
      task.await(function(fn)
        slot.on_taken = fn
      end)
    end
  end
end

-- Waits for a piece, or the handler's end.
local function wait(slot)
  if not slot.piece and not slot.ended then
    task.await(function(fn)
      slot.on_piece = fn
    end)
  end
  return slot.piece
end

local function body_of(slot)
  return function()
    if wait(slot) then
      local piece = slot.piece
      slot.piece = nil
      wake(slot, "on_taken")
      return piece
    end
    if slot.err then
      return nil, slot.err
    end
  end
end

-- A task that is cancelled before it begins would not report its end, so cancellation is checked here.
local function execute(registry, route, value, context)
  if task.cancelled() then
    return nil, errors.new("ABORTED", "the caller left")
  end
  if route.kind ~= "subscription" then
    return registry:execute(route.id, value, context)
  end
  local stream, err = registry:subscribe(route.id, value, context) -- its handler sends pieces, no events
  if not stream then
    return nil, err
  end
  local ok, envelope, failure = pcall(stream.next, stream)
  stream:close()
  if not ok then
    error(envelope, 0)
  end
  return envelope, failure
end

-- Runs the handler in a task of its own.
local function run(slot, registry, route, value, context, started, done)
  task.spawn(function()
    started(task.current())
    local ok, envelope, err = pcall(execute, registry, route, value, context)
    slot.ended, slot.envelope = true, ok and envelope or nil
    slot.err = not ok and (errors.from(envelope)) or err
    done() -- all pieces were taken, or their reader has left
    wake(slot, "on_piece")
  end)
end

--- Calls an operation whose result is a body.
---@param registry operations.Registry
---@param route operations.Route
---@param value any
---@param context table
---@param started fun(worker: operations.Task)  given what runs the handler
---@param done fun()  called when the handler has ended
---@return operations.ServerResponse? response  a body in pieces; nil: the handler returned without a piece
---@return operations.Envelope? envelope  what it returned
---@return operations.Error? err
function sink.run(registry, route, value, context, started, done)
  local slot = new_slot()
  run(slot, registry, route, value, members.merged(context, { sink = give(slot) }), started, done)
  if wait(slot) then
    return { status = route.status or 200, body = body_of(slot),
      headers = { ["content-type"] = route.output_media, ["cache-control"] = "no-store" } }
  end
  return nil, slot.envelope, slot.err
end

--- Calls an imported operation whose answer passes as it is (`openapi/relay.lua`).
---@param registry operations.Registry
---@param route operations.Route
---@param relay operations.Relay
---@param context table
---@param started fun(worker: operations.Task)  given what runs the handler
---@param done fun()  called when the handler has ended
---@return operations.RelayHead? head  nil: the answer is not sent in pieces
---@return (fun(): string?, operations.Error?)|string|nil body
---@return operations.Envelope? envelope  what the handler returned
---@return operations.Error? err
function sink.relay(registry, route, relay, context, started, done)
  local slot = new_slot()
  local give_piece = give(slot)
  function relay.begin(head)
    task.deadline(nil)
    slot.head = head
    wake(slot, "on_piece")
  end
  relay.send = give_piece
  run(slot, registry, route, relay.given, members.merged(context, { relay = relay }), started, done)
  while not slot.head and not slot.ended do
    task.await(function(fn)
      slot.on_piece = fn
    end)
  end
  if slot.head then
    return slot.head, body_of(slot)
  end
  return nil, nil, slot.envelope, slot.err
end

return sink
