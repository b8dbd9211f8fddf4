--- IP addresses and networks as text: "192.0.2.7", "2001:db8::7" (RFC 4291, 2.2), "192.0.2.0/24".
local ip = {}

local char, floor = string.char, math.floor

local function parse_v4(text)
  local bytes = {}
  for digits in (text .. "."):gmatch("([^.]*)%.") do
    if not digits:find("^%d%d?%d?$") or tonumber(digits) > 255 or digits:find("^0%d") then
      return nil
    end
    bytes[#bytes + 1] = char(tonumber(digits))
  end
  return #bytes == 4 and table.concat(bytes) or nil
end

-- The groups on one side of "::", as bytes.
local function groups(text)
  local bytes = {}
  for group in (text == "" and "" or text .. ":"):gmatch("([^:]*):") do
    if not group:find("^%x%x?%x?%x?$") then
      return nil
    end
    local number = tonumber(group, 16)
    bytes[#bytes + 1] = char(floor(number / 256), number % 256)
  end
  return table.concat(bytes)
end

local function parse_v6(text)
  local before, dotted = text:match("^(.*:)([^:]*%.[^:]*)$")
  if before then -- "::ffff:192.0.2.7"
    local four = parse_v4(dotted)
    if not four then
      return nil
    end
    text = ("%s%02x%02x:%02x%02x"):format(before, four:byte(1, 4))
  end
  local left, right = text:match("^(.-)::(.*)$")
  if not left then
    local bytes = groups(text)
    return bytes and #bytes == 16 and bytes or nil
  end
  left, right = groups(left), groups(right)
  if not left or not right or #left + #right > 14 then
    return nil
  end
  return left .. ("\0"):rep(16 - #left - #right) .. right
end

local LONGEST = 45 -- bytes of text: an IPv6 address that ends like an IPv4 one
local MAPPED = ("\0"):rep(10) .. "\255\255"

--- The bytes of an address, 4 or 16. An IPv4 address in IPv6 form is the IPv4 address.
---@param text string  without brackets and zone
---@return string?  nil: not an address
function ip.bytes(text)
  if #text > LONGEST then
    return nil
  elseif not text:find(":", 1, true) then
    return parse_v4(text)
  end
  local bytes = parse_v6(text)
  return bytes and bytes:sub(1, 12) == MAPPED and bytes:sub(13) or bytes
end

-- The longest run of zero groups, at least two of them (RFC 5952, 4.2).
local function longest_zeros(words)
  local at, length, i = nil, 1, 1
  while i <= 8 do
    local last = i
    while words[last] == 0 do
      last = last + 1
    end
    if last - i > length then
      at, length = i, last - i
    end
    i = math.max(last, i + 1)
  end
  return at, length
end

--- The canonical text of an address (RFC 5952).
---@param bytes string  4 or 16
---@return string
function ip.text(bytes)
  if #bytes == 4 then
    return ("%d.%d.%d.%d"):format(bytes:byte(1, 4))
  end
  local words, texts = {}, {}
  for i = 1, 8 do
    local high, low = bytes:byte(2 * i - 1, 2 * i)
    words[i] = high * 256 + low
    texts[i] = ("%x"):format(words[i])
  end
  local at, length = longest_zeros(words)
  if not at then
    return table.concat(texts, ":")
  end
  return table.concat(texts, ":", 1, at - 1) .. "::" .. table.concat(texts, ":", at + length, 8)
end

---@class operations.IpNetwork
---@field bytes string  of its first address
---@field bits integer  length of the common prefix

--- A network by its CIDR notation; a single address is a network of one.
---@param text string  "10.0.0.0/8", "2001:db8::/32", "192.0.2.7"
---@return operations.IpNetwork?  nil: not a network
function ip.network(text)
  local address, digits = text:match("^([^/]+)/(%d%d?%d?)$")
  local bytes = ip.bytes(address or text)
  local bits = bytes and (digits and tonumber(digits) or 8 * #bytes)
  if bits and #bytes == 4 and address and address:find(":", 1, true) then
    bits = bits - 96 -- of "::ffff:10.0.0.0/104"
  end
  if not bits or bits < 0 or bits > 8 * #bytes then
    return nil
  end
  return { bytes = bytes, bits = floor(bits) }
end

--- Is an address in a network?
---@param network operations.IpNetwork
---@param bytes string  of the address
---@return boolean
function ip.contains(network, bytes)
  local own, bits = network.bytes, network.bits
  local whole = floor(bits / 8)
  if #own ~= #bytes or own:sub(1, whole) ~= bytes:sub(1, whole) then
    return false
  elseif bits % 8 == 0 then
    return true
  end
  local unit = 2 ^ (8 - bits % 8)
  return floor(own:byte(whole + 1) / unit) == floor(bytes:byte(whole + 1) / unit)
end

return ip
