--- Bytes in hexadecimal.
local hexadecimal = {}

--- Two lower-case digits for each byte.
---@param bytes string
---@return string
function hexadecimal.of(bytes)
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

return hexadecimal
