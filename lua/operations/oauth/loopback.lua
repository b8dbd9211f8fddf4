--- The redirect URI of a login on this machine (RFC 8252, 7.3): a listener that is open while a user logs in and
--- accepts the one request of that login.
local argument = require("operations.base.argument")
local endpoint = require("operations.oauth.endpoint")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local scheduler = require("operations.task.scheduler")
local stream = require("operations.net.stream")
local url = require("operations.base.url")

local loopback = {}

local HOST, PATH = "127.0.0.1", "/callback"
local PORT = 8976 -- fixed: many servers compare the whole redirect_uri with the registered one
local LINE = 16384 -- bytes of a request's first line
local CONNECTIONS = 32 -- at once; browsers open unused ones

local page = "<!doctype html><meta charset=utf-8><title>%s</title><p>%s"
local head = "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"

local function respond(connection, status, text)
  local body = page:format(text, text)
  connection:offer(head:format(status, #body) .. body)
  connection:finish()
end

-- Judges a request: returns its target if it is the login's answer; else the status and text of the refusal.
local function judge(line, state)
  local method, target = line:match("^(%u+) (/%S*) HTTP/1%.%d\r?$")
  if not method then
    return nil, "400 Bad Request", "Not an HTTP request."
  elseif method ~= "GET" or target:match("^[^?]*") ~= PATH then
    return nil, "404 Not Found", "There is nothing here."
  elseif endpoint.decode_form(target:match("%?(.*)$") or "").state ~= state then
    return nil, "400 Bad Request", "This belongs to another login."
  end
  return target
end

-- Reads the first line of a request and calls `on_line` with it once.
local function first_line(connection, on_line)
  local text = ""
  connection:each_chunk(function(bytes)
    if text and bytes then
      text = text .. bytes
      local line = text:match("^([^\n]*)\n") or (#text > LINE and "")
      if line then
        text = nil
        on_line(line)
      end
    end
  end)
end

-- The connections of a login end with it, except the one with the answer, which ends by itself.
local function serve(connections, connection, state, done)
  if #connections == CONNECTIONS then
    table.remove(connections, 1):close()
  end
  connections[#connections + 1] = connection
  first_line(connection, function(line)
    local target, status, text = judge(line, state)
    respond(connection, status or "200 OK", text or "You are logged in. This window may be closed.")
    if target then
      done(target)
    end
  end)
end

-- Listens until `done` is called; returns a function that ends it.
local function listen(port, state, done)
  local connections, answered = {}, nil
  local listener, err = stream.listen(HOST, port, function(connection)
    serve(connections, connection, state, function(target)
      answered = connection
      done(target)
    end)
  end)
  return listener and function()
    listener:close()
    for _, connection in ipairs(connections) do
      if connection ~= answered then
        connection:close()
      end
    end
  end, err
end

-- Shows the URL and waits for the browser.
local function open(port, show, address)
  local problem = url.untrusted(address)
  if problem then
    return nil, endpoint.failure(("the address of the login is refused: %s"):format(problem))
  end
  local state, ended, target = endpoint.decode_form((url.parse(address) or {}).query or "").state, nil, nil
  local wake
  local stop, err = listen(port, state, function(found)
    target = found
    if wake then
      wake()
    end
  end)
  if not stop then
    return nil, err
  end
  local ok, raised = pcall(show, address)
  if ok and not target then
    ended = scheduler.try_await(function(woken)
      wake = woken
      return scheduler.host().timer(limits.oauth_login, woken)
    end)
  end
  stop()
  if not ok then
    error(raised, 0)
  elseif target then
    return ("http://%s:%d%s"):format(HOST, port, target)
  elseif errors.is_error(ended) then
    return nil, ended
  elseif ended ~= nil then
    error(ended, 0)
  end
  return nil, endpoint.failure("the user did not log in in time", { error = "login_required" })
end

--- The options of an authorizer for a browser on this machine: `open` and `redirect_uri`.
---@param show fun(url: string)  shows the user the URL, or opens the browser; may wait
---@param port? integer  default 8976
---@return { open: fun(url: string), redirect_uri: string }  options for `oauth.authorizer`
function loopback.browser(show, port)
  argument.expect(show, "function", 1, "browser")
  argument.optional(port, "number", 2, "browser")
  port = port or PORT
  return {
    redirect_uri = ("http://%s:%d%s"):format(HOST, port, PATH),
    open = function(address)
      return open(port, show, address)
    end,
  }
end

return loopback
