--- MCP over two byte streams, one message per line: the program's stdin and stdout, or a connection at a Unix socket
--- (`lines`). Requests run at the same time; the end of the input cancels them.
local core = require("operations.core")
local dispatch = require("operations.mcp.server.dispatch")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local message = require("operations.mcp.protocol.message")
local peers = require("operations.mcp.server.peer")
local reader = require("operations.mcp.protocol.reader")
local scheduler = require("operations.task.scheduler")
local streams = require("operations.net.stream")
local task = require("operations.task")

local stdio = {}

local codes = message.codes

---@class operations.mcp.StdioLink
---@field server operations.McpServer
---@field peer operations.mcp.Peer
---@field input operations.Stream
---@field output operations.Stream
---@field queue table  received messages that were not handled yet
local Link = {}
Link.__index = Link

function Link:send(value)
  local text, err = message.encode(value)
  if not text and value.id ~= nil then
    text, err = message.encode(message.failure(value.id, codes.INTERNAL_ERROR,
      "the result is not JSON: " .. err.message))
  end
  if text and (value.id ~= nil or self.output:unsent() < limits.send_queue) then
    self.output:offer(text .. "\n", true)
  elseif not text then
    self.server.options.log("error", "a message is not JSON: " .. err.message)
  end
end

local function run(self, call)
  call.worker = task.current()
  local answer = dispatch.answer(call)
  if not call.cancelled then
    self:send(answer)
  end
  local running = self.peer.running
  running[call.id] = running[call.id] ~= call and running[call.id] or nil
  self.count = self.count - 1
  if self.count == 0 and self.on_idle then
    self.on_idle()
  end
end

local function take_request(self, value)
  local id, peer = value.id, self.peer
  if peer:runs(id) then
    return self:send(message.failure(id, codes.INVALID_REQUEST, "a request with this id is already running"))
  elseif self.count >= self.server.options.max_requests then
    return self:send(message.failure(id, codes.INTERNAL_ERROR,
      ("%d requests are running, no more are accepted"):format(self.count), { code = "BUSY", retryable = true }))
  end
  local call = dispatch.call(peer, value, function(sent)
    self:send(sent)
  end)
  peer.running[id], self.count = call, self.count + 1
  call.worker = task.detach(run, self, call)
end

local function take(self, value)
  local kind, problem = message.kind(value)
  if kind == "request" then
    take_request(self, value)
  elseif kind == "notification" then
    self.peer:notified(value)
  elseif kind == "answer" then
    self.peer:answered(value)
  else
    self:send(message.failure(message.id_in(value), codes.INVALID_REQUEST, "Invalid Request: " .. problem))
  end
end

-- Handles a line: one message, or a batch if the revision allows it.
local function take_line(self, value, err)
  if err then
    return self:send(message.failure(nil, -32700, "Parse error: " .. err.message))
  elseif type(value) == "table" and value.jsonrpc == nil and value[1] ~= nil and self.peer.version ~= "2025-03-26" then
    return self:send(message.failure(nil, codes.INVALID_REQUEST, "Invalid Request: batches are not supported"))
  end
  if type(value) == "table" and value.jsonrpc == nil and #value > self.server.options.max_batch then
    return self:send(message.failure(nil, codes.INVALID_REQUEST, ("Invalid Request: a batch of %d messages; %d are "
      .. "allowed"):format(#value, self.server.options.max_batch)))
  end
  message.each(value, function(_, item)
    take(self, item)
  end)
end

local function go_on(self, input, take_bytes)
  pcall(self.output.flush, self.output)
  input:each_chunk(take_bytes)
end

local function read(self, input)
  local feed = reader.lines(self.server.options.max_body, take_line, function(_, first, last, size)
    self:send(message.failure(reader.id(first, last), codes.INVALID_REQUEST,
      ("a message of %d bytes is too long"):format(size)))
  end, self)
  task.await(function(wake)
    self.stop = wake
    local function take_bytes(bytes)
      feed(bytes)
      if bytes == nil then
        wake()
      elseif self.output:unsent() >= limits.send_queue then
        input:pause() -- a client that does not read is not read from
        task.detach(go_on, self, input, take_bytes)
      end
    end
    input:each_chunk(take_bytes)
  end)
end

-- Cancels running calls, gives them some time to clean up and the client some to read, and closes both ends.
local function finish(self, reason)
  self.peer:cancel_all(reason)
  if self.count > 0 then
    task.deadline(core.now() + limits.close_grace)
    pcall(task.await, function(wake)
      self.on_idle = wake
    end)
  end
  task.deadline(core.now() + limits.close_grace)
  self.sent, self.problem = self.output:flush()
  self.input:close()
  self.output:close()
end

-- Serves until the input ends. A task that was cancelled, by a signal too, cleans up as well.
local function serve(self)
  local ok, raised = pcall(read, self, self.input)
  self.server.links[self] = nil
  self.server.changes:leave(self.peer)
  local is_over, wake = false, nil
  task.detach(function()
    local cleaned, problem = pcall(finish, self, ok and "the client has gone" or errors.from(raised))
    self.problem = self.problem or not cleaned and errors.from(problem) or nil
    is_over = true
    if wake then
      wake()
    end
  end)
  if not is_over then
    scheduler.await(function(wake_up)
      wake = wake_up
    end, true)
  end
  if not ok then
    error(raised, 0)
  end
  return self.sent, self.problem
end

--- A client at the other end of two streams, or of one.
---@param server operations.McpServer
---@param input operations.Stream
---@param output operations.Stream
---@return operations.mcp.StdioLink
function stdio.link(server, input, output)
  local self = setmetatable({ server = server, input = input, output = output, count = 0 }, Link)
  self.peer = peers.new(server, function(value)
    self:send(value)
  end, server.options.identity)
  server.links[self] = true
  if output ~= input then
    output:each_chunk(function(_, problem)
      if problem then
        self:close() -- no answer can be sent
      end
    end)
  end
  return self
end

--- Serves the client until it ends its side, or the link is closed.
---@param run_in fun(fn: function, ...: any): any  calls it in a task
---@return boolean? ok
---@return operations.Error? err  the client no longer reads
function Link:attend(run_in)
  return run_in(serve, self)
end

--- Serves the client at the other end of stdin and stdout until it ends stdin, or the server is closed.
---@param server operations.McpServer
---@return boolean? ok
---@return operations.Error? err  TRANSPORT_LOST: stdin or stdout is closed, or the client no longer reads
function stdio.serve(server)
  local input, err = streams.of_program("stdin")
  local output
  if input then
    output, err = streams.of_program("stdout")
  end
  if not output then
    return nil, err
  end
  local sent, problem = stdio.link(server, input, output):attend(task.run)
  return sent, problem and errors.new(problem.code, "stdout: " .. problem.message, problem.details)
end

--- Ends it: cancels what runs.
function Link:close()
  if self.stop then
    self.stop()
  end
end

return stdio
