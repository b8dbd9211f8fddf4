--- What the server asks of the client, and what the program's own functions answer: roots, sampling, elicitation. Until
--- 2025-11-25 it is asked in requests, since then in the rounds of ours.
local core = require("operations.core")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local message = require("operations.mcp.protocol.message")
local schema = require("operations.schema")

local answers = {}

local codes = message.codes

--- The capabilities that a configuration stands for.
---@param config operations.mcp.Config
---@return table
function answers.capabilities(config)
  local capabilities = setmetatable(members.merged(config.capabilities), core.object_mt)
  local function object()
    return setmetatable({}, core.object_mt)
  end
  capabilities.roots = capabilities.roots or config.roots and { listChanged = true } or nil
  capabilities.sampling = capabilities.sampling or config.sampling and object() or nil
  if config.elicitation and not capabilities.elicitation then
    local modes = type(config.elicitation) == "table" and config.elicitation or { form = true }
    capabilities.elicitation = { form = modes.form and object(), url = modes.url and object() }
  end
  return capabilities
end

local function roots_list(config)
  local roots = config.roots
  if type(roots) == "function" then
    local err
    roots, err = roots()
    if not roots then
      return nil, err
    end
  end
  local list = setmetatable({}, core.array_mt)
  for i, root in ipairs(roots) do
    list[i] = type(root) == "string" and { uri = root } or root
  end
  return { roots = list }
end

local function is_object(value)
  return type(value) == "table" and core.kind(value) == "object"
end

-- The content that the user accepted, what they left out taken from the form's defaults (SEP-1034).
local function completed(form, content)
  if type(form) ~= "table" then
    return content
  end
  local defaults = {}
  for name, property in pairs(type(form.properties) == "table" and form.properties or {}) do
    if type(property) == "table" then
      defaults[name] = property.default
    end
  end
  local filled = members.merged(defaults, content)
  local compiled = schema.compile(form)
  if compiled then
    local ok, issues = compiled:check(filled)
    if not ok then
      return nil, errors.new("VALIDATION_ERROR",
        ("elicitation: %s: %s"):format(issues[1].path, issues[1].message), issues)
    end
  end
  return setmetatable(filled, core.object_mt)
end

local actions = { accept = true, decline = true, cancel = true }

local function elicit(config, params, context)
  local mode, handler = params.mode or "form", config.elicitation
  if type(handler) == "table" then
    handler = handler[mode]
  end
  if not handler or (mode ~= "form" and type(config.elicitation) ~= "table") then
    return nil, errors.new("VALIDATION_ERROR", ("there is no elicitation by %s"):format(mode))
  end
  local answer, err = handler(params, context)
  if answer == nil then
    return nil, err
  elseif type(answer) ~= "table" or not actions[answer.action] then
    return nil, errors.new("EXECUTION_ERROR", "elicitation: the program gave no action: accept, decline or cancel")
  elseif type(answer.content or {}) ~= "table" then
    return nil, errors.new("EXECUTION_ERROR", "elicitation: the program's content is no object")
  elseif answer.action ~= "accept" or mode ~= "form" then
    return { action = answer.action, _meta = answer._meta }
  end
  local content
  content, err = completed(params.requestedSchema, answer.content)
  if not content then
    return nil, err
  end
  return { action = "accept", content = content, _meta = answer._meta }
end

local methods = {
  ["ping"] = function()
    return setmetatable({}, core.object_mt)
  end,
  ["roots/list"] = function(config)
    return roots_list(config)
  end,
  ["sampling/createMessage"] = function(config, params, context)
    return config.sampling(params, context)
  end,
  ["elicitation/create"] = elicit,
}

local needs = {
  ["roots/list"] = "roots", ["sampling/createMessage"] = "sampling", ["elicitation/create"] = "elicitation",
}

--- Answers one request. May wait as long as the program's function does.
---@param config operations.mcp.Config
---@param method string
---@param params table
---@param context { client: any, requestId: any }
---@return table? result
---@return { code: integer, message: string, data: any }? failure  of JSON-RPC
function answers.to(config, method, params, context)
  local answer, need = methods[method], needs[method]
  if not answer or need and not config[need] then
    return nil, { code = codes.METHOD_NOT_FOUND, message = ("the client has no %s"):format(method) }
  end
  local ok, result, err = pcall(answer, config, is_object(params) and params or {}, context)
  if ok and is_object(result) then
    return result
  elseif ok and result ~= nil then
    result, err = nil, ("%s: the program gave a %s, not an object"):format(method, type(result))
  end
  err = errors.from(ok and (err ~= nil and err or method .. " was refused") or result)
  local code = err.code == "VALIDATION_ERROR" and codes.INVALID_PARAMS or codes.INTERNAL_ERROR
  if err.code == "ABORTED" then
    code = -1 -- the user's refusal, as the specification has it
  end
  return nil, { code = code, message = err.message }
end

return answers
