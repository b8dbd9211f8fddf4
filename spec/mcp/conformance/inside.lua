--- The conformance client inside of another program: `lua inside.lua nvim|nginx URL`.
local inside = require("spec.support.inside")

local url = arg[2]:gsub("'", "'\\''")
local result = inside[arg[1]]("spec/mcp/conformance/inside_client.lua", ("MCP_URL='%s'"):format(url))
io.stderr:write(result.out, result.log or "")
os.exit(result.code)
