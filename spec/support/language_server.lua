--- A language server on stdin and stdout: two symbols in another, one of the workspace; "hang" is never answered.
local json = require("operations.base.json")

local function range(first, last)
  return { start = { line = first, character = 0 }, ["end"] = { line = last, character = 0 } }
end

local results = {
  initialize = { capabilities = { documentSymbolProvider = true, workspaceSymbolProvider = true } },
  ["textDocument/documentSymbol"] = { { name = "Outer", kind = 5, range = range(0, 9), selectionRange = range(0, 0),
    children = { { name = "inner", kind = 12, range = range(2, 3), selectionRange = range(2, 2) },
      { name = "next", kind = 12, range = range(5, 6), selectionRange = range(5, 5) } } } },
  ["workspace/symbol"] = { { name = "found", kind = 13,
    location = { uri = "file:///some/where.lua", range = range(6, 6) } } },
  shutdown = json.decode("null"),
}

while true do
  local length
  repeat
    local head = io.read("*l")
    if not head then
      return
    end
    length = tonumber(head:match("^Content%-Length: (%d+)")) or length
  until head:match("^%s*$")
  local message = json.decode(io.read(length))
  if message.method == "$/cancelRequest" then
    results["workspace/symbol"][1].name = "cancelled"
  elseif message.id and results[message.method] ~= nil and (message.params or {}).query ~= "hang" then
    local text = json.encode({ jsonrpc = "2.0", id = message.id, result = results[message.method] })
    io.write(("Content-Length: %d\r\n\r\n%s"):format(#text, text))
    io.flush()
  end
end
