--- Plain calls: requests by GET of a query that everybody may call, whose parameters are scalars and whose header
--- fields change nothing. src/server/direct_lua.c finds them; they are answered without the tables that describe a
--- request. Everything else, and the first request of each path, goes through `Server:handle`.
local core = require("operations.core")
local errors = require("operations.base.error")
local exchange = require("operations.server.exchange")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local task = require("operations.task")

local encode, enclose, is_full = json.encode, task.enclose, exchange.is_full
local now, random_id = core.now, core.random_id
local direct = {}

local PATHS, HOST = 1, 2 -- of `calls`; 3: the metatable of inputs
local kinds = { string = 1, integer = 2, number = 2, boolean = 3 }

---@class operations.Direct
---@field calls table  which requests are plain calls, for the parser
---@field _server operations.Server
---@field _timeout integer  ms
local Direct = {}
Direct.__index = Direct

--- Adds a path, if requests for it can be plain calls.
---@param path string  raw
---@param place operations.Place
function Direct:learn(path, place)
  local route = place.public and place.methods.GET
  if not route or route.kind ~= "query" or route.imported or route.takes_context or route.cache or route.status
    or route.output_media or next(route.names) then
    return -- something depends on the request, or on the context of the call
  end
  local members = {}
  for name, member in pairs(route.flat.members) do
    members[name] = not member.list and kinds[member.one] or nil
  end
  self.calls[PATHS][path] = { route, members }
end

--- Forgets all paths.
function Direct:forget()
  self.calls[PATHS] = {}
end

--- Sets the value of Host that the guard has admitted.
---@param host? string
function Direct:know(host)
  self.calls[HOST] = host
end

-- A handler that waits is cancelled when its caller leaves, or when the drain of the server runs out of time.
local function watch(connection, worker)
  connection.direct._server.workers[connection] = worker
  connection.register(function()
    worker:cancel(errors.new("ABORTED", "the caller left"))
  end)
end

local function execute(worker, connection, route, input)
  local server = connection.direct._server
  worker:on_wait(watch, connection)
  return server.registry:execute(route.id, input)
end

-- The call in the form that `Server:handle` uses.
local function describe(self, connection, route)
  local request = { method = "GET", headers = {}, body = "", peer = connection.peer, left = connection.register }
  return { server = self._server, request = request, id = connection.request_id, route = route }
end

-- Makes the answer in the way of `Server:handle`, from the result of the call or its refusal.
local function conclude(self, connection, route, envelope, err)
  local call = describe(self, connection, route)
  local response = not envelope and not err and exchange.refuse_more(call) or exchange.conclude(call, envelope, err)
  response.headers["x-request-id"], response.headers["x-content-type-options"] = call.id, "nosniff"
  return nil, response
end

--- Answers a plain call. May wait.
---@param connection operations.HttpConnection
---@param route operations.Route
---@param input table
---@return string? body  of an answer with status 200 and the fields that `http_server.result` has
---@return operations.ServerResponse? response  any other answer
function Direct:answer(connection, route, input)
  local server = self._server
  connection.request_id = random_id()
  if is_full(server) then
    return conclude(self, connection, route)
  end
  server.running = server.running + 1
  local envelope, err = enclose(now() + self._timeout, execute, connection, route, input)
  if server.workers[connection] then
    server.workers[connection] = nil
  end
  server:_left()
  if envelope and envelope.meta.source == "local" and envelope.data ~= nil then
    local body = encode(envelope.data)
    if body then
      return body
    end
  end
  return conclude(self, connection, route, envelope, err)
end

--- The whole answer with a body that `answer` returned.
---@param connection operations.HttpConnection
---@param body string
---@return operations.ServerResponse
function direct.response(connection, body)
  return { status = 200, body = body, headers = { ["cache-control"] = "no-store", ["content-type"] = "application/json",
    ["x-content-type-options"] = "nosniff", ["x-request-id"] = connection.request_id } }
end

--- Makes the object that answers the plain calls of a server.
---@param server operations.Server
---@return operations.Direct?  nil: its options have each request looked at
function direct.new(server)
  local options = server.options
  if options.authorize or options.access_log or options.oauth or server._cors or server._proxies then
    return nil
  end
  return setmetatable({ calls = { {}, false, core.object_mt }, _server = server,
    _timeout = options.timeout or limits.call_timeout }, Direct)
end

return direct
