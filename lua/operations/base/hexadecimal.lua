--- Bytes in hexadecimal.
local core = require("operations.core")

local hexadecimal = {}

--- Two lower-case digits for each byte.
---@type fun(bytes: string): string
hexadecimal.of = core.hexadecimal

return hexadecimal
