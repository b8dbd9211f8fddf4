--- The plugin's log: keeps the last lines for `:Operations log`; shows the first line of warnings and errors by
--- `vim.notify`, cut to the width of the screen, so that no key press is required. Of many at once, only a few are
--- shown.
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local printable = require("operations.base.printable")

local vim = rawget(_G, "vim")

local log = {}

local levels = { warn = "WARN", error = "ERROR" }

local entries, first, count = {}, 1, 0 -- a queue that begins at `first`
local listeners = {}
local shown, unshown, is_waiting = 0, 0, false -- notifications in the current second

local function notify(level, text)
  local width = math.max(vim.o.columns - 15, 20)
  if vim.fn.strdisplaywidth(text) > width then
    text = vim.fn.strcharpart(text, 0, width - 1) .. "…"
  end
  vim.notify(text, vim.log.levels[levels[level]])
end

local function second_over()
  shown, is_waiting = 0, false
  if unshown > 0 then
    local text = ("operations: %d more message%s, see :Operations log"):format(unshown, unshown == 1 and "" or "s")
    unshown = 0
    notify("warn", text)
  end
end

-- Shows a message; called where `vim.api` may be called.
local function show(level, message)
  if not is_waiting then
    is_waiting = true
    vim.defer_fn(second_over, 1000)
  end
  shown = shown + 1
  if shown <= limits.nvim_notifications then
    notify(level, "operations: " .. (message:match("[^\r\n]+") or ""))
  else
    unshown = unshown + 1
  end
end

local function add(entry)
  entries[first + count] = entry
  count = count + 1
  if count > limits.nvim_log then
    entries[first] = nil
    first, count = first + 1, count - 1
  end
end

--- Adds a message to the log; also shows warnings and errors.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
function log.write(level, message)
  message = printable.escaped(message)
  add(("%s %-5s %s"):format(os.date("%H:%M:%S"), level, message))
  for _, listener in ipairs(listeners) do
    listener()
  end
  if levels[level] and vim.in_fast_event() then
    vim.schedule(function()
      show(level, message)
    end)
  elseif levels[level] then
    show(level, message)
  end
end

--- The lines of the log; a message may have several.
---@return string[]
function log.lines()
  local lines = {}
  for i = first, first + count - 1 do
    for line in entries[i]:gmatch("[^\r\n]+") do
      lines[#lines + 1] = line
    end
  end
  return lines
end

--- Calls a function when a message was added, perhaps in a fast context.
---@param fn fun()
---@return fun() stop
function log.follow(fn)
  listeners[#listeners + 1] = fn
  return function()
    members.remove(listeners, fn)
  end
end

return log
