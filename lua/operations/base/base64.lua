--- Base64 (RFC 4648, sections 4 and 5), strict: no line breaks, no other characters, one encoding for each value.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")

---@class operations.base64
local base64 = {}

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- Encodes one to three bytes as four digits.
local function encode_group(group)
  local a, b, c = group:byte(1, 3)
  local bits, text = a * 65536 + (b or 0) * 256 + (c or 0), {}
  for i = 4, 1, -1 do
    local digit = bits % 64
    bits = (bits - digit) / 64
    text[i] = i > #group + 1 and "=" or digits:sub(digit + 1, digit + 1)
  end
  return table.concat(text)
end

--- Encodes with the standard alphabet and padding.
---@param bytes string
---@return string
function base64.encode(bytes)
  argument.expect(bytes, "string", 1, "encode")
  return (bytes:gsub("..?.?", encode_group))
end

local safe = { ["+"] = "-", ["/"] = "_", ["="] = "" }

--- Encodes with the alphabet for URLs and file names, without padding.
---@param bytes string
---@return string
function base64.encode_url(bytes)
  argument.expect(bytes, "string", 1, "encode_url")
  return (base64.encode(bytes):gsub("[+/=]", safe))
end

local values = {}
for i = 1, 64 do
  values[digits:byte(i)] = i - 1
end
values[("-"):byte()], values[("_"):byte()] = 62, 63

-- Decodes two to four digits to one to three bytes; nil when the last digit has bits beyond the last byte.
local function decode_group(group)
  local a, b, c, d = group:byte(1, 4)
  local bits = values[a] * 262144 + values[b] * 4096 + values[c or 65] * 64 + values[d or 65] -- 65: A
  local low, middle = bits % 256, (bits - bits % 256) / 256 % 256
  local first = string.char((bits - bits % 65536) / 65536)
  if d then
    return first .. string.char(middle, low)
  elseif c then
    return low == 0 and first .. string.char(middle) or nil
  end
  return middle == 0 and low == 0 and first or nil
end

local function invalid(format, ...)
  return nil, errors.new("VALIDATION_ERROR", "base64: " .. format:format(...))
end

-- Decodes digits without padding.
local function decode(text, foreign)
  local at = text:find(foreign)
  if at then
    return invalid("byte %d: a digit expected, got %q", at, text:sub(at, at))
  end
  local rest = #text % 4
  if rest == 1 then
    return invalid("the text is truncated: a single digit at the end")
  end
  local last = rest == 0 and "" or decode_group(text:sub(-rest))
  if not last then
    return invalid("byte %d: the last digit has unused bits that are not 0", #text)
  end
  return text:sub(1, #text - rest):gsub("....", decode_group) .. last
end

--- Decodes the standard alphabet. Padding is required.
---@param text string
---@return string? bytes
---@return operations.Error? err  VALIDATION_ERROR, which names the first wrong byte
function base64.decode(text)
  argument.expect(text, "string", 1, "decode")
  local body, padding = text:match("^(.-)(=?=?)$")
  if #text % 4 ~= 0 or #body % 4 + #padding ~= 4 and #padding > 0 then
    return invalid("%d bytes: a multiple of 4 expected, padded with '='", #text)
  end
  return decode(body, "[^A-Za-z0-9+/]")
end

--- Decodes the alphabet for URLs and file names, without padding.
---@param text string
---@return string? bytes
---@return operations.Error? err
function base64.decode_url(text)
  argument.expect(text, "string", 1, "decode_url")
  return decode(text, "[^A-Za-z0-9_-]")
end

return base64
