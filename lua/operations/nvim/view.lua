--- Floating windows: a buffer of lines with a title. Frequent additions are drawn at most 20 times a second; a view
--- that follows a stream keeps the last lines.
local limits = require("operations.base.limits")
local printable = require("operations.base.printable")

local vim = rawget(_G, "vim")

local view = {}

---@class operations.nvim.View
---@field _buffer integer
---@field _window integer
---@field _pending string[]  lines that are not in the buffer yet
---@field _on_close? fun()
---@field _title string
local View = {}
View.__index = View

local PAUSE = 50 -- ms between two updates of the buffer
local PIECE = 2000 -- lines set in one step

-- Since Neovim 0.9 the title is in the border; before, it is the first line.
local has_titles

local function size()
  local columns, lines = vim.o.columns, vim.o.lines - vim.o.cmdheight
  local width, height = math.max(math.floor(columns * 0.8), 20), math.max(math.floor(lines * 0.7), 5)
  return {
    relative = "editor", style = "minimal", border = "rounded", width = width, height = height,
    col = math.max(math.floor((columns - width) / 2) - 1, 0), row = math.max(math.floor((lines - height) / 2) - 1, 0),
  }
end

-- Splits foreign text into lines without line ends and NULs.
local function split(text)
  local lines, at = {}, 1
  repeat
    local stop = text:find("\n", at, true)
    local line = text:sub(at, (stop or #text + 1) - 1):gsub("\r$", ""):gsub("%z", "\\0")
    lines[#lines + 1] = line
    at = (stop or #text) + 1
  until not stop
  return lines
end
view.split = split

local function edit(self, first, last, lines)
  vim.bo[self._buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self._buffer, first, last, false, vim.tbl_map(printable.escaped, lines))
  vim.bo[self._buffer].modifiable = false
end

local function is_at_end(self)
  return vim.api.nvim_win_is_valid(self._window) and vim.api.nvim_win_get_buf(self._window) == self._buffer
    and vim.api.nvim_win_get_cursor(self._window)[1] >= vim.api.nvim_buf_line_count(self._buffer)
end

--- Does its buffer exist?
---@return boolean
function View:is_open()
  return vim.api.nvim_buf_is_valid(self._buffer)
end

--- Sets the title, such as the progress.
---@param text string
function View:title(text)
  text = printable.escaped(split(text)[1])
  if not self:is_open() or text == self._title then
    return
  end
  self._title = text
  if not has_titles then
    edit(self, 0, 1, { text })
  elseif vim.api.nvim_win_is_valid(self._window) then
    local config = vim.api.nvim_win_get_config(self._window)
    if config.relative ~= "" then
      vim.api.nvim_win_set_config(self._window, { title = " " .. text:sub(1, config.width - 2) .. " ",
        border = "rounded" })
    end
  end
end

--- Replaces the lines; with `rest`, in several steps.
---@param lines string[]
---@param rest? fun()  lets the editor run between steps; without it, one step
function View:set(lines, rest)
  self._pending = {}
  local at = 1
  repeat
    if not self:is_open() then
      return
    end
    local piece = rest and vim.list_slice(lines, at, at + PIECE - 1) or lines
    edit(self, at == 1 and self._top or -1, -1, piece)
    at = rest and at + PIECE or #lines + 1
    if rest then
      rest()
    end
  until at > #lines
end

local function draw(self)
  self._is_waiting = false
  local lines = self._pending
  self._pending = {}
  if not self:is_open() or #lines == 0 then
    return
  end
  local follows, is_empty = is_at_end(self), self._is_empty
  self._is_empty = false
  edit(self, is_empty and self._top or -1, -1, lines)
  local over = vim.api.nvim_buf_line_count(self._buffer) - self._top - limits.nvim_lines
  if over > 0 then
    edit(self, self._top, self._top + over, {})
  end
  if follows then
    vim.api.nvim_win_set_cursor(self._window, { vim.api.nvim_buf_line_count(self._buffer), 0 })
  end
end

--- Appends lines a little later. Keeps the last ones.
---@param text string
function View:append(text)
  for _, line in ipairs(split(text)) do
    table.insert(self._pending, line)
  end
  if #self._pending > 2 * limits.nvim_lines then
    self._pending = vim.list_slice(self._pending, #self._pending - limits.nvim_lines + 1)
  end
  if not self._is_waiting then
    self._is_waiting = true
    vim.defer_fn(function()
      draw(self)
    end, PAUSE)
  end
end

--- Sets the filetype. Ignores errors of the user's plugins for it.
---@param name string
function View:filetype(name)
  if self:is_open() then
    vim.api.nvim_buf_call(self._buffer, function()
      vim.cmd("silent! setlocal filetype=" .. name)
    end)
  end
end

--- Calls a function with the line at the cursor when a key is pressed in the view.
---@param key string
---@param fn fun(line: string)
function View:on_key(key, fn)
  vim.keymap.set("n", key, function()
    fn(vim.api.nvim_get_current_line())
  end, { buffer = self._buffer, nowait = true })
end

--- Closes it.
function View:close()
  if self:is_open() then
    vim.api.nvim_buf_delete(self._buffer, { force = true })
  end
end

--- Opens a view and moves the cursor there; `q` closes it.
---@param title string
---@param on_close? fun()  called once when its buffer is deleted in any way
---@return operations.nvim.View
function view.open(title, on_close)
  has_titles = vim.fn.has("nvim-0.9") == 1
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = "wipe", false
  vim.bo[buffer].undolevels = -1
  local window = vim.api.nvim_open_win(buffer, true, size())
  vim.wo[window].wrap = true
  local self = setmetatable({ _buffer = buffer, _window = window, _pending = {}, _top = has_titles and 0 or 1,
    _is_empty = true }, View)
  self:title(title)
  self:on_key("q", function()
    self:close()
  end)
  vim.api.nvim_create_autocmd("BufWipeout", { buffer = buffer, callback = on_close or function() end })
  return self
end

return view
