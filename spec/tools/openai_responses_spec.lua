local json = require("operations.base.json")
local responses = require("operations.tools.openai_responses")

local sorted = { sort_keys = true }

local function streamed(...)
  local state = responses.stream()
  for _, event in ipairs({ ... }) do
    local failure = responses.feed(state, json.decode(event))
    if failure then
      return failure
    end
  end
  return responses.finish(state)
end

describe("calls of OpenAI's responses", function()
  it("are the items that call functions", function()
    local items = '[{"type":"reasoning"},{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},7]'
    local expected = { { id = "1", name = "a", arguments = "{}" } }
    assert.same(expected, responses.calls(json.decode('{"output":' .. items .. "}")))
    assert.same(expected, responses.calls(json.decode(items)))
    for _, none in ipairs({ "{}", '{"output":7}', '{"output":{}}' }) do
      assert.same({}, responses.calls(json.decode(none)))
    end
  end)

  it("are answered behind the items of the answer", function()
    local messages = responses.messages(json.decode('{"output":[{"type":"reasoning"}]}'), {
      { id = "1", content = { text = "yes", images = {} } },
      { id = "2", content = { text = "see", images = { { mimeType = "image/png", data = "QQ==" } } } } })
    assert.equal('[{"type":"reasoning"},{"call_id":"1","output":"yes","type":"function_call_output"},{"call_id":"2",'
      .. '"output":[{"text":"see","type":"input_text"},{"detail":"auto","image_url":"data:image/png;base64,QQ==",'
      .. '"type":"input_image"}],"type":"function_call_output"}]', json.encode(messages, sorted))
  end)

  it("are of tools with a name, a description and schemas", function()
    assert.same({ type = "function", name = "n", description = "d", parameters = { s = 1 }, strict = false,
      output_schema = { o = 1 } }, responses.definition({ name = "n", description = "d", output = { o = 1 },
      parameters = { schema = { s = 1 }, strict = false } }))
  end)
end)

describe("a stream of OpenAI's responses", function()
  it("is the response that it ends with, with the items that came before where that has none", function()
    for _, kind in ipairs({ "completed", "incomplete" }) do
      local answer = streamed('{"type":"response.created","response":{"id":"no"}}',
        '{"type":"response.output_item.done","item":{"type":"message"}}',
        ('{"type":"response.%s","response":{"id":"r","output":[]}}'):format(kind))
      assert.equal('{"id":"r","output":[{"type":"message"}]}', json.encode(answer, sorted))
    end
    assert.equal('{"id":"r","output":[1]}', json.encode(streamed(
      '{"type":"response.output_item.done","item":{"type":"message"}}',
      '{"type":"response.completed","response":{"id":"r","output":[1]}}'), sorted))
    assert.equal('{"output":[]}', json.encode(streamed('{"type":"response.completed","response":{}}')))
  end)

  it("fails with an error, and is incomplete before its end", function()
    assert.equal("full", streamed('{"type":"error","message":"full"}'))
    assert.equal("inner", streamed('{"type":"error","error":{"message":"inner"}}'))
    assert.equal("why", streamed('{"type":"response.failed","response":{"error":{"message":"why"}}}'))
    assert.equal("the response failed", streamed('{"type":"response.failed","response":{}}'))
    assert.is_nil(streamed('{"type":"response.created","response":{}}', "7", '{"type":"response.completed"}'))
  end)
end)
