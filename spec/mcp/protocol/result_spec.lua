local core = require("operations.core")
local json = require("operations.base.json")
local result = require("operations.mcp.protocol.result")

local function read(text)
  return assert(json.decode(text))
end

local function of_tool(text, plan, options, modern)
  return result.of_tool(read(text), plan or { tool = "t" }, options or {}, modern)
end

describe("the result of a method", function()
  it("must have its required fields, and may have others", function()
    for method, good in pairs({
      ["initialize"] = { '{"protocolVersion":"x","capabilities":{}}', '{"protocolVersion":"x","capabilities":{},'
        .. '"serverInfo":null}' },
      ["server/discover"] = { '{"supportedVersions":[]}', '{"supportedVersions":["a"],"capabilities":null}' },
      ["tools/list"] = { '{"tools":[]}', '{"tools":[1],"nextCursor":null}', '{"tools":[],"nextCursor":"x"}' },
      ["resources/list"] = { '{"resources":[{}]}' }, ["resources/templates/list"] = { '{"resourceTemplates":[]}' },
      ["prompts/list"] = { '{"prompts":[{}]}' },
      ["tools/call"] = { "{}", '{"content":null,"isError":null,"_meta":null}', '{"content":[{}],"isError":true}' },
      ["resources/read"] = { '{"contents":[{}]}' }, ["prompts/get"] = { '{"messages":[]}' },
      ["completion/complete"] = { '{"completion":{"values":[1]}}' }, ["ping"] = { "{}", '{"a":1}' },
    }) do
      for _, text in ipairs(good) do
        assert.is_nil(result.problem(method, read(text)))
      end
    end
  end)

  it("is malformed otherwise, which is said by path", function()
    for method, bad in pairs({
      ["initialize"] = { ["/protocolVersion"] = '{"capabilities":{}}', ["/capabilities"] = '{"protocolVersion":"x"}',
        ["/serverInfo"] = '{"protocolVersion":"x","capabilities":{},"serverInfo":7}' },
      ["server/discover"] = { ["/supportedVersions"] = "{}", ["/supportedVersions/0"] = '{"supportedVersions":[1]}',
        ["/capabilities"] = '{"supportedVersions":[],"capabilities":7}' },
      ["tools/list"] = { ["/tools"] = "{}", ["/nextCursor"] = '{"tools":[],"nextCursor":7}' },
      ["resources/list"] = { ["/resources"] = "{}", ["/resources/0"] = '{"resources":[1]}' },
      ["resources/templates/list"] = { ["/resourceTemplates"] = "{}",
        ["/resourceTemplates/0"] = '{"resourceTemplates":[1]}' },
      ["prompts/list"] = { ["/prompts"] = "{}", ["/prompts/0"] = '{"prompts":[1]}' },
      ["tools/call"] = { ["/content"] = '{"content":7}', ["/content/0"] = '{"content":[1]}',
        ["/isError"] = '{"isError":1}', ["/_meta"] = '{"_meta":7}' },
      ["resources/read"] = { ["/contents"] = "{}", ["/contents/0"] = '{"contents":[1]}' },
      ["prompts/get"] = { ["/messages"] = "{}", ["/messages/0"] = '{"messages":[1]}' },
      ["completion/complete"] = { ["/completion"] = "{}", ["/completion/values"] = '{"completion":{}}' },
    }) do
      for path, text in pairs(bad) do
        local err = result.problem(method, read(text))
        assert.equal(path, err.details.issues[1].path)
        assert.equal(("%s: malformed result: %s: %s"):format(method, path, err.details.issues[1].message), err.message)
        assert.equal(method, err.details.method)
        assert.equal("malformed", err.details.kind)
      end
    end
  end)
end)

