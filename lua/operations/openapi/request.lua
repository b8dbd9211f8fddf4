--- Makes request messages from an operation's plan and an input: `{ method, url, headers, body }`. No I/O, except
--- opening files to be sent.
local core = require("operations.core")
local encoder = require("operations.openapi.encoder")
local errors = require("operations.base.error")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local location = require("operations.openapi.location")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local parameter = require("operations.openapi.parameter")
local style = require("operations.openapi.style")
local url = require("operations.base.url")

local request = {}

local nothing = {}

---@class operations.openapi.Plan
---@field method string
---@field base string?
---@field segments (string|operations.openapi.Parameter)[][]
---@field path? string  if no parameter is part of it
---@field path_keys? table<string, string>  names in the input by those of path parameters, found when needed
---@field head { headers: table, names: table }  headers of every request; their spelling by lower-case name
---@field options operations.HttpRequest  other options of all requests
---@field sender? operations.HttpSender  for the options, set by the first request
---@field query? { name: string, text: string }[]  the query in the path key
---@field parameters operations.openapi.Parameter[]
---@field body? operations.openapi.Body
---@field input_schema table
---@field validate? "on"|"warn"|"off"

---@class operations.openapi.Request : operations.HttpOwn
---@field headers? table<string, string>  if they differ from the plan's

---@class operations.openapi.Extra  what a request has beside its plan and input
---@field address? string  of a further page, instead of the URL from plan and input
---@field headers? table<string, string>  additional ones
---@field relay? operations.Relay  the request that this one relays

local function invalid(path, keyword, message)
  local shown = path == "" and message or path .. ": " .. message
  return errors.new("VALIDATION_ERROR", shown, { { path = path, keyword = keyword, message = message } })
end

local function pointer(key)
  return "/" .. json_pointer.escape(key)
end

-- Sets a header with its own spelling; names are compared without case, the last one counts. Copies the plan's headers
-- at the first change.
local function set_header(parts, name, value)
  if not parts.headers then
    parts.headers, parts.names = members.copy(parts.head.headers), members.copy(parts.head.names)
  end
  local lower, names = name:lower(), parts.names
  if names[lower] then
    parts.headers[names[lower]] = nil
  end
  names[lower], parts.headers[name] = name, value
end

--- The headers of all requests of an operation.
---@param ... table<string, string>|nil  the last one with a name counts
---@return { headers: table, names: table }
function request.head(...)
  local parts = { head = { headers = {}, names = {} } }
  for i = 1, select("#", ...) do
    for name, value in pairs((select(i, ...)) or nothing) do
      set_header(parts, name, value)
    end
  end
  return { headers = parts.headers, names = parts.names }
end

-- Refuses unknown members. Those of others go out in the order of the document, then in that of the input, then sorted.
local function check_members(plan, input)
  local keys = plan.keys
  for key, value in pairs(input) do
    if not keys[key] then
      return invalid(pointer(key), "additionalProperties", "is not a parameter of this operation")
    elseif type(value) == "table" then
      marked.order(value, (plan.input_schema.properties or nothing)[key], plan.input_schema)
    end
  end
end

local function add_query(parts, text)
  parts.query = parts.query and parts.query .. "&" .. text or text
end

-- RFC 6265, 5.4: at most one Cookie header.
local function add_cookie(parts, text)
  parts.cookie = parts.cookie and parts.cookie .. "; " .. text or text
end

local function add_parameter(parts, param, text)
  local where = param.location
  if where == "header" then
    set_header(parts, param.name, text)
  elseif where == "path" then
    parts.path[param.name] = text
  elseif where == "cookie" then
    add_cookie(parts, text)
  else
    add_query(parts, text)
  end
  if parts.sent and where ~= "header" and where ~= "path" then
    parts.sent[where == "query" and param.name or ""] = true
  end
end

