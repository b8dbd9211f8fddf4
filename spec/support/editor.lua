--- What specs inside of Neovim share: the plugin with a server, its windows, what it notifies.
local support = require("spec.support.mcp")

local vim = rawget(_G, "vim")

local editor = {}

editor.notified = {}

vim.notify = function(text, level)
  table.insert(editor.notified, { text, level })
end

local deferred, defer_fn = {}, vim.defer_fn

vim.defer_fn = function(fn, ms)
  local function once()
    if deferred[once] then
      deferred[once] = nil
      fn()
    end
  end
  deferred[once] = true
  return defer_fn(once, ms)
end

--- Moves the clock: runs now what the plugin deferred, such as the end of the second in which the log counts messages.
function editor.skip()
  for _, once in ipairs(vim.tbl_keys(deferred)) do
    once()
  end
end

--- Waits for a condition, the editor's loop going on.
---@param condition fun(): any
---@param what? string
---@return any
function editor.wait(condition, what)
  local value
  vim.wait(20000, function()
    value = condition()
    return value
  end, 5)
  return assert(value, what or "nothing happened")
end

--- The text of the window that is current, without its title.
---@return string
function editor.text()
  local first = vim.fn.has("nvim-0.9") == 1 and 0 or 1
  return table.concat(vim.api.nvim_buf_get_lines(0, first, -1, false), "\n")
end

---@return string
function editor.title()
  if vim.fn.has("nvim-0.9") == 1 then
    local title = vim.api.nvim_win_get_config(0).title
    return title and vim.trim(title[1][1]) or ""
  end
  return vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]
end

--- Waits until the current window shows a text, as a pattern.
---@param pattern string
---@return string
function editor.shows(pattern)
  local ok = pcall(editor.wait, function()
    return (editor.title() .. "\n" .. editor.text()):find(pattern)
  end)
  assert(ok, ("%q is not shown, but: %s\n%s"):format(pattern, editor.title(), editor.text()))
  return editor.text()
end

--- Waits for a notification and takes it.
---@param pattern string
---@return string text
---@return integer level
function editor.notice(pattern)
  local found
  editor.wait(function()
    for i, entry in ipairs(editor.notified) do
      if entry[1]:find(pattern) then
        found = table.remove(editor.notified, i)
        return true
      end
    end
  end, "no notification: " .. pattern)
  return found[1], found[2]
end

--- Presses keys.
---@param keys string
function editor.press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, true, true), "xt", false)
end

--- Closes all windows but one, forgets what was notified, and shows messages one by one again.
function editor.clear()
  vim.cmd("silent! only!")
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      vim.api.nvim_win_close(window, true)
    end
  end
  editor.skip()
  editor.notified = {}
end

--- The entry of a server in mcp.json.
---@param script? string  of spec/support/mcp, default server.lua
---@param mode? string
---@return table
function editor.server(script, mode)
  local config = support.config("legacy")
  return { command = config.command, env = config.env,
    args = { "spec/support/mcp/" .. (script or "server.lua"), mode or "legacy" } }
end

return editor
