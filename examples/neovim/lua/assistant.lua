--- An assistant in a buffer: what you write is sent to a model, which calls the operations of the editor's sources:
--- the MCP servers and HTTP APIs of `require("operations.nvim").setup`, and those that plugins added.
---   nvim --cmd "set rtp+=examples/neovim" -c "lua require('assistant').setup({ ... })" -c Assistant
--- `:Assistant` opens the chat, with the conversation of the last time; write below the last line, and
--- `:AssistantSend`; `:AssistantStop` stops in the middle of an answer or a call; `:AssistantNew` begins another
--- conversation. A call that changes something is shown by `vim.ui.select` first.
local nvim = require("operations.nvim")
local operations = require("operations")
local json = operations.json

local assistant = {}
local options, buffer, conversation, tools, running

-- A member of a member ...; nil where one on the way is absent or null.
local function at(value, ...)
  for _, key in ipairs({ ... }) do
    value = type(value) == "table" and value[key] or nil
  end
  return value
end

-- The first of these that is a text, and not empty; a member may be null or absent.
local function text_of(...)
  for i = 1, select("#", ...) do
    local text = select(i, ...)
    if type(text) == "string" and text ~= "" then
      return text
    end
  end
end

-- What Gemini says in one event, without its thoughts.
local function gemini_text(event)
  local texts = {}
  for _, part in ipairs(at(event, "candidates", 1, "content", "parts") or {}) do
    texts[#texts + 1] = part.thought ~= true and text_of(part.text) or nil
  end
  local reason = text_of(at(event, "promptFeedback", "blockReason"))
  return text_of(table.concat(texts), reason and ("(blocked: %s)"):format(reason))
end

-- What each vendor's API takes, and the text in an event of its stream, refusals too.
local formats = {
  openai = {
    request = function(messages, definitions)
      return { model = options.model, messages = messages, tools = definitions, stream = true }
    end,
    text = function(event)
      local delta = at(event, "choices", 1, "delta")
      return text_of(at(delta, "content"), at(delta, "refusal"))
    end,
  },
  ["openai-responses"] = {
    request = function(items, definitions)
      return { model = options.model, input = items, tools = definitions, stream = true }
    end,
    text = function(event)
      local is_text = event.type == "response.output_text.delta" or event.type == "response.refusal.delta"
      return is_text and text_of(event.delta)
    end,
  },
  anthropic = {
    request = function(messages, definitions)
      return { model = options.model, max_tokens = 4096, messages = messages, tools = definitions, stream = true }
    end,
    text = function(event)
      local refuses = at(event, "delta", "stop_reason") == "refusal"
      return text_of(at(event, "delta", "text"), refuses and " (the model refuses)")
    end,
  },
  gemini = { -- its URL ends in ":streamGenerateContent?alt=sse"
    request = function(contents, definitions) return { contents = contents, tools = definitions } end,
    text = gemini_text,
    words = function(text) return { role = "user", parts = { { text = text } } } end,
  },
}

-- Adds text behind the last line of the chat; a chat that was wiped gets none, and what runs for it ends.
local function add(text)
  if not vim.api.nvim_buf_is_valid(buffer) then
    error(operations.error("ABORTED", "the chat was closed"), 0)
  end
  local last = vim.api.nvim_buf_get_lines(buffer, -2, -1, true)[1]
  vim.api.nvim_buf_set_lines(buffer, -2, -1, true, vim.split(last .. text, "\n"))
end

-- Adds lines, which begin on a line of their own.
local function write(text)
  add((vim.api.nvim_buf_get_lines(buffer, -2, -1, true)[1] == "" and "" or "\n") .. text)
end

-- The model's next answer. Its text is shown while it arrives.
local function ask_model()
  local format = formats[options.format]
  local headers = vim.tbl_extend("force", { ["Content-Type"] = "application/json" }, options.headers or {})
  local response = assert(operations.http.open({ url = options.url, method = "POST", headers = headers,
    body = json.encode(format.request(conversation, tools.definitions), { keep_order = true }) }))
  if response.status ~= 200 then
    error(("the model's server answers %d: %s"):format(response.status, response:read() or ""), 0)
  end
  local begun = false
  local answer, err = tools:stream(function() return response:read() end, function(event)
    local text = type(event) == "table" and format.text(event)
    if text then
      (begun and add or write)(text)
      begun = true
    end
  end)
  response:close()
  return answer or error(err, 0)
end

-- "arguments": the same call need not be asked about again.
local function confirm(call)
  vim.cmd("redraw") -- the chat, below a menu that waits for a key
  local choice = operations.await(function(wake)
    vim.ui.select({ "No", "Yes", "Always with these arguments" }, {
      prompt = ("Call %s %s?"):format(call.operationId, json.encode(call.input, { sort_keys = true })) }, wake)
  end)
  if choice == "Yes" then
    return true, "once"
  elseif choice then
    return choice ~= "No", choice == "No" and "the user said no" or "arguments"
  end
  return false
end

local function on_progress(done, total, message)
  write(("  ... %g%s %s"):format(done, total and (" of %g"):format(total) or "", message or ""))
end

-- The tools, once the editor's sources are there, at most after 10 s. They follow later changes.
local function start()
  local registry, waited = nvim.registry(), 0
  local function is_connecting()
    return #vim.tbl_filter(function(source) return source.state == "connecting" end, nvim.state()) > 0
  end
  while is_connecting() and waited < 10 do
    operations.sleep(0.05)
    waited = waited + 0.05
  end
  tools = assert(operations.to_tools(registry, { format = options.format, confirm = confirm,
    approvals = operations.approvals() }))
end

-- Runs the calls of an answer; false: there are none.
local function run_calls(answer)
  for _, call in ipairs(tools:calls(answer)) do
    write(("  calls %s"):format(call.operationId or call.name))
  end
  local messages, results = tools:run(answer, { on_progress = on_progress })
  vim.list_extend(conversation, messages)
  for _, result in ipairs(results) do
    local told = result.content.text
    write(("  %s: %s %s"):format(result.operationId or result.name, told:match("[^\n]*"),
      told:match("%[image .-%]") or ""))
  end
  return #results > 0
end

-- Until the model calls nothing more. What the model did not answer is not kept.
local function converse(text)
  if not tools then
    start()
  end
  local words = formats[options.format].words
  local answered = #conversation
  table.insert(conversation, words and words(text) or { role = "user", content = text })
  local ok, raised = pcall(function()
    repeat
      local answer = ask_model()
      local goes_on = run_calls(answer)
      answered = #conversation
    until not goes_on
  end)
  for i = #conversation, answered + 1, -1 do
    conversation[i] = nil
  end
  vim.fn.writefile({ json.encode({ format = options.format, messages = conversation }) }, options.file)
  if not ok then
    error(raised, 0)
  end
end

-- The conversation of the last time, if it was with this vendor.
local function restore()
  local read, lines = pcall(vim.fn.readfile, options.file)
  local kept = read and json.decode(table.concat(lines, "\n")) or nil
  conversation = type(kept) == "table" and kept.format == options.format and kept.messages or operations.array()
end

--- Sends what stands below the last answer.
function assistant.send(text)
  if running then
    return vim.notify("the assistant is at work: :AssistantStop", vim.log.levels.WARN)
  end
  running = operations.spawn(function()
    local ok, raised = pcall(converse, text)
    running = nil
    if vim.api.nvim_buf_is_valid(buffer) then
      write((ok and "" or tostring(raised) .. "\n") .. "## You\n")
    end
  end)
end

--- @param given { url: string, format: string, model?: string, headers?: table, file?: string }  `file` keeps the
---   conversation; default: assistant.json among Neovim's data
function assistant.setup(given)
  options = vim.tbl_extend("keep", given, { file = vim.fn.stdpath("data") .. "/assistant.json" })
  tools = nil
  local command = vim.api.nvim_create_user_command
  command("Assistant", function()
    vim.cmd("botright new")
    buffer = vim.api.nvim_get_current_buf()
    vim.bo.buftype, vim.bo.filetype = "nofile", "markdown"
    restore()
    local past = ("(a conversation of %d messages continues; :AssistantNew begins another)"):format(#conversation)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true,
      vim.list_extend(#conversation > 0 and { past } or {}, { "## You", "" }))
    vim.api.nvim_create_autocmd("BufWipeout", { buffer = buffer, callback = assistant.stop })
  end, {})
  command("AssistantNew", function()
    conversation = operations.array()
    write("## You\n")
  end, {})
  command("AssistantSend", function()
    local last = vim.fn.search("^## You$", "bcnw")
    assistant.send(table.concat(vim.api.nvim_buf_get_lines(buffer, last, -1, true), "\n"))
  end, {})
  command("AssistantStop", function() assistant.stop() end, {})
end

--- Cancels what runs.
function assistant.stop()
  if running then
    running:cancel("stopped by the user")
  end
end

return assistant
