local gemini = require("operations.tools.gemini")
local json = require("operations.base.json")

local sorted = { sort_keys = true }

local function streamed(...)
  local state = gemini.stream()
  for _, chunk in ipairs({ ... }) do
    local failure = gemini.feed(state, json.decode(chunk))
    if failure then
      return failure
    end
  end
  return gemini.finish(state)
end

local function chunk(parts, reason)
  return ('{"id":"r","candidates":[{"index":0,"content":{"parts":%s}%s}]}'):format(parts,
    reason and ',"finishReason":"' .. reason .. '"' or "")
end

describe("Gemini's calls", function()
  it("are those of the first candidate, of a content, or of what is one", function()
    local expected = { { id = "1", name = "a", arguments = { x = 1 }, may_lack_id = true },
      { name = "b", arguments = {}, may_lack_id = true } }
    local content = '{"parts":[{"text":"t"},{"functionCall":{"id":"1","name":"a","args":{"x":1}}},7,'
      .. '{"functionCall":{"name":"b"}},{"functionCall":7}]}'
    for _, answer in ipairs({ '{"candidates":[{"content":' .. content .. "}]}", '{"content":' .. content .. "}",
      content }) do
      assert.same(expected, gemini.calls(json.decode(answer)))
    end
    for _, none in ipairs({ "{}", '{"candidates":[]}', '{"candidates":7}', '{"parts":7}', '{"content":7}' }) do
      assert.same({}, gemini.calls(json.decode(none)))
    end
  end)
end)

describe("what Gemini is told", function()
  local function result(content, more)
    local made = { id = "1", name = "a", content = { text = "t", images = {}, failed = false } }
    for key, value in pairs(content) do
      made.content[key] = value
    end
    for key, value in pairs(more or {}) do
      made[key] = value
    end
    return made
  end

  local function response(content)
    local messages = gemini.messages({ parts = { { text = "x" } } }, { result(content) })
    return json.encode(messages[2].parts[1].functionResponse, sorted)
  end

  it("is the data of a result, its text without data, images apart", function()
    assert.equal('{"id":"1","name":"a","response":{"output":{"n":1}}}', response({ data = { n = 1 } }))
    assert.equal('{"id":"1","name":"a","response":{"output":false}}', response({ data = false }))
    assert.equal('{"id":"1","name":"a","response":{"output":"t"}}', response({}))
    assert.equal('{"id":"1","name":"a","response":{"error":"t"}}', response({ failed = true }))
    local images = { { mimeType = "image/png", data = "QQ==" } }
    assert.equal('{"id":"1","name":"a","parts":[{"inlineData":{"data":"QQ==","mimeType":"image/png"}}],'
      .. '"response":{"output":"t"}}', response({ data = "x", images = images }))
    assert.equal('{"id":"1","name":"a","parts":[{"inlineData":{"data":"QQ==","mimeType":"image/png"}}],'
      .. '"response":{"output":{"n":1}}}', response({ data = { n = 1 }, images = images }))
  end)

  it("is the answer unchanged, with its role, then the results", function()
    local content = { role = "model", parts = { { text = "x" } } }
    assert.equal(content, gemini.messages({ candidates = { { content = content } } }, {})[1])
    assert.same({ { role = "model", parts = { { text = "x" } } } }, gemini.messages({ parts = { { text = "x" } } }, {}))
    local messages = gemini.messages(content, { result({}, { name = false }) })
    assert.same({ "user", "unknown" }, { messages[2].role, messages[2].parts[1].functionResponse.name })
    assert.same({}, gemini.messages({ role = "model", parts = {} }, {}))
  end)

  it("is of a tool its parameters, of none without properties", function()
    local function definition(strict, schema)
      return gemini.definition({ name = "n", description = "d", output = { o = 1 }, parameters = { strict = strict,
        schema = schema } })
    end
    local schema = { properties = { a = true } }
    assert.same({ name = "n", description = "d", parameters = schema, responseJsonSchema = { o = 1 } },
      definition(true, schema))
    assert.same({ name = "n", description = "d", parametersJsonSchema = schema, responseJsonSchema = { o = 1 } },
      definition(false, schema))
    assert.same({ name = "n", description = "d", responseJsonSchema = { o = 1 } },
      definition(true, { properties = {} }))
    assert.same({ { functionDeclarations = { 1 } } }, gemini.definitions({ 1 }))
    assert.same({}, gemini.definitions({}))
  end)
end)

describe("a stream of Gemini's", function()
  it("is put together from its parts: texts of one kind are one", function()
    local answer = streamed(chunk('[{"text":"a"},{"text":"b"}]'), chunk('[{"text":"c"},{"text":"d","thought":true}]'),
      chunk('[{"text":"e","thought":true},{"functionCall":{"name":"f"}},{"text":"g"}]'),
      chunk('[{"text":"h","thoughtSignature":"s"},{"text":"i"},7]', "STOP"))
    assert.equal('{"candidates":[{"content":{"parts":[{"text":"abc"},{"text":"de","thought":true},{"functionCall":'
      .. '{"name":"f"}},{"text":"g"},{"text":"h","thoughtSignature":"s"},{"text":"i"}],"role":"model"},'
      .. '"finishReason":"STOP","index":0}],"id":"r"}', json.encode(answer, sorted))
  end)

  it("keeps the last of what its chunks say besides", function()
    local answer = streamed('{"usage":1,"candidates":[{"finishReason":"STOP","x":1}]}', '{"usage":2,"more":3}', "7")
    assert.same({ 2, 3, "STOP", 1 }, { answer.usage, answer.more, answer.candidates[1].finishReason,
      answer.candidates[1].x })
  end)

  it("fails with an error, and is incomplete before its finish reason", function()
    assert.truthy(streamed('{"candidates":[{"finishReason":"STOP"}]}', '{"candidates":[{"index":0}]}'))
    assert.equal("full", streamed('{"error":{"message":"full"}}'))
    assert.is_nil(streamed(chunk('[{"text":"a"}]')))
    assert.is_nil(streamed('{"candidates":[7]}', '{"candidates":7}'))
  end)
end)
