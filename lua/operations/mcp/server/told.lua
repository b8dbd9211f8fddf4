--- Failures as clients may read them. Messages that they do not read go to the log.
local disclosure = require("operations.base.disclosure")
local message = require("operations.mcp.protocol.message")

local told = {}

--- The error for the client, and whether it reads the message.
---@param call operations.mcp.ServerCall
---@param err operations.Error
---@param name string  of what failed, for the log
---@param spec? operations.Spec  of an operation that failed
---@return operations.Error seen
---@return boolean told
function told.read(call, err, name, spec)
  local options = call.server.options
  if options.expose_errors or call.round and err.code == "INPUT_REQUIRED" then
    return err, true
  end
  local details = type(err.details) == "table" and err.details or {}
  local is_of_server = details.state or details.kind == "closed" or details.kind == "timeout" and details.method
  if not call.http and is_of_server and options.upstream_errors ~= "none" then
    return err, true -- over stdio the caller has started this program, and the cause is its own
  end
  local seen, is_told, hidden = disclosure.read(err, options.upstream_errors, spec)
  if hidden or not is_told then
    options.log("error", ("%s: %s"):format(name, tostring(err)))
  end
  return seen, is_told
end

-- These codes concern the connection to the server behind, not the client's request.
local of_connection = { [message.codes.HEADER_MISMATCH] = true, [message.codes.UNSUPPORTED_VERSION] = true }

--- The JSON-RPC error of a server behind this one, as it was; nil: the error is another one (such as that of a client
--- that does not answer a question), or the client may not read it.
---@param call operations.mcp.ServerCall
---@param err operations.Error
---@return operations.mcp.Failure?
function told.passed(call, err)
  local details = type(err.details) == "table" and err.details or {}
  local code = details.rpcCode
  local options = call.server.options
  if type(code) == "number" and err.code:find("^MCP_") and details.kind ~= "input" and not disclosure.failure(err)
    and not of_connection[code] and (options.upstream_errors ~= "none" or options.expose_errors) then
    return { code = code, message = (err.message:gsub("^[%w/]+: ", "")), data = details.data }
  end
end

return told
