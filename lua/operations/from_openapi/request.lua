--- Makes request messages: an operation's plan and an input in, `{ method, url, headers, body }` out. No I/O.
local core = require("operations.core")
local body = require("operations.from_openapi.body")
local errors = require("operations.error")
local parameter = require("operations.from_openapi.parameter")
local style = require("operations.from_openapi.style")

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
---@field body? string

local function invalid(path, keyword, message)
  local shown = path == "" and message or path .. ": " .. message
  return errors.new("VALIDATION_ERROR", shown, { { path = path, keyword = keyword, message = message } })
end

local function pointer(key)
  return "/" .. tostring(key):gsub("~", "~0"):gsub("/", "~1")
end

-- What a literal part of a path template may hold as it is (RFC 3986, 3.3, and existing triplets).
local function literal(text)
  return (text:gsub("[^A-Za-z0-9%-._~!$&'()*+,;=:@%%]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end))
end

--- Splits a path template into segments of literal texts and names: { { "/users/" }, ... } as { text } or { name = }.
---@param path string
---@return table[][] segments
---@return string[] names  in order; also a set
---@return string? query  behind "?"; a fragment is dropped
function request.template(path)
  local route, query = path:gsub("#.*$", ""):match("^([^?]*)%??(.*)$")
  local segments, names = {}, {}
  for segment in (route:gsub("^/", "") .. "/"):gmatch("([^/]*)/") do
    local parts, position = {}, 1
    while true do
      local from, to, name = segment:find("{([^{}]*)}", position)
      parts[#parts + 1] = literal(segment:sub(position, (from or 0) - 1))
      if not from then
        break
      end
      parts[#parts + 1] = { name = name }
      if not names[name] then
        names[name], names[#names + 1] = true, name
      end
      position = to + 1
    end
    segments[#segments + 1] = parts
  end
  return segments, names, query ~= "" and query or nil
end

--- A segment that is empty, "." or ".." (encoded, or before a ";", too) would be another path.
local function is_escape(segment)
  segment = segment:gsub("%%2[eE]", ".")
  return segment == "" or segment:find("^%.%.?$") ~= nil or segment:find("^%.%.?;") ~= nil
end

local function has_slash(segment)
  return segment:find("%%2[fF]") ~= nil or segment:find("%%5[cC]") ~= nil
end

local function segment_text(plan, parts, texts, keys)
  local pieces, key = {}, nil
  for i, part in ipairs(parts) do
    if type(part) == "table" then
      pieces[i], key = texts[part.name], keys[part.name]
    else
      pieces[i] = part
    end
  end
  local text = table.concat(pieces)
  if key and is_escape(text) then
    return nil, invalid(pointer(key), "path", "must not be empty, '.' or '..' in the path")
  elseif key and plan.encoded_slashes == false and has_slash(text) then
    return nil, invalid(pointer(key), "path", "must not contain a slash or backslash")
  end
  return text
end

local function path_text(plan, texts, keys)
  local list = {}
  for i, parts in ipairs(plan.segments) do
    local text, err = segment_text(plan, parts, texts, keys)
    if not text then
      return nil, err
    end
    list[i] = text
  end
  return "/" .. table.concat(list, "/")
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

local function parameter_texts(plan, input, parts)
  for _, param in ipairs(plan.parameters) do
    local text, message, path = parameter.text(param, input[param.key])
    if message then
      return invalid(pointer(param.key) .. (path or ""), "serialization", message)
    elseif text then
      parts.add(param, text)
    elseif param.required and input[param.key] == nil then
      return invalid(pointer(param.key), "required", "is required")
    elseif param.location == "path" then
      return invalid(pointer(param.key), "path", "must not be empty, '.' or '..' in the path")
    end
  end
end

local function new_parts(plan)
  local parts = { path = {}, keys = {}, query = { plan.query }, cookie = {}, headers = {}, names = {} }
  function parts.add(param, text)
    if param.location == "header" then
      set_header(parts.headers, parts.names, param.name, text)
    elseif param.location == "path" then
      parts.path[param.name], parts.keys[param.name] = text, param.key
    else
      table.insert(parts[param.location], text)
    end
  end
  return parts
end

local function add_credentials(parts, credentials)
  for _, credential in ipairs(credentials) do
    if credential.location == "header" then
      set_header(parts.headers, parts.names, credential.name, credential.value)
    else
      table.insert(parts[credential.location],
        style.encode(credential.name) .. "=" .. style.encode(credential.value))
    end
  end
end

local function encode_body(plan, input, parts)
  if not plan.body then
    return nil
  elseif input.body == nil then
    return nil, plan.body.required and invalid("/body", "required", "is required") or nil
  end
  local text, message = body.encode(plan.body, input.body, plan.input_schema)
  if not text then
    return nil, invalid("/body", "serialization", message)
  end
  set_header(parts.headers, parts.names, "Content-Type", plan.body.content_type)
  return text
end

local function url_of(plan, parts)
  local path, err = path_text(plan, parts.path, parts.keys)
  if not path then
    return nil, err
  end
  local query = table.concat(parts.query, "&")
  return plan.base .. path .. (query ~= "" and "?" .. query or "")
end

--- Makes the request of one call.
---@param plan operations.openapi.Plan
---@param input table  parameters by name, and `body`
---@param credentials operations.openapi.Credential[]
---@return operations.openapi.Request? message
---@return operations.Error? err  VALIDATION_ERROR: a value cannot be sent, or is missing, or nobody knows it
function request.build(plan, input, credentials)
  if core.kind(input) ~= "object" then
    return nil, invalid("", "type", "expected an object of parameters, got " .. core.kind(input))
  elseif not plan.base then
    return nil, errors.new("EXECUTION_ERROR", plan.base_error, { kind = "configuration" })
  end
  local parts = new_parts(plan)
  set_header(parts.headers, parts.names, "Accept", plan.accept)
  for name, value in pairs(plan.headers or {}) do
    set_header(parts.headers, parts.names, name, value)
  end
  local err = check_names(plan, input) or parameter_texts(plan, input, parts)
  if err then
    return nil, err
  end
  local text
  text, err = encode_body(plan, input, parts)
  if err then
    return nil, err
  end
  add_credentials(parts, credentials)
  if #parts.cookie > 0 then
    set_header(parts.headers, parts.names, "Cookie", table.concat(parts.cookie, "; "))
  end
  local url
  url, err = url_of(plan, parts)
  return url and { method = plan.method, url = url, headers = parts.headers, body = text } or nil, err
end

return request
