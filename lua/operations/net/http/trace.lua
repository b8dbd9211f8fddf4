--- OPERATIONS_LOG=http: a line on stderr for each exchange, retry and redirect. URLs have no query and no user.
local core = require("operations.core")
local printable = require("operations.base.printable")
local url = require("operations.base.url")

local trace = {}

local is_on = ("," .. (os.getenv("OPERATIONS_LOG") or "") .. ","):find(",http,", 1, true) ~= nil

local function write(format, ...)
  io.stderr:write("operations: http: ", printable.message(format:format(...)), "\n")
end

local function told(request, start, answer, err)
  local ms = core.monotonic() - start
  if err then
    write("%s %s: %s: %s after %.1f ms", request.method, url.redact(request.url), err.code,
      type(err.details) == "table" and err.details.kind or err.message, ms)
  else
    write("%s %s: %d in %.1f ms, %s", request.method, url.redact(request.url), answer.status, ms,
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
    return told(request, start, step(request))
  end
end

--- Tells that a request is repeated.
---@param request table
---@param delay number  ms
---@param tries integer  so far
function trace.retry(request, delay, tries)
  if is_on then
    write("%s %s: attempt %d in %.0f ms", request.method, url.redact(request.url), tries + 1, delay)
  end
end

return trace
