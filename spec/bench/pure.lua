--- What `execute` does for case (a), written in plain Lua and nothing more: look-up, access rule, `type: object` both
--- ways, a context, the handler under xpcall, detection and wrapping with a timestamp. The floor to compare with.
local pure = {}

local sources = { ["local"] = true, http = true, mcp = true }

local function is_object(value)
  return type(value) == "table" and getmetatable(value) == nil and value[1] == nil
end

local function is_envelope(value)
  if type(value) ~= "table" then
    return false
  end
  local meta = value.meta
  return type(meta) == "table" and sources[meta.source] ~= nil
end

local function allowed(rules, identity)
  if #rules.requiredScopes == 0 then
    return true
  elseif not identity then
    return false
  end
  for _, scope in ipairs(rules.requiredScopes) do
    if not identity.scopes[scope] then
      return false
    end
  end
  return true
end

local function on_raise(raised)
  return { raised = raised, traceback = debug.traceback(tostring(raised), 2) }
end

--- Makes a registry of `operations`, by id: { accessControl, handler, input_is_object, output_is_object }.
---@param operations table
---@param now fun(): integer
---@return fun(id: string, input: any, given: table): table|nil, any
function pure.registry(operations, now)
  return function(id, input, given)
    local found = operations[id]
    if not found then
      return nil, "OPERATION_NOT_FOUND"
    elseif not allowed(found.accessControl, given.identity) then
      return nil, "ACCESS_DENIED"
    elseif found.input_is_object and not is_object(input) then
      return nil, "VALIDATION_ERROR"
    end
    local context = { requestId = given.requestId, identity = given.identity, deadline = given.deadline }
    local ok, value, failure = xpcall(found.handler, on_raise, input, context)
    if not ok then
      return nil, value.raised
    elseif value == nil and failure ~= nil then
      return nil, failure
    end
    local envelope = value
    if not is_envelope(value) then
      envelope = { data = value, meta = { source = "local", operationId = id, timestamp = now() } }
    end
    if found.output_is_object and not is_object(envelope.data) then
      found.on_warning(envelope)
    end
    return envelope
  end
end

return pure
