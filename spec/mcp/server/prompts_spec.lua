local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")

describe("prompts of an MCP server", function()
  local server

  before_each(function()
    server = pipe.run("content")
    server:initialize()
  end)

  after_each(function()
    server.child:abort()
  end)

  local function get(name, arguments)
    return server:request("prompts/get", { name = name, arguments = arguments })
  end

  it("are listed with their arguments", function()
    local list = server:request("prompts/list").result.prompts
    assert.same({ name = "greet", description = "Greets", arguments = { { name = "name", required = true },
      { name = "tone", description = "How" } } }, list[1])
    assert.same({ name = "talk" }, list[2])
    assert.equal("nothing", list[3].name)
    assert.is_nil(list[4])
  end)

  it("are filled in", function()
    assert.same({ description = "Greets", messages = { { role = "user",
      content = { type = "text", text = "Say hello to Ada, warm" } } } },
      get("greet", { name = "Ada", tone = "warm" }).result)
    assert.same({ description = "A talk", messages = {
      { role = "assistant", content = { type = "text", text = "Yes?" } },
      { role = "user", content = { type = "image", data = "AA==", mimeType = "image/png" } },
      { role = "user", content = { type = "text", text = "and so on" } } } }, get("talk").result)
  end)

  it("refuse arguments that do not fit, unknown names and callers without access", function()
    local refused = get("greet", { tone = "hot" }).error
    assert.equal(-32602, refused.code)
    assert.equal(2, #refused.data)
    assert.equal(-32602, get("greet", { name = 7 }).error.code)
    assert.same({ code = -32602, message = "unknown prompt: none" }, get("none").error)
    assert.equal(-32602, get().error.code)
    assert.equal(-32602, get("greet", "Ada").error.code)
    assert.equal(-32600, get("secret").error.code)
    assert.same({ code = -32603, message = "BUSY: come back later" }, get("nothing").error)
  end)

  it("are completed from the values of their arguments", function()
    local function complete(prompt, name, value)
      return server:request("completion/complete", { ref = { type = "ref/prompt", name = prompt },
        argument = { name = name, value = value } })
    end
    assert.same({ values = { "warm" }, total = 1, hasMore = false }, complete("greet", "tone", "W").result.completion)
    assert.same({ values = {}, total = 0, hasMore = false }, complete("greet", "name", "").result.completion)
    assert.same({ values = {}, total = 0, hasMore = false }, complete("greet", "other", "").result.completion)
    assert.equal(-32602, complete("none", "a", "").error.code)
    assert.equal(-32602, complete("secret", "a", "").error.code)
    assert.equal(-32602, complete("greet", 1, "").error.code)
    assert.equal(-32602, server:request("completion/complete", { ref = { type = "x" } }).error.code)
  end)

  it("that are given wrongly raise", function()
    local mine = operations.to_mcp(operations.registry())
    local function get_nothing() end
    for _, case in ipairs({
      { { name = "a" }, "bad option 'get' to 'prompt' %(function expected" },
      { { get = get_nothing }, "a name expected" }, { { get = get_nothing, name = "" }, "a name expected" },
      { { get = get_nothing, name = "a", arguments = { {} } }, "%[1%]: a name, or a table with one, expected" },
      { { get = get_nothing, name = "a", arguments = { { name = "b", enum = 1 } } }, "%[1%].enum: table expected" },
      { { get = get_nothing, name = "a", arguments = { { name = "b", other = 1 } } }, "%[1%].other: unknown" },
    }) do
      assert.error_matches(function()
        mine:prompt(case[1])
      end, case[2])
    end
    mine:prompt({ name = "a", get = get_nothing })
    assert.error_matches(function()
      mine:prompt({ name = "a", get = get_nothing })
    end, 'a prompt "a" exists already')
  end)
end)

describe("news of an MCP server", function()
  local server

  before_each(function()
    server = pipe.run("content")
  end)

  after_each(function()
    server.child:abort()
  end)

  it("reach clients of the legacy era by themselves, several at once", function()
    server:initialize()
    server:call("make_tool", { name = "a" })
    assert.same({ jsonrpc = "2.0", method = "notifications/tools/list_changed" }, server:receive())
    assert.equal("notifications/resources/list_changed", server:receive().method)
    server:call("make_prompt", { name = "made" })
    assert.equal("notifications/prompts/list_changed", server:receive().method)
  end)

  it("reach clients of the modern era that asked, each as it asked", function()
    local id = "listen-1"
    server:send({ id = id, method = "subscriptions/listen", params = { _meta = pipe.modern, notifications = {
      promptsListChanged = true, toolsListChanged = false, resourceSubscriptions = { "note://hello" } } } })
    local stamp = { ["io.modelcontextprotocol/subscriptionId"] = id }
    assert.same({ jsonrpc = "2.0", method = "notifications/subscriptions/acknowledged", params = { _meta = stamp,
      notifications = { promptsListChanged = true, resourceSubscriptions = { "note://hello" } } } }, server:receive())
    server:call("make_tool", { name = "a" }, pipe.modern)
    server:call("make_prompt", { name = "made" }, pipe.modern)
    assert.same({ jsonrpc = "2.0", method = "notifications/prompts/list_changed", params = { _meta = stamp } },
      server:receive())
    server:send({ id = 9, method = "tools/call", params = { name = "make_update", _meta = pipe.modern,
      arguments = { uri = "note://hello" } } })
    assert.same({ uri = "note://hello", _meta = stamp }, server:receive().params)
    assert.equal(9, server:receive().id)
    server:send({ method = "notifications/cancelled", params = { requestId = id } })
    server:call("make_prompt", { name = "again" }, pipe.modern)
    assert.equal("complete", server:request("server/discover", { _meta = pipe.modern }).result.resultType)
  end)

  it("end at once where nothing is to be heard", function()
    local function listen(notifications)
      return server:request("subscriptions/listen", { _meta = pipe.modern, notifications = notifications })
    end
    assert.equal(1, listen({ other = true }).result._meta["io.modelcontextprotocol/subscriptionId"])
    assert.equal(-32602, listen(nil).error.code)
    assert.equal(-32602, listen({ resourceSubscriptions = "note://hello" }).error.code)
    assert.equal(-32602, listen({ resourceSubscriptions = { 1 } }).error.code)
  end)
end)
