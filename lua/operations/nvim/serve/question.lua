--- Asks the user whether a call may run. One question is shown at a time; the editor and the user's typing continue: a
--- question never takes the focus.
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local task = require("operations.task")
local text = require("operations.nvim.serve.text")

local api = vim.api

local question = {}

local SHOWN = 64 * 1024 -- bytes of arguments that are shown
local PROMPT = 400 -- the same in one line
local COMMAND = "OperationsAnswer"
local LOOK = 1000 -- ms for which a question that replaced another cannot be answered

-- The answers; the one that changes nothing first.
local choices = {
  { word = "no", label = "No" },
  { word = "once", label = "Yes, once" },
  { word = "arguments", label = "Yes, always with these arguments" },
  { word = "always", label = "Yes, always" },
}

local waiting = {} -- questions that wait
local shown -- the current question: { answer = function(word), since }
local vanished = false -- the previous question was withdrawn, maybe while its user typed an answer

-- The client's name, as the client gives it.
local function client_of(call)
  local name = type(call.client) == "table" and call.client.name
  return type(name) == "string" and text.shown(name:gsub("%c", " "), 60) or "a client"
end

-- The question as lines.
local function lines_of(call)
  local arguments = json.encode(call.input or {}, { indent = 2, sort_keys = true }) or "(no JSON)"
  local lines = { ("%s wants to call %s"):format(client_of(call), call.operationId) }
  vim.list_extend(lines, vim.split(text.cut(arguments, SHOWN), "\n"))
  if #arguments > SHOWN then
    lines[#lines + 1] = ("... and %d bytes more that are not shown"):format(#arguments - SHOWN)
  end
  return lines
end

local function open_window(lines)
  local buffer, width = api.nvim_create_buf(false, true), 30
  api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable = "wipe", false
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local window = api.nvim_open_win(buffer, false, { relative = "editor", anchor = "NE", row = 0, col = vim.o.columns,
    width = math.max(1, math.min(width, vim.o.columns - 4)), height = math.max(1, math.min(#lines, vim.o.lines - 5)),
    style = "minimal", border = "single", noautocmd = true })
  api.nvim_win_set_cursor(window, { 1, 0 })
  return buffer, window
end

-- Keys in the window choose an answer; closing it means no.
local function set_keys(buffer, first, answer)
  local function map(key, fn)
    vim.keymap.set("n", key, fn, { buffer = buffer, nowait = true })
  end
  map("<CR>", function()
    local choice = choices[api.nvim_win_get_cursor(0)[1] - first + 1]
    if choice then
      answer(choice.word)
    end
  end)
  map("q", function()
    answer("no")
  end)
  api.nvim_create_autocmd("BufWipeout", { buffer = buffer, once = true, callback = function()
    answer("no", "the question was closed")
  end })
end

--- Shows a question in a window in the corner without moving the cursor there; it is answered by `:OperationsAnswer`,
--- or in the window.
---@param call operations.nvim.Question
---@param answer fun(word: string, reason?: string)
---@return fun() close
function question.float(call, answer)
  local lines = lines_of(call)
  local first = #lines + 2
  lines[#lines + 1] = ""
  for _, choice in ipairs(choices) do
    lines[#lines + 1] = ("  %s  (:%s %s)"):format(choice.label, COMMAND, choice.word)
  end
  local buffer, window = open_window(lines)
  set_keys(buffer, first, answer)
  return function()
    if api.nvim_win_is_valid(window) then
      pcall(api.nvim_win_close, window, true)
    elseif api.nvim_buf_is_valid(buffer) then
      pcall(api.nvim_buf_delete, buffer, { force = true })
    end
  end
end

--- Shows a question by `vim.ui.select`.
---@param call operations.nvim.Question
---@param answer fun(word: string, reason?: string)
---@return fun() close  such a menu cannot be closed: a later choice is ignored
function question.select(call, answer)
  local lines = lines_of(call)
  local arguments = table.concat(lines, " ", 2):gsub("%s+", " ")
  local cut = #arguments > PROMPT and (" ... (%d bytes)"):format(#arguments) or ""
  vim.ui.select(choices, { prompt = lines[1] .. " " .. text.shown(arguments, PROMPT) .. cut,
    kind = "operations.approval", format_item = function(choice)
      return choice.label
    end }, function(choice)
      answer(choice and choice.word or "no")
    end)
  return function() end
end

-- Neovim's own `vim.ui.select` waits for a key and blocks the loop; that of a plugin does not.
local function is_replaced()
  return not debug.getinfo(vim.ui.select, "S").source:find("%f[%w]vim/ui%.lua$")
end

-- Waits until no other question is shown.
local function wait_for_turn(turn)
  table.insert(waiting, turn)
  if waiting[1] == turn then
    return
  end
  task.await(function(wake)
    turn.wake = wake
  end)
end

local function end_turn(turn)
  for i, other in ipairs(waiting) do
    if other == turn then
      table.remove(waiting, i)
      break
    end
  end
  local next_turn = waiting[1]
  if next_turn and next_turn.wake then
    next_turn.wake()
  end
end

local function show(call, style)
  local close, over
  local ok, word, reason = pcall(task.await, function(wake)
    shown = { since = core.now(), answer = function(given, why)
      if not over then
        over = true
        wake(given, why)
      end
    end }
    style = style or (is_replaced() and "select" or "float")
    close = question[style](call, shown.answer)
  end)
  over, shown, vanished = true, nil, not ok
  if close then
    close()
  end
  if not ok then
    error(word, 0)
  end
  return word, reason
end

--- The call to ask about.
---@class operations.nvim.Question : operations.ApprovalCall
---@field client? table  its `clientInfo`

--- Asks, and waits for the answer; for `confirm` of `operations.approvals`.
---@param call operations.nvim.Question
---@param memory operations.Approvals
---@param style? "float"|"select"  default: "select" where a plugin has replaced `vim.ui.select`
---@return boolean approved
---@return string? scope_or_reason
function question.ask(call, memory, style)
  local turn, approved, scope = {}, true, nil
  if #waiting >= limits.nvim_questions then
    return false, ("%d questions wait for the user"):format(#waiting)
  end
  local ok, raised = pcall(function()
    wait_for_turn(turn)
    if not memory:allows(call) then -- the previous answer may have approved the same call
      local word, reason = show(call, style)
      approved = word ~= "no"
      scope = approved and word or reason or "the user said no"
    end
  end)
  end_turn(turn)
  if not ok then
    error(raised, 0)
  end
  return approved, scope
end

-- `:OperationsAnswer once`
local function answer(command)
  local word = command.args
  if not shown then
    return vim.notify("operations: nothing is asked", vim.log.levels.WARN)
  elseif vanished and core.now() - shown.since < LOOK then
    return vim.notify("operations: another question is shown now: look at it, then answer", vim.log.levels.WARN)
  end
  for _, choice in ipairs(choices) do
    if choice.word == word then
      return shown.answer(word)
    end
  end
  vim.notify(("operations: :%s no, once, arguments or always, not %q"):format(COMMAND, word), vim.log.levels.WARN)
end

local function words(start)
  local list = {}
  for _, choice in ipairs(choices) do
    list[#list + 1] = choice.word:sub(1, #start) == start and choice.word or nil
  end
  return list
end

--- Creates or removes the command that answers questions.
---@param wanted boolean
function question.command(wanted)
  if wanted then
    api.nvim_create_user_command(COMMAND, answer, { nargs = 1, complete = words, force = true,
      desc = "Answers whether a client may call an operation: no, once, arguments, always" })
  else
    pcall(api.nvim_del_user_command, COMMAND)
  end
end

return question
