--- Lua functions as an MCP server, for an assistant that starts this program:
---
---   { "mcpServers": { "notes": { "command": "lua", "args": ["mcp_server.lua", "--stdio"] } } }
---
--- Without --stdio it starts itself, and asks itself as such an assistant would.
local operations = require("operations")
local T = operations.type

local notes = { "Buy milk" }
local registry = operations.registry()
assert(registry:register({
  namespace = "notes", name = "add", description = "Adds a note", inputSchema = T.object({ text = T.string() }),
  outputSchema = T.object({ count = T.integer() }),
  handler = function(input)
    notes[#notes + 1] = input.text
    return { count = #notes }
  end,
}))

local server = operations.to_mcp(registry, { name = "notes", instructions = "The user's notes" })
server:resource({
  uriTemplate = "note://{number}", name = "note", mimeType = "text/plain",
  read = function(input)
    return notes[tonumber(input.number)]
  end,
})
server:prompt({
  name = "sum-up", description = "Sums the notes up", arguments = { { name = "language", enum = { "en", "de" } } },
  get = function(input)
    return ("Sum up, in %s: %s"):format(input.language or "en", table.concat(notes, "; "))
  end,
})

if arg[1] == "--stdio" then
  assert(server:stdio())
  return
end

local lua = arg[-1]
local client = assert(operations.from_mcp.connect("notes", { command = lua, args = { arg[0], "--stdio" },
  env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }))
print(client.server.name, client.instructions) --> notes	The user's notes
print(client:call("notes_add", { text = "Call Ada" }).data.count) --> 2
print(client:request("resources/read", { uri = "note://2" }).contents[1].text) --> Call Ada
print(client:request("prompts/get", { name = "sum-up" }).messages[1].content.text) --> Sum up, in en: Buy milk; Call Ada
client:close()
