--- The editor as operations: its state, windows and selection; opening files, running commands.
local buffers = require("operations.nvim.serve.buffers")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local text = require("operations.nvim.serve.text")

local api, fn = vim.api, vim.fn

local editor = {}

local NAME = 4096 -- bytes

-- Lines and columns in bytes, counted from 1.
local function cursor_of(window)
  local position = api.nvim_win_get_cursor(window)
  return { line = position[1], column = position[2] + 1 }
end

local function describe_window(window)
  local buffer = api.nvim_win_get_buf(window)
  local first, last = unpack(api.nvim_win_call(window, function()
    return { fn.line("w0"), fn.line("w$") }
  end))
  return { window = window, buffer = buffer, name = buffers.name_of(buffer), cursor = cursor_of(window),
    first = first, last = last, width = api.nvim_win_get_width(window), height = api.nvim_win_get_height(window),
    current = window == api.nvim_get_current_win(), float = api.nvim_win_get_config(window).relative ~= "" }
end

local function state()
  local window, version = api.nvim_get_current_win(), vim.version()
  return { directory = text.shown(fn.getcwd(), NAME), mode = api.nvim_get_mode().mode, window = window,
    buffer = buffers.describe(api.nvim_win_get_buf(window)), cursor = cursor_of(window), pid = fn.getpid(),
    version = ("%d.%d.%d"):format(version.major, version.minor, version.patch) }
end

local function windows()
  local list = {}
  for i, window in ipairs(api.nvim_list_wins()) do
    list[i] = describe_window(window)
  end
  return { windows = list }
end

-- The marks of the last selection, or the ends of the current one, as { line, column, line, column, kind }.
local function ends_of_selection()
  local mode = api.nvim_get_mode().mode
  local kind = mode:match("^[vV\22]")
  local one, other = fn.getpos(kind and "v" or "'<"), fn.getpos(kind and "." or "'>")
  if one[2] > other[2] or one[2] == other[2] and one[3] > other[3] then
    one, other = other, one
  end
  return one[2], one[3], other[2], other[3], kind or fn.visualmode()
end

local function selection()
  local buffer = api.nvim_get_current_buf()
  local first, column, last, to, kind = ends_of_selection()
  if first == 0 or last > api.nvim_buf_line_count(buffer) then
    return nil, errors.new("NOT_FOUND", "nothing is selected in the current buffer")
  end
  local lines = api.nvim_buf_get_lines(buffer, first - 1, last, false)
  if kind == "v" then
    lines[#lines] = text.cut(lines[#lines], to + #(lines[#lines]:match("^[\128-\191]*", to + 1) or ""))
    lines[1] = lines[1]:sub(column)
  elseif kind == "\22" then
    for i, line in ipairs(lines) do
      lines[i] = line:sub(math.min(column, to), math.max(column, to))
    end
  end
  local whole = table.concat(lines, "\n")
  return { buffer = buffer, name = buffers.name_of(buffer), from = { line = first, column = column },
    to = { line = last, column = math.min(to, #(api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or "") + 1) },
    text = text.shown(whole, limits.nvim_text), truncated = #whole > limits.nvim_text }
end

-- With a swap file the editor would ask: the file is then opened read-only.
local function load(path)
  local group = api.nvim_create_augroup("operations_serve_open", { clear = true })
  api.nvim_create_autocmd("SwapExists", { group = group, callback = function()
    vim.v.swapchoice = "o"
  end })
  local ok, result = pcall(function()
    local buffer = fn.bufadd(path)
    fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    return buffer
  end)
  api.nvim_del_augroup_by_id(group)
  if ok then
    return result
  end
  return nil, errors.new("CONFLICT", ("the file was not opened: %s"):format(text.shown(tostring(result), NAME)))
end

local function open(input)
  local buffer, err
  if input.path then
    buffer, err = load(fn.fnamemodify(input.path, ":p"))
  else
    buffer, err = buffers.find(input.buffer)
  end
  if not buffer then
    return nil, err
  end
  local ok, raised = pcall(api.nvim_win_set_buf, 0, buffer)
  if not ok then
    return nil, errors.new("CONFLICT", ("the window keeps its buffer: %s"):format(tostring(raised)))
  end
  if input.line then
    api.nvim_win_set_cursor(0, { math.min(input.line, api.nvim_buf_line_count(buffer)), (input.column or 1) - 1 })
  end
  return { window = api.nvim_get_current_win(), buffer = buffers.describe(buffer), readonly = vim.bo[buffer].readonly,
    cursor = cursor_of(0) }
end

-- Returns the output; `nvim_exec` has another name in newer versions.
local function execute(command)
  if api.nvim_exec2 then
    return api.nvim_exec2(command, { output = true }).output or ""
  end
  return api.nvim_exec(command, true)
end

local function command(input)
  local ok, output = pcall(execute, input.command)
  if not ok then
    return nil, errors.new("COMMAND_FAILED", text.shown(tostring(output), NAME))
  end
  return { output = text.shown(output, limits.nvim_text), truncated = #output > limits.nvim_text }
end

editor.definitions = {
  { namespace = "editor", name = "state", type = "query", title = "Where the editor is", handler = state,
    description = "The working directory, the mode, the current window, buffer and cursor. Lines and columns begin "
      .. "with 1, columns are bytes." },
  { namespace = "editor", name = "selection", type = "query", title = "Selected text", handler = selection,
    description = "What is selected, or was last, in the current buffer." },
  { namespace = "windows", name = "list", type = "query", title = "List windows", handler = windows,
    description = "The windows, which lines of which buffers they show, and their cursors." },
  { namespace = "editor", name = "open", type = "mutation", title = "Open a file", handler = open,
    _meta = { destructive = false, idempotent = true },
    description = "Shows a file or a buffer in the current window, at a line.",
    inputSchema = { type = "object", properties = { path = { type = "string", minLength = 1 }, buffer = buffers.schema,
      line = { type = "integer", minimum = 1 }, column = { type = "integer", minimum = 1 } },
      anyOf = { { required = { "path" } }, { required = { "buffer" } } } } },
  { namespace = "editor", name = "command", type = "mutation", title = "Run a command", handler = command,
    _meta = { destructive = true },
    description = "Runs an Ex command, or several lines of them, as typed after `:`, and returns what it prints.",
    inputSchema = { type = "object", required = { "command" }, properties = {
      command = { type = "string", minLength = 1 } } } },
}

return editor
