--- Trusted proxies in front of the server. Their fields X-Forwarded-For, -Proto, -Host and -Prefix, or Forwarded (RFC
--- 7239), replace what the connection says of the client. The fields of other peers are ignored.
local header_field = require("operations.net.http.header_field")
local ip = require("operations.base.ip")

local proxies = {}

--- The addresses of trusted proxies, as CIDRs or single addresses; "unix:" stands for every peer of a Unix socket.
---@class operations.TrustedProxies
---@field [integer] string
---@field header? "x-forwarded"|"forwarded"  the fields that they set, default "x-forwarded"; no others count

---@class operations.Proxies
---@field _unix boolean
---@field _networks operations.IpNetwork[]
---@field _read fun(headers: table<string, string>): operations.ForwardedHop[]?, string?
local Proxies = {}
Proxies.__index = Proxies

--- The client of a request as a proxy names it.
---@class operations.ForwardedHop
---@field node? string  address, "unknown" or a name that the proxy made up
---@field proto? string
---@field host? string
---@field prefix? string

local function items(field)
  local list = {}
  for part in (field or ""):gmatch("[^,]+") do
    local item = header_field.trim(part)
    list[#list + 1] = item ~= "" and item or nil
  end
  return list
end

-- A list that is as long as that of addresses has an item for each proxy; otherwise the last item counts.
local function read_x_forwarded(headers)
  local hops = {}
  local nodes, protos = items(headers["x-forwarded-for"]), items(headers["x-forwarded-proto"])
  local hosts = items(headers["x-forwarded-host"])
  local prefixes = items(headers["x-forwarded-prefix"])
  for i, node in ipairs(nodes) do
    hops[i] = { node = node, proto = protos[#protos == #nodes and i or #protos],
      host = hosts[#hosts == #nodes and i or #hosts], prefix = prefixes[#prefixes] }
  end
  return hops
end

-- Reads the value at `at`, a token or a quoted string. Returns it and the position behind it.
local function read_value(field, at)
  local token, behind = field:match("^([%w!#$%%&'*+.^_`|~-]+)()", at)
  if token then
    return token, behind
  end
  local text = field:match('^"([^"\\]*)"', at)
  if text then
    return text, at + #text + 2
  end
  local bytes, i = {}, at + 1
  while field:byte(at) == 34 and i <= #field do
    local c = field:sub(i, i)
    if c == '"' then
      return table.concat(bytes), i + 1
    elseif c == "\\" then
      i = i + 1
      c = field:sub(i, i)
    end
    bytes[#bytes + 1], i = c, i + 1
  end
end

local forwarded_members = { ["for"] = "node", proto = "proto", host = "host" }

-- RFC 7239, section 4. A field that cannot be read to its end is not used at all: a client could have begun a quoted
-- string that hides what a proxy appended.
local function read_forwarded(headers)
  local field, hops, hop, at = headers.forwarded or "", {}, {}, 1
  while at <= #field do
    local name, behind = field:match("^[ \t]*([%w!#$%%&'*+.^_`|~-]+)=()", at)
    local value
    if name then
      value, at = read_value(field, behind)
    end
    local mark, next_at
    if value or not name then
      mark, next_at = field:match(value and "^[ \t]*([,;]?)()" or "^[ \t]*([,;])()", at)
    end
    if not mark or mark == "" and next_at <= #field then
      return nil, "the field Forwarded is malformed (RFC 7239)"
    end
    local member = name and forwarded_members[name:lower()]
    if member then
      hop[member] = value
    end
    if mark ~= ";" then
      hops[#hops + 1] = next(hop) and hop or nil
      hop = {}
    end
    at = next_at
  end
  hops[#hops + 1] = next(hop) and hop or nil
  return hops
end

-- The bytes of the address of a node; nil for "unknown" and obfuscated names; false for anything else.
local function bytes_of(node)
  if node == nil or node:lower() == "unknown" or node:find("^_[%w._-]+$") or node:find("^_[%w._-]+:[%w._-]+$") then
    return nil
  end
  return ip.bytes(node:match("^%[([%x:.]+)%]:?%d*$") or node:match("^(%d+%.%d+%.%d+%.%d+):%d+$") or node) or false
end

function Proxies:_trusts(bytes)
  for _, network in ipairs(self._networks) do
    if ip.contains(network, bytes) then
      return true
    end
  end
  return false
end

function Proxies:_trusts_peer(address)
  if address == nil or address == "unix:" then
    return address ~= nil and self._unix
  end
  local bytes = ip.bytes(address)
  return bytes ~= nil and self:_trusts(bytes)
end

-- The address of the client: the last entry that is not of a trusted proxy. Proxies append, so the entries before it
-- are claims of the client. If all are trusted, it is the first entry.
function Proxies:_client(hops)
  for i = #hops, 1, -1 do
    local bytes = bytes_of(hops[i].node)
    if bytes == false then
      return nil, nil, ("an address expected in what a proxy says of the client, got '%s'"):format(hops[i].node)
    elseif not bytes then
      return hops[i], hops[i].node or "unknown"
    elseif i == 1 or not self:_trusts(bytes) then
      return hops[i], ip.text(bytes)
    end
  end
end

local schemes = { http = "http", https = "https", ws = "http", wss = "https" }

local function is_host(text)
  return text:find("^[%w._-]+:?%d*$") ~= nil or text:find("^%[[%x:.]+%]:?%d*$") ~= nil
end

local function is_loopback(address)
  return address == "::1" or address:find("^127%.") ~= nil
end

-- Puts what the proxy says into the request. Returns the error, if there is one.
local function take(request, hop, address)
  local headers, prefix, scheme = request.headers, hop.prefix, hop.proto and schemes[hop.proto:lower()]
  if hop.proto and not scheme then
    return ("http or https expected of a proxy, got '%s'"):format(hop.proto)
  elseif hop.host and not is_host(hop.host) then
    return ("the name of a host expected of a proxy, got '%s'"):format(hop.host)
  elseif prefix and not prefix:find("^/[%w._~/-]*$") or prefix and prefix:find("//", 1, true) then
    return ("a path expected in X-Forwarded-Prefix, got '%s'"):format(prefix)
  end
  request.proxy, request.scheme = request.peer, scheme
  request.peer = { address = address, port = nil, tls = scheme == "https" }
  request.is_local = request.is_local and is_loopback(address)
  request.outer_prefix = prefix and prefix:gsub("/$", "") or nil
  headers.host = hop.host or headers.host
end

--- Sets `peer`, `scheme` and `headers.host` of a request from a trusted proxy to those of the client; `proxy` is then
--- the peer of the connection.
---@param request operations.ServerRequest
---@return string? flaw  of what the proxy says; nil: there is none
function Proxies:apply(request)
  local peer = request.peer
  if request.proxy or not peer or not self:_trusts_peer(peer.address) then
    return nil
  end
  local hops, flaw = self._read(request.headers)
  local hop, address
  if hops then
    hop, address, flaw = self:_client(hops)
  end
  if hop then
    return take(request, hop, address)
  end
  return flaw
end

local readers = { ["x-forwarded"] = read_x_forwarded, forwarded = read_forwarded }

--- Reads the option `trusted_proxies`; misuse raises.
---@param list? operations.TrustedProxies
---@param name string  of the function that has the option
---@param level integer  as of `error`
---@return operations.Proxies?
function proxies.new(list, name, level)
  if list == nil then
    return nil
  end
  local self = setmetatable({ _unix = false, _networks = {}, _read = readers[list.header or "x-forwarded"] }, Proxies)
  if not self._read then
    error(("bad option 'trusted_proxies.header' to '%s' (\"x-forwarded\" or \"forwarded\" expected, got %s)")
      :format(name, tostring(list.header)), level)
  end
  for i, each in ipairs(list) do
    local network = type(each) == "string" and each ~= "unix:" and ip.network(each)
    if each == "unix:" then
      self._unix = true
    elseif not network then
      error(("bad option 'trusted_proxies' to '%s' (an address, a network such as \"10.0.0.0/8\" or \"unix:\" expected "
        .. "at [%d], got %s)"):format(name, i, tostring(each)), level)
    else
      table.insert(self._networks, network)
    end
  end
  return self
end

return proxies
