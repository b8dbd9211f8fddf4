--- Redirects: the target of an answer, and the request that is sent there (RFC 9110, 15.4).
local members = require("operations.base.members")
local message = require("operations.net.http.message")
local url = require("operations.base.url")

local statuses = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

local redirect = {}

local function is_safe(method)
  return method == "GET" or method == "HEAD"
end

--- Where the answer sends the request, or nil: GET and HEAD, other methods when `redirect_all` asks for it.
---@param request table
---@param answer { status: integer, headers: table }
---@return string?
function redirect.target(request, answer)
  if statuses[answer.status] and message.redirects(request) > 0 then
    return (is_safe(request.method) or request.options.redirect_all) and answer.headers.location or nil
  end
end

local bound = { authorization = true, cookie = true, ["proxy-authorization"] = true, host = true }

-- Header fields of a body, which is not sent again.
local about_body = {
  ["content-type"] = true, ["content-encoding"] = true, ["content-language"] = true, ["content-location"] = true,
  ["idempotency-key"] = true, expect = true,
}

local function without(headers, drop)
  local kept = {}
  for name, value in pairs(headers or {}) do
    if not drop[name:lower()] then
      kept[name] = value
    end
  end
  return kept
end

-- The headers that may go to another origin.
local function unbound(options)
  local drop = {}
  for _, name in ipairs(options.credentials or {}) do
    drop[name:lower()] = true
  end
  return without(without(options.headers, drop), bound)
end

-- Takes from the options what is for the origin alone that the request was meant for.
local function leave_origin(options)
  options.headers = unbound(options)
  options.url = url.without_query(options.url, options.query_credentials or {})
  options.cert_file, options.key_file, options.key_password = nil, nil, nil
end

-- Does the answer turn the request into a GET? 301 and 302 do so for POST only, by custom; 303 for all.
local function becomes_get(status, method)
  if is_safe(method) then
    return false
  end
  return status == 303 or (method == "POST" and (status == 301 or status == 302))
end

--- Does a redirect leave the request as it is, but for its URL?
---@param status integer
---@param method string
---@return boolean
function redirect.keeps_request(status, method)
  return statuses[status] == true and not becomes_get(status, method)
end

--- Where a redirect leads, when that is allowed.
---@param from string  the URL that was asked
---@param target string  the Location header
---@return string? location
---@return boolean|string foreign  is it another origin; the problem when there is no location
function redirect.destination(from, target)
  local location = url.resolve(from, (target:gsub("[ \128-\255]", url.encode))) -- which many servers forget
  local here, there = url.parse(from), location and url.parse(location)
  if not there then
    return nil, "redirected to an invalid URL"
  elseif there.scheme ~= here.scheme and there.scheme ~= "https" then
    return nil, ("redirected from %s to %s"):format(here.scheme, there.scheme)
  end
  return location, url.origin(here) ~= url.origin(there)
end

--- The request that a redirect asks for. Credentials stay at their origin; the way back to http is barred.
---@param request table
---@param status integer
---@param target string  the Location header
---@return table request
---@return string? problem
function redirect.follow(request, status, target)
  local location, foreign = redirect.destination(request.url, target)
  if not location then
    return request, foreign
  end
  local options = members.merged(request.options, request.own)
  options.url, options.timeout, options.userinfo = location, request.timeout, nil
  if becomes_get(status, request.method) then
    options.method, options.body, options.body_size = "GET", nil, nil
    options.headers = without(options.headers, about_body)
  elseif request.upload then
    return request, "redirected, and the body cannot be sent a second time"
  end
  if foreign then
    leave_origin(options)
  end
  local following, problem = message.prepare(options, request.stream)
  following.timeout = request.timeout
  if problem then
    return request, "redirected, and " .. problem
  end
  return following
end

return redirect
