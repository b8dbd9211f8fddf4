--- Requests that differ in their bodies only: what they have in common is checked once. No redirects, no retries, no
--- cookies.
local exchange = require("operations.http_exchange")
local http_failure = require("operations.http_failure")
local message = require("operations.http_message")

local http_prepared = {}

local MAX_SPARE = 64 -- requests that are kept for later

---@class operations.HttpPrepared
---@field _request table  as `http_message.prepare` makes it, without a body
---@field _problem? string  why it cannot be sent
---@field _spare table[]  copies that nobody uses
local Prepared = {}
Prepared.__index = Prepared

--- Checks what is to be sent; what is wrong with it, `open` says.
---@param options operations.HttpRequest  `body`, `timeout`, `jar`, `retry` and `redirects` are none of them
---@return operations.HttpPrepared
function http_prepared.new(options)
  local request, problem = message.prepare(options, true)
  return setmetatable({ _request = request, _problem = problem, _spare = {} }, Prepared)
end

local function copy(prepared)
  local request = { again = true }
  for key, value in pairs(prepared) do
    request[key] = value
  end
  return request
end

-- Sends it over a connection of its own.
local function open_fresh(self, body)
  local request = copy(self._request)
  request.again, request.fresh, request.body = nil, true, body
  return exchange.open(request)
end

--- Sends it with a body and waits for the head of the answer, as `http.open` does.
---@param body? string
---@return operations.HttpStream?
---@return operations.Error? err
function Prepared:open(body)
  if self._problem then
    return nil, http_failure.new(self._request, "request", self._problem)
  end
  local spare = self._spare
  local request = spare[#spare]
  if request then
    spare[#spare] = nil
  else
    request = copy(self._request)
  end
  request.body = body
  local stream, err = exchange.open(request)
  if not stream then
    if not request.once and http_failure.is_stale(err) then
      return open_fresh(self, body)
    end
    return nil, err
  elseif stream:is_whole() and #spare < MAX_SPARE then
    request.body = nil
    spare[#spare + 1] = request
  end
  return stream
end

return http_prepared
