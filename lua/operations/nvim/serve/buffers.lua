--- Buffers as operations: listed, read in pieces, edited and saved.
local base64 = require("operations.base.base64")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local pace = require("operations.nvim.serve.pace")
local text = require("operations.nvim.serve.text")

local api, fn = vim.api, vim.fn

local buffers = {}

local NAME = 4096 -- bytes

local function failure(code, message, ...)
  return nil, errors.new(code, message:format(...))
end

--- The schema of an input that names a buffer.
buffers.schema = { type = { "integer", "string" },
  description = "number of a buffer, or its file name; default: the current buffer" }

local function name_of(buffer)
  return text.shown(api.nvim_buf_get_name(buffer), NAME)
end
buffers.name_of = name_of

local function by_name(name)
  local full = fn.fnamemodify(name, ":p")
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local own = api.nvim_buf_get_name(buffer)
    if own ~= "" and (own == name or own == full) then
      return buffer
    end
  end
end

--- The buffer that an input names.
---@param given integer|string|nil
---@return integer? buffer
---@return operations.Error? err  NOT_FOUND
function buffers.find(given)
  if given == nil then
    return api.nvim_get_current_buf()
  end
  local buffer = given
  if type(given) == "string" then
    buffer = by_name(given) or given:find("^%d+$") and tonumber(given)
  end
  if buffer and buffer > 0 and api.nvim_buf_is_valid(buffer) then
    return buffer
  end
  return failure("NOT_FOUND", "there is no buffer %s", text.shown(tostring(given), NAME))
end

-- A loaded buffer.
local function find_loaded(given)
  local buffer, err = buffers.find(given)
  if buffer and not api.nvim_buf_is_loaded(buffer) then
    return failure("NOT_LOADED", "buffer %d is not loaded; editor_open loads it", buffer)
  end
  return buffer, err
end

--- The description of a buffer.
---@param buffer integer
---@return table
function buffers.describe(buffer)
  local loaded = api.nvim_buf_is_loaded(buffer)
  return {
    buffer = buffer, name = name_of(buffer), listed = vim.bo[buffer].buflisted, loaded = loaded,
    modified = vim.bo[buffer].modified, filetype = vim.bo[buffer].filetype, type = vim.bo[buffer].buftype,
    lines = api.nvim_buf_line_count(buffer), tick = api.nvim_buf_get_changedtick(buffer),
    bytes = loaded and math.max(0, api.nvim_buf_get_offset(buffer, api.nvim_buf_line_count(buffer))) or nil,
  }
end

local function list(input)
  local found, more, rest = marks.array(), false, pace.new()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    rest()
    local wanted = api.nvim_buf_is_valid(buffer) and (input.all or vim.bo[buffer].buflisted)
    if wanted and #found == limits.nvim_items then
      more = true
      break
    end
    found[#found + 1] = wanted and buffers.describe(buffer) or nil
  end
  return { buffers = found, more = more }
end

-- The offset of a line; for one after the last, the end of the text.
local function offset_of(buffer, line)
  return api.nvim_buf_get_offset(buffer, line - 1)
end

-- The last line so that the lines from `from` to it fit; `from - 1` when the first one does not.
local function last_that_fits(buffer, from, to)
  local start, low, high = offset_of(buffer, from), from - 1, to
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if offset_of(buffer, middle + 1) - start <= limits.nvim_text then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

-- Joins lines as Neovim returns them: a NUL in a line is a newline.
local function joined(lines)
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "\0")
  end
  return table.concat(lines, "\n")
end

