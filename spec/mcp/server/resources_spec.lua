local operations = require("operations")
local pipe = require("spec.support.mcp_server.pipe")

local function names(list, key)
  local found = {}
  for i, item in ipairs(list) do
    found[i] = item[key or "name"]
  end
  return found
end

describe("resources of an MCP server", function()
  local server

  local function read(uri, more)
    local params = { uri = uri }
    for key, value in pairs(more or {}) do
      params[key] = value
    end
    return server:request("resources/read", params)
  end

  before_each(function()
    server = pipe.run("content")
    server:initialize()
  end)

  after_each(function()
    server.child:abort()
  end)

  it("are listed for callers that may read them", function()
    local list = server:request("resources/list").result.resources
    assert.same({ "note://hello", "note://bytes", "note://list", "note://broken", "operation:data.all" },
      names(list, "uri"))
    assert.same({ uri = "note://hello", name = "hello", title = "Hello", mimeType = "text/plain", size = 5 }, list[1])
    assert.equal("note://bytes", list[2].name)
    assert.same({ uri = "operation:data.all", name = "data.all", title = "All of it", description = "",
      mimeType = "application/json" }, list[5])
    local templates = server:request("resources/templates/list").result.resourceTemplates
    assert.same({ "note://by/{author}/{+path}", "operation:data.page{?number,word}" }, names(templates, "uriTemplate"))
  end)

  it("are read as text, bytes, JSON or several of these", function()
    assert.same({ contents = { { uri = "note://hello", mimeType = "text/plain", text = "hello" } } },
      read("note://hello").result)
    assert.same({ { uri = "note://bytes", mimeType = "image/png", blob = "iVBORwA=" } },
      read("note://bytes").result.contents)
    local several = read("note://list").result
    assert.same({ { uri = "note://list", text = "text" }, { uri = "note://second", mimeType = "x/y", blob = "/w==" },
      { uri = "note://list", mimeType = "application/json", text = '{"n":1}' } }, several.contents)
    assert.same({ from = "note://list" }, several._meta)
  end)

  it("are read by template, with variables, identity and other operations", function()
    local result = read("note://by/ada%20b/x/y.txt").result
    assert.same({ author = "ada b", path = "x/y.txt", id = "ada", all = { all = true } },
      operations.json.decode(result.contents[1].text))
    assert.equal("application/json", result.contents[1].mimeType)
  end)

  it("have no variables that are not UTF-8: such a URI is of no resource", function()
    assert.truthy(read("note://by/%c3%a4/x").result)
    for _, uri in ipairs({ "note://by/ada/%ac", "note://by/%ff/x", "operation:data.page?number=1&word=%ac" }) do
      assert.equal("Resource not found", read(uri).error.message, uri)
    end
  end)

  it("are queries, too, their parameters made what the schema says", function()
    assert.equal('{"all":true}', read("operation:data.all").result.contents[1].text)
    assert.same({ number = 8, word = "a b" },
      operations.json.decode(read("operation:data.page?number=7&word=a+b").result.contents[1].text))
    local invalid = read("operation:data.page?number=x").error
    assert.equal(-32602, invalid.code)
    assert.equal("/number", invalid.data[1].path)
    for _, uri in ipairs({ "operation:data.page?number=1&other=2", "operation:other.query", "operation:data.none",
      "operation:data.all?x=1", "operation:make.tool", "operation:" }) do
      assert.equal(-32002, read(uri).error.code, uri)
    end
  end)

  it("that are missing are refused with the error of each era", function()
    local legacy = read("note://none").error
    assert.same({ code = -32002, message = "Resource not found", data = { uri = "note://none" } }, legacy)
    assert.equal(-32002, read("note://by/nobody/x").error.code)
    assert.equal(-32002, read("note://by/ada").error.code)
    local modern = read("note://none", { _meta = pipe.modern }).error
    assert.same({ code = -32602, message = "Resource not found", data = { uri = "note://none" } }, modern)
    assert.equal(-32602, server:request("resources/read", {}).error.code)
    assert.equal(-32602, server:request("resources/list", { cursor = "none" }).error.code)
  end)

  it("that may not be read are refused, what fails tells nothing of why", function()
    local denied = read("note://secret").error
    assert.equal(-32600, denied.code)
    assert.same({ requiredScopes = { "admin" } }, denied.data)
    assert.equal(-32600, read("operation:data.secret").error.code)
    assert.same({ code = -32603, message = "the operation failed" }, read("note://broken").error)
  end)

  it("that may not be read are unknown, where it is so wanted", function()
    server.child:abort()
    server = pipe.run("content", "hide_denied=true")
    server:initialize()
    assert.equal(-32002, read("note://secret").error.code)
    assert.equal(-32002, read("operation:data.secret").error.code)
    assert.equal(-32602, server:request("prompts/get", { name = "secret" }).error.code)
  end)

  it("ask the user while they are read, in the rounds of the modern era", function()
    local first = read("note://by/asked/x", { _meta = pipe.modern }).result
    assert.equal("input_required", first.resultType)
    local key = next(first.inputRequests)
    local second = read("note://by/asked/x", { _meta = pipe.modern, requestState = first.requestState,
      inputResponses = { [key] = { action = "accept", content = { name = "Ada" } } } }).result
    assert.equal("accept Ada", second.contents[1].text)
    assert.equal("complete", second.resultType)
    assert.equal(0, second.ttlMs)
  end)

  it("ask by operations that they call, as if they asked themselves", function()
    local given = { _meta = pipe.modern }
    for _, name in ipairs({ "Ada", "Bob" }) do
      local result = read("note://by/nested/x", given).result
      given.requestState = result.requestState
      given.inputResponses = { [next(result.inputRequests)] = { action = "accept", content = { name = name } } }
    end
    assert.equal("Bob Ada", read("note://by/nested/x", given).result.contents[1].text)
  end)

  it("are completed", function()
    local function complete(name, value, others)
      return server:request("completion/complete", {
        ref = { type = "ref/resource", uri = "note://by/{author}/{+path}" },
        argument = { name = name, value = value }, context = others and { arguments = others } }).result.completion
    end
    assert.same({ values = { "ada", "Adam" }, total = 2, hasMore = false }, complete("author", "ad"))
    assert.same({ values = {}, total = 0, hasMore = false }, complete("none", "a"))
    local many = complete("path", "x", { author = "ada" })
    assert.equal(100, #many.values)
    assert.equal("adax100", many.values[100])
    assert.equal(120, many.total)
    assert.is_true(many.hasMore)
  end)

  it("are announced to their subscribers when they change", function()
    local count = 0
    local function update(uri)
      count = count + 1
      server:send({ id = "u" .. count, method = "tools/call", params = { name = "make_update",
        arguments = { uri = uri } } })
      return server:receive()
    end
    assert.equal("u1", update("note://hello").id)
    assert.same({}, server:request("resources/subscribe", { uri = "note://hello" }).result)
    assert.same({}, server:request("resources/subscribe", { uri = "note://hello" }).result)
    assert.equal("u2", update("note://bytes").id)
    assert.same({ jsonrpc = "2.0", method = "notifications/resources/updated", params = { uri = "note://hello" } },
      update("note://hello"))
    assert.equal("u3", server:receive().id)
    assert.same({}, server:request("resources/unsubscribe", { uri = "note://hello" }).result)
    assert.same({}, server:request("resources/unsubscribe", { uri = "note://hello" }).result)
    assert.equal("u4", update("note://hello").id)
    assert.equal(-32602, server:request("resources/subscribe", {}).error.code)
  end)

  it("that are given wrongly raise", function()
    local mine = operations.to_mcp(operations.registry())
    local function read_nothing() end
    for _, case in ipairs({
      { nil, "table expected, got nil" }, { { uri = "a:b" }, "bad option 'read' to 'resource' %(function expected" },
      { { read = read_nothing }, "either uri or uriTemplate expected" },
      { { read = read_nothing, uri = "a:b", uriTemplate = "a:{b}" }, "either uri or uriTemplate expected" },
      { { read = read_nothing, uri = 1 }, "bad option 'uri' to 'resource' %(string expected, got number" },
      { { read = read_nothing, uri = "a:b", other = 1 }, "bad option 'other' to 'resource' %(unknown" },
      { { read = read_nothing, uriTemplate = "a:{b" }, "unbalanced braces" },
      { { read = read_nothing, uriTemplate = "a:{#b}" }, "an expression such as" },
      { { read = read_nothing, uriTemplate = "a:{?b}/c" }, "an expression such as" },
    }) do
      assert.error_matches(function()
        mine:resource(case[1])
      end, case[2])
    end
    mine:resource({ uri = "a:b", read = read_nothing })
    assert.error_matches(function()
      mine:resource({ uri = "a:b", read = read_nothing })
    end, 'a resource "a:b" exists already')
    assert.error_matches(function() mine:changed("nothing") end, "bad argument #1 to 'changed'")
    assert.error_matches(function() mine:updated() end, "bad argument #1 to 'updated'")
    assert.error_matches(function() mine:offer({}) end, "bad argument #1 to 'offer' %(MCP client or servers expected")
  end)
end)
