--- Imported operations as their own document says: a request of HTTP is sent on unchanged, and the answer comes back
--- unchanged. Access, validation, policies and middleware see the input; its texts, the body and the answer pass by.
local call = require("operations.openapi.call")
local core = require("operations.core")
local credential = require("operations.openapi.credential")
local http_failure = require("operations.net.http.failure")
local limits = require("operations.base.limits")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local request = require("operations.openapi.request")
local response = require("operations.openapi.response")

local relay = {}

--- A request that is relayed, and its answer.
---@class operations.Relay
---@field method string
---@field headers table<string, string>  those to be sent on, by lower-case name
---@field given table  the input that was read of it
---@field input table  its members as they were read; one that is still the same is sent as its text
---@field raw table<string, string>  the texts of the input's parameters
---@field content_type? string
---@field body? string|{ read: function }  as received
---@field size? integer  of a body to be read
---@field keeps? string  the middleware `cache` may keep its answer, beside those to requests with another such text
---@field streams? boolean  the answer is sent in pieces, of any size
---@field unread? boolean  the body passes by: it is not in the input
---@field begin fun(head: operations.RelayHead)  the answer's head, before its body is sent in pieces
---@field send fun(bytes: string)  the next piece; waits until it was taken
---@field refused? operations.RelayHead  the answer of an API that refused the request, with its `body`

---@class operations.RelayHead
---@field status integer
---@field headers table
---@field length? integer  bytes of the body, if known
---@field body? string

-- The functions that read imported operations, by their handlers.
local readers = setmetatable({}, { __mode = "k" })

--- Lets an operation be relayed.
---@param handler function  of its definition
---@param read fun(): { plan: operations.openapi.Plan }  raises where the operation cannot be read
function relay.know(handler, read)
  readers[handler] = read
end

--- The plan of an operation that can be relayed.
---@param handler? function  of its definition
---@return (fun(): operations.openapi.Plan)?
function relay.plan_of(handler)
  local read = handler and readers[handler]
  return read and function()
    return read().plan
  end
end

-- A plan for answers of any size, redirects included.
local function own_plan(plan, method)
  local copy = members.copy(plan)
  copy.idle_timeout = copy.idle_timeout or limits.idle_timeout
  copy.options = members.merged(plan.options, { method = method, redirects = 0,
    idle_timeout = copy.idle_timeout })
  copy.head = request.head({ Accept = "*/*" }, plan.headers)
  call.open_ended(copy)
  copy.max_body = plan.options.max_body or limits.body
  return copy
end

-- Reads up to `most` bytes. Returns what came, and whether it is all.
local function read_up_to(source, most)
  local pieces, size = {}, 0
  while size <= most do
    local piece, err = source:read()
    if not piece then
      return table.concat(pieces), not err, err
    end
    pieces[#pieces + 1], size = piece, size + #piece
  end
  return table.concat(pieces), false
end

local function envelope_of(head, body)
  return core.http_envelope(nil, { statusCode = head.status, headers = head.headers,
    contentType = head.headers["content-type"], raw = body })
end

-- Sends a body in pieces. What was sent cannot be taken back: a failure is final.
local function pass_on(source, head, first, own)
  own.begin(head)
  local piece, err = first, nil
  while piece do
    if piece ~= "" then
      own.send(piece)
    end
    piece, err = source:read()
  end
  if err then
    err.retryable, err.mayHaveRun = false, true
    return nil, err
  end
  return envelope_of(head)
end

-- The answer of an API that refused: an error, and as it is for the server.
local function refuse(source, plan, own, credentials)
  local body, is_all, err = read_up_to(source, plan.max_body)
  if err then
    return nil, err
  elseif not is_all then
    return nil, http_failure.new({ method = plan.method, url = plan.base }, "size", "the body is larger than max_body")
  end
  local reply = { status = source.status, headers = source.headers, body = body }
  own.refused = { status = reply.status, headers = reply.headers, body = body }
  return nil, credential.redact(response.failure(reply, plan.declared_json), credentials)
end

local function take(source, plan, own, credentials)
  own.refused = nil
  local headers = source.headers
  local head = { status = source.status, headers = headers, length = tonumber(headers["content-length"]) }
  if head.status >= 400 then
    return refuse(source, plan, own, credentials)
  elseif head.status == 204 or head.status == 304 then
    return envelope_of(head, "")
  elseif own.method == "HEAD" then
    own.begin(head)
    return envelope_of(head)
  elseif own.streams or head.length and head.length > limits.window
    or not head.length and not media.is_json(media.essence(headers["content-type"])) then
    return pass_on(source, head, "", own)
  end
  local body, is_all, err = read_up_to(source, limits.window)
  if err then
    return nil, err
  elseif not is_all then
    return pass_on(source, head, body, own)
  end
  return envelope_of(head, body)
end

local function send(plan, input, context, own)
  local source, refusal, credentials = call.exchange(plan, input, context, { headers = own.headers, relay = own })
  if not source then
    return nil, refusal
  end
  local ok, envelope, err = pcall(take, source, plan, own, credentials)
  source:close()
  if not ok then
    error(envelope, 0) -- the reader has gone, or the call is cancelled
  end
  return envelope, err and credential.redact(err, credentials)
end

--- The handler of relayed calls.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: operations.Context): operations.Envelope?, operations.Error?
function relay.handler(plan)
  local by_method = {}
  return function(input, context)
    local own = context.relay
    local method = own.method == "HEAD" and "HEAD" or plan.method
    by_method[method] = by_method[method] or own_plan(plan, method)
    return send(by_method[method], input, context, own)
  end
end

return relay
