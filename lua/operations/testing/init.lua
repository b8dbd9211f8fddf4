--- Tests of programs: upstreams without a network, servers in process, a clock that tests move, recorded exchanges.
local base64 = require("operations.base.base64")
local clocks = require("operations.testing.clock")
local core = require("operations.core")
local errors = require("operations.base.error")
local hosts = require("operations.hosts")
local http = require("operations.net.http")
local json = require("operations.base.json")
local members = require("operations.base.members")
local parts = require("operations.net.http.parts")
local secrets = require("operations.base.secrets")
local task = require("operations.task")
local url = require("operations.base.url")

---@class operations.testing
local testing = {}

---@class operations.TestAnswer
---@field status? integer  default 200
---@field headers? table<string, string>
---@field body? string
---@field json? any  the body, as JSON
---@field events? any[]  the body, as server-sent events: the data of each, or { data =, event =, id = }
---@field lost? string  the connection breaks off after what came so far: the kind of the failure, such as "reset"
---@field delay? number  ms before the answer

---@class operations.TestRequest
---@field method string
---@field url string
---@field path string
---@field query table<string, string>  decoded
---@field headers table<string, string>  lower-case names
---@field body? string
---@field json? any  the body, if it is JSON

local function decoded(query)
  local values = {}
  for pair in (query or ""):gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    values[url.decode(name)] = url.decode((value:gsub("%+", " ")))
  end
  return values
end

