--- The library of programs in the sandbox: their globals, their calls and their outcome. `src/sandbox/child_lua.c` runs
--- this file in a fresh Lua state and gives it the functions `child`, the configuration (JSON) and the program.
---
--- The host does not trust this file: a program that breaks out of its state can send lines of its own.
---
--- Lines to the host: `{ begun }` (of C), `{ print }`, `{ cut }`, `{ call, name, n, arguments }`,
--- `{ end = { ok, used, value | kind, message, line, code, details } }`. Lines of the host: `{ reply, value | error }`.
-- luacheck: ignore 113 143
local child, config_text, code = ...

local decode, encode, null = child.json_decode, child.json_encode, child.null
local array_mt, object_mt, error_mt = child.array_mt, child.object_mt, child.error_mt
local send, receive, used = child.send, child.receive, os.clock
local error, getmetatable, ipairs, next, pairs, pcall, rawget = error, getmetatable, ipairs, next, pairs, pcall, rawget
local select, setmetatable, tostring, type, xpcall = select, setmetatable, tostring, type, xpcall
local resume, running, status, yield = coroutine.resume, coroutine.running, coroutine.status, coroutine.yield
local create, close, isyieldable = coroutine.create, coroutine.close, coroutine.isyieldable
local format, gsub, match, sub = string.format, string.gsub, string.match, string.sub
local concat, min = table.concat, math.min
local getinfo, collect, compile = debug.getinfo, collectgarbage, load

local config = decode(config_text)

local MAX_ARGUMENTS = 16 -- of a call
local MAX_MESSAGE = 4096 -- bytes of an error's message in the report
local MAX_DETAILS = 64 * 1024 -- bytes of its details, as JSON

-- The language without what reaches out of it.