-- A part of one line: its bytes, and the first byte of the next part, if there is one.
local function part_of_line(buffer, line, byte)
  local length = offset_of(buffer, line + 1) - offset_of(buffer, line) - 1
  local from = math.min(byte - 1, length)
  local to = math.min(length, from + limits.nvim_text)
  local bytes = joined(api.nvim_buf_get_text(buffer, line - 1, from, line - 1, to, {}))
  if to < length then
    local ahead = joined(api.nvim_buf_get_text(buffer, line - 1, from, line - 1, math.min(length, to + 1), {}))
    bytes = text.cut(ahead, #bytes)
    return bytes, from + #bytes + 1
  end
  return bytes
end

-- The bytes from a place on that fit into one answer; their last line, and where the next ones begin.
local function piece(buffer, from, byte, to)
  local last = byte == 1 and last_that_fits(buffer, from, to) or from - 1
  if last >= from then
    local bytes = joined(api.nvim_buf_get_lines(buffer, from - 1, last, true))
    return bytes, last, last < to and { from = last + 1 } or nil
  end
  local bytes, next_byte = part_of_line(buffer, from, byte)
  if next_byte then
    return bytes, from, { from = from, byte = next_byte }
  end
  return bytes, from, from < to and { from = from + 1 } or nil
end

--- The lines of a buffer, as many as fit into one answer.
---@param input { buffer?: integer|string, from?: integer, to?: integer, byte?: integer }
---@return table? answer
---@return operations.Error? err
function buffers.read(input)
  local buffer, err = find_loaded(input.buffer)
  if not buffer then
    return nil, err
  end
  local lines = api.nvim_buf_line_count(buffer)
  local from, to = input.from or 1, math.min(input.to or lines, lines)
  if from > lines then
    return failure("NOT_FOUND", "/from: buffer %d has %d lines", buffer, lines)
  end
  local answer = { buffer = buffer, name = name_of(buffer), tick = api.nvim_buf_get_changedtick(buffer), lines = lines,
    modified = vim.bo[buffer].modified, from = from, to = from - 1, text = "" }
  if to >= from then
    local bytes
    bytes, answer.to, answer.next = piece(buffer, from, input.byte or 1, to)
    local is_text = text.is_text(bytes)
    answer.text, answer.base64 = is_text and bytes or nil, not is_text and base64.encode(bytes) or nil
  end
  return answer
end

-- The buffer of a change that can be made.
local function editable(input)
  local buffer, err = find_loaded(input.buffer)
  if not buffer then
    return nil, err
  end
  local lines, tick = api.nvim_buf_line_count(buffer), api.nvim_buf_get_changedtick(buffer)
  if input.tick and input.tick ~= tick then
    return failure("CONFLICT", "buffer %d has changed since tick %d; it is at %d: read it again", buffer, input.tick,
      tick)
  elseif input.from > lines + 1 or input.to > lines or input.to < input.from - 1 then
    return failure("VALIDATION_ERROR", "lines %d to %d: buffer %d has %d lines; to insert before a line, let `to` be "
      .. "one less than `from`", input.from, input.to, buffer, lines)
  elseif not vim.bo[buffer].modifiable then
    return failure("CONFLICT", "buffer %d was not changed: 'modifiable' is off", buffer)
  end
  return buffer
end

local function edit(input)
  local buffer, err = editable(input)
  if not buffer then
    return nil, err
  end
  local ok, raised = pcall(api.nvim_buf_set_lines, buffer, input.from - 1, input.to, true, input.lines)
  if not ok then
    return failure("CONFLICT", "buffer %d was not changed: %s", buffer, tostring(raised))
  end
  return { buffer = buffer, tick = api.nvim_buf_get_changedtick(buffer), lines = api.nvim_buf_line_count(buffer),
    modified = vim.bo[buffer].modified }
end

-- A change as people read it: the file, the lines that go and those that come. Also the input with the tick of these
-- lines, so that an approval holds for the change of this text only.
local function preview_edit(input)
  local buffer, err = editable(input)
  if not buffer then
    return nil, err
  end
  local name = name_of(buffer)
  local lines = { ("%s, %s"):format(name == "" and "buffer " .. buffer or name, input.to < input.from
    and ("before line %d"):format(input.from) or ("lines %d to %d"):format(input.from, input.to)) }
  for _, given in ipairs(api.nvim_buf_get_lines(buffer, input.from - 1, input.to, true)) do
    lines[#lines + 1] = "-" .. given
  end
  for _, given in ipairs(input.lines) do
    lines[#lines + 1] = "+" .. given
  end
  return lines, members.merged(input, { buffer = buffer, tick = api.nvim_buf_get_changedtick(buffer) })
end

local function preview_save(input)
  local buffer, err = find_loaded(input.buffer)
  if not buffer then
    return nil, err
  end
  return { name_of(buffer) }, input
end

--- What calls would do, as lines, and the input to approve; nil and an error where the call would fail. By id.
buffers.previews = { ["buffers.edit"] = preview_edit, ["buffers.save"] = preview_save }

-- Buffers whose files were changed by another program: `:write` would ask, and block the editor. `:checktime` reports a
-- change only once, so it is remembered until the user reads or writes the buffer.
local overtaken = {}

local function is_overtaken(buffer)
  local group = api.nvim_create_augroup("operations_serve_save", { clear = true })
  api.nvim_create_autocmd("FileChangedShell", { group = group, buffer = buffer, callback = function()
    overtaken[buffer] = true
    vim.v.fcs_choice = ""
  end })
  pcall(vim.cmd, "checktime " .. buffer)
  api.nvim_del_augroup_by_id(group)
  if overtaken[buffer] then
    api.nvim_create_autocmd({ "BufReadPost", "BufWritePost", "BufWipeout" }, { buffer = buffer, once = true,
      callback = function()
        overtaken[buffer] = nil
      end })
  end
  return overtaken[buffer]
end

local function save(input)
  local buffer, err = find_loaded(input.buffer)
  if not buffer then
    return nil, err
  elseif vim.bo[buffer].readonly then
    return failure("CONFLICT", "buffer %d is read-only", buffer)
  elseif is_overtaken(buffer) then
    return failure("CONFLICT", "the file of buffer %d was changed by another program; its user has to decide", buffer)
  end
  local ok, raised = pcall(api.nvim_buf_call, buffer, function()
    vim.cmd("silent write")
  end)
  if not ok then
    return failure("CONFLICT", "buffer %d was not saved: %s", buffer, text.shown(tostring(raised), NAME))
  end
  return { buffer = buffer, name = name_of(buffer), modified = vim.bo[buffer].modified }
end

local line = { type = "integer", minimum = 1 }

buffers.definitions = {
  { namespace = "buffers", name = "list", type = "query", title = "List buffers",
    description = "The buffers of the editor: numbers, file names, sizes, whether they have unsaved changes.",
    inputSchema = { type = "object", properties = {
      all = { type = "boolean", description = "unlisted ones, too" } } }, handler = list },
  { namespace = "buffers", name = "read", type = "query", title = "Read a buffer",
    description = "The text of a buffer as it is in the editor, with changes that are not saved. A long one comes in "
      .. "pieces: `next` says what to ask for next. Binary data comes as base64. `tick` is for buffers_edit.",
    inputSchema = { type = "object", properties = { buffer = buffers.schema,
      from = { type = "integer", minimum = 1, description = "first line, default 1" },
      to = { type = "integer", minimum = 0, description = "last line, default: the last one" },
      byte = { type = "integer", minimum = 1, description = "where to continue in the first line" } } },
    handler = buffers.read },
  { namespace = "buffers", name = "edit", type = "mutation", title = "Change lines of a buffer",
    description = "Replaces lines of a buffer, as one change that can be undone. Nothing is saved. To insert before "
      .. "line n, from = n and to = n - 1.",
    inputSchema = { type = "object", required = { "buffer", "from", "to", "lines" }, properties = {
      buffer = buffers.schema, from = line, to = { type = "integer", minimum = 0 },
      lines = { type = "array", items = { type = "string", pattern = "^[^\\n]*$" } },
      tick = { type = "integer",
        description = "of buffers_read: nothing is changed when the buffer has changed since" },
    } }, handler = edit },
  { namespace = "buffers", name = "save", type = "mutation", title = "Save a buffer", _meta = { destructive = true },
    description = "Writes a buffer to its file, unless another program has changed that.",
    inputSchema = { type = "object", required = { "buffer" }, properties = { buffer = buffers.schema } },
    handler = save },
}

return buffers
