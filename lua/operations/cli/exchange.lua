--- The HTTP exchange of a call, seen by the API's HTTP client: shown on standard error, or recorded and not sent.
--- Credentials are never shown.
local core = require("operations.core")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local output = require("operations.cli.output")
local secrets = require("operations.base.secrets")
local url = require("operations.base.url")

local exchange = {}

local LONGEST = 65536 -- bytes of a body that are shown
local PROGRESS_EVERY = 100 -- ms

---@class operations.cli.Exchange
---@field client table       for `config.http`
---@field held? table        the request that was not sent
---@field head? { status: integer, headers: table, url: string }  of the last answer
---@field plain table<string, boolean>  names of configured headers that are not secret, set when sources are read
---@field armed boolean      requests from now on belong to the API
---@field listener? fun(way: "in"|"out", message: any)  shows the messages to and from MCP servers, one per line
---@field _show boolean
---@field _hold boolean
local Exchange = {}
Exchange.__index = Exchange

-- Must this header's value be hidden? The document's own credentials are in `credentials`, and so are all configured
-- headers; `plain` has those that are not secret.
local function is_secret(name, credentials, plain)
  return secrets.is_name(name) or credentials[name:lower()] and not plain[name:lower()] or false
end

local function lower_set(list)
  local set = {}
  for key, name in pairs(list or {}) do
    set[(type(key) == "number" and name or key):lower()] = true
  end
  return set
end

