--- The addresses of Redis servers: read from a URL and a table of options, with the nodes of a cluster that are known.
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local urls = require("operations.base.url")

local redis_address = {}

---@class operations.RedisAddress : operations.StreamOptions
---@field host string
---@field port integer
---@field user? string
---@field password? string
---@field database? integer
---@field key? string  a key that the node must have
---@field writes? boolean  refuses replicas
---@field nodes? { host: string, port: integer }[]  further nodes of its cluster
---@field known? operations.RedisAddress[]  nodes that links to this address know

local option_kinds = {
  user = "string", password = "string", nodes = "table", ca_file = "string", cert_file = "string", key_file = "string",
  key_password = "string", proxy = "string", public_only = "boolean", connect_timeout = "number",
}

--- The kinds of all options: those of an address, and additional ones.
---@param further table<string, string>
---@return table<string, string>
function redis_address.options(further)
  return members.merged(option_kinds, further)
end

-- Reads the option `nodes`: "host:port" each.
local function read_nodes(list, level)
  local nodes = {}
  for i, text in ipairs(list) do
    local host, port = tostring(text):match("^%[?([^%[%]]-)%]?:(%d+)$")
    if not host or host == "" or tonumber(port) > 65535 then
      error(("bad option 'nodes' to 'redis' (\"host:port\" expected at [%d], got %s)"):format(i, tostring(text)),
        level + 1)
    end
    nodes[i] = { host = host, port = tonumber(port) }
  end
  return nodes
end

--- Reads a URL; an invalid one raises at the program's call of `redis`.
---@param url string
---@param options table
---@return operations.RedisAddress
function redis_address.read(url, options)
  local parsed, expected = urls.parse(url), nil
  if parsed and parsed.scheme:find("sentinel", 1, true) then
    expected = "Redis Sentinel is not asked; the URL of the primary, or of a proxy that follows it,"
  elseif not parsed or parsed.scheme ~= "redis" and parsed.scheme ~= "rediss" or parsed.host == "" then
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
  found.proxy, found.nodes = options.proxy or "", read_nodes(options.nodes or {}, 3)
  return found
end

--- Is it the same node?
---@param one operations.RedisAddress
---@param other operations.RedisAddress
---@return boolean
function redis_address.same(one, other)
  return one.host == other.host and one.port == other.port
end

--- The address as a URL without credentials, for people.
---@param address operations.RedisAddress
---@return string
function redis_address.text(address)
  return ((address.host:find(":", 1, true) and "%s://[%s]:%d" or "%s://%s:%d"):format(
    address.tls and "rediss" or "redis", address.host, address.port))
end

--- The address of another node, to which one redirects.
---@param address operations.RedisAddress  of the node that answered
---@param moved { host: string, port: integer }
---@return operations.RedisAddress
function redis_address.elsewhere(address, moved)
  local there = members.merged(address, { port = moved.port })
  if moved.host ~= "" and moved.host ~= "?" then -- otherwise it does not know its own name: keeps ours
    there.host = moved.host
  end
  return there
end

--- Adds a node of the cluster to those that are known.
---@param address operations.RedisAddress
---@param host string
---@param port integer
function redis_address.remember(address, host, port)
  local node = redis_address.elsewhere(address, { host = host, port = port })
  local known = address.known
  for _, each in ipairs(known) do
    if redis_address.same(each, node) then
      return
    end
  end
  if #known < limits.redis_nodes then
    known[#known + 1] = node
  end
end

--- The nodes that links to an address know, itself first.
---@param address operations.RedisAddress
---@return operations.RedisAddress[]
function redis_address.known(address)
  if not address.known then
    address.known = { address }
    for _, node in ipairs(address.nodes or {}) do
      redis_address.remember(address, node.host, node.port)
    end
  end
  return address.known
end

return redis_address
