-- A small MCP server over Streamable HTTP for mcp.lua, run by nginx's Lua module: as mcp_native.c over stdio, little
-- more than reading and writing messages, so that clients are measured. No session, no stream of its own.
local cjson = require("cjson.safe")

ngx.req.read_body()
local message = cjson.decode(ngx.req.get_body_data() or "")
if not message then
  return ngx.exit(405)
elseif not message.id then
  return ngx.exit(202)
end

local result
if message.method == "initialize" then
  result = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false}},'
    .. '"serverInfo":{"name":"bench","version":"1"}}'
elseif message.method == "tools/list" then
  result = '{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}]}'
else
  result = '{"content":[{"type":"text","text":' .. cjson.encode(message.params.arguments.message) .. "}]}"
end

local text = ('{"jsonrpc":"2.0","id":%d,"result":%s}'):format(message.id, result)
ngx.header["Content-Type"] = "application/json"
ngx.header["Content-Length"] = #text
ngx.print(text)
