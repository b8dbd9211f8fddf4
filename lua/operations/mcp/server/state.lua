--- The state of a call between its rounds (revision 2026-07-28): the answers so far are stored by the client as
--- `requestState`, signed with HMAC-SHA-256 (RFC 2104), so that only this server's states are accepted, and bound to
--- the caller, the method, its params and a time.
local base64 = require("operations.base.base64")
local core = require("operations.core")
local hmac = require("operations.base.hmac")
local identity_key = require("operations.base.identity_key")
local json = require("operations.base.json")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")

local state = {}

---@class operations.mcp.Round
---@field answers table<string, table>  of earlier rounds and of this one, by key
---@field used table<string, table>  the answers that the handler read
---@field asked table<string, table>  the questions of this round
---@field program? { id: string, ran: table[] }  a program that waits for the answers, and its calls so far

local sorted = { sort_keys = true }

-- What a state is bound to: this call, by this caller.
local function place_of(call)
  local params = {}
  for name, value in pairs(call.params) do
    if name ~= "_meta" and name ~= "inputResponses" and name ~= "requestState" then
      params[name] = value
    end
  end
  local identity = call.identity
  local caller = identity and identity_key.of(identity) or ""
  if call.http and not (identity and identity.id ~= nil) then
    caller = caller .. core.sha256(call.http.headers.authorization or "")
  end
  return core.sha256(call.method .. "\0" .. caller .. "\0" .. assert(json.encode(params, sorted)))
end

--- The state after a round.
---@param call operations.mcp.ServerCall
---@param round operations.mcp.Round
---@return string
function state.seal(call, round)
  local expires = core.now() + call.server.options.state_ttl
  local body = assert(json.encode({ answers = round.used, expires = expires, program = round.program }, sorted))
  return base64.encode_url(call.server.sign(place_of(call) .. body)) .. "." .. base64.encode_url(body)
end

local function opened(call, text)
  local signature, body = nil, nil
  if type(text) == "string" then
    signature, body = text:match("^([%w_-]+)%.([%w_-]+)$")
  end
  signature, body = signature and base64.decode_url(signature), body and base64.decode_url(body)
  if not signature or not body or not hmac.same(signature, call.server.sign(place_of(call) .. body)) then
    return nil, "requestState: it is not from this server, or belongs to another call"
  end
  local value = json.decode(body)
  if value.expires < core.now() then
    return nil, "requestState: it has expired"
  end
  return value.answers, nil, value.program
end

--- The id of the program that waits for a state's answers, if it has one. The state is not verified.
---@param text any
---@return string?
function state.program(text)
  local body = type(text) == "string" and text:match("^[%w_-]+%.([%w_-]+)$")
  local value = body and json.decode(base64.decode_url(body) or "")
  local program = type(value) == "table" and value.program
  return type(program) == "table" and type(program.id) == "string" and program.id or nil
end

--- The round that a request begins.
---@param call operations.mcp.ServerCall
---@return operations.mcp.Round?
---@return operations.mcp.Failure? failure  the state is invalid
function state.open(call)
  local params, answers, program = call.params, {}, nil
  if message.present(params.requestState) ~= nil then
    local problem
    answers, problem, program = opened(call, params.requestState)
    if not answers then
      return nil, { code = message.codes.INVALID_PARAMS, message = problem }
    end
  end
  local given = message.present(params.inputResponses)
  if given ~= nil and core.kind(given) ~= "object" then
    return nil, { code = message.codes.INVALID_PARAMS, message = "inputResponses: object expected" }
  end
  return { answers = members.merged(given, answers), used = {}, asked = {}, program = program }
end

return state
