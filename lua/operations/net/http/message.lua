--- Checks an HTTP request before libcurl gets it.
local core = require("operations.core")
local header_field = require("operations.net.http.header_field")
local http_stream = require("operations.net.http.stream")
local json = require("operations.base.json")
local number_text = require("operations.base.number_text")
local url = require("operations.base.url")
local version = require("operations.base.version")

local message = {}

local user_agent = "User-Agent: operations/" .. version

local is_plain_url = core.is_plain_url
local control, token = header_field.control, "^" .. header_field.token .. "$"

-- RFC 9110, 9.2.2
local idempotent = { GET = true, HEAD = true, OPTIONS = true, TRACE = true, PUT = true, DELETE = true, QUERY = true }

-- The client sets the framing: a wrong length would allow request smuggling.
local framing = { ["content-length"] = true, ["transfer-encoding"] = true }

local function bad_type(name, expected, value)
  error(("bad option '%s' (%s expected, got %s)"):format(name, expected, type(value)), 5)
end

-- The type of every option, true if it is checked elsewhere; the second list has those that the reactor takes
-- unchanged.
local types = {
  url = true, body = true, proxy = true, retry = true, userinfo = true, method = "string", headers = "table",
  body_size = "number", credentials = "table", query_credentials = "table", timeout = "number", redirects = "number",
  redirect_all = "boolean", idempotent = "boolean", jar = "table",
}
local passed = {
  unix_socket = "string", digest_user = "string", digest_password = "string", netrc = "string",
  ca_file = "string", cert_file = "string", key_file = "string", key_password = "string", connect_timeout = "number",
  first_byte_timeout = "number", idle_timeout = "number", max_body = "number", max_headers = "number",
  public_only = "boolean", insecure = "boolean", window = "number",
}

local function check_names(name, list)
  for i = 1, list and #list or 0 do
    if type(list[i]) ~= "string" then
      error(("bad option '%s' (names expected, got %s)"):format(name, type(list[i])), 5)
    end
  end
end

-- Checks the options, and adds those for the reactor to the request.
local function read_options(request, options)
  for name, value in pairs(options) do
    local expected = passed[name] or types[name]
    if expected == nil then
      error(("bad option '%s' (unknown)"):format(tostring(name)), 4)
    elseif expected ~= true and type(value) ~= expected then
      bad_type(name, expected, value)
    elseif expected == "number" and (value < 0 or value ~= value) then
      error(("bad option '%s' (negative or not a number)"):format(name), 4)
    elseif passed[name] then
      request[name] = value
    end
  end
  local body, proxy, jar = options.body, options.proxy, options.jar
  if body ~= nil and type(body) ~= "string" and not http_stream.is_source(body) then
    bad_type("body", "string, function or reader", body)
  elseif proxy ~= nil and proxy ~= false and type(proxy) ~= "string" then
    bad_type("proxy", "string or false", proxy)
  elseif jar and not (jar.header and jar.store) then
    bad_type("jar", "jar", jar)
  end
  check_names("credentials", options.credentials)
  check_names("query_credentials", options.query_credentials)
end

-- The error in a URL that is not plain.
local function url_problem(text, userinfo)
  if text:find("[%c ]") then
    return "the URL contains a blank or a control character"
  end
  local parsed = url.parse(text)
  if not parsed or (parsed.scheme ~= "http" and parsed.scheme ~= "https") then
    return "the URL is not an http or https URL"
  elseif parsed.host == "" or parsed.host:find("[\\%%]") then
    return "the URL has no valid host"
  elseif parsed.userinfo and not userinfo then
    return "the URL contains a user name or password"
  end
end

-- Integers in decimal, each digit of them.
local function digits(value)
  if value >= -2 ^ 63 and value < 2 ^ 63 and value % 1 == 0 then
    return ("%d"):format(value)
  end
  return number_text.of(value)
end

