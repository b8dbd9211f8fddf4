--- The stdio transport (every revision): the server is a child process, with one message per line.
local compat = require("operations.base.compat")
local duplex = require("operations.mcp.client.duplex")
local mcp_failure = require("operations.mcp.protocol.failure")
local process = require("operations.net.process")
local reader = require("operations.mcp.protocol.reader")
local scheduler = require("operations.task.scheduler")
local task = require("operations.task")

local stdio = {}

-- The longest time between the two signs of an end, the last bytes and the exit, ms.
local APART = 250
-- Bytes of the server's last output shown in the error of its end.
local LAST_WORDS = 500

---@class operations.mcp.Stdio : operations.mcp.Duplex
local Stdio = duplex.class()

local function how_it_ended(how, closed)
  if not how then
    return "closed its " .. closed
  elseif how.code then
    return ("ended with exit code %d"):format(how.code)
  end
  return how.signal and ("was ended by signal %d"):format(how.signal) or "ended"
end

-- The lines of a log, without indented stack traces (Lua, Node, Python, Java).
local function lines_of(log)
  local said, indented = {}, nil
  for line in log:gmatch("[^\n]+") do
    if line:find("^%S") then
      said[#said + 1] = line
    elseif line:find("%S") then
      indented = line
    end
  end
  return said[1] and said or { indented }
end

-- The last lines, one below the other; of a single long line, its beginning.
local function last_words(log)
  local said, size = lines_of(log), 0
  local first = #said + 1
  while first > 1 and size + #said[first - 1] <= LAST_WORDS do
    first = first - 1
    size = size + #said[first]
  end
  if first < #said then
    return ":\n  " .. table.concat(said, "\n  ", first)
  end
  return said[1] and ": " .. said[#said]:sub(1, LAST_WORDS) or ""
end

local function end_error(self)
  local how, log = self._end, self._child:stderr()
  return mcp_failure.new("closed",
    ("%s: the server %s%s"):format(self._command, how_it_ended(how, self._first_closed or "stdin"), last_words(log)),
    { command = self._command, code = how and how.code, signal = how and how.signal, stderr = log })
end

-- A sign of the end came: both signs, or one after some time, are the end. `closed` is the stream that was closed.
local function ending(self, closed)
  self._first_closed = self._first_closed or closed
  if self._end and self._over then
    self:lost(end_error(self))
  elseif not self._stop_waiting then
    self._stop_waiting = scheduler.host().timer(APART, function()
      self:lost(end_error(self))
    end)
  end
end

local function on_dropped(self, first, last, size)
  local text = ("a line of %d bytes, more than the %d allowed"):format(size, self._max)
  local id = reader.id(first, last)
  local err = mcp_failure.new("size", "the response is " .. text, { limit = self._max })
  if not (id and self.pending:fail(id, err)) then
    self._events.noise(text, first)
  end
end

local function listen(self)
  local read = reader.lines(self._max, self.take, on_dropped, self)
  self._child:on_exit(function(how)
    self._end = how
    ending(self)
  end)
  self._child:on_unread(function()
    self._over = true
    ending(self, "stdin")
  end)
  self._child:each_chunk(function(bytes)
    if bytes then
      return read(bytes)
    end
    self._over = true
    read(nil)
    ending(self, "stdout")
  end)
end

--- Starts a server.
---@param config operations.mcp.Config
---@param events operations.mcp.LinkEvents
---@return operations.mcp.Stdio?
---@return operations.Error? err
function stdio.open(config, events)
  local child, err = process.spawn({
    env = config.env, env_allow = config.env_allow, cwd = config.cwd, on_stderr = config.on_stderr, shared = true,
    whole_group = true, config.command, compat.unpack(config.args or {}),
  })
  if not child then
    if err.details and err.details.kind == "command" and config.command:find("%s") then
      err.message = err.message .. "; `command` is the program alone, its arguments are the list `args`"
    end
    return nil, err
  end
  local self = duplex.init(setmetatable({
    _child = child, _command = config.command, _max = config.max_message, _grace = config.stop,
  }, Stdio), events)
  listen(self)
  return self
end

-- Waits while the server reads nothing. If it never reads again, its end is near and fails the waiting requests.
function Stdio:_write(text)
  local sent, err = self._child:write(text .. "\n")
  if sent then
    return true
  elseif err.details and err.details.kind == "closed" then
    return "unread"
  end
  return nil, mcp_failure.unsent(err)
end

function Stdio:_offer(text)
  return (self._child:offer(text, "\n"))
end

function Stdio:_post(text)
  local sent, why = self._child:offer(text, "\n")
  if sent then
    return true
  elseif why == "closed" then
    return nil, end_error(self)
  end
  task.detach(self._write, self, text)
  return true
end

--- The last lines that the server wrote to stderr, to be appended to a message, and all that are kept.
---@return string
---@return string? log
function Stdio:last_words()
  local log = self._child:stderr()
  return last_words(log), log ~= "" and log or nil
end

--- Ends the server: closes its stdin, then sends TERM, then KILL.
function Stdio:close()
  if not self.closed then
    self.closed = mcp_failure.closed(self._command .. ": the connection was closed")
    self.pending:fail_all(self.closed)
    self._deadlines:stop()
  end
  if self._stop_waiting then
    self._stop_waiting()
  end
  self._child:stop(self._grace)
end

return stdio
