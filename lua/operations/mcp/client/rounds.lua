--- Requests that take several rounds (revision 2026-07-28): the server asks for input in its result, and is asked again
--- with the answers.
local answers = require("operations.mcp.client.answers")
local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local revision = require("operations.mcp.protocol.revision")
local task = require("operations.task")

local rounds = {}

-- A server that only asks to come back is given time, more with every round, ms.
local PAUSE, LONGEST = 50, 5000

local function invalid(method, text)
  return nil, errors.new("EXECUTION_ERROR", ("%s: malformed result: %s"):format(method, text), { kind = "malformed" })
end

-- Answers what the server asks for, with the functions that answer requests of the legacy era.
local function responses_to(session, requests, method)
  local responses, client = setmetatable({}, core.object_mt), session.owner.client
  if not client then
    return nil, errors.new("ABORTED", method .. ": nobody has the client any more", { kind = "closed" })
  end
  for key, request in pairs(requests) do
    if type(request) ~= "table" or type(request.method) ~= "string" then
      return invalid(method, ("/inputRequests/%s: a request expected"):format(key))
    end
    local result, failure = answers.to(client._config, request.method, request.params or {},
      { client = client, requestId = key })
    if not result then
      return nil, message.error_of(failure, method .. ": the server's " .. request.method, { kind = "input" })
    end
    responses[key] = result
  end
  return responses
end

-- A member of a result; null, as some servers write what they leave out, is none.
local function member(result, key)
  local value = result[key]
  if value ~= core.null then
    return value
  end
end

-- The params of the next round: the first ones, with what was asked for. The state is the server's own business.
local function next_params(session, params, result, method)
  local all, asked, state = members.merged(params), member(result, "inputRequests"), member(result, "requestState")
  if asked == nil and state == nil then
    return invalid(method, "/resultType: input_required with neither inputRequests nor requestState")
  end
  all.requestState, all.inputResponses = state, nil
  if asked ~= nil then
    if core.kind(asked) ~= "object" then
      return invalid(method, "/inputRequests: an object expected")
    end
    local responses, err = responses_to(session, asked, method)
    if not responses then
      return nil, err
    end
    all.inputResponses = responses
  end
  return all
end

-- A revision that the server named instead of ours, when there is one.
local function other_version(session, failure)
  local data = failure.code == message.codes.UNSUPPORTED_VERSION and session.modern and failure.data
  return core.kind(data) == "object" and revision.common(data.supported, true) or nil
end

-- What became of one round: a result, or nil and an error, or nil, nil and the params of the next.
local function judge(session, reply, method, params)
  local result = reply.result
  if reply.error then
    return nil, message.error_of(reply.error, method, { method = method, statusCode = reply.status })
  elseif rounds.is_over(session, reply) then
    return result
  elseif result.resultType ~= "input_required" then
    return invalid(method, ("/resultType: %q is unknown"):format(tostring(result.resultType)))
  end
  local all, err = next_params(session, params, result, method)
  return nil, err, all
end

local function out_of_rounds(method)
  return errors.new("EXECUTION_ERROR", ("%s: no result after %d rounds of input"):format(method, limits.mcp_rounds),
    { kind = "rounds" })
end

--- Is the first answer the result already?
---@param session operations.mcp.Session
---@param reply operations.mcp.Message
---@return boolean
function rounds.is_over(session, reply)
  return reply.error == nil
    and (not session.modern or reply.result.resultType == nil or reply.result.resultType == "complete"
      or reply.result.resultType == core.null)
end

--- Goes on with a request until it has its result.
---@param session operations.mcp.Session
---@param method string
---@param params? table
---@param reply operations.mcp.Message  the first answer
---@param send fun(params: table?): operations.mcp.Message?, operations.Error?
---@return table? result
---@return operations.Error? err
function rounds.follow(session, method, params, reply, send)
  local current, pause, adopted = params, PAUSE, false
  for round = 1, limits.mcp_rounds do
    local version = not adopted and reply.error and other_version(session, reply.error)
    if version then
      adopted = true
      session:adopt(version)
    else
      local result, failure, following = judge(session, reply, method, params)
      if not following then
        return result, failure
      elseif not following.inputResponses then
        task.sleep(pause / 1000)
        pause = math.min(pause * 2, LONGEST)
      end
      current = following
    end
    if round < limits.mcp_rounds then
      local err
      reply, err = send(current)
      if not reply then
        return nil, err
      end
    end
  end
  return nil, out_of_rounds(method)
end

return rounds
