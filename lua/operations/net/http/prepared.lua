--- Requests that differ in their bodies only: what they have in common is checked once. No redirects, no retries, no
--- cookies.
local exchange = require("operations.net.http.exchange")
local http_failure = require("operations.net.http.failure")
local members = require("operations.base.members")
local message = require("operations.net.http.message")

local http_prepared = {}

local MAX_SPARE = 64 -- waits that are kept for later

---@class operations.HttpPrepared
---@field _request table  as `http_message.prepare` makes it, without a body
---@field _problem? string  why it cannot be sent
---@field _spare operations.Wait[]  what sends it, and does not now
local Prepared = {}
Prepared.__index = Prepared

--- Checks what is to be sent; what is wrong with it, `open` says.
---@param options operations.HttpRequest  `body`, `timeout`, `jar`, `retry` and `redirects` are none of them
---@return operations.HttpPrepared
function http_prepared.new(options)
  local request, problem = message.prepare(options, true)
  return setmetatable({ _request = request, _problem = problem, _spare = {} }, Prepared)
end

-- Sends it over a connection of its own.
local function open_fresh(self, body)
  return exchange.open(members.merged(self._request, { fresh = true, body = body }))
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
  local count = #spare
  local wait = spare[count]
  if wait then
    spare[count] = nil
  else
    wait = exchange.repeated(self._request)
  end
  local stream, err = exchange.again(wait, body)
  if not stream then
    if not self._request.once and http_failure.is_stale(err) then
      return open_fresh(self, body)
    end
    return nil, err
  elseif not wait.stream and #spare < MAX_SPARE then
    spare[#spare + 1] = wait
  end
  return stream
end

return http_prepared
