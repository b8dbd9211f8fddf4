--- An assistant in a buffer: what you write is sent to a model, which calls tools of MCP servers and HTTP APIs.
---   nvim --cmd "set rtp+=examples/neovim" -c "lua require('assistant').setup({ ... })" -c Assistant
--- `:Assistant` opens the chat; write below the last line and `:AssistantSend`; `:AssistantStop` cancels what runs.
--- A call that changes something is shown by `vim.ui.select` first.
local operations = require("operations")
local json = operations.json

local assistant = {}
local options, buffer, conversation, tools, memory, servers, running

-- What each vendor's API takes, says, and calls the user's words.
local formats = {
  openai = {
    request = function(messages, definitions)
      return { model = options.model, messages = messages, tools = definitions }
    end,
    said = function(answer) return { answer.choices[1].message.content } end,
  },
  ["openai-responses"] = {
    request = function(items, definitions) return { model = options.model, input = items, tools = definitions } end,
    said = function(answer)
      local texts = {}
      for _, item in ipairs(answer.output) do
        texts[#texts + 1] = item.type == "message" and item.content[1].text or nil
      end
      return texts
    end,
  },
  anthropic = {
    request = function(messages, definitions)
      return { model = options.model, max_tokens = 4096, messages = messages, tools = definitions }
    end,
    said = function(answer) return vim.tbl_map(function(block) return block.text end, answer.content) end,
  },
  gemini = {
    request = function(contents, definitions) return { contents = contents, tools = definitions } end,
    said = function(answer)
      return vim.tbl_map(function(part) return part.text end, answer.candidates[1].content.parts)
    end,
    words = function(text) return { role = "user", parts = { { text = text } } } end,
  },
}

-- Adds lines to the chat; a chat that was wiped gets none, and what runs for it ends.
local function write(text)
  if not vim.api.nvim_buf_is_valid(buffer) then
    error(operations.error("ABORTED", "the chat was closed"), 0)
  end
  vim.api.nvim_buf_set_lines(buffer, -1, -1, true, vim.split(text, "\n"))
end

local function ask_model()
  local headers = vim.tbl_extend("force", { ["Content-Type"] = "application/json" }, options.headers or {})
  local response = assert(operations.http.request({ url = options.url, method = "POST", headers = headers,
    body = json.encode(formats[options.format].request(conversation, tools.definitions)) }))
  if response.status ~= 200 then
    error(("the model's server answers %d: %s"):format(response.status, response.body), 0)
  end
  return assert(json.decode(response.body))
end

-- "arguments": the same call need not be asked about again.
local function confirm(call)
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

-- Servers and documents, once; a chat begins when they are there.
local function start()
  local registry = operations.registry()
  if options.servers then
    servers = assert(operations.from_mcp.load(options.servers, { accessControl = {}, log = function() end }))
    assert(servers:register(registry))
  end
  for _, api in ipairs(options.apis or {}) do
    assert(registry:register_all(assert(operations.from_openapi.file(api.file, api.config))))
  end
  conversation, memory = operations.array(), operations.approvals()
  tools = assert(operations.to_tools(registry, { format = options.format, confirm = confirm, approvals = memory }))
end

-- Until the model calls nothing more.
local function converse(text)
  if not tools then
    start()
  end
  local format = formats[options.format]
  table.insert(conversation, format.words and format.words(text) or { role = "user", content = text })
  repeat
    local answer = ask_model()
    for _, words in pairs(format.said(answer)) do
      write(words)
    end
    local messages, results = tools:run(answer, { on_progress = on_progress })
    vim.list_extend(conversation, messages)
    for _, result in ipairs(results) do
      local told = result.content.text
      write(("  %s: %s %s"):format(result.operationId or result.name, told:match("[^\n]*"),
        told:match("%[image .-%]") or ""))
    end
  until #results == 0
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
      write((ok and "" or tostring(raised) .. "\n") .. "## You")
    end
  end)
end

--- @param given { url: string, format: string, model?: string, headers?: table, servers?: string, apis?: table[] }
function assistant.setup(given)
  options = given
  local command = vim.api.nvim_create_user_command
  command("Assistant", function()
    vim.cmd("botright new")
    buffer = vim.api.nvim_get_current_buf()
    vim.bo.buftype, vim.bo.filetype = "nofile", "markdown"
    vim.api.nvim_buf_set_lines(buffer, 0, -1, true, { "## You" })
    vim.api.nvim_create_autocmd("BufWipeout", { buffer = buffer, callback = assistant.stop })
  end, {})
  command("AssistantSend", function()
    local last = vim.fn.search("^## You$", "bcnw")
    assistant.send(table.concat(vim.api.nvim_buf_get_lines(buffer, last, -1, true), "\n"))
  end, {})
  command("AssistantStop", function() assistant.stop() end, {})
  vim.api.nvim_create_autocmd("VimLeavePre", { callback = function()
    if servers then
      operations.spawn(servers.close, servers)
    end
  end })
end

--- Cancels what runs.
function assistant.stop()
  if running then
    running:cancel("stopped by the user")
  end
end

return assistant
