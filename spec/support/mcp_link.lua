--- An MCP server in this process, for specs of the client: functions answer the requests, over a connection in memory.
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local duplex = require("operations.mcp.client.duplex")
local json = require("operations.base.json")
local mcp_failure = require("operations.mcp.protocol.failure")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local mcp_link = {}

local object = setmetatable({}, json.object_mt)
local Link = duplex.class()
local count = 0

--- Sends the client a message.
---@param value table
function Link:say(value)
  value.jsonrpc = "2.0"
  self:take(message.decode(assert(json.encode(value))))
end

local function hear(self, text)
  local server, value = self.server, assert(json.decode(text))
  table.insert(server.heard, value)
  local handler = server.methods[value.method]
  if value.method == nil and server.answered then
    server.answered(value, self)
  end
  if value.id == nil or value.method == nil or handler == false then
    return true
  end
  local result, failure
  if handler then
    result, failure = handler(value.params or {}, self, value)
  else
    failure = { code = message.codes.METHOD_NOT_FOUND, message = "no " .. value.method }
  end
  if result or failure then
    self:say({ id = value.id, result = result, error = failure })
  end
  return true
end

Link._offer, Link._post = hear, hear

function Link:_write(text)
  if self.server.refusal then
    return nil, self.server.refusal
  end
  return hear(self, text)
end

function Link:speak(modern, version)
  table.insert(self.server.spoken, (modern and "modern" or "legacy") .. (version and " " .. version or ""))
end

function Link:started()
  self.is_started = true
end

function Link:close()
  self.ends = (self.ends or 0) + 1
  if not self.closed then
    self.closed = mcp_failure.closed("the connection was closed")
    self.pending:fail_all(self.closed)
    self._deadlines:stop()
  end
end

---@class spec.McpServer
---@field methods table<string, function|false>  method -> fun(params, link) -> result, or nil and an error; neither, or
---  false for a function: no answer
---@field heard table[]  all messages of the client
---@field links table[]  its connections
---@field spoken string[]  the eras and revisions that the connections were told
---@field kinds (string|false)[]  of the connections
---@field answered? fun(answer: table, link: table)  called with the client's answers
---@field refusal? operations.Error  of messages without an answer
---@field opens? fun(): operations.Error?  why there is no connection

--- Makes a server.
---@param era "modern"|"legacy"
---@param capabilities? table
---@param methods? table
---@return spec.McpServer
function mcp_link.server(era, capabilities, methods)
  local server = { heard = {}, links = {}, spoken = {}, kinds = {}, capabilities = capabilities or { tools = object } }
  local own = { ["tools/list"] = function()
    return { tools = setmetatable({}, json.array_mt) }
  end }
  if era == "modern" then
    own["server/discover"] = function()
      return { supportedVersions = { "2026-07-28" }, capabilities = server.capabilities }
    end
  else
    own["initialize"] = function(params)
      return { protocolVersion = params.protocolVersion, capabilities = server.capabilities }
    end
  end
  server.methods = members.merged(own, methods)
  return server
end

--- Opens a connection to a server.
---@param server spec.McpServer
---@return fun(config: table, events: table): table?, operations.Error?
function mcp_link.open(server)
  return function(_, events, kind)
    table.insert(server.kinds, kind or false)
    local err = server.opens and server.opens()
    if err then
      return nil, err
    end
    local link = duplex.init(setmetatable({ server = server }, Link), events)
    table.insert(server.links, link)
    return link
  end
end

--- The configuration of a connection, checked.
---@param more? table
---@return operations.mcp.Config
function mcp_link.config(more)
  count = count + 1 -- what is known of one server does not count for others
  return config.check("s", members.merged({ command = "none", args = { tostring(count) }, log = function() end }, more))
end

--- A client of a server.
---@param server spec.McpServer
---@param more? table  of the configuration
---@return operations.mcp.Client?
---@return operations.Error? err
function mcp_link.connect(server, more)
  return clients.connect("s", mcp_link.config(more), mcp_link.open(server))
end

--- What the server heard of a method: the params.
---@param server spec.McpServer
---@param method string
---@return table[]
function mcp_link.params(server, method)
  local list = {}
  for _, value in ipairs(server.heard) do
    if value.method == method then
      list[#list + 1] = value.params or object
    end
  end
  return list
end

return mcp_link
