--- The address of a Redis server and the options of its connection, read from a URL and a table.
local members = require("operations.base.members")
local urls = require("operations.base.url")

local address = {}

local kinds = {
  user = "string", password = "string", ca_file = "string", cert_file = "string", key_file = "string",
  key_password = "string", proxy = "string", public_only = "boolean", connect_timeout = "number",
}

--- The kinds of all options: those of an address, and additional ones.
---@param further table<string, string>
---@return table<string, string>
function address.with(further)
  return members.merged(kinds, further)
end

--- Reads a URL; an invalid one raises at the program's call of `redis`.
---@param url string
---@param options table
---@return operations.RedisAddress
function address.of(url, options)
  local parsed, expected = urls.parse(url), nil
  if not parsed or parsed.scheme ~= "redis" and parsed.scheme ~= "rediss" then
    expected = "URL of redis or rediss"
  elseif not parsed.path:find("^/?%d*$") or tonumber(parsed.port or 0) > 65535 then
    expected = "redis://user:password@host:port/database, with %2F and the like in a password,"
  end
  if expected then
    error(("bad argument #1 to 'redis' (%s expected, got %s)"):format(expected, urls.redact_any(url)), 3)
  end
  local user, password = (parsed.userinfo or ""):match("^([^:]*):?(.*)$")
  local found = { tls = parsed.scheme == "rediss", host = (parsed.host:gsub("^%[(.*)%]$", "%1")),
    port = tonumber(parsed.port) or 6379, database = tonumber(parsed.path:match("^/(%d+)$")) }
  found.user = options.user or user ~= "" and urls.decode(user) or nil
  found.password = options.password or password ~= "" and urls.decode(password) or nil
  for _, name in ipairs({ "ca_file", "cert_file", "key_file", "key_password", "public_only", "connect_timeout" }) do
    found[name] = options[name]
  end
  found.proxy = options.proxy or ""
  return found
end

return address
