--- Answers of any size: bodies other than JSON are passed to `context.sink` as they arrive. The sink holds the server
--- back when its reader is slow.
local call = require("operations.openapi.call")
local core = require("operations.core")
local credential = require("operations.openapi.credential")
local http_failure = require("operations.net.http.failure")
local limits = require("operations.base.limits")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local response = require("operations.openapi.response")

local download = {}

-- A plan for answers of any size.
local function open_ended(plan)
  local copy = members.copy(plan)
  copy.idle_timeout = copy.idle_timeout or limits.idle_timeout
  call.open_ended(copy)
  copy.max_body = plan.options.max_body or limits.body
  return copy
end

-- Reads an answer that must be parsed completely, within the limit of bodies.
local function read_whole(source, plan)
  local pieces, size = {}, 0
  while true do
    local piece, err = source:read()
    if not piece then
      return not err and table.concat(pieces) or nil, err
    end
    size = size + #piece
    if size > plan.max_body then
      return nil, http_failure.new({ method = plan.method, url = source.url or plan.base }, "size",
        "the body is larger than max_body")
    end
    pieces[#pieces + 1] = piece
  end
end

-- Passes a body to the sink; returns the error that interrupted it.
local function pass_on(source, decode, context)
  local sink, done = context.sink, 0
  local total = not source.headers["content-encoding"] and tonumber(source.headers["content-length"]) or nil
  while true do
    local piece, err = source:read()
    if not piece then
      local rest = decode and not err and decode("", true) or ""
      if rest ~= "" then
        sink(rest)
      end
      return err
    end
    sink(decode and decode(piece) or piece)
    done = done + #piece
    if context.progress_wanted then
      context.progress(done, total)
    end
  end
end

local function take(source, plan, context, credentials)
  local content_type = source.headers["content-type"]
  local reply = { status = source.status, headers = source.headers, url = source.url, body = nil }
  local err
  if response.is_success(reply.status, plan.redirects) and not media.is_json(media.essence(content_type)) then
    local decode = plan.decode_text ~= false and response.text_decoder(content_type) or nil
    err = pass_on(source, decode, context)
    return not err and core.http_envelope(nil, response.meta(reply)) or nil, err
  end
  reply.body, err = read_whole(source, plan)
  if err then
    return nil, err
  end
  return call.outcome(plan, reply, context, credentials)
end

--- The handler of calls whose context has a sink: JSON and failures are handled as usual; other bodies have been passed
--- to the sink when it returns.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: any): operations.Envelope?, operations.Error?
function download.handler(plan)
  local open_plan = open_ended(plan)
  return function(input, context)
    local source, refusal, credentials = call.exchange(open_plan, input, context)
    if not source then
      return nil, refusal
    end
    local ok, envelope, err = pcall(take, source, open_plan, context, credentials)
    source:close()
    if not ok then
      error(envelope, 0) -- the sink's reader has gone, or the call is cancelled
    end
    return envelope, err and credential.redact(err, credentials)
  end
end

return download
