--- Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): of several requests with the same key one runs, and
--- the others get its answer.
---
--- A record is "r" (running) or "d" (done), a digest of the input, and then the owner's mark or the answer. The owner
--- holds the key until the timeout of the call: if its process dies, the key is free after that.
local answer_store = require("operations.server.answer_store")
local core = require("operations.core")
local dictionary = require("operations.task.dictionary")
local hexadecimal = require("operations.base.hexadecimal")
local identity_key = require("operations.base.identity_key")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")

local idempotency = {}

-- Failures after which the key is free: the handler did not run, or it is unknown how far it came. Results and errors
-- of the handler itself are stored.
local unkept = members.set({ "VALIDATION_ERROR", "ACCESS_DENIED", "OPERATION_NOT_FOUND", "BUSY", "DRAINING",
  "UNAVAILABLE", "RATE_LIMITED", "TIMEOUT", "ABORTED", "TRANSPORT_LOST", "WORKER_LOST" })

-- Reads the key: a quoted string, as in the draft, or an unquoted one, as most clients send it.
local function read_key(field)
  local key = field:match('^"([^"\\]+)"$') or field:match('^[^%s",]+$')
  return key and #key <= 255 and not key:find("[^\32-\126]") and key or nil
end

local function framed(text)
  return #text .. ":" .. text
end

-- Identifies the sender, so that no caller gets the answer of another one. nil: the sender cannot be identified.
local function sender(call, request)
  local identity, credentials = call.identity, request.headers.authorization
  if not identity then
    return "-" .. (credentials or "") -- handlers may check them themselves
  elseif identity.id ~= nil then
    return "i" .. identity_key.of(identity)
  end
  return credentials and "c" .. credentials
end

-- The owner of the share that an answer takes. Unchecked credentials can be made up, so they own nothing.
local function owner_of(call, request, from)
  return call.identity and core.sha256(from) or "-" .. tostring(request.peer and request.peer.address)
end

-- The digest of an input and its kind (text or JSON). nil and an error: it is nested too deeply.
local function digest(value)
  if value == nil or type(value) == "string" then
    return core.sha256(value and "s" .. value or "")
  end
  local text, err = json.encode(value, { sort_keys = true })
  return text and core.sha256("j" .. text), err
end

local function problem_of(request, route)
  local field = request.headers["idempotency-key"]
  if field then
    return not read_key(field) and "Idempotency-Key: 1 to 255 visible ASCII characters expected, or a string in quotes"
  elseif route.key_required then
    return ("%s needs an Idempotency-Key"):format(route.id)
  end
end

-- The answer to a request whose key is known.
local function repeated(call, known, print, refuse)
  local state, rest = known:sub(1, 1), known:sub(34)
  if known:sub(2, 33) ~= print then
    return refuse(call, 422, "VALIDATION_ERROR", "this Idempotency-Key came with another input before")
  elseif state == "r" then
    return refuse(call, 409, "BUSY", "a request with this Idempotency-Key is running", { ["retry-after"] = "1" })
  end
  local answer = json.decode(rest)
  if not answer then
    return refuse(call, 409, "VALIDATION_ERROR",
      "the request with this Idempotency-Key has run; its answer was too large to be kept")
  end
  answer.headers["idempotent-replayed"] = "true"
  call.code = answer.code
  return answer
end

-- The stored form of an answer; nil: not stored, so that the request can be sent again.
local function record_of(call, response, print)
  if unkept[call.code or ""] or type(response.body) ~= "string" then
    return nil
  end
  local text = json.encode({ status = response.status, headers = response.headers, body = response.body,
    code = call.code })
  return "d" .. print .. (text and #text <= limits.idempotency_answer and text or "")
end

-- Stores the record of a request; nil frees the key. If there is no room for the answer, only the fact that it has run
-- is stored.
local function keep(call, id, mark, record, owner)
  local server = call.server
  local store, ttl = server.answers, server.options.idempotency_ttl or limits.idempotency
  local kept, err = store:swap(id, mark, record, ttl, owner)
  local short = err and record and record:sub(1, 33)
  if short and store:add(id, short, ttl, owner) == mark then
    store:swap(id, mark, short, ttl, owner)
  end
  if not kept then
    server.options.log("warn", ("%s: the answer to a request with an Idempotency-Key is not kept: %s (request %s)")
      :format(call.route.id, err and err.message or "it took longer than its timeout", call.id))
  end
end

--- Can the answers of an operation be stored? Those of streams and downloads cannot.
---@param route operations.Route
---@return boolean
function idempotency.concerns(route)
  return route.kind == "mutation" and not route.output_media
end

--- Runs a request of a mutation, unless a request with its key has run.
---@param call operations.ServerCall
---@param request operations.ServerRequest
---@param value any  its input
---@param run fun(call, request, value): operations.ServerResponse
---@param refuse fun(call, status: integer, code: string, message: string, headers: table?): operations.ServerResponse
---@return operations.ServerResponse
function idempotency.answer(call, request, value, run, refuse)
  local server, route = call.server, call.route
  local field, problem = request.headers["idempotency-key"], problem_of(request, route)
  if problem then
    return refuse(call, 400, "VALIDATION_ERROR", problem)
  elseif not field then
    return run(call, request, value)
  end
  local from, print, flaw = sender(call, request), digest(value)
  if not from then
    return refuse(call, 500, "EXECUTION_ERROR", "`authorize` gave an identity without `id`, and the request has no "
      .. "Authorization: nothing tells whose Idempotency-Key this is")
  elseif not print then
    return refuse(call, 422, "VALIDATION_ERROR", "an input with an Idempotency-Key: " .. flaw.message)
  end
  local store, id = server.answers, hexadecimal.of(core.sha256(framed(from) .. framed(route.id) .. read_key(field)))
  local mark, owner = "r" .. print .. core.random_id(), owner_of(call, request, from)
  local lease = request_head.timeout(request.headers, server.options) + limits.idempotency_lease
  local known, err = store:add(id, mark, lease, owner)
  if err then
    return refuse(call, 503, "UNAVAILABLE", "the store of Idempotency-Keys cannot be reached: " .. err.message)
  elseif known then
    return repeated(call, known, print, refuse)
  end
  call.lasts = true
  local ok, response = pcall(run, call, request, value)
  keep(call, id, mark, ok and record_of(call, response, print) or nil, owner)
  if not ok then
    error(response, 0)
  end
  return response
end

--- Reads the option `idempotency`; misuse raises.
---@param given? boolean|string|table  true, a shared dictionary of nginx or its name, or a store
---@param level integer  as of `error`
---@return operations.AnswerStore?
function idempotency.store(given, level)
  given = dictionary.of(given, "idempotency", "to_http", level)
  if not given then
    return nil
  elseif given == true then
    return answer_store.new()
  elseif type(given.swap) == "function" and type(given.add) == "function" then
    return given
  elseif type(given.incr) == "function" then
    return answer_store.shared(given)
  end
  error("bad option 'idempotency' to 'to_http' (true, a shared dictionary of nginx or middleware.redis(url) expected)",
    level)
end

return idempotency
