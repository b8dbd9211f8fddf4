--- `operations mcp --nvim`: forwards messages between stdin/stdout and the socket of an editor that is an MCP server
--- (`require("operations.nvim").serve()`). It passes messages on as they are, answers where the editor cannot, and
--- starts no editor.
local address = require("operations.nvim.serve.address")
local core = require("operations.core")
local operations = require("operations")
local output = require("operations.cli.output")
local streams = require("operations.net.stream")
local system = require("operations.system")
local task = require("operations.task")

local bridge = {}

local SERVE = "call serve() of operations.nvim"
local GRACE = 5 -- seconds for the editor to answer a client that has ended

-- Messages. An editor that waits for a key (at "Press ENTER", for a register) or is busy answers nothing: it is asked
-- by a ping of ours before a request that follows a silence, and while an answer is due. A call that it has taken may
-- wait for its user, who may pause at a prompt.

local FRESH, PATIENCE, TAKEN, LOOK = 200, 2000, 30000, 250 -- ms
local PING = "operations bridge"
local SILENT = "the editor does not respond: it waits for a key of its user (Press ENTER, a prompt), or is busy"

-- Calls `fn` with each line, its end included, with backpressure; returns at the end of the stream, or when `fn` is
-- false.
local function each_line(from, fn)
  local pieces = {}
  while true do
    local bytes = operations.await(function(wake)
      from:each_chunk(function(piece)
        from:pause()
        wake(piece)
      end)
    end)
    if bytes == nil then
      return
    end
    local at = 1
    for stop in bytes:gmatch("\n()") do
      pieces[#pieces + 1] = bytes:sub(at, stop - 1)
      at = stop
      local line = table.concat(pieces)
      pieces = {}
      if fn(line) == false then
        return
      end
    end
    pieces[#pieces + 1] = bytes:sub(at)
  end
end

local function send(stream, message)
  message.jsonrpc = "2.0"
  return stream:write(operations.json.encode(message) .. "\n")
end

-- The sockets of running editors; sockets of killed ones are ignored (the next editor removes them).
local function live_sockets(directory)
  local found = {}
  for _, name in ipairs(system.list(directory) or {}) do
    local path = directory .. "/" .. name
    local stream = address.is_socket(name) and streams.connect_path(path)
    if stream then
      stream:close()
      found[#found + 1] = path
    end
  end
  table.sort(found)
  return found
end

local function unavailable(message, ...)
  return nil, operations.error("UNAVAILABLE", message:format(...))
end

local function ask_state(_, stream)
  local answer
  send(stream, { id = PING, method = "tools/call", params = { name = "editor_state", arguments = operations.object(),
    _meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
      ["io.modelcontextprotocol/clientCapabilities"] = operations.object() } } })
  each_line(stream, function(line)
    answer = operations.json.decode(line)
    return false
  end)
  return answer and answer.result and answer.result.structuredContent
end

-- A socket, with the process and the directory of its editor.
local function described(path)
  local stream, state = streams.connect_path(path), nil
  if stream then
    state = task.enclose(core.now() + PATIENCE, ask_state, stream)
    stream:close()
  end
  return path .. "  " .. (state and ("process %d in %s"):format(state.pid, state.directory) or "does not respond")
end

-- The only serving editor; none or several is an error.
local function only_one(directory)
  local found = live_sockets(directory)
  if #found == 1 then
    return streams.connect_path(found[1])
  elseif #found == 0 then
    return unavailable("no editor serves: in Neovim, " .. SERVE)
  end
  return unavailable("%d editors serve: give --nvim ADDRESS (in Neovim, :echo v:servername), or one of\n  %s", #found,
    table.concat(assert(operations.map(found, described)), "\n  "))
end

local function connect(given)
  local directory, message = address.directory()
  if not directory then
    return unavailable("%s", message)
  elseif given == nil then
    return only_one(directory)
  end
  local stream, err = streams.connect_path(address.path(directory, given))
  if stream then
    return stream
  end
  return unavailable("the editor at %s does not serve (%s): there, " .. SERVE, given,
    err.message)
end

---@class operations.cli.Bridge
---@field editor operations.Stream
---@field out operations.Stream  to the client
---@field heard number  when the editor said something
---@field pinged number?  when it was asked, if it has not answered
---@field pending table<string, { id: any, sent: number, method: string }>  requests without an answer, by the JSON of
---  their ids
---@field refused table<string, true>  of those that were answered here
local Bridge = {}
Bridge.__index = Bridge

-- The message of a line, and the JSON of its id; nil for what is none.
local function message_of(line)
  local message = operations.json.decode(line)
  if type(message) == "table" and message.id ~= nil then
    return message, operations.json.encode(message.id)
  end
end

function Bridge:refuse(id, more)
  return send(self.out, { id = id, error = { code = -32000, message = SILENT .. more,
    data = { code = "UNAVAILABLE", retryable = true } } })
end

function Bridge:ping()
  if not self.pinged then
    self.pinged = core.now()
    send(self.editor, { id = PING, method = "ping" })
  end
end

-- Has the editor said something just now, or does it after a ping?
function Bridge:responds()
  if core.now() - self.heard < FRESH then
    return true
  end
  self:ping()
  local pause = 1
  while self.pinged and core.now() - self.pinged <= PATIENCE do
    operations.sleep(pause / 1000)
    pause = math.min(2 * pause, LOOK)
  end
  return not self.pinged
end

function Bridge:from_client(line)
  local message, key = message_of(line)
  if message and message.method then
    if not self:responds() then
      return self:refuse(message.id, "; nothing was called") ~= nil
    end
    self.pending[key] = { id = message.id, sent = core.now(), method = message.method }
  end
  return self.editor:write(line) ~= nil
end

function Bridge:from_editor(line)
  self.heard = core.now()
  local message, key = message_of(line)
  if message and message.id == PING and not message.method then
    self.pinged = nil
    return true
  elseif message and not message.method then
    self.pending[key] = nil
    if self.refused[key] then
      self.refused[key] = nil
      return true
    end
  end
  return self.out:write(line) ~= nil
end

-- The ids of requests that wait in vain, by their JSON, after a silence: those that the editor has not taken, and later
-- the calls that it has.
function Bridge:stuck(silence)
  local list = {}
  for key, request in pairs(self.pending) do
    local is_taken = self.heard > request.sent
    if not is_taken or silence > TAKEN and request.method == "tools/call" then
      list[key] = request.id
    end
  end
  return list
end

-- Answers what waits for an editor that does not respond, and cancels it there.
function Bridge:watch()
  while true do
    operations.sleep(LOOK / 1000)
    if next(self.pending) ~= nil and core.now() - self.heard > PATIENCE then
      self:ping()
    end
    if self.pinged and core.now() - self.pinged > PATIENCE then
      for key, id in pairs(self:stuck(core.now() - self.pinged)) do
        self.refused[key], self.pending[key] = true, nil
        self:refuse(id, "; the call may have begun")
        send(self.editor, { method = "notifications/cancelled", params = { requestId = id, reason = SILENT } })
      end
    end
  end
end

-- When the client ends, our side of the socket ends, and after a while everything, since the editor may be suspended.
-- When the editor ends, everything ends after its last output.
local function run(stream, input, out)
  local self = setmetatable({ editor = stream, out = out, heard = 0, pending = {}, refused = {} }, Bridge)
  local receiving = operations.spawn(each_line, stream, function(line) return self:from_editor(line) end)
  local watching = operations.spawn(self.watch, self)
  local sending = operations.spawn(function()
    each_line(input, function(line) return self:from_client(line) end)
    stream:finish()
    operations.sleep(GRACE)
    receiving:cancel()
  end)
  receiving:wait()
  watching:cancel()
  sending:cancel()
  out:flush()
end

--- Runs until the client or the editor ends.
---@param given? string  address of the editor
---@return integer code
function bridge.run(given)
  local stream, err = connect(given)
  if not stream then
    return output.fail(err)
  end
  local input = assert(streams.of_program("stdin"))
  local out = assert(streams.of_program("stdout"))
  operations.run(run, stream, input, out)
  stream:close()
  input:close()
  out:close()
  return output.codes.OK
end

return bridge