-- Adds the query of the path key before that of parameters, without what these replace.
local function add_fixed_query(parts, fixed)
  local texts = {}
  for _, pair in ipairs(fixed) do
    if not parts.sent[pair.name] then
      texts[#texts + 1] = pair.text
    end
  end
  texts[#texts + 1] = parts.query
  parts.query = texts[1] and table.concat(texts, "&")
end

-- Adds the texts of all parameters; those of a relayed request, unless their values have changed.
local function add_parameters(plan, input, parts, relay)
  local size, most, longest = 0, -1, nil
  local parameters = plan.parameters
  for i = 1, #parameters do
    local param = parameters[i]
    local key = param.key
    local value, text, message, path = input[key], nil, nil, nil
    if relay and relay.raw[key] and rawequal(relay.input[key], value) then
      text = relay.raw[key]
    elseif value ~= nil then
      text, message, path = parameter.text(param, value)
    end
    if text then
      add_parameter(parts, param, text)
      size = size + #text
      if #text > most then
        most, longest = #text, key
      end
    elseif message then
      return invalid(pointer(key) .. (path or ""), "serialization", message)
    elseif param.required and value == nil then
      return invalid(pointer(key), "required", "is required")
    elseif param.location == "path" then
      return invalid(pointer(key), "path", "must not be empty, '.' or '..' in the path")
    end
  end
  if size > limits.request_head then -- libcurl could not send it; names the longest one
    return invalid(pointer(longest), "size",
      ("the request's parameters would have %d bytes; at most %d are sent"):format(size, limits.request_head))
  end
end

-- Sets the cookies; an existing header stays.
local function set_cookies(parts)
  local head = parts.headers and parts or parts.head
  local given = head.headers[head.names.cookie]
  set_header(parts, "Cookie", given and given .. "; " .. parts.cookie or parts.cookie)
end

-- A cookie's value is sent as the server set it, if it is a valid one (RFC 6265, 4.1.1).
local function cookie_text(value)
  return value:find('[%c ",;\\\128-\255]') and style.encode(value) or value
end

local function add_credentials(parts, credentials)
  for _, credential in ipairs(credentials) do
    if credential.location == "header" then
      set_header(parts, credential.name, credential.value)
    elseif credential.location == "query" then
      add_query(parts, style.encode(credential.name) .. "=" .. style.encode(credential.value))
    elseif credential.location == "cookie" then
      add_cookie(parts, style.encode(credential.name) .. "=" .. cookie_text(credential.value))
    end
  end
end

-- The error of a body that does not fit its media type.
local function misfit(kind, issues)
  local list = {}
  for i, issue in ipairs(issues) do
    list[i] = members.merged(issue, { path = "/body" .. issue.path })
  end
  local err = errors.new("VALIDATION_ERROR",
    ("%s: %s (the body as %s)"):format(list[1].path, list[1].message, kind.content_type), list)
  err.hint = "the option `validate` of its import, or --no-check, sends it unchecked"
  return err
end

-- The type of a body; or nil and the error.
local function type_of_body(plan, input, parts)
  local key, body = plan.body.key, input.body
  local kind, problem = encoder.pick(plan.body, body, key and input[key], plan.input_schema)
  if not kind then
    return nil, invalid(pointer(key), "contentType", problem)
  elseif problem and plan.validate ~= "off" then
    parts.misfit = misfit(kind, problem)
    if plan.validate ~= "warn" then
      return nil, parts.misfit
    end
  end
  return kind
end

-- The last header. Most bodies of a type have the same headers, which are made once.
local function set_content_type(parts, kind, content_type)
  if parts.headers or content_type ~= kind.content_type then
    set_header(parts, "Content-Type", content_type)
    return
  elseif not kind.headers then
    set_header(parts, "Content-Type", content_type)
    kind.headers = parts.headers
  end
  parts.headers = kind.headers
end

local function encode_body(plan, input, parts)
  if input.body == nil then
    return nil, plan.body.required and invalid("/body", "required", "is required") or nil
  end
  local kind, err = type_of_body(plan, input, parts)
  if not kind then
    return nil, err
  end
  local payload, message, path = encoder.encode(kind, input.body, plan.input_schema)
  if not payload then
    return nil, invalid("/body" .. (path or ""), "serialization", message)
  end
  set_content_type(parts, kind, payload.content_type)
  return payload
end

-- The body of a relayed request: as received, unless its value has changed.
local function relayed_body(plan, input, parts, relay)
  if not relay.unread and (relay.body == nil or not rawequal(relay.input.body, input.body)) then
    return encode_body(plan, input, parts)
  elseif not relay.unread then
    local kind, err = type_of_body(plan, input, parts)
    if not kind then
      return nil, err
    end
  end
  set_header(parts, "Content-Type", relay.content_type)
  return { data = relay.body, size = relay.size }
end

-- The keys of the input by the names of path parameters.
local function path_keys(plan)
  if not plan.path_keys then
    plan.path_keys = {}
    for _, param in ipairs(plan.parameters) do
      plan.path_keys[param.name] = param.location == "path" and param.key or plan.path_keys[param.name]
    end
  end
  return plan.path_keys
end

local function url_of(plan, parts)
  local path = plan.path
  if not path then
    local key, message
    path, key, message = location.fill_path(plan, parts.path, path_keys(plan))
    if not path then
      return nil, invalid(pointer(key), "path", message)
    end
  end
  local query = parts.query
  return query and query ~= "" and plan.base .. path .. "?" .. query or plan.base .. path
end

-- The URL of a further page from the server, with the credentials of the query added.
local function add_query_credentials(address, credentials)
  for _, credential in ipairs(credentials) do
    if credential.location == "query" then
      address = url.without_query(address, { credential.name })
      address = ("%s%s%s=%s"):format(address, address:find("?", 1, true) and "&" or "?",
        style.encode(credential.name), style.encode(credential.value))
    end
  end
  return address
end

--- Makes the request of one call.
---@param plan operations.openapi.Plan
---@param input table  parameters by name, and `body`
---@param credentials operations.openapi.Credential[]
---@param extra? operations.openapi.Extra
---@return operations.openapi.Request? message
---@return operations.Error? err  VALIDATION_ERROR: a value cannot be sent, is missing or unknown; beside a message,
---  `validate = "warn"` lets it pass
function request.build(plan, input, credentials, extra)
  if core.kind(input) ~= "object" then
    return nil, invalid("", "type", "expected an object of parameters, got " .. core.kind(input))
  elseif not plan.base then
    return nil, errors.new("EXECUTION_ERROR", plan.base_error, { kind = "configuration" })
  end
  extra = extra or nothing
  -- Parts of the message: headers and names if they differ from the plan's, texts of path, query, cookies.
  local parts = { head = plan.head, query = nil, path = not plan.path and {} or nil, sent = plan.query and {} or nil }
  local err = check_members(plan, input) or add_parameters(plan, input, parts, extra.relay)
  if err then
    return nil, err
  end
  if plan.query then
    add_fixed_query(parts, plan.query)
  end
  if credentials[1] then
    add_credentials(parts, credentials)
  end
  if parts.cookie then
    set_cookies(parts)
  end
  if extra.headers then
    for name, value in pairs(extra.headers) do
      set_header(parts, name, value)
    end
  end
  local target, payload
  if extra.address then
    target = add_query_credentials(extra.address, credentials)
  else
    target, err = url_of(plan, parts)
  end
  if target and plan.body then
    if extra.relay then
      payload, err = relayed_body(plan, input, parts, extra.relay)
    else
      payload, err = encode_body(plan, input, parts)
    end
  end
  if err then
    return nil, err
  elseif payload then
    return { url = target, headers = parts.headers, body = payload.data, body_size = payload.size }, parts.misfit
  end
  return { url = target, headers = parts.headers, before = nil }
end

return request
