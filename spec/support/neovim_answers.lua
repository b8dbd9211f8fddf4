-- Run inside Neovim by spec/nvim/assistant_spec.lua: the example assistant, and answers as the vendors' APIs stream
-- them (shortened). Prints the chat, and what was kept of it.
local operations = require("operations")
local json = operations.json

-- For each format: the events of an answer; "" is the end of the stream in the middle of it.
local answers = {
  openai = {
    { -- no content, two calls at once, pieces that are empty, a last event without choices
      [[{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"finish_reason":null}]}]],
      [[{"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":null}}]}]],
      [[{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":]]
        .. [[{"name":"lamp_state","arguments":""}}]}}]}]],
      [[{"choices":[{"index":0,"delta":{}}]}]],
      [[{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}]],
      [[{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":]]
        .. [[{"name":"lamp_dim","arguments":"{\"to\":"}}]}}]}]],
      [[{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"4}"}}]}}]}]],
      [[{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}]],
      [[{"choices":[],"usage":{"total_tokens":9}}]], "[DONE]",
    },
    { -- a refusal
      [[{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":""}}]}]],
      [[{"choices":[{"index":0,"delta":{"refusal":"I cannot"}}]}]],
      [[{"choices":[{"index":0,"delta":{"refusal":" say."}}]}]],
      [[{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}]], "[DONE]",
    },
    { -- an error in the middle
      [[{"choices":[{"index":0,"delta":{"role":"assistant","content":"Half an"}}]}]],
      [[{"error":{"message":"The server had an error","type":"server_error","code":null}}]],
    },
    { [[{"choices":[{"index":0,"delta":{"role":"assistant","content":"Cut"}}]}]], "" },
  },
  ["openai-responses"] = {
    {
      [[{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}]],
      [[{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}]],
      [[{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}]],
      [[{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"a",]]
        .. [["name":"lamp_state","arguments":""}}]],
      [[{"type":"response.function_call_arguments.delta","output_index":1,"delta":""}]],
      [[{"type":"response.completed","response":{"id":"r","status":"completed","output":[]]
        .. [[{"type":"reasoning","id":"rs","summary":[]},{"type":"function_call","call_id":"a","name":"lamp_state",]]
        .. [["arguments":"{}"},{"type":"function_call","call_id":"b","name":"lamp_dim","arguments":"{\"to\":4}"}]}}]],
    },
    {
      [[{"type":"response.refusal.delta","output_index":0,"delta":"I cannot"}]],
      [[{"type":"response.refusal.delta","output_index":0,"delta":" say."}]],
      [[{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","role":"assistant",]]
        .. [["content":[{"type":"refusal","refusal":"I cannot say."}]}]}}]],
    },
    {
      [[{"type":"response.output_text.delta","output_index":0,"delta":"Half an"}]],
      [[{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error",]]
        .. [["message":"The server had an error"},"output":[]}}]],
    },
    { [[{"type":"response.output_text.delta","output_index":0,"delta":"Cut"}]], "" },
  },
  anthropic = {
    {
      [[{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null}}]],
      [[{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}]],
      [[{"type":"ping"}]],
      [[{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}]],
      [[{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}]],
      [[{"type":"content_block_stop","index":0}]],
      [[{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"lamp_state",]]
        .. [["input":{}}}]],
      [[{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}]],
      [[{"type":"content_block_stop","index":1}]],
      [[{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"lamp_dim",]]
        .. [["input":{}}}]],
      [[{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"to\""}}]],
      [[{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":4}"}}]],
      [[{"type":"content_block_stop","index":2}]],
      [[{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}]],
      [[{"type":"message_stop"}]],
    },
    {
      [[{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null}}]],
      [[{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}]],
      [[{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I cannot say."}}]],
      [[{"type":"content_block_stop","index":0}]],
      [[{"type":"message_delta","delta":{"stop_reason":"refusal"}}]], [[{"type":"message_stop"}]],
    },
    {
      [[{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null}}]],
      [[{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}]],
      [[{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half an"}}]],
      [[{"type":"error","error":{"type":"overloaded_error","message":"The server had an error"}}]],
    },
    {
      [[{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null}}]],
      [[{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}]],
      [[{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Cut"}}]], "",
    },
  },
  gemini = {
    {
      [[{"candidates":[{"content":{"parts":[{"thought":true,"text":"hm"}],"role":"model"}}]}]],
      [[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"lamp_state","args":{}},]]
        .. [["thoughtSignature":"c2ln"},{"functionCall":{"name":"lamp_dim","args":{"to":4}}}],"role":"model"}}]}]],
      [[{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}],]]
        .. [["usageMetadata":{"totalTokenCount":9}}]],
    },
    {
      [[{"candidates":[{"content":{"parts":[{"text":"I cannot"},{"text":" say."}],"role":"model"}}]}]],
      [[{"candidates":[{"finishReason":"SAFETY"}]}]],
    },
    {
      [[{"candidates":[{"content":{"parts":[{"text":"Half an"}],"role":"model"}}]}]],
      [[{"error":{"code":503,"message":"The server had an error","status":"UNAVAILABLE"}}]],
    },
    { [[{"candidates":[{"content":{"parts":[{"text":"Cut"}],"role":"model"}}]}]], "" },
  },
}

