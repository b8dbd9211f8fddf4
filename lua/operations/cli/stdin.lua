--- Standard input of the command line program, in place of `io.stdin`: waits no longer than the call may take, and says
--- what it waits for. Reads from the descriptor: bytes that no call reads stay there for other programs.
local core = require("operations.core")
local errors = require("operations.base.error")
local output = require("operations.cli.output")
local system = require("operations.system")

local stdin = {}

local STDIN = 0
local SLICE = 100 -- ms of a wait
local PATIENCE = 1000 -- ms before a person is told what is waited for

local file = io.stdin

---@class operations.cli.Stdin
---@field deadline? integer  ms since the epoch, of the call
---@field unasked? boolean  no argument names the input
---@field _rest string  bytes of a line that were read with the one before
local Stdin = { _rest = "" }

Stdin.__index = function(_, name)
  local method = Stdin[name] == nil and file[name]
  return method and function(_, ...)
    return method(file, ...)
  end or Stdin[name]
end

local function wait(self)
  local began, told = core.now(), not self.unasked
  while true do
    local is_readable, now = system.readable(STDIN, SLICE), core.now()
    if self.deadline and now >= self.deadline then
      error(errors.new("TIMEOUT", ("standard input %s in time; </dev/null is an empty one"):format(
        is_readable and "did not end" or "gave nothing")), 0)
    elseif is_readable then
      return
    elseif not told and now - began >= PATIENCE then
      told = true
      output.notice("waiting for a body on standard input; - asks for it, </dev/null gives none")
    end
  end
end

-- Some bytes; nil at the end, or nil and the error.
local function piece(self)
  wait(self)
  local text, message = system.read(STDIN)
  self.unasked = nil
  if text == "" then
    return nil
  end
  return text, message
end

local function all(self)
  local pieces = { self._rest }
  self._rest = ""
  while true do
    local text, message = piece(self)
    if message then
      return nil, message
    elseif not text then
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = text
  end
end

local function line(self)
  while not self._rest:find("\n", 1, true) do
    local text = piece(self)
    if not text then
      local last = self._rest
      self._rest = ""
      return last ~= "" and last or nil
    end
    self._rest = self._rest .. text
  end
  local first, rest = self._rest:match("^([^\n]*)\n(.*)$")
  self._rest = rest
  return first
end

--- As `file:read`; a number gives what there is, at most some KiB.
---@param what? "*a"|"*l"|integer
---@return string?
---@return string? message
function Stdin:read(what)
  if what == "*a" then
    return all(self)
  elseif type(what) == "number" then
    if self._rest ~= "" then
      local text = self._rest
      self._rest = ""
      return text
    end
    return piece(self)
  end
  return line(self)
end

--- Replaces `io.stdin`.
---@return operations.cli.Stdin
function stdin.install()
  stdin.current = setmetatable({}, Stdin)
  rawset(io, "stdin", stdin.current)
  return stdin.current
end

--- Reports what was piped into a call that does not read it. A file may be the list of a loop.
---@param why string
function stdin.tell_unread(why)
  if not system.is_terminal(STDIN) and not file:seek("cur") and (system.readable(STDIN, 0) or 0) > 0 then
    output.notice("standard input is not read: %s; </dev/null says so", why)
  end
end

return stdin
