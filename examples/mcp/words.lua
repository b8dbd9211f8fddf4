-- A small MCP server over stdio, for the example of a client: one tool, and nothing that a real one would need.
local json = require("operations").json

local tools = { {
  name = "count_words",
  description = "Counts the words of a text",
  inputSchema = { type = "object", properties = { text = { type = "string" } }, required = { "text" } },
  outputSchema = { type = "object", properties = { words = { type = "integer" } }, required = { "words" } },
} }

local methods = {
  ["initialize"] = function(params)
    return {
      protocolVersion = params.protocolVersion, capabilities = { tools = json.decode("{}") },
      serverInfo = { name = "words", version = "1.0.0" },
    }
  end,
  ["tools/list"] = function()
    return { tools = tools }
  end,
  ["tools/call"] = function(params)
    local _, words = params.arguments.text:gsub("%S+", "")
    return {
      content = { { type = "text", text = ("%d words"):format(words) } }, structuredContent = { words = words },
    }
  end,
}

for line in io.lines() do
  local request = assert(json.decode(line))
  local method = methods[request.method]
  if request.id then
    local answer = { jsonrpc = "2.0", id = request.id }
    if method then
      answer.result = method(request.params)
    else
      answer.error = { code = -32601, message = "Method not found" }
    end
    io.stdout:write(json.encode(answer), "\n")
    io.stdout:flush()
  end
end
