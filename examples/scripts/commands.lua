-- Programs as operations: typed, without a shell, for this program, MCP clients and models alike.
--     lua commands.lua            (`lua commands.lua --mcp` serves them to an MCP client)
local operations = require("operations")
local T = operations.type
local registry = operations.registry()

registry:register(operations.command({
  namespace = "text", name = "count", type = "query", description = "Counts the lines of a text",
  argv = { "wc", "-l" }, stdin = "text",
}))
registry:register(operations.command({
  namespace = "files", name = "find", type = "query", description = "Finds files by name",
  argv = { "find", "{directory}", "-name", "{pattern}", { "-maxdepth", "{depth}" } }, output = "lines", timeout = 10000,
  inputSchema = T.object({
    directory = T.string(), pattern = T.string(), depth = T.optional(T.integer({ minimum = 1 })),
  }),
}))
registry:register(operations.command({
  namespace = "seq", name = "count", argv = { "seq", "{n}" }, output = "json-stream",
  inputSchema = T.object({ n = T.integer() }),
}))

if arg[1] == "--mcp" then
  assert(operations.to_mcp(registry)):stdio()
  return
end
print(assert(registry:execute("text.count", { text = "a\nb\n" })).data:match("%d+") .. " lines")
local found = assert(registry:execute("files.find", { directory = "examples/scripts", pattern = "comm*.lua" })).data
print(found[1])
for envelope in assert(registry:subscribe("seq.count", { n = 2 })) do
  print(envelope.data)
end
local _, err = registry:execute("files.find", { directory = "-delete", pattern = "x" })
print(err.code, err.details[1].path)