local function add_line(lines, name, value)
  local kind = type(value)
  if kind == "number" then
    if value ~= value or value == math.huge or value == -math.huge then
      return ("the value of header '%s' is not a finite number"):format(name)
    end
    value = digits(value)
  elseif core.kind(value) == "integer" then -- a wide integer
    value = json.encode(value)
  elseif kind ~= "string" then
    error(("bad header '%s' (string expected, got %s)"):format(name, type(value)), 7)
  end
  if value:find(control) then
    return ("the value of header '%s' contains a control character"):format(name)
  end
  -- libcurl's notation for an empty value
  lines[#lines + 1] = value:find("%S") and name .. ": " .. value or name .. ";"
end

-- In a stable order. The values of one name keep their order, which is significant (RFC 9110, 5.3).
local function sorted_names(headers)
  local names = {}
  for name in pairs(headers) do
    if type(name) ~= "string" then
      error(("bad option 'headers' (names expected as keys, got %s)"):format(type(name)), 6)
    end
    names[#names + 1] = name
  end
  if names[2] then
    table.sort(names)
  end
  return names
end

local function add_header(lines, seen, name, value)
  if not name:find(token) then
    return ("the header name %q is not a token"):format(name)
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

-- RFC 6265, 5.4: at most one Cookie header.
local function add_cookies(lines, cookies)
  for i, line in ipairs(lines) do
    if line:find("^[Cc][Oo][Oo][Kk][Ii][Ee]:") then
      lines[i] = line .. "; " .. cookies
      return
    end
  end
  lines[#lines + 1] = "Cookie: " .. cookies
end

local usual_lines, nothing = { user_agent }, {}

-- The header lines of a request in a stable order, and the names among them; or nil, nil and the error.
local function header_lines(headers, jar, request, has_body)
  local method = request.method
  if not (headers or jar or has_body) and method == "GET" then
    return usual_lines, nothing
  end
  local lines, seen = { nil, nil, nil }, {} -- reserves fields
  headers = headers or nothing
  for _, name in ipairs(sorted_names(headers)) do
    local problem = add_header(lines, seen, name, headers[name])
    if problem then
      return nil, nil, problem
    end
  end
  if not seen["user-agent"] then
    lines[#lines + 1] = user_agent
  end
  local cookies = jar and jar:header(request.url)
  if cookies then
    add_cookies(lines, cookies)
  end
  if has_body or method ~= "GET" then
    -- Without these two, libcurl would add headers for the body.
    if not seen["content-type"] then
      lines[#lines + 1] = "Content-Type:"
    end
    if not seen["expect"] then
      lines[#lines + 1] = "Expect:"
    end
  end
  return lines, seen
end

-- Sets the parts in which requests with the same options differ; returns the error.
local function fill(request, address, headers, body, size)
  local options, problem = request.options, nil
  request.url = address
  if not is_plain_url(address) then
    local ascii = url.ascii(address)
    problem = url_problem(ascii or address, options.userinfo) or not ascii and "the URL has no valid host" or nil
    request.url = (ascii or address):gsub("#.*$", "")
  end
  if type(body) == "string" then
    request.body = body
  elseif body and size and (size < 0 or size % 1 ~= 0 or size > 2 ^ 53) then
    return "the size of the body is not a number of bytes"
  elseif body then
    request.source, request.upload, request.upload_size = body, true, size
  end
  local method = request.method
  local known = idempotent[method]
  if problem then
    return problem
  elseif not known and not method:find(token) then
    request.method = "?"
    return "the method is not a token"
  elseif body and method == "HEAD" then
    return "a HEAD request has no body"
  end
  local lines, seen
  lines, seen, problem = header_lines(headers, options.jar, request, body ~= nil)
  if problem then
    return problem
  end
  request.headers, request.once = lines, nil
  if not (known or options.idempotent or seen["idempotency-key"]) or request.upload then
    request.once = true
  end
  if seen["accept-encoding"] then
    request.decode = false
  end
end

--- Checks the options of a request and makes the table for the reactor.
---@param options operations.HttpRequest
---@param stream boolean
---@return table request
---@return string? problem  error message
function message.prepare(options, stream)
  if type(options) ~= "table" then
    error(("bad argument #1 'options' (table expected, got %s)"):format(type(options)), 3)
  elseif type(options.url) ~= "string" then
    error(("bad option 'url' (string expected, got %s)"):format(type(options.url)), 3)
  end
  local request = { -- reserves fields
    url = options.url, method = options.method or "GET", options = options, headers = nil, handle = nil,
  }
  if stream then
    request.stream, request.join = true, true
  end
  read_options(request, options)
  if options.timeout ~= 0 then
    request.timeout = options.timeout
  end
  if options.proxy ~= nil then
    request.proxy = options.proxy or ""
  elseif options.public_only then
    request.proxy = "" -- through a proxy, addresses would not be checked
  end
  return request, fill(request, options.url, options.headers, options.body, options.body_size)
end

--- Makes a request from another one that was prepared without a body: both have the same options table; `own` has the
--- differences.
---@param base table  from `prepare`, without problem
---@param names string[]  of its fields
---@param own { url: string?, headers: table?, body: any, body_size: integer? }  `headers` replaces all headers of
---  `base`
---@return table request
---@return string? problem
function message.vary(base, names, own)
  local request = { url = nil, method = nil, options = nil, own = own, headers = nil, handle = nil }
  for i = 1, #names do -- LuaJIT compiles no loop by `next`
    local name = names[i]
    request[name] = base[name]
  end
  local options, address, body = base.options, own.url or base.url, own.body
  if own.headers or options.jar or body and type(body) ~= "string" or body and base.method == "GET" then
    return request, fill(request, address, own.headers or options.headers, body, own.body_size)
  end
  request.body = body
  if is_plain_url(address) then
    request.url = address
    return request
  end
  return request, fill(request, address, options.headers, body)
end

return message
