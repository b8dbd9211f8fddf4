--- Removes from an error what remote callers must not read: one rule for HTTP (`to_http`), MCP (`to_mcp`) and the call
--- protocol. An upstream is what a call needs behind this program: an HTTP API, an MCP server, a child process, Redis.
--- The library's own messages about upstreams name hosts, paths, commands and files: callers read a general text
--- instead, and the log has the message. What an upstream itself answered passes by the option `upstream_errors`.
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")

local disclosure = {}

---@alias operations.UpstreamErrors "client"|"all"|"none"
---@alias operations.UpstreamFailure "unreachable"|"broken"|"late"|"stopped"|"inner"

-- How a call failed by the `details.kind` of its error.
local failures = {}
for failure, kinds in pairs({
  unreachable = "dns connect handshake open session gone command cwd fork descriptors memory",
  broken = "tls reset truncated size encoding protocol redirect response malformed lost closed rounds task status "
    .. "version pages redis killed oauth credential",
  late = "timeout",
  stopped = "aborted",
  inner = "request body configuration file parse",
}) do
  for kind in kinds:gmatch("%S+") do
    failures[kind] = failure
  end
end

local texts = {
  unreachable = "a server behind this one cannot be reached", broken = "a server behind this one failed",
  late = "a server behind this one took too long", stopped = "the call was cancelled", inner = "the operation failed",
}

local function details_of(err)
  return type(err.details) == "table" and err.details or {}
end

--- How the exchange with an upstream failed; nil: the error is not about such an exchange.
---@param err operations.Error
---@return operations.UpstreamFailure?
---@return string? kind  its `details.kind`
function disclosure.failure(err)
  local kind = details_of(err).kind
  local failure = failures[kind]
  if not failure or not (errors.codes[err.code] or err.code:find("^HTTP_%d%d%d$") or kind == "version") then
    return nil
  elseif failure == "broken" and err.mayHaveRun == false then
    return "unreachable", kind -- nothing was sent
  end
  return failure, kind
end

local function changed(err, message, details)
  local copy = errors.new(err.code == "ACCESS_DENIED" and "EXECUTION_ERROR" or err.code, message, details)
  copy.retryable, copy.mayHaveRun, copy.retryAfter = err.retryable, err.mayHaveRun, err.retryAfter
  return copy
end

-- A body that JSON can hold, and whether it was cut.
local function bounded(body)
  local text = type(body) == "string" and body or json.encode(body)
  if not text or type(body) ~= "string" and #text <= limits.upstream_body then
    return text and body
  elseif not json.encode(text) then
    text = text:gsub("[\128-\255]", "?")
  end
  if #text <= limits.upstream_body then
    return text
  end
  local last = limits.upstream_body
  while last > 0 and text:byte(last + 1) >= 128 and text:byte(last + 1) < 192 do
    last = last - 1
  end
  return text:sub(1, last), true
end

-- These statuses are about this program's credentials, not about the caller's request.
local ours = { [401] = true, [403] = true, [407] = true }

--- Is this the status of an answer that concerns the caller's request?
---@param status integer
---@return boolean
function disclosure.is_callers(status)
  return status >= 400 and status <= 499 and not ours[status]
end

-- The answer of an HTTP API. Its message begins with the status and the reason.
local function answered(err, status, rule)
  local own = err.message:find("^" .. status .. "%f[^%d]") and err.message or "status " .. status
  local details = { statusCode = status }
  if rule ~= "all" and (rule == "none" or not disclosure.is_callers(status)) then
    return changed(err, own:match("^[^:]*"), details)
  end
  details.body, details.truncated = bounded(err.details.body)
  return changed(err, own, details)
end

-- Is this the failed result of a tool of an MCP server?
local function is_of_tool(err, details)
  return details.kind == "tool" and type(details.tool) == "string" and err.code == "EXECUTION_ERROR"
end

-- The JSON-RPC error, or the failed result, of an MCP server.
local function said(err, rule)
  local given, details = err.details, { rpcCode = err.details.rpcCode, kind = err.details.kind }
  if rule == "none" then
    return changed(err, texts.broken, details)
  end
  details.data, details.content, details.structuredContent = given.data, given.content, given.structuredContent
  return changed(err, err.message, details)
end

-- The errors of a GraphQL service.
local function refused(err, rule)
  if rule == "none" then
    return changed(err, texts.broken, { kind = "graphql" })
  end
  local details = { kind = "graphql", path = err.details.path }
  details.errors, details.truncated = bounded(err.details.errors)
  return changed(err, err.message, details)
end

-- Codes of which callers read the message. Those of `errorSchemas` are added by the operation.
local public = members.set({ "VALIDATION_ERROR", "OPERATION_NOT_FOUND", "ACCESS_DENIED", "TIMEOUT", "ABORTED", "BUSY",
  "DRAINING", "TOOL_ERROR", "RATE_LIMITED", "APPROVAL_REQUIRED" })

--- The declaration of an error's code by an operation.
---@param spec? operations.Spec
---@param code string
---@return operations.ErrorSchema?
function disclosure.declared(spec, code)
  for _, entry in ipairs(spec and type(spec.errorSchemas) == "table" and spec.errorSchemas or {}) do
    if entry.code == code then
      return entry
    end
  end
end

--- What remote callers read of an error.
---@param err operations.Error
---@param rule? operations.UpstreamErrors  default "client"
---@param spec? operations.Spec  of the operation that failed
---@return operations.Error seen  the error without what they must not read
---@return boolean told  may they read its message? HTTP and MCP tell a general one otherwise
---@return boolean hidden  was the message replaced, so that only the log has it?
function disclosure.read(err, rule, spec)
  local details, failure, kind = details_of(err), disclosure.failure(err)
  local status = tonumber(err.code:match("^HTTP_(%d%d%d)$"))
  if failure and details.state then
    return changed(err, ("a server behind this one is not connected (%s)"):format(tostring(details.state)),
      { kind = kind, state = details.state }), true, true
  elseif failure then
    local text = texts[failure] .. (err.mayHaveRun and "; the call may have run" or "")
    return changed(err, text, { kind = kind, phase = details.phase, statusCode = details.statusCode }), true,
      true
  elseif status then
    if details.statusCode ~= status then
      return err, false, false
    end
    return answered(err, status, rule), true, not disclosure.is_callers(status)
  elseif type(details.rpcCode) == "number" and err.code:find("^MCP_") then
    if details.kind == "input" then -- the caller did not answer the server's question; the code is this program's
      return changed(err, err.message, { kind = details.kind }), true, false
    end
    return said(err, rule), true, rule == "none"
  elseif is_of_tool(err, details) then
    return said(err, rule), true, rule == "none"
  elseif details.kind == "graphql" then
    return refused(err, rule), true, rule == "none"
  end
  return err, public[err.code] or disclosure.declared(spec, err.code) ~= nil, false
end

local rules = members.set({ "client", "all", "none" })

--- Checks the option `upstream_errors`; misuse raises.
---@param rule any
---@param name string  of the public function
---@param level integer  of the caller's line
function disclosure.check(rule, name, level)
  if rule ~= nil and not rules[rule] then
    error(("bad option 'upstream_errors' to '%s' (\"client\", \"all\" or \"none\" expected, got %s)"):format(name,
      type(rule) == "string" and ("%q"):format(rule) or type(rule)), level + 1)
  end
end

return disclosure
