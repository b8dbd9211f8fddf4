--- Base64 (RFC 4648, sections 4 and 5), for the short texts of headers and tokens.
local base64 = {}

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- One to three bytes as four digits.
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

---@param bytes string
---@return string
function base64.encode(bytes)
  return (bytes:gsub("..?.?", encode_group))
end

local safe = { ["+"] = "-", ["/"] = "_", ["="] = "" }

--- The form that may stand in URLs and file names, without padding.
---@param bytes string
---@return string
function base64.encode_url(bytes)
  return (base64.encode(bytes):gsub("[+/=]", safe))
end

return base64
