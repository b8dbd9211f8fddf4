--- Failures of HTTP exchanges as error objects.
local errors = require("operations.base.error")
local url = require("operations.base.url")

local http_failure = {}

--- The error of a request.
---@param request table
---@param kind string
---@param text string
---@param phase? string  of a timeout: "connect", "first_byte", "idle" or "total"; of a reset: "reused"
---@return operations.Error
function http_failure.new(request, kind, text, phase)
  local code = kind == "timeout" and "TIMEOUT" or kind == "aborted" and "ABORTED" or "EXECUTION_ERROR"
  local shown = url.redact(request.url)
  text = text:gsub("(%a[%w+.-]*://)[^%s/]*@", "%1") -- a proxy's password, in libcurl's words
  return errors.new(code, ("%s %s: %s"):format(request.method, shown, text),
    { kind = kind, phase = phase, method = request.method, url = shown })
end

--- What interrupted a wait, as the request's failure; an error that is not ours stays itself.
---@param request table
---@param raised any
---@return operations.Error
function http_failure.interrupted(request, raised)
  if not errors.is_error(raised) then
    error(raised, 0)
  elseif raised.code == "TIMEOUT" then
    return http_failure.new(request, "timeout", raised.message, "deadline")
  elseif raised.code == "ABORTED" then
    return http_failure.new(request, "aborted", raised.message)
  end
  return raised
end

--- Was the request lost with a connection that served others too, and nothing of an answer handed out?
---@param err operations.Error
---@return boolean
function http_failure.is_stale(err)
  return type(err.details) == "table" and err.details.phase == "reused"
end

return http_failure