local allowed = {
  _G = { "_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget",
    "rawlen", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall" },
  os = { "clock", "date", "difftime", "time" },
  string = { "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack", "packsize", "rep",
    "reverse", "sub", "unpack", "upper" },
}
local whole = { "bit", "coroutine", "math", "table", "utf8" }

local function only(names, values)
  local keep = {}
  for _, name in ipairs(names) do
    keep[name] = rawget(values, name)
  end
  for name in pairs(values) do
    values[name] = keep[name]
  end
end

local function restrict(globals)
  local libraries = { _G = globals, os = globals.os, string = globals.string }
  for _, name in ipairs(whole) do
    libraries[name] = globals[name]
  end
  only(allowed.os, globals.os)
  only(allowed.string, globals.string)
  only(allowed._G, globals)
  for name, library in pairs(libraries) do
    globals[name] = library
  end
end

-- Text only: bytecode is not checked when it is loaded.
local function load_text(chunk, name, _, ...)
  return compile(chunk, name == nil and "=(load)" or name, "t", ...)
end

local function garbage(what)
  if what ~= nil and what ~= "collect" and what ~= "count" then
    error("bad argument #1 to 'collectgarbage' ('collect' or 'count' expected)", 2)
  end
  return collect(what)
end

-- Errors.

function error_mt.__tostring(err)
  return tostring(rawget(err, "code")) .. ": " .. tostring(rawget(err, "message"))
end

local function failure(kind, message)
  return setmetatable({ code = "EXECUTION_ERROR", message = message, details = { kind = kind } }, error_mt)
end

-- Calls of the host's functions.

local WAIT = {} -- what a coroutine of `map` yields while its call runs
local workers = setmetatable({}, { __mode = "k" }) -- coroutines of `map`
local calls, in_flight, replies = 0, 0, {}

-- A reply for which there is no memory is lost, and its call has failed: it is not waited for again.
local function take_reply()
  if in_flight == 0 then
    error("the reply of a call was lost", 0)
  end
  in_flight = in_flight - 1
  local reply = decode(receive())
  replies[reply.reply] = reply
end

local function refuse(kind, ...)
  return nil, failure(kind, format(...))
end

local function too_many()
  return refuse("calls", "the program has made its %d calls: the limit", config.calls)
end

local function send_call(name, ...)
  if calls >= config.calls then
    return too_many()
  end
  local count, arguments = select("#", ...), setmetatable({}, object_mt)
  if count > MAX_ARGUMENTS then
    return refuse("arguments", "%s has %d arguments, at most %d are allowed", name, count, MAX_ARGUMENTS)
  end
  for i = 1, count do
    arguments[tostring(i)] = (select(i, ...))
  end
  local text, err = encode(arguments)
  if not text then
    err.message = "an argument of " .. name .. ": " .. err.message
    return nil, err
  elseif #text > config.value then
    return refuse("size", "the arguments of %s have %d bytes as JSON, at most %d are allowed", name, #text,
      config.value)
  end
  local id, line
  repeat -- a finalizer that runs meanwhile may call, too
    if calls >= config.calls then
      return too_many()
    end
    while in_flight >= config.at_once do
      take_reply()
    end
    id = calls + 1
    line = format('{"call":%d,"name":"%s","n":%d,"arguments":%s}', id, name, count, text)
  until id == calls + 1 and in_flight < config.at_once
  calls, in_flight = id, in_flight + 1
  send(line)
  return id
end

local function caller(name)
  return function(...)
    local id, err = send_call(name, ...)
    if not id then
      return nil, err
    end
    if workers[running()] and isyieldable() then
      yield(WAIT, id)
    end
    while not replies[id] do
      take_reply()
    end
    local reply = replies[id]
    replies[id] = nil
    if reply.error then
      return nil, setmetatable(reply.error, error_mt)
    end
    return reply.value
  end
end

-- Runs a coroutine of `map` until it waits for a reply, or has ended: then notes its result.
local function step(work, co, index, ...)
  local ok, value, err = resume(co, ...)
  if not ok then
    error(value, 0)
  elseif status(co) == "dead" then
    if value == nil and err ~= nil then
      work.errors = work.errors or {}
      work.errors[index] = err
    else
      work.results[index] = value == nil and null or value
    end
  elseif value == WAIT then
    work.waiting[co] = { index = index, id = err }
  else
    error("the function of map must not yield", 0)
  end
end

local function next_ready(waiting)
  while true do
    for co, wait in next, waiting do
      if replies[wait.id] then
        waiting[co] = nil
        return co, wait.index
      end
    end
    take_reply()
  end
end

local function run_map(work, list, fn, at_once)
  local begun, length = 0, #list
  while true do
    local count = 0
    for _ in next, work.waiting do
      count = count + 1
    end
    if begun < length and count < at_once then
      begun = begun + 1
      local co = create(fn)
      workers[co] = true
      step(work, co, begun, list[begun], begun)
    elseif count > 0 then
      local co, index = next_ready(work.waiting)
      step(work, co, index)
    else
      return
    end
  end
end

local function map(list, fn, options)
  if type(list) ~= "table" then
    error("bad argument #1 to 'map' (table expected, got " .. type(list) .. ")", 2)
  elseif #list == 0 and next(list) ~= nil then
    error("bad argument #1 to 'map' (list expected, got a table without [1])", 2)
  elseif type(fn) ~= "function" then
    error("bad argument #2 to 'map' (function expected, got " .. type(fn) .. ")", 2)
  end
  local at_once = type(options) == "table" and options.at_once or config.at_once
  if type(at_once) ~= "number" or at_once ~= at_once or at_once < 1 then
    error("bad option 'at_once' to 'map' (a number of at least 1 expected)", 2)
  end
  local work = { results = setmetatable({}, array_mt), waiting = {} }
  local ok, raised = pcall(run_map, work, list, fn, min(at_once, config.at_once))
  if not ok then
    for co in next, close and work.waiting or {} do
      close(co)
    end
    error(raised, 0)
  end
  return work.results, work.errors
end

-- Output.

local printed, is_cut = 0, false

local function cut(text, room)
  return #text <= room and text or (gsub(sub(text, 1, room), "[\192-\255]?[\128-\191]*$", ""))
end

-- The line of as much of a text as there is room for, its bytes, and whether that is all of it.
local function line_of(text, room)
  local part = cut(text, room)
  local line, is_whole = encode({ print = part }), #part == #text
  if not line then -- it is no UTF-8
    text = gsub(part, "[\128-\255]+", "\239\191\189")
    part = cut(text, room)
    line, is_whole = encode({ print = part }), is_whole and #part == #text
  end
  return line, #part, is_whole
end

local sorted = { sort_keys = true }

-- As tostring, but tables are JSON.
local function shown(value)
  if value == null then
    return "null"
  end
  local metatable = type(value) == "table" and getmetatable(value)
  local has_text = type(metatable) == "table" and rawget(metatable, "__tostring") ~= nil
  return type(value) == "table" and not has_text and encode(value, sorted) or tostring(value)
end

local function print(...)
  local list = {}
  for i = 1, select("#", ...) do
    list[i] = shown((select(i, ...)))
  end
  local text = concat(list, "\t") .. "\n"
  if is_cut then
    return
  end
  local line, size, is_whole, before
  repeat -- a finalizer that runs meanwhile may print, too
    before = printed
    line, size, is_whole = line_of(text, config.output - printed)
  until before == printed
  if is_cut then
    return
  end
  printed, is_cut = printed + size, not is_whole
  if size > 0 then
    send(line)
  end
  if is_cut then
    send('{"cut":true}')
  end
end

-- The program, and its outcome.

local function marked(metatable)
  return function(values)
    return setmetatable(values == nil and {} or values, metatable)
  end
end

local function open(globals)
  restrict(globals)
  globals.load, globals.loadstring = load_text, loadstring and load_text
  globals.collectgarbage = garbage
  globals.print, globals.map, globals.null = print, map, null
  globals.array, globals.object = marked(array_mt), marked(object_mt)
  globals.json = { encode = encode, decode = decode, null = null, array_mt = array_mt, object_mt = object_mt }
  for _, name in ipairs(config.names) do
    globals[name] = caller(name)
  end
end

-- The line of the program that is the nearest to the error, by the stack at that moment.
local function with_line(raised)
  local level, line = 2, nil
  local info = getinfo(level, "Sl")
  while info and not line do
    line = info.source == "=program" and info.currentline or nil
    level = level + 1
    info = getinfo(level, "Sl")
  end
  return { raised = raised, line = line }
end

local function shortened(text)
  if type(text) ~= "string" then
    return "?"
  elseif not encode(text) then
    text = gsub(text, "[\128-\255]+", "?")
  end
  return #text <= MAX_MESSAGE and text or gsub(sub(text, 1, MAX_MESSAGE), "[\192-\255]?[\128-\191]*$", "") .. "..."
end

-- What failed as a table: that of an error object, else its text.
local function described(raised)
  local is_table = type(raised) == "table"
  local err_code, message = is_table and rawget(raised, "code"), is_table and rawget(raised, "message")
  if type(err_code) == "string" and type(message) == "string" then
    local details = rawget(raised, "details")
    local text = encode(details)
    return { code = shortened(err_code), message = shortened(message),
      details = text and #text <= MAX_DETAILS and details or nil }
  elseif raised == nil then
    return { message = "nil was raised" }
  end
  local ok, text = pcall(tostring, raised)
  local line, rest = match(ok and text or "", "^program:(%d+): (.*)$")
  return { message = shortened(rest or ok and text), line = line and line + 0 }
end

local function finish(outcome)
  outcome.used = used() * 1000
  send(encode({ ["end"] = outcome }))
end

local function fail(kind, raised, line)
  local outcome = described(raised)
  local is_memory = type(raised) == "string" and match(raised, "not enough memory$")
  outcome.kind, outcome.line = is_memory and "memory" or kind, outcome.line or line
  finish(outcome)
end

local function succeed(value)
  if value == nil then
    return finish({ ok = true })
  end
  local text, err = encode(value)
  if text and #text > config.result then
    text, err = refuse("size", "it has %d bytes as JSON, at most %d are allowed", #text, config.result)
  end
  if not text then
    return fail("result", "the result: " .. err.message)
  end
  send(format('{"end":{"ok":true,"used":%.3f,"value":', used() * 1000) .. text .. "}}")
end

open(_G)
local main, flaw = compile(code, "=program", "t")
if not main then
  return fail("syntax", flaw)
end
local ok, value, err = xpcall(main, with_line)
if not ok and type(value) == "table" then
  fail("raised", value.raised, value.line)
elseif not ok then -- no memory, or no stack, for `with_line`
  fail("raised", value)
elseif value == nil and err ~= nil then
  fail("raised", err)
else
  succeed(value)
end
