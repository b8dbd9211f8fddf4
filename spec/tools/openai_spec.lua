local core = require("operations.core")
local json = require("operations.base.json")
local openai = require("operations.tools.openai")

local sorted = { sort_keys = true }

-- The answer of a stream of chunks; or what went wrong.
local function streamed(...)
  local state = openai.stream()
  for _, chunk in ipairs({ ... }) do
    local failure = openai.feed(state, chunk ~= "[DONE]" and json.decode(chunk) or chunk)
    if failure then
      return failure
    end
  end
  return openai.finish(state)
end

local function chunk(delta, reason)
  return ('{"id":"c","created":1,"model":"m","choices":[{"delta":%s,"finish_reason":%s}]}'):format(delta,
    reason and '"' .. reason .. '"' or "null")
end

describe("OpenAI's calls", function()
  it("are those of the first choice, of a message, or of what is one", function()
    local expected = { { id = "1", name = "a", arguments = "{}" } }
    local message = '{"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{}"}}]}'
    assert.same(expected, openai.calls(json.decode('{"choices":[{"message":' .. message .. "}]}")))
    assert.same(expected, openai.calls(json.decode('{"message":' .. message .. "}")))
    assert.same(expected, openai.calls(json.decode(message)))
    assert.same({ {}, { id = "2" } }, openai.calls(json.decode('{"tool_calls":[7,{"id":"2","function":7}]}')))
    for _, none in ipairs({ "{}", '{"choices":[]}', '{"choices":7}', '{"tool_calls":7}', '{"message":7}' }) do
      assert.same({}, openai.calls(json.decode(none)))
    end
  end)
end)

describe("what OpenAI is told", function()
  it("is the answer without unknown fields, and a message for each result", function()
    local messages = openai.messages(json.decode('{"message":{"content":"x","role":"other","annotations":[],'
      .. '"function_call":{},"parsed":1,"audio":{"id":"a","data":"d"},"more":1}}'),
      { { id = "1", content = { text = "yes" } }, { id = "2", content = { text = "no" } } })
    assert.equal('[{"audio":{"id":"a"},"content":"x","more":1,"role":"assistant"},{"content":"yes","role":"tool",'
      .. '"tool_call_id":"1"},{"content":"no","role":"tool","tool_call_id":"2"}]', json.encode(messages, sorted))
    assert.is_nil(openai.messages({ content = "x", audio = core.null }, {})[1].audio)
    assert.same({}, openai.messages({ refusal = "no" }, {}))
  end)

  it("is of a tool its function", function()
    assert.same({ type = "function", ["function"] = { name = "n", description = "d", parameters = { s = 1 },
      strict = true } }, openai.definition({ name = "n", description = "d", parameters = { schema = { s = 1 },
      strict = true } }))
    assert.is_nil(openai.definition({ name = "n", parameters = { schema = {}, strict = false } })["function"].strict)
  end)
end)

describe("a stream of OpenAI's", function()
  it("is put together from its deltas", function()
    local answer = streamed(chunk('{"role":"assistant","content":"a","reasoning_content":"r"}'),
      chunk('{"content":"b"}'), '{"choices":[],"usage":{"n":1}}', chunk('{"refusal":"x"}', "stop"), "[DONE]", "7")
    assert.equal('{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"ab","reasoning_content":"r",'
      .. '"refusal":"x","role":"assistant"}}],"created":1,"id":"c","model":"m","object":"chat.completion",'
      .. '"usage":{"n":1}}', json.encode(answer, sorted))
  end)

  it("has the calls in the order of their indices, from their pieces", function()
    local answer = streamed(
      chunk('{"tool_calls":[{"index":1,"id":"2","function":{"name":"b","arguments":"{"}}]}'),
      chunk('{"tool_calls":[{"index":0,"id":"1","function":{"name":"a"}},'
        .. '{"index":1,"id":"","function":{"arguments":"}"}}]}'),
      chunk('{"tool_calls":[7,{"function":7},{"index":0,"function":{"arguments":"{}"}}]}', "tool_calls"))
    local calls = openai.calls(answer)
    assert.same({ { id = "1", name = "a", arguments = "{}" }, { id = "2", name = "b", arguments = "{}" } }, calls)
    assert.equal(core.null, answer.choices[1].message.content)
  end)

  it("counts calls without an index by their places", function()
    local answer = streamed(chunk('{"tool_calls":[{"id":"1","function":{"name":"a"}},'
      .. '{"id":"2","function":{"name":"b"}}]}', "tool_calls"))
    local calls = openai.calls(answer)
    assert.same({ "1", "2" }, { calls[1].id, calls[2].id })
  end)

  it("fails with an error, and is incomplete before its finish reason", function()
    assert.equal("full", streamed('{"error":{"message":"full"}}'))
    assert.is_nil(streamed(chunk('{"content":"a"}'), "[DONE]"))
    assert.is_nil(streamed('{"choices":[7]}', '{"choices":7}', '{"error":"x"}'))
    assert.is_not_nil(streamed('{"choices":[{"finish_reason":"stop"}]}'))
  end)
end)
