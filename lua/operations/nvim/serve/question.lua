--- Asks the user whether a call may run. One question is shown at a time; the editor and the user's typing continue: a
--- question never takes the focus.
local asking = require("operations.people.asking")
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local printable = require("operations.base.printable")
local task = require("operations.task")
local text = require("operations.nvim.serve.text")

local api = vim.api

local question = {}

local PROMPT = 80 -- columns of a prompt that no menu cuts
local COMMAND = "OperationsAnswer"
local LOOK = 1000 -- ms for which a question that replaced another cannot be answered
local AROUND = 8 -- lines beside a page: the border, the choices, what is above and below them
local WIDEST = 100 -- columns of a window

local choices = asking.approvals

-- Further words, while there is more to see than a window has place for.
local turns = { "more", "last" }

local waiting = {} -- questions that wait
local shown -- the current question: { answer = function(word), since, view }
local vanished = false -- the previous question was withdrawn, maybe while its user typed an answer

-- The client's name, as the client gives it.
local function client_of(call)
  local name = type(call.client) == "table" and call.client.name
  return type(name) == "string" and printable.line(text.shown(name, 60)) or "a client"
end

local function subject_of(call)
  return ("%s wants to call %s"):format(client_of(call), printable.line(call.operationId))
end

-- The arguments as JSON, in which everything can be seen.
local function arguments_of(call, indent)
  local arguments = json.encode(call.input or {}, { indent = indent, sort_keys = true })
  return arguments and #arguments <= limits.nvim_arguments and printable.json(arguments) or nil
end

