--- A bare MCP server of the legacy era over stdio, whose answers have members and blocks that no revision knows.
local json = require("operations.base.json")

local tool = { name = "odd", inputSchema = { type = "object" }, title = "Odd", description = "Odd", _meta = { own = 1 },
  annotations = { openWorldHint = true }, future = { level = 2 } }

-- As text: nothing here goes through the library.
local results = {
  blocks = '{"content":[{"type":"hologram","depth":3},{"type":"text"},{"type":"text","text":"x","_meta":{"a":[]}}],'
    .. '"isError":false,"_meta":{"trace":null},"future":{"n":1}}',
  failed = '{"content":[{"type":"text","text":"no"}],"isError":true,"structuredContent":{"why":[]}}',
  plain = '{"content":[{"type":"text","text":"plain"}]}',
}

local function answer(request)
  local method, params = request.method, request.params or {}
  if method == "initialize" then
    return '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},'
      .. '"serverInfo":{"name":"odd","version":"1"}}'
  elseif method == "tools/list" then
    return json.encode({ tools = { tool } })
  elseif method == "tools/call" then
    if params._meta and params._meta.progressToken ~= nil then
      io.write(json.encode({ jsonrpc = "2.0", method = "notifications/progress", params = {
        progressToken = params._meta.progressToken, progress = 1, total = 2, message = "half" } }), "\n")
    end
    return results[params.arguments.kind]
  elseif method == "resources/list" then
    return '{"resources":[{"uri":"odd://a","name":"a","future":1}]}'
  elseif method == "resources/templates/list" then
    return '{"resourceTemplates":[{"uriTemplate":"odd://{x}","name":"t"}]}'
  elseif method == "resources/read" and params.uri == "odd://a" then
    return '{"contents":[{"uri":"odd://a","text":"a","future":[]}],"future":2}'
  elseif method == "prompts/list" then
    return '{"prompts":[{"name":"p","arguments":[{"name":"x"}]}]}'
  elseif method == "prompts/get" and params.name == "p" then
    return '{"messages":[{"role":"user","content":{"type":"text","text":"p"}}],"future":3}'
  elseif method == "resources/subscribe" then
    return "{}"
  end
end

for line in io.lines() do
  local request = assert(json.decode(line))
  if request.id ~= nil and request.method then
    local id, result = json.encode(request.id), answer(request)
    io.write(('{"jsonrpc":"2.0","id":%s,%s}\n'):format(id,
      result and '"result":' .. result or '"error":{"code":-32602,"message":"there is none","data":{"odd":true}}'))
    if request.method == "resources/subscribe" then
      io.write('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"odd://a"}}\n')
    end
    io.flush()
  end
end
