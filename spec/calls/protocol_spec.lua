--- The exchanges of spec/vectors/protocol, as call maps and call handlers hold them; its README says what a line means.
local call_event = require("operations.calls.event")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")

local FILES = { "requests", "streams", "answers", "subscriptions", "invalid" }

local any_event = assert(operations.schema.compile(operations.schemas.call_event))

-- One end whose other end is a vector.
local Script = {}
Script.__index = Script

function Script:open(receiver)
  self.receiver = receiver
end

function Script:send(name, payload)
  local text, err = json.encode(call_event.new(name, payload))
  if not text then
    return nil, err
  end
  table.insert(self.sent, (json.decode(text)))
  return true
end

function Script:close()
  self.receiver.lost(operations.error("TRANSPORT_LOST", "closed"))
end

local function registry()
  local made, aborted = operations.registry({ log = function() end }), 0
  local function add(name, handler, fields)
    fields = fields or {}
    fields.namespace, fields.name, fields.handler = "v", name, handler
    assert(made:register(fields))
  end
  local function fail()
    return nil, operations.error("V_FAILED", "as asked", { why = "asked" })
  end
  local function who(_, context)
    return context.identity and context.identity.id or "nobody"
  end
  local integer = { type = "integer" }
  add("echo", function(input)
    return input
  end, { tags = { "listed" } })
  add("void", function() end)
  add("fail", fail)
  add("add", function(input)
    return input.a + input.b
  end, { inputSchema = { type = "object", required = { "a", "b" }, properties = { a = integer, b = integer } } })
  add("who", who)
  add("guarded", who, { accessControl = { requiredScopes = { "v:read" } } })
  add("context", function(_, context)
    return { parentRequestId = context.parentRequestId, traceparent = context.traceparent, k = context.metadata.k }
  end)
  add("wait", function()
    local _, raised = pcall(operations.sleep, 60)
    aborted = aborted + 1
    error(raised, 0)
  end)
  add("aborted", function()
    return aborted
  end)
  add("hidden", function() end, { _meta = { exposed = false } })
  add("stream", function(input)
    for n = 1, input.count do
      coroutine.yield(n)
    end
    if input.fail then
      return fail()
    end
  end, { type = "subscription" })
  return made
end

-- Where a value is other than an expected one; "<any>" is any.
local function difference(expected, got, path)
  if expected == "<any>" and got ~= nil then
    return nil
  elseif type(expected) ~= "table" or type(got) ~= "table" then
    return expected ~= got and ("%s: expected %s, got %s"):format(path, tostring(json.encode(expected)),
      tostring(got ~= nil and json.encode(got) or "nothing")) or nil
  elseif operations.array_mt == getmetatable(expected) and getmetatable(got) ~= operations.array_mt then
    return path .. ": expected an array"
  end
  for key, value in pairs(expected) do
    local found = difference(value, got[key], path .. "/" .. key)
    if found then
      return found
    end
  end
  for key in pairs(got) do
    if expected[key] == nil then
      return ("%s/%s: nothing expected, got %s"):format(path, key, json.encode(got[key]))
    end
  end
end

local function same(expected, got)
  local found = difference(expected, got, "")
  if found then
    error(found, 2)
  end
end

local function same_error(fields, err)
  assert.is_true(operations.is_error(err), "no error")
  for name, value in pairs(fields) do
    same(value, err[name])
  end
end

local lines = {}

function lines.arrives(run, event)
  local before = run.map:counted().refused
  run.receiver.event(event, run.peer)
  run.was_refused = run.map:counted().refused > before
  if not run.was_refused then
    assert.is_true(any_event:check(event))
  end
  operations.sleep(0) -- who waits for it goes on
end

function lines.sends(run, expected)
  local event = eventually(function()
    return table.remove(run.transport.sent, 1)
  end)
  same(expected, event)
  assert.is_true(any_event:check(event))
end

