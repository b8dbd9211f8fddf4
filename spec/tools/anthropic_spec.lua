local anthropic = require("operations.tools.anthropic")
local json = require("operations.base.json")

local sorted = { sort_keys = true }

local function result(id, text, more)
  local content = { text = text, images = {}, failed = false }
  for name, value in pairs(more or {}) do
    content[name] = value
  end
  return { id = id, content = content }
end

-- The message of a stream of events; or what went wrong.
local function streamed(...)
  local state = anthropic.stream()
  for _, event in ipairs({ ... }) do
    local failure = anthropic.feed(state, type(event) == "string" and json.decode(event) or event)
    if failure then
      return failure
    end
  end
  return anthropic.finish(state)
end

local start, stop = '{"type":"message_start","message":{"id":"m","content":[1],"usage":{"input":1}}}',
  '{"type":"message_stop"}'

local function block(index, content)
  return ('{"type":"content_block_start","index":%d,"content_block":%s}'):format(index, content)
end

local function delta(index, change)
  return ('{"type":"content_block_delta","index":%d,"delta":%s}'):format(index, change)
end

describe("Anthropic's calls", function()
  it("are the blocks that use tools", function()
    local answer = '{"content":[{"type":"text"},{"type":"tool_use","id":"1","name":"a","input":{"x":1}},7,'
      .. '{"type":"tool_use","id":"2","name":"b"}]}'
    assert.same({ { id = "1", name = "a", arguments = { x = 1 } }, { id = "2", name = "b" } },
      anthropic.calls(json.decode(answer)))
    assert.same({}, anthropic.calls({ content = "x" }))
    assert.same({}, anthropic.calls({}))
  end)
end)

describe("what Anthropic is told", function()
  it("is the answer unchanged, and a result for each call", function()
    local response = json.decode('{"content":[{"type":"tool_use","id":"1"}]}')
    local messages = anthropic.messages(response, { result("1", "yes"), result("2", "no", { failed = true }),
      result("3", "see", { images = { { mimeType = "image/png", data = "QQ==" } } }) })
    assert.equal(response.content, messages[1].content)
    assert.equal('[{"content":"yes","tool_use_id":"1","type":"tool_result"},{"content":"no","is_error":true,'
      .. '"tool_use_id":"2","type":"tool_result"},{"content":[{"text":"see","type":"text"},{"source":{"data":"QQ==",'
      .. '"media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"3","type":"tool_result"}]',
      json.encode(messages[2].content, sorted))
    assert.same({ "assistant", "user", 2 }, { messages[1].role, messages[2].role, #messages })
  end)

  it("is the answer alone where nothing was called, and nothing of an empty one", function()
    assert.equal(1, #anthropic.messages(json.decode('{"content":[{"type":"text"}]}'), {}))
    assert.same({}, anthropic.messages({ content = {} }, {}))
  end)

  it("is of a tool its name, description and schema", function()
    assert.same({ name = "n", description = "d", input_schema = { s = 1 }, strict = true }, anthropic.definition({
      name = "n", description = "d", parameters = { schema = { s = 1 }, strict = true } }))
    assert.is_nil(anthropic.definition({ name = "n", parameters = { schema = {}, strict = false } }).strict)
  end)
end)

describe("a stream of Anthropic's", function()
  it("is put together from its blocks, in their order", function()
    local message = streamed(start, '{"type":"ping"}', block(1, '{"type":"text","text":""}'),
      block(0, '{"type":"thinking"}'), delta(1, '{"type":"text_delta","text":"a"}'),
      delta(1, '{"type":"text_delta","text":"b"}'), delta(0, '{"type":"thinking_delta","thinking":"t"}'),
      delta(0, '{"type":"signature_delta","signature":"s"}'), delta(0, '{"type":"other_delta"}'), delta(7, "{}"),
      delta(0, "7"), block(1, '{"type":"other"}'), delta(1, '{"type":"text_delta"}'),
      '{"type":"message_delta","delta":{"stop_reason":"end"},"usage":{"output":2}}', stop)
    assert.equal('{"content":[{"signature":"s","thinking":"t","type":"thinking"},{"text":"ab","type":"text"}],"id":"m",'
      .. '"stop_reason":"end","usage":{"input":1,"output":2}}', json.encode(message, sorted))
  end)

  it("has the inputs of its calls, from their pieces", function()
    local message = streamed(start, block(0, '{"type":"tool_use","id":"1","input":{}}'),
      delta(0, '{"type":"input_json_delta","partial_json":"{\\"a\\""}'),
      delta(0, '{"type":"input_json_delta","partial_json":":1}"}'), block(1, '{"type":"tool_use","id":"2","input":{}}'),
      stop)
    assert.same({ { id = "1", arguments = { a = 1 } }, { id = "2", arguments = {} } }, anthropic.calls(message))
  end)

  it("keeps broken inputs for the calls, not in the message", function()
    for _, text in ipairs({ '{\\"a', "[1]", "7" }) do
      local message = streamed(start, block(0, '{"type":"tool_use","id":"1","input":{}}'),
        delta(0, ('{"type":"input_json_delta","partial_json":"%s"}'):format(text)), stop)
      assert.equal((text:gsub("\\", "")), anthropic.calls(message)[1].arguments)
      assert.equal("{}", json.encode(message.content[1].input))
    end
  end)

  it("has citations", function()
    local message = streamed(start, block(0, '{"type":"text"}'),
      delta(0, '{"type":"citations_delta","citation":{"n":1}}'),
      delta(0, '{"type":"citations_delta","citation":{"n":2}}'), stop)
    assert.same({ { n = 1 }, { n = 2 } }, message.content[1].citations)
  end)

  it("fails with an error, and is incomplete without its start and stop", function()
    assert.equal("full", streamed('{"type":"error","error":{"message":"full"}}'))
    assert.equal("an error without a message", streamed('{"type":"error"}'))
    assert.is_nil(streamed(start))
    assert.is_nil(streamed(stop))
    assert.is_nil(streamed("7", block(0, "7"), '{"type":"message_delta"}'))
    assert.same({ content = {} }, streamed('{"type":"message_start"}', stop))
  end)
end)