describe("the result of a tool", function()
  it("has its structured content as data, else its blocks", function()
    local envelope = of_tool('{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1},"_meta":{"m":1}}')
    assert.same({ a = 1 }, envelope.data)
    assert.same({ source = "mcp", isError = false, content = { { type = "text", text = "x" } },
      structuredContent = { a = 1 }, _meta = { m = 1 } }, envelope.meta)
    envelope = of_tool('{"content":[{"type":"text","text":"x"}]}')
    assert.equal(envelope.meta.content, envelope.data)
    assert.is_nil(envelope.meta.structuredContent)
    assert.is_nil(of_tool('{"_meta":null}').meta._meta)
    assert.equal("[]", json.encode(of_tool("{}").data))
  end)

  it("may have false as data, and null in the modern era only", function()
    assert.is_false(of_tool('{"structuredContent":false}').data)
    assert.equal(core.null, of_tool('{"structuredContent":null}', nil, nil, true).data)
    assert.equal("[]", json.encode(of_tool('{"structuredContent":null}').data))
  end)

  it("has the value of its only text, where that is asked for", function()
    local options = { text = "json" }
    assert.same({ a = 1 }, of_tool('{"content":[{"type":"text","text":"{\\"a\\":1}"}]}', nil, options).data)
    assert.is_false(of_tool('{"content":[{"type":"text","text":"false"}]}', nil, options).data)
    for _, text in ipairs({ '{"content":[{"type":"text","text":"x"}]}', '{"content":[]}',
      '{"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}',
      '{"content":[{"type":"image","data":"1"}]}', '{"content":[{"type":"text","text":"1"}],"isError":true}' }) do
      local envelope = of_tool(text, nil, options)
      assert.equal(envelope.meta.content, envelope.data)
    end
    local plan = { tool = "t", output = { type = "object" } }
    assert.same({ a = 1 }, of_tool('{"content":[{"type":"text","text":"{\\"a\\":1}"}]}', plan, options).data)
    local envelope = of_tool('{"content":[{"type":"text","text":"7"}]}', plan, options)
    assert.equal(envelope.meta.content, envelope.data)
  end)

  it("that failed has its blocks as data, or is a failure where that is asked for", function()
    local text = '{"content":[{"type":"image","data":"x"},{"type":"text","text":"no"}],"isError":true,"_meta":{"m":1}}'
    local envelope = of_tool(text)
    assert.is_true(envelope.meta.isError)
    assert.equal(envelope.meta.content, envelope.data)
    local none, err = of_tool(text, nil, { is_error = "fail" })
    assert.is_nil(none)
    assert.equal("t failed: no", err.message)
    assert.same({ "tool", "t", { m = 1 }, 2 }, { err.details.kind, err.details.tool, err.details._meta,
      #err.details.content })
    assert.equal("t failed", select(2, of_tool('{"isError":true}', nil, { is_error = "fail" })).message)
    assert.is_not_nil((of_tool('{"isError":false}', nil, { is_error = "fail" })))
    assert.is_not_nil((of_tool('{"isError":true}', { tool = "t", output = {} }, { on_mismatch = "fail" })))
  end)

  it("has to be structured where the tool says so and mismatches fail", function()
    local plan = { tool = "t", output = { type = "object" } }
    local none, err = of_tool('{"content":[{"type":"text","text":"x"}]}', plan, { on_mismatch = "fail" })
    assert.is_nil(none)
    local why = "the tool declares an outputSchema and answered without structuredContent: x"
    assert.same({ "OUTPUT_INVALID", why, { { path = "", keyword = "type", message = why } } },
      { err.code, err.message, err.details })
    assert.is_not_nil((of_tool("{}", plan, { on_mismatch = "warn" })))
    assert.is_not_nil((of_tool("{}", nil, { on_mismatch = "fail" })))
  end)
end)

describe("the blocks of a result", function()
  local function block(text)
    return of_tool(('{"content":[%s]}'):format(text)).meta.content[1]
  end

  it("that programs know stay as they are", function()
    for _, text in ipairs({ '{"text":"x","type":"text"}', '{"data":"x","mimeType":"a/b","type":"image"}',
      '{"data":"x","type":"audio"}', '{"resource":{},"type":"resource"}', '{"type":"resource_link","uri":"u"}',
      '{"name":"n","type":"resource_link","uri":"u"}' }) do
      assert.equal(text, json.encode(block(text), { sort_keys = true }))
    end
  end)

  it("have no null for absent fields", function()
    assert.equal('{"data":"x","type":"image"}', json.encode(block('{"data":"x","mimeType":null,"type":"image"}'),
      { sort_keys = true }))
    assert.equal('{"type":"resource_link","uri":"u"}',
      json.encode(block('{"name":null,"type":"resource_link","uri":"u"}'), { sort_keys = true }))
  end)

  it("that are unknown or malformed are their JSON as text", function()
    for _, text in ipairs({ '{"type":"x"}', "{}", '{"text":7,"type":"text"}', '{"type":"image"}',
      '{"data":"x","mimeType":7,"type":"image"}', '{"data":7,"type":"audio"}', '{"resource":"x","type":"resource"}',
      '{"name":7,"type":"resource_link","uri":"u"}', '{"type":"resource_link"}' }) do
      local made = block(text)
      assert.same({ "text", text, text }, { made.type, made.text, json.encode(made._meta.raw, { sort_keys = true }) })
    end
  end)
end)

describe("the original of a result", function()
  local function original(text)
    return result.original(of_tool(text))
  end

  it("is kept where an envelope does not hold all of it", function()
    assert.is_nil(original('{"content":[{"type":"text","text":"x"}],"structuredContent":1,"_meta":{},"isError":true,'
      .. '"resultType":"complete","ttlMs":1,"cacheScope":"private"}'))
    assert.same({ isError = false, content = {} }, original('{"content":[],"isError":false}'))
    assert.same({ more = 1, content = { { type = "text", text = "x" } } },
      original('{"content":[{"type":"text","text":"x"}],"more":1,"resultType":"complete","ttlMs":1,"cacheScope":"x"}'))
    assert.same({ content = { { type = "x" } } }, original('{"content":[{"type":"x"}]}'))
    assert.same({ structuredContent = 1 }, original('{"structuredContent":1}'))
  end)
end)

describe("the envelope of another result", function()
  it("has the object without what is the protocol's", function()
    local envelope = result.of_object(read('{"a":1,"_meta":{"m":1},"resultType":"complete","ttlMs":1,"cacheScope":"x",'
      .. '"nextCursor":"c"}'))
    assert.same({ a = 1 }, envelope.data)
    assert.same({ m = 1 }, envelope.meta._meta)
    assert.is_false(envelope.meta.isError)
    assert.equal("[]", json.encode(envelope.meta.content))
    assert.same({ { type = "text" } }, result.of_object(read("{}"), { { type = "text" } }).meta.content)
  end)
end)

describe("a list in pages", function()
  -- The items that a server's pages give, the number of pages asked for, and what is told.
  local function collected(pages)
    local asked = 0
    local items, _, problem = result.collect("tools", function(cursor)
      asked = asked + 1
      return read(pages[cursor or "first"])
    end)
    return items, asked, problem
  end

  it("has a page once that a server repeats", function()
    local items, asked, problem = collected({ first = '{"tools":[1,2],"nextCursor":""}',
      [""] = '{"tools":[1,2],"nextCursor":""}' })
    assert.same({ { 1, 2 }, 2 }, { items, asked })
    assert.is_nil(problem)
    items, asked, problem = collected({ first = '{"tools":[1],"nextCursor":"a"}',
      a = '{"tools":[1],"nextCursor":"a"}' })
    assert.same({ { 1 }, 2 }, { items, asked })
    assert.matches("repeats itself", problem)
  end)

  it("continues behind an empty cursor that leads to other items", function()
    assert.same({ 1, 2 }, (collected({ first = '{"tools":[1],"nextCursor":""}', [""] = '{"tools":[2]}' })))
  end)
end)