local format = os.getenv("FORMAT")
local turn, sent = 0, nil

-- Answers each request with the next of the answers.
local server = vim.loop.new_tcp()
assert(server:bind("127.0.0.1", 0))
server:listen(16, function()
  local client, request = vim.loop.new_tcp(), ""
  server:accept(client)
  client:read_start(function(_, bytes)
    request = request .. (bytes or "")
    local head, body = request:match("^(.-\r\n\r\n)(.*)$")
    if not bytes or not head or #body < tonumber(head:lower():match("content%-length: (%d+)") or 0) then
      return
    end
    request, sent, turn = "", body, turn + 1
    local events = {}
    for i, event in ipairs(answers[format][turn]) do
      events[i] = event ~= "" and ("data: %s\n\n"):format(event) or ""
    end
    client:write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
      .. table.concat(events), function()
      client:shutdown(function() client:close() end)
    end)
  end)
end)

vim.opt.runtimepath:prepend("examples/neovim")
assert(require("operations.nvim").add_source("lamp", { operations = {
  { namespace = "lamp", name = "state", type = "query", handler = function() return "on" end },
  { namespace = "lamp", name = "dim", type = "query", inputSchema = { type = "object", required = { "to" },
    properties = { to = { type = "integer" } } }, handler = function(input) return input.to end },
} }))
local assistant, kept = require("assistant"), os.tmpname()
assistant.setup({ url = ("http://127.0.0.1:%d/"):format(server:getsockname().port), format = format, model = "m",
  file = kept })

local function lines()
  return vim.api.nvim_buf_get_lines(0, 0, -1, true)
end

local function say(text)
  vim.api.nvim_buf_set_lines(0, -2, -1, true, { text })
  local asked = turn
  vim.cmd("AssistantSend")
  assert(vim.wait(20000, function()
    local list = lines()
    return turn > asked and list[#list] == "" and list[#list - 1] == "## You"
  end, 5), table.concat(lines(), "\n"))
end

vim.cmd("Assistant")
say("Is the lamp on?") -- two answers: calls, then a refusal
say("Again?") -- an error in the middle
say("And now?") -- the end of the stream in the middle
io.stdout:write((table.concat(lines(), "\n"):gsub("http://[%d.:]+/", "URL")), "\n")
local stored = io.open(kept):read("*a")
io.stdout:write(stored:find("Again", 1, true) and "kept what failed" or "kept what was answered", "\n")
io.stdout:write(stored:find("c2ln", 1, true) and "kept the signature\n" or "", json.decode(sent) and "" or "no JSON")
os.remove(kept)
