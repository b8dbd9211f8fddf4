--- Plain calls: requests by GET of a query that everybody may call, whose parameters are scalars and whose header fields
--- change nothing. src/server/direct_lua.c finds them; they are answered without the tables that describe a request.
--- Everything else, and the first request of each path, goes through `Server:handle`.
local core = require("operations.core")
local errors = require("operations.base.error")
local exchange = require("operations.server.exchange")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local task = require("operations.task")

local encode, random_id = json.encode, core.random_id
local direct = {}

local PATHS, HOST, OBJECT_MT = 1, 2, 3 -- of the table that the parser takes
local kinds = { string = 1, integer = 2, number = 2, boolean = 3 }

---@class operations.Direct
---@field calls table  which requests are plain calls, for the parser
---@field _server operations.Server
---@field _headers table<string, string>  of answers
---@field _response operations.ServerResponse  the same for all: it is used up before anything else runs
local Direct = {}
Direct.__index = Direct

--- Adds a path, where requests for it may be plain calls.
---@param path string  raw
---@param place operations.Place
function Direct:learn(path, place)
  local route = place.public and place.methods.GET
  if not route or route.kind ~= "query" or route.takes_context or route.cache or route.output_media or route.status
    or next(route.names) then
    return
  end
  local members = {}
  for name, member in pairs(route.flat.members) do
    members[name] = not member.list and kinds[member.one] or nil
  end
  self.calls[PATHS][path] = { route, members }
end

--- No request is a plain call until its path has been learnt again.
function Direct:forget()
  self.calls[PATHS] = {}
end

--- Says which value of the field Host is one of this server.
---@param host? string
function Direct:know(host)
  self.calls[HOST] = host
end

-- What waits is cancelled when its caller leaves, or when the server has no more time for it.
local function watch(connection, worker)
  connection.direct._server.workers[connection] = worker
  connection.register(function()
    worker:cancel(errors.new("ABORTED", "the caller left"))
  end)
end

local function execute(worker, connection, route, input)
  local server = connection.direct._server
  worker:on_wait(watch, connection)
  return server.registry:execute(route.id, input, { requestId = connection.request_id,
    timeout = server.options.timeout or limits.call_timeout })
end

-- The call as `Server:handle` has it.
local function describe(self, connection, route)
  local request = { method = "GET", headers = {}, body = "", peer = connection.peer, left = connection.register }
  return { server = self._server, request = request, id = connection.request_id, route = route }
end

local function with_own(self, connection, response)
  response.headers["x-request-id"] = connection.request_id
  response.headers["x-content-type-options"] = self._headers["x-content-type-options"]
  return response
end

--- Answers a plain call. May wait.
---@param connection operations.HttpConnection
---@param route operations.Route
---@param input table
---@return operations.ServerResponse
function Direct:answer(connection, route, input)
  local server = self._server
  connection.request_id = random_id()
  if exchange.is_full(server) then
    return with_own(self, connection, exchange.refuse_more(describe(self, connection, route)))
  end
  server.running = server.running + 1
  local envelope, err = task.enclose(execute, connection, route, input)
  if server.workers[connection] then
    server.workers[connection] = nil
  end
  server:_left()
  local data = envelope and envelope.meta.source == "local" and envelope.data
  local body = data and encode(data)
  if body then
    self._headers["x-request-id"], self._response.body = connection.request_id, body
    return self._response
  end
  return with_own(self, connection, exchange.conclude(describe(self, connection, route), envelope, err))
end

--- Makes the plain calls of a server.
---@param server operations.Server
---@return operations.Direct?  nil: its options have each request looked at
function direct.new(server)
  local options = server.options
  if options.authorize or options.access_log or options.oauth or server._cors or server._proxies then
    return nil
  end
  local headers = { ["cache-control"] = "no-store", ["content-type"] = "application/json",
    ["x-content-type-options"] = "nosniff", ["x-request-id"] = "" }
  return setmetatable({ calls = { {}, false, core.object_mt }, _server = server, _headers = headers,
    _response = { status = 200, headers = headers, body = "" } }, Direct)
end

return direct
