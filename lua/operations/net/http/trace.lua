--- OPERATIONS_LOG=http: a line on stderr for each exchange, retry and reconnection. URLs have no query and no user.
local core = require("operations.core")
local url = require("operations.base.url")
local wire_log = require("operations.base.wire_log")

local trace = {}

local is_on = wire_log.has("http")

local function write(request, format, ...)
  wire_log.write("http", "%s %s: " .. format, request.method, url.redact(request.url), ...)
end

local names = { "name", "connect", "TLS", "first byte" }

-- When the phases ended, ms from the beginning, as libcurl counts; "" of a request that was not sent.
local function phases_of(request)
  local phases, texts = request.phases or {}, {}
  if phases[5] then
    texts[1] = "same connection"
  end
  for i = phases[5] and #names or 1, #names do
    if (phases[i] or 0) > 0 then
      texts[#texts + 1] = ("%s %.1f"):format(names[i], phases[i])
    end
  end
  return texts[1] and " (" .. table.concat(texts, ", ") .. ")" or ""
end

local function told(request, start, answer, err)
  local ms, phases = core.monotonic() - start, phases_of(request)
  if err then
    write(request, "%s: %s after %.1f ms%s", err.code, type(err.details) == "table" and err.details.kind or err.message,
      ms, phases)
  else
    write(request, "%d in %.1f ms%s, %s", answer.status, ms, phases,
      answer.body and #answer.body .. " bytes" or "a stream")
  end
  return answer, err
end

--- The function that makes one exchange, or one that tells of it, too.
---@param step fun(request: table): table?, operations.Error?
---@return fun(request: table): table?, operations.Error?
function trace.step(step)
  if not is_on then
    return step
  end
  return function(request)
    local start = core.monotonic()
    request.timed, request.phases = true, nil
    return told(request, start, step(request))
  end
end

--- Tells that a request is repeated.
---@param request { method: string, url: string }
---@param delay number  ms
---@param tries integer  so far
function trace.retry(request, delay, tries)
  if is_on then
    write(request, "attempt %d in %.0f ms", tries + 1, delay)
  end
end

--- Tells that a stream is opened again.
---@param request { method: string, url: string }
---@param delay number  ms
---@param last_id? string  of the last event
function trace.reconnection(request, delay, last_id)
  if is_on then
    write(request, "opened again in %.0f ms%s", delay, last_id and last_id ~= "" and ", after event " .. last_id or "")
  end
end

return trace
