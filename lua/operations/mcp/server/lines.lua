--- MCP at a Unix socket with the stdio protocol: one message per line, one client per connection.
local argument = require("operations.base.argument")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local stdio = require("operations.mcp.server.stdio")
local streams = require("operations.net.stream")
local task = require("operations.task")

local lines = {}

---@class operations.McpLinesOptions
---@field path string  of the socket; replaces a socket file that no process listens at
---@field mode? integer  permission bits of its file, default 384 (0600)
---@field max_connections? integer  default 64; further clients get an error and are disconnected

local option_kinds = { path = "string", mode = "number", max_connections = "number" }

---@class operations.McpLines
---@field path string
---@field connections integer  open connections
local Lines = {}
Lines.__index = Lines

local listening = {} -- keeps them alive  luacheck: ignore 241

local function call(fn, ...)
  return fn(...)
end

local function serve(self, link)
  local ok, raised = pcall(link.attend, link, call)
  self._links[link], self.connections = nil, self.connections - 1
  if not ok then
    error(raised, 0)
  end
end

local function on_stream(self, server, stream)
  if self.connections < self._max then
    local link = stdio.link(server, stream, stream)
    self._links[link], self.connections = true, self.connections + 1
    task.detach(serve, self, link)
  else
    local text = message.encode(message.failure(nil, message.codes.INTERNAL_ERROR,
      ("%d clients are connected, no more are accepted"):format(self.connections), { code = "BUSY", retryable = true }))
    stream:offer(text .. "\n", true)
    stream:linger(limits.close_grace)
  end
end

--- Listens, and serves clients, until it is closed.
---@param server operations.McpServer
---@param options operations.McpLinesOptions
---@return operations.McpLines?
---@return operations.Error? err
function lines.listen(server, options)
  argument.expect(options, "table", 1, "listen_lines", 4)
  argument.options(options, option_kinds, "listen_lines", 4)
  if not options.path then
    error("bad option 'path' to 'listen_lines' (string expected, got nil)", 3)
  end
  local self = setmetatable({ path = options.path, connections = 0, _links = {},
    _max = options.max_connections or limits.mcp_connections }, Lines)
  local opened, err = streams.listen_path(options.path, function(stream)
    on_stream(self, server, stream)
  end, { mode = options.mode })
  if not opened then
    return nil, err
  end
  self._listener, listening[self] = opened, true
  return self
end

--- Accepts no more clients, and ends the connections: their running calls are cancelled. Removes the file.
function Lines:close()
  if listening[self] then
    listening[self] = nil
    self._listener:close()
  end
  for link in pairs(members.copy(self._links)) do
    link:close()
  end
end

Lines.drain = Lines.close

return lines