local function body_of(options)
  local body, pieces = options.body, {}
  if type(body) ~= "function" and type(body) ~= "table" then
    return body
  end
  repeat
    local piece
    if type(body) == "function" then
      piece = body()
    else
      piece = body:read(65536)
    end
    pieces[#pieces + 1] = piece
  until not piece
  return table.concat(pieces)
end

local function read_request(options)
  local parsed = url.parse(options.url) or {}
  local headers = {}
  for name, value in pairs(options.headers or {}) do
    headers[name:lower()] = type(value) == "table" and table.concat(value, ", ") or tostring(value)
  end
  local body = body_of(options)
  return { method = options.method or "GET", url = options.url, path = parsed.path ~= "" and parsed.path or "/",
    query = decoded(parsed.query), headers = headers, body = body,
    json = body and headers["content-type"] and headers["content-type"]:find("json") and json.decode(body) or nil }
end

local function failure(request, kind)
  local code = kind == "timeout" and "TIMEOUT" or "EXECUTION_ERROR"
  local err = errors.new(code, ("%s %s: lost by the test (%s)"):format(request.method, url.redact(request.url), kind),
    { kind = kind, method = request.method, url = url.redact(request.url) })
  err.retryable, err.mayHaveRun = true, kind ~= "connect" and kind ~= "dns"
  return err
end

local function event_text(event)
  local is_event = core.kind(event) == "object" and event.data ~= nil
  local data = is_event and event.data or event
  if not is_event then
    event = {}
  end
  data = type(data) == "string" and data or json.encode(data)
  return (event.event and "event: " .. event.event .. "\n" or "") .. (event.id and "id: " .. event.id .. "\n" or "")
    .. "data: " .. data:gsub("\n", "\ndata: ") .. "\n\n"
end

-- An answer as status, headers and the pieces of its body.
local function read_answer(answer)
  local headers, pieces = {}, {}
  if answer.json ~= nil then
    headers["content-type"], pieces[1] = "application/json", assert(json.encode(answer.json))
  elseif answer.events then
    headers["content-type"] = "text/event-stream"
    for i, event in ipairs(answer.events) do
      pieces[i] = event_text(event)
    end
  else
    pieces[1] = answer.body
  end
  for name, value in pairs(answer.headers or {}) do
    headers[name:lower()] = value
  end
  return answer.status or 200, headers, pieces
end

-- Streams as those of the HTTP client. `take` gives the pieces, or nil and an error.
local Stream = {}
Stream.__index = Stream

function Stream:read()
  if self._closed then
    return nil
  end
  return self._take()
end

function Stream:chunks()
  return function()
    local piece, err = self:read()
    return piece or err and error(err, 0) or nil
  end
end

function Stream:linger()
  self:close()
end

function Stream:close()
  local on_close = not self._closed and self._on_close
  self._closed = true
  if on_close then
    on_close()
  end
end

local function stream(request, status, headers, take, on_close)
  return setmetatable({ status = status, headers = headers, url = request.url, content_type = headers["content-type"],
    _take = take, _on_close = on_close }, Stream)
end

-- A client of `open(request)`, which gives a stream: `request` reads it to its end.
local function client_of(open)
  local self = { requests = {} }
  function self.open(given)
    local options, err = parts.expand(given)
    if not options then
      return nil, err
    end
    local request = read_request(options)
    self.requests[#self.requests + 1] = request
    return open(request, options)
  end
  function self.request(options)
    local answer, err = self.open(options)
    if not answer then
      return nil, err
    end
    local pieces = {}
    local piece, problem = answer:read()
    while piece do
      pieces[#pieces + 1] = piece
      piece, problem = answer:read()
    end
    answer:close()
    if problem then
      return nil, problem
    end
    return { status = answer.status, headers = answer.headers, body = table.concat(pieces), url = answer.url }
  end
  return self
end

-- The answer that a table has for a request: by method and path, by path alone, or "*".
local function choose(answers, request, used)
  local found, key
  for _, name in ipairs({ request.method .. " " .. request.path, request.path, "*" }) do
    if found == nil then
      found, key = answers[name], name
    end
  end
  if type(found) == "table" and found[1] ~= nil then -- one after the other; the last one stays
    used[key] = math.min((used[key] or 0) + 1, #found)
    found = found[used[key]]
  end
  if type(found) == "function" then
    return found(request)
  end
  return found
end

local function unexpected(answers, request)
  local known = type(answers) == "table" and table.concat(members.names(answers), ", ") or "a function"
  error(("operations.testing: no answer for %s %s; there are: %s"):format(request.method, request.path, known), 0)
end

--- An upstream without a network: a client for the option `http` of `from_openapi` and `from_mcp`. Its `requests` are
--- those that were made.
---@param answers table<string, operations.TestAnswer|operations.TestAnswer[]|function>|(fun(request:
---  operations.TestRequest): operations.TestAnswer?)  by "GET /path", "/path" or "*"; of a list one after the other
---@return table client
function testing.http(answers)
  if type(answers) ~= "table" and type(answers) ~= "function" then
    error(("bad argument #1 to 'http' (table or function expected, got %s)"):format(type(answers)), 2)
  end
  local used = {}
  return client_of(function(request)
    local answer
    if type(answers) == "function" then
      answer = answers(request)
    else
      answer = choose(answers, request, used)
    end
    if type(answer) ~= "table" then
      unexpected(answers, request)
    end
    if answer.delay then
      task.sleep(answer.delay / 1000)
    end
    local status, headers, pieces = read_answer(answer)
    if answer.lost and not pieces[1] then
      return nil, failure(request, answer.lost)
    end
    local at = 0
    return stream(request, status, headers, function()
      at = at + 1
      if pieces[at] or not answer.lost then
        return pieces[at]
      end
      return nil, failure(request, answer.lost)
    end)
  end)
end

--- A client whose requests a server in this process answers: what `to_http` and `to_mcp` make.
---@param server { handle: function }
---@return table client
function testing.client(server)
  if type(server) ~= "table" or type(server.handle) ~= "function" then
    error(("bad argument #1 to 'client' (server of to_http or to_mcp expected, got %s)"):format(type(server)), 2)
  end
  return client_of(function(request)
    local parsed, gone = url.parse(request.url), {}
    local headers = members.merged({ host = parsed.host .. (parsed.port and ":" .. parsed.port or "") },
      request.headers)
    local answer = server:handle({ method = request.method, headers = headers, body = request.body or "",
      target = request.path .. (parsed.query and "?" .. parsed.query or ""),
      peer = { address = "127.0.0.1", port = 0 }, left = function(fn)
        gone[#gone + 1] = fn
      end })
    local body, fields = answer.body, {}
    for name, value in pairs(answer.headers) do
      fields[name:lower()] = value
    end
    return stream(request, answer.status, fields, function()
      if type(body) == "function" then
        return body()
      end
      local piece = body
      body = nil
      return piece ~= "" and piece or nil
    end, function()
      for _, fn in ipairs(gone) do
        fn()
      end
    end)
  end)
end

--- Calls `fn(clock)` with a clock that stands still: `clock.advance(ms)` moves it, and a wait moves it to what comes
--- next, so that nothing takes time. Nothing does I/O meanwhile.
---@param fn fun(clock: { now: fun(): number, advance: fun(ms: number) }): any
---@param start? integer  ms since the epoch, default now
---@return any ...  the results of `fn`
function testing.with_clock(fn, start)
  local before = hosts.chosen
  local clock = clocks.new(start or core.now())
  hosts.use(clock)
  local function restored(ok, ...)
    hosts.use(before or "plain")
    if not ok then
      error(..., 0)
    end
    return ...
  end
  return restored(pcall(task.run, fn, clock))
end

-- Recordings: a line of JSON for each exchange.

-- A URL without its user, and with the values of credentials in its query replaced.
local function safe_url(text)
  return (text:gsub("^(%a[%w+.-]*://)[^/?#]*@", "%1"):gsub("([?&])([^=&#]*)=([^&#]*)", function(mark, name)
    return secrets.is_name(url.decode(name)) and mark .. name .. "=***" or nil
  end))
end

local function key_of(request)
  return ("%s %s %s"):format(request.method, safe_url(request.url),
    request.body and request.body ~= "" and base64.encode_url(core.sha256(request.body)) or "")
end

local function safe_headers(headers)
  local kept = {}
  for name, value in pairs(headers) do
    if not secrets.is_name(name) then
      kept[name] = value
    end
  end
  return kept
end

--- A client that passes requests on and writes each exchange to a file, without credentials: no headers of requests,
--- no cookies, "***" for credentials in URLs. Bodies of answers are kept as they are.
---@param path string
---@param client? table  default: `operations.http`
---@return table client
function testing.record(path, client)
  client = client or http
  local file = assert(io.open(path, "wb"))
  file:setvbuf("line")
  return client_of(function(request, options)
    local source, err = client.open(members.merged(options, { body = request.body or nil }))
    if not source then
      return nil, err
    end
    local pieces = {}
    local function write()
      if not pieces then
        return
      end
      local body, line = table.concat(pieces), { key = key_of(request), status = source.status,
        headers = safe_headers(source.headers) }
      if json.encode(body) then
        line.body = body
      else
        line.base64 = base64.encode(body)
      end
      pieces = nil
      assert(file:write(assert(json.encode(line, { sort_keys = true })), "\n"))
    end
    return stream(request, source.status, source.headers, function()
      local piece, problem = source:read()
      if piece and pieces then
        pieces[#pieces + 1] = piece
      elseif not problem then
        write()
      end
      return piece, problem
    end, function()
      write()
      source:close()
    end)
  end)
end

--- A client that answers from a file of `record`: each exchange once, by method, URL and body.
---@param path string
---@return table client
function testing.replay(path)
  local kept = {}
  for line in io.lines(path) do
    local exchange = assert(json.decode(line))
    kept[exchange.key] = kept[exchange.key] or {}
    table.insert(kept[exchange.key], exchange)
  end
  return client_of(function(request)
    local key = key_of(request)
    local exchange = kept[key] and table.remove(kept[key], 1)
    if not exchange then
      error(("operations.testing: %s has no further answer for %s"):format(path, key), 0)
    end
    local body = exchange.body or assert(base64.decode(exchange.base64))
    return stream(request, exchange.status, exchange.headers, function()
      local piece = body
      body = nil
      return piece ~= "" and piece or nil
    end)
  end)
end

--- `replay(path)` if there is such a file, else `record(path)`: a removed file is recorded again.
---@param path string
---@param client? table
---@return table client
function testing.recorded(path, client)
  local file = io.open(path)
  if file then
    file:close()
    return testing.replay(path)
  end
  return testing.record(path, client)
end

return testing
