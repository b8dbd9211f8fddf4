--- Where documents and servers are: telling URLs from paths, resolving relative ones, base URLs.
local url = require("operations.base.url")

local location = {}

--- Is it an absolute http or https URL?
---@param text string
---@return boolean
function location.is_url(text)
  local parsed = url.parse(text)
  return parsed ~= nil and (parsed.scheme == "http" or parsed.scheme == "https") and parsed.host ~= ""
end

--- Resolves a relative file path against the file that names it, without "." and needless "..".
local function beside(base, path)
  if path:sub(1, 1) ~= "/" then
    path = (base:match("^(.*/)") or "") .. path
  end
  local segments = {}
  for segment in path:gmatch("[^/]+") do
    local last = segments[#segments]
    if segment == ".." and last and last ~= ".." then
      segments[#segments] = nil
    elseif segment ~= "." then
      segments[#segments + 1] = segment
    end
  end
  return (path:sub(1, 1) == "/" and "/" or "") .. table.concat(segments, "/")
end

--- Resolves a reference against the URL or file path of what holds it.
---@param base string
---@param reference string
---@return string
function location.resolve(base, reference)
  if reference:find("^%a[%w+.-]+:") then
    return reference
  end
  return url.resolve(base, reference) or beside(base, reference)
end

--- A base URL fit to have paths put behind it: no query, no fragment, no slash at the end.
---@param text string
---@return string? base
---@return string? message
function location.base(text)
  if not location.is_url(text) then
    return nil, "is no absolute http or https URL"
  elseif url.parse(text).userinfo then
    return nil, "must not hold a user name or password"
  elseif text:find("[%z\1-\32\127]") then
    return nil, "must not hold blanks or control characters"
  end
  return (text:match("^[^?#]*"):gsub("/+$", ""))
end

return location
