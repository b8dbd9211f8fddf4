--- AWS Signature Version 4: a signing function for `auth` of the HTTP client.
local core = require("operations.core")
local hexadecimal = require("operations.base.hexadecimal")
local hmac = require("operations.base.hmac")
local members = require("operations.base.members")
local scheduler = require("operations.task.scheduler")
local url = require("operations.base.url")

local sigv4 = {}

---@class operations.SigV4Options
---@field access_key string
---@field secret_key string
---@field session_token? string
---@field region string
---@field service string
---@field sign_body? boolean  sends the body's digest, default true; a body that is not a text is not signed

-- Each pair encoded, sorted.
local function canonical_query(query)
  local list = {}
  for pair in (query or ""):gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    list[#list + 1] = url.encode(url.decode(name)) .. "=" .. url.encode(url.decode(value))
  end
  table.sort(list)
  return table.concat(list, "&")
end

-- S3 signs the path as it is sent; the other services encode it once more.
local function canonical_path(path, service)
  path = path == "" and "/" or path
  return service == "s3" and path or (path:gsub("[^/]+", url.encode))
end

local function canonical_headers(headers)
  local names, lines = {}, {}
  for name, value in pairs(headers) do
    local lower = name:lower()
    names[#names + 1] = lower
    local text = type(value) == "table" and table.concat(value, ",") or tostring(value)
    lines[lower] = text:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", " ")
  end
  table.sort(names)
  for i, name in ipairs(names) do
    lines[i] = name .. ":" .. lines[name] .. "\n"
  end
  return table.concat(lines), table.concat(names, ";")
end

local kinds = { access_key = "string", secret_key = "string", region = "string", service = "string" }

--- Makes a function that signs requests (Signature Version 4 with `Authorization`).
---@param options operations.SigV4Options
---@return fun(request: operations.HttpRequest)
function sigv4.new(options)
  for name, kind in pairs(kinds) do
    if type(options) ~= "table" or type(options[name]) ~= kind then
      error(("bad option '%s' to 'sigv4' (%s expected)"):format(name, kind), 2)
    end
  end
  options = members.copy(options)
  return function(request)
    local parsed = url.parse(request.url)
    local stamp = os.date("!%Y%m%dT%H%M%SZ", math.floor(scheduler.now() / 1000))
    local body = request.body or ""
    local is_signed = type(body) == "string" and options.sign_body ~= false
    local digest = is_signed and hexadecimal.of(core.sha256(body)) or "UNSIGNED-PAYLOAD"
    local headers = request.headers
    headers["X-Amz-Date"], headers["X-Amz-Security-Token"] = stamp, options.session_token
    if options.service == "s3" then
      headers["X-Amz-Content-Sha256"] = digest
    end
    local host = parsed.host .. (parsed.port and ":" .. parsed.port or "")
    local fields, names = canonical_headers(members.merged(headers, { Host = host }))
    local text = table.concat({ request.method or "GET", canonical_path(parsed.path, options.service),
      canonical_query(parsed.query), fields, names, digest }, "\n")
    local day = stamp:sub(1, 8)
    local scope = ("%s/%s/%s/aws4_request"):format(day, options.region, options.service)
    local key = "AWS4" .. options.secret_key
    for _, part in ipairs({ day, options.region, options.service, "aws4_request" }) do
      key = hmac.signer(key)(part)
    end
    local signature = hmac.signer(key)(("AWS4-HMAC-SHA256\n%s\n%s\n%s"):format(stamp, scope,
      hexadecimal.of(core.sha256(text))))
    headers.Authorization = ("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s"):format(
      options.access_key, scope, names, hexadecimal.of(signature))
  end
end

return sigv4