-- The lines of a preview or of the arguments; nil: more than can be shown.
local function body_of(call)
  if not call.preview then
    local arguments = arguments_of(call, 2)
    return arguments and vim.split(arguments, "\n")
  end
  local lines, bytes = {}, 0
  for i, line in ipairs(call.preview) do
    lines[i] = printable.escaped((text.shown(line, #line):gsub("\n", "\\0"))) -- Neovim's NUL
    bytes = bytes + #line + 1
  end
  return bytes <= limits.nvim_arguments and lines or nil
end

local widths = {} -- columns of characters other than ASCII; Neovim's own measure, which options change

local function width_of(char)
  if #char == 1 then
    return 1
  end
  widths[char] = widths[char] or vim.fn.strdisplaywidth(char)
  return widths[char]
end

-- Adds a line as lines of at most `width` columns.
local function wrap(lines, line, width)
  if #line <= width then
    lines[#lines + 1] = line
    return
  end
  local first, columns = 1, 0
  for at, char in line:gmatch("()([%z\1-\127\192-\255][\128-\191]*)") do
    columns = columns + width_of(char)
    if columns > width then
      lines[#lines + 1] = line:sub(first, at - 1)
      first, columns = at, width_of(char)
    end
  end
  lines[#lines + 1] = line:sub(first)
end

-- The question as lines that fit; and whether it may be approved: it is whole.
local function lines_of(call)
  local lines, width = {}, math.max(10, math.min(WIDEST, vim.o.columns - 4))
  local body = body_of(call)
  wrap(lines, subject_of(call), width)
  for _, line in ipairs(body or { "(more than can be shown, so the only answer is no)" }) do
    wrap(lines, line, width)
  end
  return lines, body ~= nil
end

local function open_window(buffer)
  local window = api.nvim_open_win(buffer, false, { relative = "editor", anchor = "NE", row = 0, col = vim.o.columns,
    width = 30, height = 1, style = "minimal", border = "single", noautocmd = true })
  vim.bo[buffer].bufhidden = "wipe"
  return window
end

-- Shows lines, all of them in sight.
local function fill(buffer, window, lines)
  local width = 30
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  vim.bo[buffer].modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modifiable = false
  api.nvim_win_set_config(window, { relative = "editor", anchor = "NE", row = 0, col = vim.o.columns,
    width = math.max(1, math.min(width, vim.o.columns - 4)), height = math.max(1, math.min(#lines, vim.o.lines - 3)) })
  api.nvim_win_set_cursor(window, { 1, 0 })
end

-- A page of the question: its lines, and the choices below them.
local function page_of(self)
  local from = (self.page - 1) * self.size
  local lines = vim.list_slice(self.lines, from + 1, from + self.size)
  local count = math.ceil(#self.lines / self.size)
  self.has_more = self.page < count
  self.seen = self.seen or not self.has_more
  lines[#lines + 1] = count > 1 and ("-- page %d of %d%s"):format(self.page, count, self.has_more and
    (", :%s %s or <Space>"):format(COMMAND, turns[1]) or "") or ""
  self.first = #lines + 1
  for _, choice in ipairs(choices) do
    lines[#lines + 1] = ("  %s  (:%s %s)"):format(choice.label, COMMAND, choice.word)
  end
  return lines
end

-- Keys in the window choose an answer; closing it means no.
local function set_keys(buffer, self, answer)
  local function map(key, fn)
    vim.keymap.set("n", key, fn, { buffer = buffer, nowait = true })
  end
  map("<CR>", function()
    local choice = choices[api.nvim_win_get_cursor(0)[1] - self.first + 1]
    if choice then
      question.choose(choice.word)
    end
  end)
  map("<Space>", function()
    self.turn(turns[1])
  end)
  map("q", function()
    answer("no")
  end)
  api.nvim_create_autocmd("BufWipeout", { buffer = buffer, once = true, callback = function()
    answer("no", "the question was closed")
  end })
end

--- Shows a question in a window in the corner without moving the cursor there; it is answered by `:OperationsAnswer`,
--- or in the window. A long one has pages, each with the choices; the last one must be shown before a yes counts.
---@param call operations.nvim.Question
---@param answer fun(word: string, reason?: string)
---@return fun() close
---@return table view  turn, seen, whole
function question.float(call, answer)
  local buffer = api.nvim_create_buf(false, true)
  local window = open_window(buffer)
  local self = {}
  function self.turn(word)
    self.page = word == "last" and math.ceil(#self.lines / self.size) or self.page + (self.has_more and 1 or 0)
    fill(buffer, window, page_of(self))
  end
  local function begin()
    self.page, self.size, self.seen = 1, math.max(1, vim.o.lines - vim.o.cmdheight - AROUND), false
    self.lines, self.whole = lines_of(call)
    fill(buffer, window, page_of(self))
  end
  begin()
  if call.preview then
    vim.bo[buffer].syntax = "diff"
  end
  set_keys(buffer, self, answer)
  local resized = api.nvim_create_autocmd("VimResized", { callback = begin })
  return function()
    pcall(api.nvim_del_autocmd, resized)
    if api.nvim_win_is_valid(window) then
      pcall(api.nvim_win_close, window, true)
    elseif api.nvim_buf_is_valid(buffer) then
      pcall(api.nvim_buf_delete, buffer, { force = true })
    end
  end, self
end

-- The whole question in one line; nil if a menu could cut it.
local function prompt_of(call)
  local arguments = not (call.preview and call.preview[2]) and arguments_of(call)
  local prompt = arguments and subject_of(call) .. " " .. arguments
  return prompt and vim.fn.strdisplaywidth(prompt) <= math.min(PROMPT, vim.o.columns - 10) and prompt or nil
end

--- Shows a question by `vim.ui.select`; a long one, of which a menu might cut the end, as `float`.
---@param call operations.nvim.Question
---@param answer fun(word: string, reason?: string)
---@return fun() close  such a menu cannot be closed: a later choice is ignored
---@return table? view  of `float`
function question.select(call, answer)
  local prompt = prompt_of(call)
  if not prompt then
    return question.float(call, answer)
  end
  vim.ui.select(choices, { prompt = prompt, kind = "operations.approval", format_item = function(choice)
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
  members.remove(waiting, turn)
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
    local mine = shown
    close, mine.view = question[style](call, shown.answer)
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
---@field preview? string[]  what the call would do; shown instead of its input

--- Asks, and waits for the answer; for `confirm` of `operations.approvals`.
---@param call operations.nvim.Question
---@param memory operations.Approvals
---@param style? "float"|"select"  default: "select" where a plugin has replaced `vim.ui.select`
---@return boolean approved
---@return string? scope_or_reason
function question.ask(call, memory, style)
  local turn, approved, scope = {}, true, nil
  local face = { approve = function()
    return show(call, style)
  end }
  if #waiting >= limits.nvim_questions then
    return false, ("%d questions wait for the user"):format(#waiting)
  end
  local ok, raised = pcall(function()
    wait_for_turn(turn)
    if not memory:allows(call) then -- the previous answer may have approved the same call
      approved, scope = asking.approve(face, call)
    end
  end)
  end_turn(turn)
  if not ok then
    error(raised, 0)
  end
  return approved, scope
end

local function warn(message, ...)
  vim.notify("operations: " .. message:format(...), vim.log.levels.WARN)
end

--- Answers the current question by a word, or turns its pages.
---@param word string
function question.choose(word)
  local view = shown and shown.view
  if not shown then
    return warn("nothing is asked")
  elseif vanished and core.now() - shown.since < LOOK then
    return warn("another question is shown now: look at it, then answer")
  elseif view and (word == "more" or word == "last") then
    return view.turn(word)
  elseif view and word ~= "no" and not (view.seen and view.whole) then
    return warn(view.whole and "the question continues: :%s more, or last, shows the rest"
      or "it cannot be shown whole", COMMAND)
  end
  for _, choice in ipairs(choices) do
    if choice.word == word then
      return shown.answer(word)
    end
  end
  warn(":%s no, once, arguments or always, not %q", COMMAND, word)
end

local function words(start)
  local list = {}
  for _, choice in ipairs(choices) do
    list[#list + 1] = choice.word:sub(1, #start) == start and choice.word or nil
  end
  for _, word in ipairs(turns) do
    list[#list + 1] = shown and shown.view and word:sub(1, #start) == start and word or nil
  end
  return list
end

--- Creates or removes the command that answers questions.
---@param wanted boolean
function question.command(wanted)
  if wanted then
    api.nvim_create_user_command(COMMAND, function(command)
      question.choose(command.args)
    end, { nargs = 1, complete = words, force = true,
      desc = "Answers whether a client may call an operation: no, once, arguments, always" })
  else
    pcall(api.nvim_del_user_command, COMMAND)
  end
end

return question
