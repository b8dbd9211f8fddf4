--- Sessions if several workers serve one address, as in nginx: a session lives in the worker that made it. Each worker
--- listens on a loopback port for the others; a session's id contains that port, signed with the server's secret, which
--- the workers must share; forwarded requests are signed too.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local errors = require("operations.base.error")
local http_client = require("operations.net.http")
local listener = require("operations.server.listener")
local members = require("operations.base.members")

local workers = {}

local SEAL, PEER = "x-operations-seal", "x-operations-peer"

-- Header fields for one connection only.
local hop = { connection = true, ["keep-alive"] = true, ["transfer-encoding"] = true, ["content-length"] = true,
  host = true, te = true, upgrade = true, expect = true, trailer = true }

---@class operations.mcp.Workers
---@field server operations.McpServer
---@field port? integer  the port of this worker, once it has a session
local Workers = {}
Workers.__index = Workers

--- This worker's part.
---@param server operations.McpServer
---@param answer fun(request: operations.ServerRequest): operations.ServerResponse  answers a request forwarded by
---  another worker
---@return operations.mcp.Workers
function workers.new(server, answer)
  return setmetatable({ server = server, _answer = answer }, Workers)
end

local function signature(self, text)
  return base64.encode_url(self.server.sign(text))
end

-- Accepts requests forwarded by other workers, and no others.
local function take(self, request)
  local headers = request.headers
  local peer = headers[PEER] or ""
  if headers[SEAL] ~= signature(self, "request\0" .. (headers["mcp-session-id"] or "") .. "\0" .. peer) then
    return { status = 403, headers = {}, body = "" }
  end
  request.peer = { address = peer, tls = false }
  return self._answer(request)
end

-- The port of this worker, opened with its first session.
local function port_of(self)
  if not self.port then
    local opened = assert(listener.listen({ max_body = self.server.options.max_body, log = self.server.options.log },
      function(request)
        return take(self, request)
      end))
    self.port = opened.port
    table.insert(self.server._listeners, opened)
  end
  return self.port
end

--- The id of a new session.
---@return string
function Workers:id()
  local text = ("%d.%s"):format(port_of(self), core.random_id())
  return text .. "." .. signature(self, "session\0" .. text)
end

-- The port of another worker that has the session, or nil.
local function port_in(self, id)
  local text, port, seal = id:match("^((%d+)%.[%w-]+)%.([%w_-]+)$")
  port = tonumber(port)
  return port and port ~= self.port and seal == signature(self, "session\0" .. text) and port or nil
end

local function whole(body)
  if type(body) ~= "function" then
    return body
  end
  local pieces = {}
  for piece in body do
    pieces[#pieces + 1] = piece
  end
  return table.concat(pieces)
end

local function without_hops(headers)
  local kept = members.copy(headers)
  for name in pairs(headers) do
    kept[name] = not hop[name] and headers[name] or nil
  end
  return kept
end

-- The answer of the other worker, in pieces; its connection ends with the caller's.
local function relayed(stream, request)
  if request.left then
    request.left(function()
      stream:close()
    end)
  end
  return { status = stream.status, headers = without_hops(stream.headers), body = function()
    local piece = stream:read()
    return piece
  end }
end

--- Forwards a request to the worker that has its session or program.
---@param request operations.ServerRequest
---@param id? string  default: that of its session
---@param body? string  if it was read
---@return operations.ServerResponse?  nil: no other worker has it
function Workers:forward(request, id, body)
  id = id or request.headers["mcp-session-id"]
  local port = id and port_in(self, id)
  if not port then
    return nil
  end
  local headers, peer = without_hops(request.headers), request.peer and request.peer.address or ""
  headers[PEER], headers[SEAL] = peer, signature(self, "request\0" .. (headers["mcp-session-id"] or "") .. "\0" .. peer)
  local stream, err = http_client.open({ url = ("http://127.0.0.1:%d/mcp"):format(port), method = request.method,
    headers = headers, body = body or request.method == "POST" and whole(request.body) or nil, proxy = false,
    redirects = 0, idle_timeout = 0, first_byte_timeout = self.server.options.timeout })
  if stream then
    return relayed(stream, request)
  elseif errors.is_error(err) and err.details and err.details.kind == "connect" then
    return nil -- that worker has ended, with its sessions
  end
  self.server.options.log("error", "a session's worker did not answer: " .. tostring(err))
  return { status = 502, headers = {}, body = "" }
end

return workers
