--- The conveniences of a request: query, JSON, form, multipart and credentials become URL, headers and body.
local address = require("operations.net.http.address")
local base64 = require("operations.base.base64")
local core = require("operations.core")
local http_failure = require("operations.net.http.failure")
local json = require("operations.base.json")
local members = require("operations.base.members")

local parts = {}

local function misuse(name, format, ...)
  error(("bad option '%s' (%s)"):format(name, format:format(...)), 5)
end

local function has_header(headers, wanted)
  for name in pairs(headers) do
    if name:lower() == wanted then
      return true
    end
  end
  return false
end

local function set_header(options, name, value)
  if not has_header(options.headers, name:lower()) then
    options.headers[name] = value
  end
end

local function set_body(options, name, content_type, body)
  if options.body ~= nil then
    misuse(name, "there is another body")
  end
  options.body = body
  set_header(options, "Content-Type", content_type)
  options.method = options.method or "POST"
end

-- Multipart bodies (RFC 7578).

local function quoted(text)
  return (text:gsub('[\r\n"]', { ["\r"] = "%0D", ["\n"] = "%0A", ['"'] = "%22" }))
end

-- A part as its head, and its content: a text or an open file with its size.
local function read_part(given)
  if type(given) ~= "table" or type(given.name) ~= "string" then
    misuse("multipart", "parts { name =, value = } or { name =, file = } expected")
  end
  local name, content_type = given.filename, given.type
  local content, size = given.value
  if given.file then
    local file, message = io.open(given.file, "rb")
    if not file then
      return nil, message
    end
    content, size = file, file:seek("end")
    file:seek("set")
    name, content_type = name or given.file:match("[^/]*$"), content_type or "application/octet-stream"
  else
    content = type(content) == "number" and json.encode(content) or content
    if type(content) ~= "string" then
      misuse("multipart", "%s: value (text) or file (path) expected", given.name)
    end
    size = #content
  end
  local head = ('Content-Disposition: form-data; name="%s"'):format(quoted(given.name))
    .. (name and ('; filename="%s"'):format(quoted(name)) or "")
    .. (content_type and "\r\nContent-Type: " .. content_type:gsub("[\r\n]", "") or "")
  return { head = head, content = content, size = size }
end

-- Texts and open files, one after the other, read in pieces.
local function reader_of(segments)
  local at = 1
  return function()
    while segments[at] do
      local segment = segments[at]
      local piece = segment
      if type(segment) == "string" then
        at = at + 1
      else
        piece = segment:read(65536)
        if not piece then
          segment:close()
          at = at + 1
        end
      end
      if piece and piece ~= "" then
        return piece
      end
    end
  end
end

local function set_multipart(options, list)
  local boundary = core.random_id()
  local segments, size, has_file = {}, 0, false
  local function add(segment, bytes)
    segments[#segments + 1], size = segment, size + bytes
  end
  for _, given in ipairs(list) do
    local part, message = read_part(given)
    if not part then
      return message
    end
    local head = ("--%s\r\n%s\r\n\r\n"):format(boundary, part.head)
    add(head, #head)
    add(part.content, part.size)
    add("\r\n", 2)
    has_file = has_file or type(part.content) ~= "string"
  end
  local last = ("--%s--\r\n"):format(boundary)
  add(last, #last)
  set_body(options, "multipart", "multipart/form-data; boundary=" .. boundary,
    has_file and reader_of(segments) or table.concat(segments))
  options.body_size = has_file and size or nil
end

-- Credentials.

-- A value, or what a function gives, which is called for each request.
local function revealed(name, value)
  if type(value) == "function" then
    value = value()
  end
  if type(value) ~= "string" then
    misuse("auth", "%s: text or function expected, got %s", name, type(value))
  end
  return value
end

local schemes = {}

function schemes.basic(options, auth)
  local user = revealed("username", auth.username)
  set_header(options, "Authorization", "Basic " .. base64.encode(user .. ":" .. revealed("password", auth.password)))
end

function schemes.bearer(options, auth)
  set_header(options, "Authorization", "Bearer " .. revealed("token", auth.token))
end

function schemes.digest(options, auth)
  options.digest_user = revealed("username", auth.username)
  options.digest_password = revealed("password", auth.password)
end

local function set_auth(options, auth)
  if type(auth) == "function" then
    auth(options) -- signs: it may change URL and headers
    return
  end
  local scheme = type(auth) == "table" and schemes[auth.type]
  if not scheme then
    misuse("auth", 'a function, or a table of type "basic", "bearer" or "digest" expected')
  end
  scheme(options, auth)
end

local function add_query(options, values)
  local query = address.query(values, 6)
  local before, fragment = options.url:match("^([^#]*)(.*)$")
  local mark = not before:find("?", 1, true) and "?" or before:find("[?&]$") and "" or "&"
  options.url = query == "" and options.url or before .. mark .. query .. fragment
end

--- Replaces the conveniences among the options by URL, headers and body.
---@param given operations.HttpRequest
---@return operations.HttpRequest? options
---@return operations.Error? err  a file cannot be read
function parts.expand(given)
  local options = members.copy(given)
  options.headers = members.copy(given.headers or {})
  options.query, options.json, options.form, options.multipart, options.auth = nil, nil, nil, nil, nil
  if given.query then
    add_query(options, given.query)
  end
  if given.json ~= nil then
    local text, err = json.encode(given.json)
    if not text then
      misuse("json", "%s", err.message)
    end
    set_body(options, "json", "application/json", text)
  end
  if given.form then
    set_body(options, "form", "application/x-www-form-urlencoded", address.query(given.form, 5))
  end
  local problem = given.multipart and set_multipart(options, given.multipart)
  if given.netrc == true then
    options.netrc = (os.getenv("HOME") or "") .. "/.netrc"
  elseif given.netrc == false then
    options.netrc = nil
  end
  if given.auth then
    set_auth(options, given.auth)
  end
  if problem then
    return nil, http_failure.new({ method = options.method or "POST", url = options.url }, "body", problem)
  end
  return options
end

return parts