local function query_values(address, names)
  local wanted, values = members.set(names or {}), {}
  for pair in (address:match("%?([^#]*)") or ""):gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    if wanted[url.decode(name)] then
      values[#values + 1] = url.decode(value)
    end
  end
  return values
end

-- Cookies with the values that are given to be shown.
local function shown_cookies(value, given)
  return (value:gsub("[^;]+", function(pair)
    local name, content = pair:match("^([^=]*=?)(.*)$")
    return (given[content] or given[url.decode(content)]) and pair or name .. "***"
  end))
end

-- All texts of a request that must not be shown anywhere.
local function secrets_of(request, plain, given)
  local list, credentials = {}, lower_set(request.credentials)
  for name, value in pairs(request.headers or {}) do
    if is_secret(name, credentials, plain) and not (given and given[value]) then
      secrets.add(list, value)
      secrets.add(list, tostring(value):match("^%a+ +(.+)$"))
    end
  end
  for _, value in ipairs(query_values(request.url, request.query_credentials)) do
    secrets.add(list, value)
  end
  return list
end

local function hidden_query(request)
  local address = request.url
  for _, name in ipairs(request.query_credentials or {}) do
    local pattern = "([?&]" .. url.encode(name):gsub("%p", "%%%0") .. "=)[^&#]*"
    address = address:gsub(pattern, "%1***")
  end
  return address
end

---@class operations.cli.ShownRequest
---@field method string
---@field url string
---@field headers { [1]: string, [2]: string, [3]: boolean }[]  name, value, is it secret?
---@field body? string
---@field size? integer  of the body
---@field streamed boolean  the body is streamed and not recorded

--- The visible form of a request.
---@param request table
---@param plain table<string, string>  headers given by the user
---@param given? table<string, true>  texts of the input, which are shown although their header may be a credential
---@return operations.cli.ShownRequest
function exchange.shown(request, plain, given)
  plain = lower_set(plain)
  local list, credentials, shown = secrets_of(request, plain, given), lower_set(request.credentials), {}
  for _, name in ipairs(members.names(request.headers or {})) do
    local value = number_text.of(request.headers[name])
    local is_hidden = is_secret(name, credentials, plain) and not (given and given[value])
    local cover = is_hidden and given and name:lower() == "cookie" and shown_cookies(value, given) or "***"
    shown[#shown + 1] = { name, is_hidden and cover or secrets.hide(value, list), is_hidden }
  end
  local body = request.body
  return {
    method = request.method or "GET", url = secrets.hide(hidden_query(request), list), headers = shown,
    body = type(body) == "string" and secrets.hide(body, list) or nil,
    size = body ~= nil and (type(body) == "string" and #body or request.body_size) or nil,
    streamed = body ~= nil and type(body) ~= "string",
  }
end

local function is_text(body)
  return #body <= LONGEST and not body:find("[%z\1-\8\14-\31]") and json.encode(body) ~= nil
end

-- The body as text, or its length.
local function body_text(shown)
  if shown.body and is_text(shown.body) then
    return shown.body
  end
  return shown.size and ("(%s)"):format(output.size(shown.size)) or "(a body of unknown size)"
end

--- A request as text: its line, its headers, its body.
---@param shown operations.cli.ShownRequest
---@param mark string  before each line of the head
---@return string
function exchange.text(shown, mark)
  local lines = { mark .. shown.method .. " " .. shown.url }
  for _, header in ipairs(shown.headers) do
    lines[#lines + 1] = ("%s%s: %s"):format(mark, header[1], header[2])
  end
  if shown.body or shown.streamed then
    lines[#lines + 1] = (mark:gsub("%s+$", ""))
    lines[#lines + 1] = body_text(shown)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function head_text(head, list)
  local lines = { "< " .. head.status }
  for _, name in ipairs(members.names(head.headers)) do
    local value = head.headers[name]
    if type(value) == "table" then
      value = ("***, "):rep(#value):sub(1, -3)
    elseif secrets.is_name(name) then
      value = "***"
    end
    local shown = name == "setCookie" and "set-cookie" or name
    lines[#lines + 1] = ("< %s: %s"):format(shown, secrets.hide(number_text.of(value), list))
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Reports how much of a body was sent.
local function counted(body, total)
  if type(body) ~= "table" then
    return body
  end
  local count, began, told, copy = 0, core.now(), 0, members.copy(body)
  copy.read = function(...)
    local piece, err = body.read(...)
    count = count + (type(piece) == "string" and #piece or 0)
    if core.now() - told >= PROGRESS_EVERY then
      told = core.now()
      output.progress("sending " .. output.transfer(count, total, told - began))
    end
    return piece, err
  end
  return copy
end

-- The answer of an authorization server when nothing may be sent: the token is not shown.
local placeholder = '{"access_token":"not-asked-for","token_type":"bearer"}'

local function send(self, method, request)
  local http, is_call = require("operations.net.http"), request.credentials ~= nil
  if not self.armed then
    return http[method](request)
  elseif self._hold and not is_call then
    return { status = 200, headers = { ["content-type"] = "application/json" }, body = placeholder, url = request.url }
  elseif self._hold then
    local prepared, problem = require("operations.net.http.message").prepare(request, method == "open")
    if problem then -- it would not be sent either
      return nil, require("operations.net.http.failure").new(prepared, "request", problem)
    end
    self.held = request
    return nil, errors.new("ABORTED", "nothing was sent")
  elseif not is_call then
    return http[method](request)
  end
  local list = secrets_of(request, lower_set(self.plain))
  if self._show then
    output.tell(exchange.text(exchange.shown(request, self.plain), "> "))
  end
  request.body = counted(request.body, request.body_size)
  local answer, err = http[method](request)
  if answer then
    self.head = { status = answer.status, headers = answer.headers, url = answer.url }
    if self._show then
      output.tell(head_text(self.head, list))
    end
  end
  return answer, err
end

--- The size of the last answer's body in bytes; nil if unknown.
---@return integer?
function Exchange:total()
  local headers = self.head and self.head.headers or {}
  return not headers["content-encoding"] and tonumber(headers["content-length"]) or nil
end

local function listener_of(self)
  return function(way, message)
    local text = self.armed and (type(message) == "string" and message or json.encode(message, { sort_keys = true }))
    if text then
      local shown = #text > LONGEST and ("(%s)"):format(output.size(#text)) or text
      output.tell((way == "out" and "> " or "< ") .. shown .. "\n")
    end
  end
end

--- Makes the client of a call.
---@param options { show: boolean?, hold: boolean? }
---@return operations.cli.Exchange
function exchange.new(options)
  local self = setmetatable({ armed = false, _show = options.show, _hold = options.hold, plain = {},
    held = nil, head = nil, client = nil, listener = nil }, Exchange)
  self.listener = options.show and listener_of(self) or nil
  self.client = {
    request = function(request) return send(self, "request", request) end,
    open = function(request) return send(self, "open", request) end,
  }
  return self
end

return exchange