function lines.silence(run)
  operations.sleep(0.005)
  same(operations.array({}), operations.array(run.transport.sent))
end

function lines.refused(run, text)
  assert.is_true(run.was_refused)
  assert.truthy(run.log[#run.log]:find(text, 1, true), run.log[#run.log])
end

function lines.counted(run, expected)
  same(expected, run.map:counted())
end

local deeds = {}

function deeds.call(run, line)
  local options = line.options or {}
  options.requestId = line.as
  run.tasks[line.as] = operations.spawn(function()
    return { run.map:call(line.operation, line.input, options) }
  end)
end

function deeds.subscribe(run, line)
  local options = line.options or {}
  options.requestId = line.as
  run.subscriptions[line.as] = assert(run.map:subscribe(line.operation, line.input, options))
end

deeds["next"] = function(run, line)
  local envelope, err = run.subscriptions[line.as]:next()
  if line.gets then
    same(line.gets, assert(envelope, err).data)
  else
    assert.is_nil(envelope)
    if line.fails then
      same_error(line.fails, err)
    end
    assert.equal(line.ends, err == nil or nil)
  end
end

function deeds.close(run, line)
  run.subscriptions[line.as]:close()
end

function deeds.abort(run, line)
  run.map:abort(line.as, line.reason)
end

lines["does"] = function(run, deed, line)
  deeds[deed](run, line)
end

-- What became of a call.
local function result(run, line)
  return (unpack or table.unpack)(run.tasks[line.as]:wait(), 1, 2) -- luacheck: ignore 113 143
end

function lines.gets(run, expected, line)
  local envelope, err = result(run, line)
  assert(envelope, err)
  if expected == "<nothing>" then
    assert.is_nil(envelope.data)
  else
    same(expected, envelope.data)
  end
end

function lines.fails(run, expected, line)
  local _, err = result(run, line)
  same_error(expected, err)
end

local ORDER = { "does", "arrives", "sends", "silence", "refused", "counted", "gets", "fails" }

local function play(exchange)
  local head, log = exchange[1], {}
  local transport = setmetatable({ sent = {} }, Script)
  local map = operations.call_map(transport, { log = function(_, message)
    log[#log + 1] = message
  end })
  local run = { map = map, transport = transport, receiver = transport.receiver, log = log, peer = head.peer or {},
    tasks = {}, subscriptions = {} }
  if head.side == "server" then
    operations.call_handler(registry(), map, head.options)
  end
  for i = 2, #exchange do
    local line = exchange[i]
    for _, kind in ipairs(ORDER) do
      if line[kind] ~= nil then
        lines[kind](run, line[kind], line)
        break
      end
    end
  end
  lines.silence(run)
  map:close()
end

local function read(name)
  local exchanges = {}
  for text in io.lines(("spec/vectors/protocol/%s.jsonl"):format(name)) do
    local line = text ~= "" and assert(json.decode(text)) or nil
    if line and line.exchange then
      exchanges[#exchanges + 1] = {}
    end
    if line then
      table.insert(exchanges[#exchanges], line)
    end
  end
  return exchanges
end

local total = 0

for _, name in ipairs(FILES) do
  describe("the protocol's " .. name .. ":", function()
    for _, exchange in ipairs(read(name)) do
      total = total + 1
      it(exchange[1].exchange, function()
        operations.run(play, exchange)
      end)
    end
  end)
end

describe("the exchanges of the protocol", function()
  it("are many", function()
    assert.is_true(total >= 80, total)
  end)

  it("are judged by the schemas alone as well, but for ids that do not fit each other", function()
    for _, exchange in ipairs(read("invalid")) do
      for i, line in ipairs(exchange) do
        local refused = exchange[i + 1] and exchange[i + 1].refused
        if refused and refused ~= "/id" then
          assert.is_false((any_event:check(line.arrives)), exchange[1].exchange)
        end
      end
    end
  end)
end)
