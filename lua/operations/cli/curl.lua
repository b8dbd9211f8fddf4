--- Writes a request as a command of curl for POSIX shells, zsh and fish, which sends the same request: method, target,
--- headers, body, and the options of its connection.
local base64 = require("operations.base.base64")
local number_text = require("operations.base.number_text")
local shell = require("operations.base.shell")
local url = require("operations.base.url")

local curl = {}

local LONGEST = 100000 -- bytes of a word: Linux allows 131,072
local EXPECTED = 1024 -- bytes of a body before which some versions of curl wait for "100 Continue"

-- The variable whose value is the text.
local function variable_of(text, variables)
  for name, content in pairs(variables) do
    if content ~= "" and content == text then
      return { variable = name }
    end
  end
end

-- The value of a secret header: the whole or what follows its scheme is a variable's.
local function secret_parts(value, variables)
  local scheme, rest = value:match("^(%a+ +)(.*)$")
  local variable = variable_of(value, variables)
  if variable then
    return { variable }
  end
  variable = rest and variable_of(rest, variables)
  return variable and { scheme, variable }
end

-- Each cookie whose value is a variable's; the others as they are shown.
local function cookie_parts(value, shown, variables)
  local parts, others = {}, shown:gmatch("[^;]+")
  for pair in value:gmatch("[^;]+") do
    local name, content = pair:match("^([^=]*=)(.*)$")
    local variable, other = content and variable_of(content, variables), others()
    parts[#parts + 1] = (#parts > 0 and ";" or "") .. (variable and name or other or "***")
    parts[#parts + 1] = variable
  end
  return parts
end

-- `--user` for the credentials of Basic that are a variable's, whole or the password.
local function user_word(value, variables)
  local text = base64.decode(value:match("^Basic (.*)$") or "") or ""
  local user, password = text:match("^([^:]*:)(.*)$")
  local whole, part = variable_of(text, variables), password and variable_of(password, variables)
  return whole and "--user " .. shell.join({ whole }) or part and "--user " .. shell.join({ user, part })
end

local function header_word(shown, value, variables)
  local name, text, is_secret = shown[1], shown[2], shown[3]
  local user = is_secret and name:lower() == "authorization" and user_word(value, variables)
  if user then
    return user
  elseif not text:find("%S") then
    return "--header " .. shell.word(name .. ";") -- curl's notation for an empty value
  end
  local parts = is_secret and (name:lower() == "cookie" and cookie_parts(value, text, variables)
    or secret_parts(value, variables)) or { text }
  parts[1] = type(parts[1]) == "string" and name .. ": " .. parts[1] or parts[1]
  if type(parts[1]) == "table" then
    table.insert(parts, 1, name .. ": ")
  end
  return "--header " .. shell.join(parts)
end

-- The pairs of a URL's query.
local function pairs_of(address)
  local query, list = address:match("%?([^#]*)"), {}
  for pair in (query and query .. "&" or ""):gmatch("([^&]*)&") do
    list[#list + 1] = pair
  end
  return list
end

-- The URL, and the word for a secret of its query that must be encoded.
local function url_words(shown, request, variables)
  local parts, more, values = { (shown.url:match("^[^?#]*")) }, {}, pairs_of(request.url)
  for i, pair in ipairs(pairs_of(shown.url)) do
    local name, content = (values[i] or ""):match("^([^=]*)=(.*)$")
    local plain = content and url.decode(content)
    local variable = plain and pair:sub(-3) == "***" and variable_of(plain, variables)
    if variable and plain ~= content then
      more[#more + 1] = "--url-query " .. shell.join({ name .. "=", variable })
    else
      parts[#parts + 1] = (#parts > 1 and "&" or "?") .. (variable and name .. "=" or pair)
      parts[#parts + 1] = variable or nil
    end
  end
  return shell.join(parts), more
end

-- Bodies are a text, or texts and files in turn.

local function path_of(segment)
  local path = segment.path
  return path and path:find("^%-") and "./" .. path or path
end

local function cat(segment)
  local path = path_of(segment)
  return path and "cat " .. shell.word(path) or "cat"
end

-- A command that prints the body, for curl to read.
local function source_of(segments)
  local commands = {}
  for i, segment in ipairs(segments) do
    commands[i] = type(segment) == "string" and shell.printf(segment) or cat(segment)
  end
  return (commands[2] and "{ " .. table.concat(commands, "; ") .. "; }" or commands[1]) .. " |\n"
end

-- The parts of a multipart body that this library wrote: heads and contents, a file as the content.
local function parts_of(segments, boundary)
  local texts, files, parts = {}, {}, {}
  for i, segment in ipairs(segments) do
    texts[i] = segment
    if type(segment) ~= "string" then
      texts[i] = boundary .. "/" .. i -- in no text: the boundary is random
      files[texts[i]] = segment
    end
  end
  local text = "\r\n" .. table.concat(texts)
  local mark, at = "\r\n--" .. boundary, 1
  while true do
    local _, last = text:find(mark, at, true)
    local stop = last and text:find(mark, last, true)
    if not stop then
      return parts
    end
    local head, content = text:sub(last + 1, stop - 1):match("^(.-\r\n)\r\n(.*)$")
    parts[#parts + 1] = { head = head, content = files[content] or content }
    at = stop
  end
end

-- A text in the notation of --form.
local function form_text(text)
  return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

local function form_value(part)
  local content, head = part.content, part.head
  local filename = head:match('; filename="([^"]*)"\r\n')
  local media_type, more = head:match("\r\nContent%-Type: ([^\r]*)"), ""
  for line in head:gmatch("[^\r\n]+") do
    if not line:find("^Content%-Disposition:") and not line:find("^Content%-Type:") then
      more = more .. ";headers=" .. form_text(line)
    end
  end
  if type(content) == "string" and not (filename or media_type) and more == "" then
    return "--form-string ", content
  end
  local value = type(content) == "string" and form_text(content) or "@" .. form_text(path_of(content) or "-")
  return "--form ", value .. (media_type and ";type=" .. media_type or "")
    .. (filename and ";filename=" .. form_text(filename) or "") .. more
end

-- The words of a form; nil: curl cannot write it, as with "=" in a name.
local function form_words(segments, content_type)
  local boundary = content_type:match("^multipart/form%-data;.*boundary=([%w-]+)$")
  local parts = boundary and parts_of(segments, boundary) or {}
  local words = {}
  for i, part in ipairs(parts) do
    local name = part.head:match('form%-data; name="([^"=]+)"')
    local option, value = form_value(part)
    if not name or value:find("%z") or #value > LONGEST then
      return nil
    end
    words[i] = option .. shell.word(name .. "=" .. value)
  end
  return words[1] and words
end

-- RFC 9110, 8.6: these have a length, even without a body.
local has_length = { POST = true, PUT = true, PATCH = true }

---@class operations.cli.CurlBody
---@field words string[]
---@field source? string  the command that prints it
---@field is_form? boolean  curl writes its Content-Type

-- The words for the body, of a request that may have none.
local function body_of(shown, request, content_type)
  local body = shown.body or request.body
  if body == nil then
    return { words = has_length[shown.method] and { "--data-raw ''" } or {} }
  end
  local segments = type(body) == "string" and { body } or body.segments
  local form = form_words(segments, content_type or "")
  local first = segments[1]
  if form then
    return { words = form, is_form = true }
  elseif segments[2] or type(first) == "string" and (first:find("%z") or #first > LONGEST) then
    return { words = { "--data-binary @-" }, source = source_of(segments) }
  elseif type(first) == "string" then
    return { words = { "--data-raw " .. shell.word(first) } }
  end
  return { words = { "--data-binary " .. shell.word("@" .. (path_of(first) or "-")) } }
end

-- Options of the connection.

local function certificate(path)
  return (path:gsub("[\\:]", "\\%0")) -- else what follows ":" is its password
end

local function connection_words(request, timeout)
  local words = {}
  local function add(option, value)
    words[#words + 1] = value and "--" .. option .. " " .. shell.word(value) or nil
  end
  if (request.method == nil or request.method == "GET" or request.method == "HEAD") and request.redirects ~= 0 then
    words[1] = "--location"
  end
  words[#words + 1] = request.insecure and "--insecure" or nil
  add("cacert", request.ca_file)
  add("cert", request.cert_file and certificate(request.cert_file))
  add("key", request.key_file)
  add("pass", request.key_password and "***")
  add("proxy", request.proxy and request.proxy:gsub("^(%a[%w+.-]*://)[^/]*@", "%1***@") or nil)
  add("noproxy", request.proxy == false and "*" or nil)
  add("unix-socket", request.unix_socket)
  add("max-time", timeout and number_text.of(timeout))
  return words
end

-- How curl begins: the method, and the URL as it is.
local function first_word(shown, address, has_body)
  local method = shown.method == "HEAD" and " --head"
    or (shown.method ~= "GET" or has_body) and " --request " .. shell.word(shown.method) or ""
  return "curl" .. method .. (shown.url:find("[%[%]{}]") and " --globoff" or "")
    .. (shown.url:find("/%.") and " --path-as-is" or "") .. " " .. address
end

local function content_type_of(shown)
  for _, header in ipairs(shown.headers) do
    if header[1]:lower() == "content-type" then
      return header[2]
    end
  end
end

local function header_words(shown, request, body, variables)
  local words, seen = {}, {}
  for _, header in ipairs(shown.headers) do
    seen[header[1]:lower()] = true
    if not (body.is_form and header[1]:lower() == "content-type") then
      words[#words + 1] = header_word(header, number_text.of(request.headers[header[1]]), variables)
    end
  end
  local has_body = body.words[1] ~= nil
  words[#words + 1] = has_body and not seen["content-type"] and "--header Content-Type:" or nil
  words[#words + 1] = has_body and (shown.size or shown.streamed and EXPECTED + 1 or 0) > EXPECTED and not seen.expect
    and "--header Expect:" or nil
  words[#words + 1] = not seen["accept-encoding"] and "--compressed" or nil
  return words
end

--- The command that sends a request.
---@param shown operations.cli.ShownRequest
---@param request operations.HttpRequest  the request to show; a body that is no text has `segments`
---@param given? { variables: table<string, string>?, timeout: number? }  secrets that the user gave by environment
---  variables, and the seconds of the call
---@return string
function curl.command(shown, request, given)
  local variables = given and given.variables or {}
  local address, words = url_words(shown, request, variables)
  local body = body_of(shown, request, content_type_of(shown))
  local lists = { connection_words(request, given and given.timeout), header_words(shown, request, body, variables),
    body.words }
  table.insert(words, 1, first_word(shown, address, body.words[1] ~= nil))
  for _, list in ipairs(lists) do
    for _, word in ipairs(list) do
      words[#words + 1] = word
    end
  end
  return (body.source or "") .. table.concat(words, " \\\n  ") .. "\n"
end

-- Adds the variables named in texts, at any depth.
local function add_variables(found, value)
  if type(value) == "table" then
    for _, item in pairs(value) do
      add_variables(found, item)
    end
    return
  end
  local name = type(value) == "string" and value:match("env:([%a_][%w_]*)$")
  if name then
    found[name] = os.getenv(name)
  end
end

--- The values of environment variables that options name for secrets.
---@param options table<string, any>  of parsed arguments
---@param references? table  members of a remembered source
---@return table<string, string>
function curl.variables(options, references)
  local found = { OPERATIONS_BEARER = os.getenv("OPERATIONS_BEARER") }
  add_variables(found, options)
  add_variables(found, references)
  return found
end

return curl
