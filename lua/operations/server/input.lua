--- Reads the input of an operation from a request: the parameters of the path, then the query or the body.
local codec = require("operations.http_server")
local errors = require("operations.base.error")
local header_field = require("operations.net.http.header_field")
local json = require("operations.base.json")

local input = {}

local function refuse(status, message, issues)
  return nil, errors.new("VALIDATION_ERROR", message, issues), status
end

local function summary(issues)
  return ("%s: %s"):format(issues[1].path, issues[1].message)
end

local function unreadable(message, path)
  return refuse(400, message, { { path = path or "", keyword = "format", message = message } })
end

-- Media type and charset of a Content-Type field.
local function content_type(value)
  local media = value and header_field.trim(value:match("^[^;]*")):lower()
  local charset = value and value:lower():match(";%s*charset%s*=%s*\"?([^\";%s]+)")
  return media, charset
end

-- Collects a body that arrives in pieces.
local function collect(body, max)
  local collector = codec.collector(max)
  while true do
    local piece, err = body()
    if err then
      return nil, err, type(err.details) == "table" and err.details.statusCode or 400
    elseif not piece then
      return collector:take()
    elseif not collector:add(piece) then
      return refuse(413, ("the body is larger than max_body (%d bytes)"):format(max))
    end
  end
end

--- The whole body of a request.
---@param request operations.ServerRequest
---@param max integer  bytes
---@return string? body
---@return operations.Error? err
---@return integer? status
function input.body(request, max)
  local body = request.body or ""
  local announced = tonumber(request.headers["content-length"])
  if announced and announced > max or type(body) == "string" and #body > max then
    return refuse(413, ("the body is larger than max_body (%d bytes)"):format(max))
  end
  local coding = request.headers["content-encoding"]
  if coding and coding:lower() ~= "identity" then
    return refuse(415, ("Content-Encoding: %s is not understood; send the body as it is"):format(coding))
  elseif type(body) == "string" then
    return body
  end
  return collect(body, max)
end

-- Reads a body that is itself the input, a string.
local function read_text(route, request, body)
  local media = content_type(request.headers["content-type"])
  local wanted = content_type(route.media)
  if media ~= wanted and wanted ~= "application/octet-stream" then
    return refuse(415, ("Content-Type: %s expected, got %s"):format(route.media, media or "none"))
  end
  return body
end

local function read_json(request, body, max_depth)
  if body == "" then
    return nil
  end
  local media, charset = content_type(request.headers["content-type"])
  if media ~= "application/json" or charset and charset ~= "utf-8" and charset ~= "utf8" then
    return refuse(415, ("Content-Type: application/json expected, got %s"):format(
      request.headers["content-type"] or "none"))
  end
  local value, err = json.decode(body, { max_depth = max_depth })
  if err then
    return unreadable("the body is not JSON: " .. err.message)
  end
  return value
end

local function read_query(route, query)
  local value, issues, malformed = route.flat:read(query)
  if malformed then
    return unreadable(("the query is malformed at '%s': percent-encoded UTF-8 expected"):format(malformed))
  elseif not value then
    return refuse(422, summary(issues), issues)
  end
  return value
end

-- Refuses a query besides a body: it would be ignored.
local function no_query(request, query)
  if query and query ~= "" then
    local message = ("%s carries its input in the body, not in the query"):format(request.method)
    return refuse(422, message, { { path = "", keyword = "additionalProperties", message = message } })
  end
end

local function read_body(route, request, query, limits)
  local _, err, status = no_query(request, query)
  if err ~= nil then
    return nil, err, status
  end
  local body
  body, err, status = input.body(request, limits.max_body)
  if err ~= nil then
    return nil, err, status
  elseif route.media then
    return read_text(route, request, body)
  end
  return read_json(request, body, limits.max_depth)
end

-- Adds the parameters of the path to the input; they replace members of the same name.
local function add_path(route, value, values)
  value = value == nil and {} or value
  if type(value) ~= "table" then
    return refuse(422, ": expected an object, for the parameters of the path",
      { { path = "", keyword = "type", message = "expected an object" } })
  end
  for at, name in pairs(route.names) do
    value[name] = nil
    local issue = route.path:add(value, name, values[at])
    if issue then
      return refuse(422, summary({ issue }), { issue })
    end
  end
  return value
end

--- Reads the input of a request: GET, HEAD and, where it can, DELETE carry it in the query, others in the body.
---@param route operations.Route
---@param request operations.ServerRequest
---@param query? string  without what is the server's own
---@param values table<integer, string>  of the path's parameters
---@param limits { max_body: integer, max_depth: integer }
---@return any input  nil: none was sent
---@return operations.Error? err
---@return integer? status  of the failure
function input.read(route, request, query, values, limits)
  local method = request.method
  local value, err, status
  if method == "GET" or method == "HEAD" or method == "DELETE" and route.flat then
    value, err, status = read_query(route, query)
  else
    value, err, status = read_body(route, request, query, limits)
  end
  if err ~= nil or next(route.names) == nil then
    return value, err, status
  end
  return add_path(route, value, values)
end

return input
