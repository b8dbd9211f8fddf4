--- What an HTTP request must look like before libcurl sees it, and what becomes of it on a redirect.
local limits = require("operations.limits")
local url = require("operations.url")
local version = require("operations.version")

local message = {}

local user_agent = "User-Agent: operations/" .. version

-- RFC 9110, 5.6.2: what names of headers and methods are made of.
local token = "^[%w!#$%%&'*+.^_`|~-]+$"

-- A control character other than tab.
local control = "[^%C\t]"

-- Framing is the client's own business: a wrong length smuggles requests.
local framing = { ["content-length"] = true, ["transfer-encoding"] = true }

local function bad_type(name, expected, value)
  error(("bad option '%s' (%s expected, got %s)"):format(name, expected, type(value)), 5)
end

local types = {
  method = "string",
  headers = "table",
  body = "string",
  ca_file = "string",
  credentials = "table",
  timeout = "number",
  connect_timeout = "number",
  first_byte_timeout = "number",
  max_body = "number",
  max_headers = "number",
  redirects = "number",
  window = "number",
}

local function check_types(options)
  if type(options) ~= "table" then
    error(("bad argument #1 'options' (table expected, got %s)"):format(type(options)), 4)
  elseif type(options.url) ~= "string" then
    bad_type("url", "string", options.url)
  end
  for name, value in pairs(options) do
    local expected = types[name]
    if expected and type(value) ~= expected then
      bad_type(name, expected, value)
    elseif expected == "number" and (value < 0 or value ~= value) then
      error(("bad option '%s' (negative or not a number)"):format(name), 4)
    end
  end
end

local function check_url(options)
  local text = options.url
  if text:find("[%c ]") then
    return "the URL contains a blank or a control character"
  elseif text:find("^https?://[%w.-]+:?%d*/") then
    return nil -- nothing unusual
  end
  local parsed = url.parse(text)
  if not parsed or (parsed.scheme ~= "http" and parsed.scheme ~= "https") then
    return "the URL is none of http or https"
  elseif parsed.host == "" or parsed.host:find("[\\%%]") then
    return "the URL names no proper host"
  elseif parsed.userinfo and not options.userinfo then
    return "the URL contains a user name or password"
  end
end

local function add_line(lines, name, value)
  if type(value) == "number" then
    value = value == math.floor(value) and ("%.0f"):format(value) or tostring(value)
  elseif type(value) ~= "string" then
    error(("bad header '%s' (string expected, got %s)"):format(name, type(value)), 6)
  end
  if value:find(control) then
    return ("the value of header '%s' contains a control character"):format(name)
  end
  -- libcurl's way to say "sent, with nothing in it"
  lines[#lines + 1] = value:find("%S") and name .. ": " .. value or name .. ";"
end

local function add_header(lines, seen, name, value)
  if type(name) ~= "string" then
    error(("bad option 'headers' (names expected as keys, got %s)"):format(type(name)), 5)
  elseif not name:find(token) then
    return ("the header name %q is no token"):format(name)
  end
  local lower = name:lower()
  if framing[lower] then
    return ("the header '%s' is set by the client itself"):format(name)
  end
  seen[lower] = true
  if type(value) ~= "table" then
    return add_line(lines, name, value)
  end
  for i = 1, #value do
    local problem = add_line(lines, name, value[i])
    if problem then
      return problem
    end
  end
end

-- The header lines of a request, in a stable order, and the names among them; or nil, nil and what is wrong.
local function header_lines(options, method)
  local lines, seen = {}, {}
  for name, value in pairs(options.headers or seen) do
    local problem = add_header(lines, seen, name, value)
    if problem then
      return nil, nil, problem
    end
  end
  if lines[2] then
    table.sort(lines)
  end
  if not seen["user-agent"] then
    lines[#lines + 1] = user_agent
  end
  if options.body or method ~= "GET" then
    -- Without these two libcurl would say more about a body than we were asked to.
    if not seen["content-type"] then
      lines[#lines + 1] = "Content-Type:"
    end
    if not seen["expect"] then
      lines[#lines + 1] = "Expect:"
    end
  end
  return lines, seen
end

--- Checks the options of a request and makes what the reactor takes.
---@param options operations.HttpRequest
---@param stream boolean
---@return table request
---@return string? problem  what is wrong with it
function message.prepare(options, stream)
  check_types(options)
  local method = options.method or "GET"
  local request = {
    url = options.url,
    method = method,
    body = options.body,
    timeout = options.timeout,
    connect_timeout = options.connect_timeout or limits.connect_timeout,
    first_byte_timeout = options.first_byte_timeout or limits.first_byte_timeout,
    keep_alive = limits.keep_alive,
    max_headers = options.max_headers or limits.headers,
    max_body = options.max_body or not stream and limits.body or nil,
    window = options.window or limits.window,
    redirects = options.redirects or limits.redirects,
    ca_file = options.ca_file,
    stream = stream,
    options = options,
  }
  local problem = check_url(options)
  if problem then
    return request, problem
  elseif not method:find(token) then
    request.method = "?"
    return request, "the method is no token"
  elseif method == "HEAD" and options.body then
    return request, "a HEAD request has no body"
  end
  local lines, seen
  lines, seen, problem = header_lines(options, method)
  if problem then
    return request, problem
  end
  if options.url:find("#", 1, true) then
    request.url = options.url:gsub("#.*$", "")
  end
  request.headers = lines
  request.decode = not seen["accept-encoding"]
  return request
end

local redirects = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

--- Where an answer to a GET or HEAD sends us, or nil.
---@param request table
---@param answer { status: integer, headers: table }
---@return string?
function message.redirect_target(request, answer)
  if redirects[answer.status] and (request.method == "GET" or request.method == "HEAD") then
    return answer.headers.location
  end
end

local bound = { authorization = true, cookie = true, ["proxy-authorization"] = true, host = true }

-- The headers that may go to another origin.
local function unbound(options)
  local drop, headers = {}, {}
  for _, name in ipairs(options.credentials or {}) do
    drop[name:lower()] = true
  end
  for name, value in pairs(options.headers or {}) do
    local lower = name:lower()
    if not bound[lower] and not drop[lower] then
      headers[name] = value
    end
  end
  return headers
end

--- The request that a redirect asks for. Credentials stay at their origin; the way back to http is barred.
---@param request table
---@param target string  the Location header
---@return table request
---@return string? problem
function message.redirected(request, target)
  local from = url.parse(request.url)
  local location = url.resolve(request.url, target)
  local to = location and url.parse(location)
  if not to then
    return request, "redirected to what is no URL"
  elseif to.scheme ~= from.scheme and to.scheme ~= "https" then
    return request, ("redirected from %s to %s"):format(from.scheme, to.scheme)
  end
  local options = {}
  for key, value in pairs(request.options) do
    options[key] = value
  end
  options.url, options.timeout, options.userinfo = location, request.timeout, nil
  if url.origin(from) ~= url.origin(to) then
    options.headers = unbound(options)
  end
  local following, problem = message.prepare(options, request.stream)
  following.timeout = request.timeout
  if problem then
    return request, "redirected, and " .. problem
  end
  return following
end

return message
