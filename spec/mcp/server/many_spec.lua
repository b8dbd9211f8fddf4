local many = require("operations.mcp.server.many")
local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")

describe("an MCP server of many tools", function()
  local server

  local function start(...)
    server = pipe.run("content", ...)
    server:initialize()
  end

  local function listed()
    local names, tools = {}, server:request("tools/list").result.tools
    for i, tool in ipairs(tools) do
      names[i] = tool.name
    end
    return names, tools
  end

  after_each(function()
    server.child:abort()
  end)

  local three = { "search_operations", "describe_operation", "call_operation" }

  it("lists up to 64, and of more the three that find them", function()
    start("extra=58") -- and six others
    assert.equal(64, #listed())
    assert.equal(-32602, server:call("search_operations", { query = "x" }).error.code)
    server.child:abort()
    start("extra=59")
    assert.same(three, listed())
  end)

  it("lists what is pinned, too", function()
    start("extra=70", "pinned=extra.tool7")
    assert.same({ "extra_tool7", three[1], three[2], three[3] }, listed())
  end)

  it("searches few tools, and lists many, where that is asked for", function()
    start("search=true")
    assert.same(three, listed())
    server.child:abort()
    start("extra=70", "search=false")
    assert.equal(76, #listed())
  end)

  it("suggests the operation that may be meant", function()
    start("extra=80")
    for name, arguments in pairs({ describe_operation = { name = "extra_tol33" },
      call_operation = { name = "extra_tol33", arguments = {} } }) do
      local answer = server:call(name, arguments)
      local text = answer.error and answer.error.message or answer.result.content[1].text
      assert.matches("did you mean extra_tool33", text, 1, true)
    end
  end)

  it("finds, describes and calls them", function()
    start("extra=70")
    local found = server:call("search_operations", { query = "number 33", limit = 2 }).result
    assert.equal(2, #found.structuredContent.operations)
    assert.equal(71, found.structuredContent.total)
    assert.same({ name = "extra_tool33", description = "One of many, number 33",
      signature = "extra_tool33(input?: any): { i?: integer, input?: any }" }, found.structuredContent.operations[1])
    assert.same(found.structuredContent, operations.json.decode(found.content[1].text))
    local described = server:call("describe_operation", { name = "extra_tool33" }).result.structuredContent
    assert.equal("object", described.inputSchema.type)
    assert.is_nil(described.outputSchema)
    local result = server:call("call_operation", { name = "extra_tool33", arguments = { a = 1 } }).result
    assert.same({ i = 33, input = { a = 1 } }, result.structuredContent)
    assert.same({ i = 33, input = {} }, server:call("extra_tool33").result.structuredContent)
  end)

  it("finds at least one and at most 100, whatever the limit says", function()
    start("extra=120")
    for limit, count in pairs({ [-3] = 1, [0] = 1, [1] = 1, [100] = 100, [101] = 100 }) do
      local found = server:call("search_operations", { query = "number", limit = limit }).result
      assert.equal(count, #found.structuredContent.operations, limit)
    end
  end)

  it("keeps to what the caller may call", function()
    start("extra=70")
    assert.same({}, server:call("search_operations", { query = "secret" }).result.structuredContent.operations)
    assert.is_true(server:call("describe_operation", { name = "data_secret" }).result.isError)
    assert.equal(-32600, server:call("call_operation", { name = "data_secret" }).error.code)
    assert.equal(-32602, server:call("call_operation", { name = "none" }).error.code)
  end)

  it("tells a model what is wrong with its call", function()
    start("extra=70")
    for name, input in pairs({ search_operations = { query = 1 }, describe_operation = {}, call_operation = {} }) do
      assert.is_true(server:call(name, input).result.isError, name)
    end
    assert.is_true(server:call("call_operation", { name = "extra_tool1", arguments = "x" }).result.isError)
  end)

  it("leaves schemas of results out of long lists", function()
    start("extra=20", "schema_bytes=2000")
    local _, tools = listed()
    assert.is_table(tools[1].outputSchema)
    server.child:abort()
    start("extra=60", "schema_bytes=2000", "search=false")
    _, tools = listed()
    for _, tool in ipairs(tools) do
      assert.is_nil(tool.outputSchema)
    end
  end)

  it("leaves out the schemas of results when they exceed the limit together", function()
    for bytes, kept in pairs({ [6] = true, [5] = false, [3] = false }) do
      local list = many.trim({ schema_bytes = bytes }, { { outputSchema = { 1 } }, { outputSchema = { 2 } } })
      assert.same({ kept, kept }, { list[1].outputSchema ~= nil, list[2].outputSchema ~= nil })
    end
  end)
end)
