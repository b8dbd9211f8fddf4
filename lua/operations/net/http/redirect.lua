--- Redirects: the target of an answer, and the request that is sent there (RFC 9110, 15.4).
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local message = require("operations.net.http.message")
local url = require("operations.base.url")

local statuses = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

local redirect = {}

local function is_safe(method)
  return method == "GET" or method == "HEAD"
end

--- The number of redirects that a request follows.
---@param request table
---@return integer
function redirect.most(request)
  return request.options.redirects or limits.redirects
end

--- The target of a redirect, or nil: for GET and HEAD, and other methods with `redirect_all`.
---@param request table
---@param answer { status: integer, headers: table }
---@return string?
function redirect.target(request, answer)
  if statuses[answer.status] and redirect.most(request) > 0 then
    return (is_safe(request.method) or request.options.redirect_all) and answer.headers.location or nil
  end
end

local bound = { authorization = true, cookie = true, ["proxy-authorization"] = true, host = true }

-- Header fields that describe a body, which is not sent again.
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

-- The headers that may be sent to another origin.
local function unbound(options)
  local drop = {}
  for _, name in ipairs(options.credentials or {}) do
    drop[name:lower()] = true
  end
  return without(without(options.headers, drop), bound)
end

-- Removes options that are only for the original origin.
local function leave_origin(options)
  options.headers = unbound(options)
  options.url = url.without_query(options.url, options.query_credentials or {})
  options.cert_file, options.key_file, options.key_password = nil, nil, nil
  options.digest_user, options.digest_password = nil, nil
end

-- Does the answer turn the request into a GET? 301 and 302 only for POST, by convention; 303 for all methods.
local function becomes_get(status, method)
  if is_safe(method) then
    return false
  end
  return status == 303 or (method == "POST" and (status == 301 or status == 302))
end

--- Does a redirect change only the URL of the request?
---@param status integer
---@param method string
---@return boolean
function redirect.keeps_request(status, method)
  return statuses[status] == true and not becomes_get(status, method)
end

--- The target URL of a redirect, if it is allowed.
---@param from string  the request's URL
---@param target string  the Location header
---@return string? location
---@return boolean|string foreign  is it another origin? or the problem
function redirect.destination(from, target)
  local location = url.resolve(from, (target:gsub(" ", "%%20"))) -- many servers do not encode these
  location = location and url.ascii(location)
  local here, there = url.parse(from), location and url.parse(location)
  if not there then
    return nil, "redirected to an invalid URL"
  elseif there.scheme ~= here.scheme and there.scheme ~= "https" then
    return nil, ("redirected from %s to %s"):format(here.scheme, there.scheme)
  end
  return location, url.origin(here) ~= url.origin(there)
end

local function user_of(address)
  return address:match("^%a[%w+.-]*://([^/?#]*)@")
end

-- The URL with this user, unless it names one itself.
local function with_user(address, user)
  if not user or user_of(address) then
    return address
  end
  return (address:gsub("://", function()
    return "://" .. user .. "@"
  end, 1))
end

--- The request that a redirect requires. Credentials are not sent to another origin; redirects from https to http are
--- refused.
---@param request table
---@param status integer
---@param target string  the Location header
---@return table request
---@return string? problem
function redirect.follow(request, status, target)
  local location, foreign = redirect.destination(request.url, target)
  if not location then
    return request, foreign
  elseif not foreign and request.options.userinfo then
    location = with_user(location, user_of(request.url))
  end
  local options = members.merged(request.options, request.own)
  options.url, options.timeout = location, request.timeout
  options.userinfo = not foreign and request.options.userinfo and user_of(location) == user_of(request.url) or nil
  if becomes_get(status, request.method) then
    options.method, options.body, options.body_size = "GET", nil, nil
    options.headers = without(options.headers, about_body)
  elseif request.upload then
    return request, "redirected, but the body cannot be sent a second time"
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
