--- International host names as DNS has them (RFC 5890, RFC 3492): each label that is not ASCII in Punycode. What the
--- library of the system makes of a host depends on the locale.
local idn = {}

-- The code points of UTF-8 text; nil when it is not UTF-8.
local function points_of(text)
  local list, at = {}, 1
  while at <= #text do
    local first = text:byte(at)
    local length = first < 0x80 and 1 or first < 0xC2 and 0 or first < 0xE0 and 2 or first < 0xF0 and 3
      or first < 0xF5 and 4 or 0
    local code = length == 1 and first or first % 2 ^ (7 - length)
    for i = at + 1, at + length - 1 do
      local byte = text:byte(i) or 0
      if byte < 0x80 or byte > 0xBF then
        return nil
      end
      code = code * 64 + byte % 64
    end
    if length == 0 or code > 0x10FFFF or code >= 0xD800 and code < 0xE000 then
      return nil
    end
    list[#list + 1], at = code, at + length
  end
  return list
end

-- Capital letters of the alphabets that have them in one run: first, last, distance to the small ones.
local capitals = { { 0x41, 0x5A, 32 }, { 0xC0, 0xD6, 32 }, { 0xD8, 0xDE, 32 }, { 0x391, 0x3AB, 32 },
  { 0x400, 0x40F, 80 }, { 0x410, 0x42F, 32 } }

local function small(code)
  for _, run in ipairs(capitals) do
    if code >= run[1] and code <= run[2] then
      return code + run[3]
    end
  end
  return code >= 0x100 and code <= 0x137 and code % 2 == 0 and code + 1 or code
end

-- RFC 3492, 6.1
local function adapted(delta, count, is_first)
  delta = math.floor(delta / (is_first and 700 or 2))
  delta = delta + math.floor(delta / count)
  local k = 0
  while delta > 455 do
    delta, k = math.floor(delta / 35), k + 36
  end
  return k + math.floor(36 * delta / (delta + 38))
end

local function digit(value)
  return string.char(value < 26 and 97 + value or 22 + value)
end

-- The digits of a number of the bootstring.
local function write(output, delta, bias)
  local q, k = delta, 36
  while true do
    local threshold = math.max(1, math.min(26, k - bias))
    if q < threshold then
      break
    end
    output[#output + 1] = digit(threshold + (q - threshold) % (36 - threshold))
    q, k = math.floor((q - threshold) / (36 - threshold)), k + 36
  end
  output[#output + 1] = digit(q)
end

-- RFC 3492, 6.3
local function punycode(points)
  local output = {}
  for _, code in ipairs(points) do
    output[#output + 1] = code < 128 and string.char(code) or nil
  end
  local basic = #output
  local done, next_code, delta, bias = basic, 128, 0, 72
  if basic > 0 then
    output[#output + 1] = "-"
  end
  while done < #points do
    local least = math.huge
    for _, code in ipairs(points) do
      least = code >= next_code and math.min(least, code) or least
    end
    delta, next_code = delta + (least - next_code) * (done + 1), least
    for _, code in ipairs(points) do
      if code < next_code then
        delta = delta + 1
      elseif code == next_code then
        write(output, delta, bias)
        bias = adapted(delta, done + 1, done == basic)
        delta, done = 0, done + 1
      end
    end
    delta, next_code = delta + 1, next_code + 1
  end
  return table.concat(output)
end

local MAX_LABEL = 63 -- bytes, in DNS

local function encoded(label)
  if not label:find("[\128-\255]") then
    return label
  end
  local points = points_of(label)
  for i, code in ipairs(points or {}) do
    points[i] = small(code)
  end
  local text = points and "xn--" .. punycode(points)
  return text and #text <= MAX_LABEL and text or nil
end

--- The host as DNS has it; hosts in ASCII stay unchanged.
---@param host string
---@return string? host  nil when it is not UTF-8, or too long
function idn.ascii(host)
  if not host:find("[\128-\255]") then
    return host
  elseif #host > 1000 then
    return nil
  end
  -- RFC 3490, 3.1: other dots
  host = host:gsub("\227\128\130", "."):gsub("\239\188\142", "."):gsub("\239\189\161", ".")
  local labels = {}
  for label in (host .. "."):gmatch("([^.]*)%.") do
    local text = encoded(label)
    if not text then
      return nil
    end
    labels[#labels + 1] = text
  end
  return table.concat(labels, ".")
end

return idn
