local http_request = require("spec.support.http_request")
local operations = require("operations")

local PREFIX = "io.modelcontextprotocol/"

describe("resources and prompts as tools", function()
  local server

  local function call(method, params)
    params = params or operations.object()
    params._meta = { [PREFIX .. "protocolVersion"] = "2026-07-28",
      [PREFIX .. "clientCapabilities"] = { elicitation = operations.object() } }
    local answer = http_request.send(server, "POST", "/mcp", { accept = "application/json, text/event-stream",
      ["content-type"] = "application/json", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method,
      ["mcp-name"] = params.name }, { jsonrpc = "2.0", id = 1, method = method, params = params })
    return answer.json.result or answer.json.error
  end

  local function names()
    local list = {}
    for i, tool in ipairs(call("tools/list").tools) do
      list[i] = tool.name
    end
    return list
  end

  local function make(options, bare)
    local registry = operations.registry({ log = function() end })
    assert(registry:register({ namespace = "read", name = "note", type = "query", handler = function()
      return "mine"
    end }))
    server = operations.to_mcp(registry, options)
    if not bare then
      server:resource({ uri = "note://hello", name = "hello", read = function()
        return "Hello"
      end })
      server:prompt({ name = "greet", arguments = { { name = "who", required = true } }, get = function(arguments)
        return "Greet " .. arguments.who
      end })
    end
  end

  after_each(function()
    server:close()
  end)

  it("are offered where the option is set and the server has them", function()
    make({ as_tools = true })
    assert.same({ "read_note", "list_resources", "list_resource_templates", "read_resource", "list_prompts",
      "get_prompt" }, names())
    make({ as_tools = true }, true)
    assert.equal(1, #names())
    make({})
    assert.same({ "read_note" }, names())
  end)

  it("list and read what resources/list and resources/read do", function()
    make({ as_tools = true })
    local listed = call("tools/call", { name = "list_resources", arguments = operations.object() })
    assert.equal("note://hello", listed.structuredContent.resources[1].uri)
    local read = call("tools/call", { name = "read_resource", arguments = { uri = "note://hello" } })
    assert.same({ "resource", "note://hello", "Hello" },
      { read.content[1].type, read.content[1].resource.uri, read.content[1].resource.text })
    local missing = call("tools/call", { name = "read_resource", arguments = { uri = "note://no" } })
    assert.same({ true, "Resource not found" }, { missing.isError, missing.content[1].text })
    assert.is_true(call("tools/call", { name = "read_resource", arguments = operations.object() }).isError)
  end)

  it("list and fill in prompts", function()
    make({ as_tools = true })
    assert.equal("greet", call("tools/call", { name = "list_prompts" }).structuredContent.prompts[1].name)
    local got = call("tools/call", { name = "get_prompt", arguments = { name = "greet", arguments = { who = "Ada" } } })
    assert.equal("Greet Ada", got.structuredContent.messages[1].content.text)
  end)

  it("ask the client in rounds, as the methods do", function()
    make({ as_tools = true })
    server:resource({ uri = "note://ask", name = "ask", read = function(_, context)
      local action, content = context.elicit("Who?", { type = "object", properties = { who = { type = "string" } } })
      return action .. " " .. tostring(content and content.who)
    end })
    local params = { name = "read_resource", arguments = { uri = "note://ask" } }
    local first = call("tools/call", params)
    assert.equal("input_required", first.resultType)
    local key = next(first.inputRequests)
    params.requestState = first.requestState
    params.inputResponses = { [key] = { action = "accept", content = { who = "Ada" } } }
    assert.equal("accept Ada", call("tools/call", params).content[1].resource.text)
  end)
end)
