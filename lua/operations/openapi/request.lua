--- Makes request messages: an operation's plan and an input in, `{ method, url, headers, body }` out. No I/O, but that
--- files to be sent are opened.
local core = require("operations.core")
local encoder = require("operations.openapi.encoder")
local errors = require("operations.base.error")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local location = require("operations.openapi.location")
local parameter = require("operations.openapi.parameter")
local style = require("operations.openapi.style")
local url = require("operations.base.url")

local request = {}

---@class operations.openapi.Plan
---@field method string
---@field base string?
---@field segments (string|operations.openapi.Parameter)[][]
---@field query? string  what the path key holds behind "?"
---@field parameters operations.openapi.Parameter[]
---@field body? operations.openapi.Body
---@field accept string
---@field headers? table<string, string>  config.headers
---@field input_schema table

---@class operations.openapi.Request
---@field method string
---@field url string
---@field headers table<string, string>
---@field body? string|{ read: function, close: function }
---@field body_size? integer  of what is read

local function invalid(path, keyword, message)
  local shown = path == "" and message or path .. ": " .. message
  return errors.new("VALIDATION_ERROR", shown, { { path = path, keyword = keyword, message = message } })
end

local function pointer(key)
  return "/" .. json_pointer.escape(key)
end

--- Header fields under their own spelling, told apart without regard to case; the last one set counts.
local function set_header(headers, names, name, value)
  local lower = name:lower()
  if names[lower] then
    headers[names[lower]] = nil
  end
  names[lower], headers[name] = name, value
end

local function check_names(plan, input)
  for key in pairs(input) do
    if not plan.keys[key] then
      return invalid(pointer(key), "additionalProperties", "is no parameter of this operation")
    end
  end
end

local function add_parameter(parts, param, text)
  if param.location == "header" then
    set_header(parts.headers, parts.names, param.name, text)
  elseif param.location == "path" then
    parts.path[param.name], parts.keys[param.name] = text, param.key
  else
    table.insert(parts[param.location], text)
  end
end

-- What libcurl would fail to send is refused, by the name of what is longest in it.
local function too_long(size, longest)
  return invalid(pointer(longest), "size",
    ("the request's parameters would have %d bytes; at most %d are sent"):format(size, limits.request_head))
end

local function parameter_texts(plan, input, parts)
  local size, most, longest = 0, -1, nil
  for _, param in ipairs(plan.parameters) do
    local text, message, path = parameter.text(param, input[param.key])
    if message then
      return invalid(pointer(param.key) .. (path or ""), "serialization", message)
    elseif text then
      add_parameter(parts, param, text)
      size = size + #text
      if #text > most then
        most, longest = #text, param.key
      end
    elseif param.required and input[param.key] == nil then
      return invalid(pointer(param.key), "required", "is required")
    elseif param.location == "path" then
      return invalid(pointer(param.key), "path", "must not be empty, '.' or '..' in the path")
    end
  end
  return size > limits.request_head and too_long(size, longest) or nil
end

local function new_parts(plan)
  local query = { plan.query }
  return { path = {}, keys = {}, query = query, querystring = query, cookie = {}, headers = {}, names = {} }
end

-- RFC 6265, 5.4: there is one Cookie header at most; what is there already stays.
local function add_cookies(parts)
  if #parts.cookie > 0 then
    local given, pairs_of_ours = parts.headers[parts.names.cookie], table.concat(parts.cookie, "; ")
    set_header(parts.headers, parts.names, "Cookie", given and given .. "; " .. pairs_of_ours or pairs_of_ours)
  end
end

-- A cookie's value is sent as the server once gave it, where it can be one (RFC 6265, 4.1.1).
local function cookie_text(value)
  return value:find('[%c ",;\\\128-\255]') and style.encode(value) or value
end

local function add_credentials(parts, credentials)
  for _, credential in ipairs(credentials) do
    if credential.location == "header" then
      set_header(parts.headers, parts.names, credential.name, credential.value)
    elseif parts[credential.location] then
      local encode = credential.location == "cookie" and cookie_text or style.encode
      table.insert(parts[credential.location], style.encode(credential.name) .. "=" .. encode(credential.value))
    end
  end
end

local function encode_body(plan, input, parts)
  if not plan.body then
    return nil
  elseif input.body == nil then
    return nil, plan.body.required and invalid("/body", "required", "is required") or nil
  end
  local key = plan.body.key
  local kind, unknown = encoder.pick(plan.body, input.body, key and input[key])
  if not kind then
    return nil, invalid(pointer(key), "contentType", unknown)
  end
  local payload, message, path = encoder.encode(kind, input.body, plan.input_schema)
  if not payload then
    return nil, invalid("/body" .. (path or ""), "serialization", message)
  end
  set_header(parts.headers, parts.names, "Content-Type", payload.content_type)
  return payload
end

local function url_of(plan, parts)
  local path, key, message = location.fill_path(plan, parts.path, parts.keys)
  if not path then
    return nil, invalid(pointer(key), "path", message)
  end
  local query = table.concat(parts.query, "&")
  return plan.base .. path .. (query ~= "" and "?" .. query or "")
end

local function new_head(plan)
  local parts = new_parts(plan)
  set_header(parts.headers, parts.names, "Accept", plan.accept)
  return parts
end

-- The URL of a further page, as the server gave it; credentials of the query are put in again.
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

-- Everything but URL and body.
local function fill(plan, input, credentials, parts)
  for name, value in pairs(plan.headers or {}) do
    set_header(parts.headers, parts.names, name, value)
  end
  local err = check_names(plan, input) or parameter_texts(plan, input, parts)
  if err then
    return err
  end
  add_credentials(parts, credentials)
  add_cookies(parts)
end

--- Makes the request of one call.
---@param plan operations.openapi.Plan
---@param input table  parameters by name, and `body`
---@param credentials operations.openapi.Credential[]
---@param address? string  of a further page, instead of the URL that plan and input make
---@return operations.openapi.Request? message
---@return operations.Error? err  VALIDATION_ERROR: a value cannot be sent, or is missing, or nobody knows it
function request.build(plan, input, credentials, address)
  if core.kind(input) ~= "object" then
    return nil, invalid("", "type", "expected an object of parameters, got " .. core.kind(input))
  elseif not plan.base then
    return nil, errors.new("EXECUTION_ERROR", plan.base_error, { kind = "configuration" })
  end
  local parts = new_head(plan)
  local err = fill(plan, input, credentials, parts)
  if err then
    return nil, err
  end
  local target, payload
  if address then
    target = add_query_credentials(address, credentials)
  else
    target, err = url_of(plan, parts)
  end
  if target then
    payload, err = encode_body(plan, input, parts)
  end
  if err then
    return nil, err
  end
  payload = payload or {}
  return {
    method = plan.method, url = target, headers = parts.headers, body = payload.data, body_size = payload.size,
  }
end

return request
