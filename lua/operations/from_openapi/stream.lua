--- Handlers of streams: server-sent events and JSON lines, each item an envelope as soon as its bytes are there.
local call = require("operations.from_openapi.call")
local core = require("operations.core")
local errors = require("operations.error")
local json = require("operations.json")
local limits = require("operations.limits")
local media = require("operations.from_openapi.media")
local response = require("operations.from_openapi.response")
local sse = require("operations.sse")

local stream = {}

local function too_large(limit)
  return errors.new("EXECUTION_ERROR", ("an item of the stream is larger than %d bytes"):format(limit),
    { kind = "size", limit = limit })
end

local readers = {}

--- Server-sent events. Data that should be JSON and is not (some APIs end with "[DONE]") stays a string, so that
--- nothing is lost; the pipeline warns that it does not fit the schema.
function readers.events(chunks, reply, plan, emit)
  local parser = sse.parser(nil, {
    json = plan.json, meta = response.meta(reply), max_event = plan.max_event or limits.event,
  })
  for chunk in chunks do
    local ok, err = parser:feed(chunk)
    for envelope in parser.next_envelope, parser do
      emit(envelope)
    end
    if not ok then
      error(err, 0)
    end
  end
  parser:finish()
end

local function emit_line(line, reply, emit)
  line = line:gsub("^\30", ""):gsub("\r$", "") -- RFC 7464 puts a record separator in front
  if line:find("%S") then
    local value, err = json.decode(line)
    if err then
      value = line
    end
    emit(core.http_envelope(value, response.meta(reply)))
  end
end

--- NDJSON, JSON lines, JSON text sequences: a line is a value. A line that is no JSON stays a string, as above.
function readers.lines(chunks, reply, plan, emit)
  local limit, pending, size = plan.max_event or limits.event, {}, 0
  for chunk in chunks do
    local position = 1
    for line, after in chunk:gmatch("([^\n]*)\n()") do
      pending[#pending + 1] = line
      emit_line(table.concat(pending), reply, emit)
      pending, size, position = {}, 0, after
    end
    pending[#pending + 1] = chunk:sub(position)
    size = size + #chunk - position + 1
    if size > limit then
      error(too_large(limit), 0)
    end
  end
  emit_line(table.concat(pending), reply, emit)
end

--- The pieces of a body; a failed read raises.
local function chunks_of(source, credentials)
  return function()
    local chunk, err = source:read()
    if err then
      error(call.redact(err, credentials), 0)
    end
    return chunk
  end
end

local function rest(chunks)
  local pieces, size = {}, 0
  for chunk in chunks do
    pieces[#pieces + 1] = chunk
    size = size + #chunk
    if size > limits.body then
      break
    end
  end
  return table.concat(pieces):sub(1, limits.body)
end

--- What is no stream: an error status, or another kind of body.
local function refuse(reply, chunks)
  local whole = { status = reply.status, headers = reply.headers, body = rest(chunks) }
  if not response.is_success(reply.status) then
    return nil, response.failure(whole)
  end
  local content_type = reply.headers["content-type"] or "none"
  return nil, response.unreadable(whole, ("expected a stream, got content type %s"):format(content_type))
end

local function run(source, plan, credentials, emit)
  local reply = { status = source.status, headers = source.headers }
  local chunks = chunks_of(source, credentials)
  local kind = media.stream_kind(media.essence(reply.headers["content-type"]))
  if reply.status == 204 then
    return nil -- 9.2.3 of the HTML standard: there is nothing more to come
  elseif reply.status ~= 200 or not kind then
    return refuse(reply, chunks)
  end
  readers[kind](chunks, reply, plan, emit)
end

--- The handler of a subscription.
---@param plan operations.openapi.Plan
---@return fun(input: table, context: operations.Context): nil, operations.Error?
function stream.handler(plan)
  return function(input, context)
    local message, credentials = call.message(plan, input or {}, context)
    if not message then
      return nil, credentials
    end
    message.timeout, message.first_byte_timeout, message.max_body = nil, plan.timeout, nil
    local source, err = plan.http.open(message)
    if not source then
      return nil, call.redact(err, credentials)
    end
    context.defer(function()
      source:close()
    end)
    local _, failure = run(source, plan, credentials, context.emit)
    return nil, failure and call.redact_message(failure, credentials)
  end
end

return stream
