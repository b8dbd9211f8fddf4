--- Diagnostics and the quickfix list, as operations.
local buffers = require("operations.nvim.serve.buffers")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local pace = require("operations.nvim.serve.pace")
local printable = require("operations.base.printable")
local text = require("operations.nvim.serve.text")

local api, fn = vim.api, vim.fn

local findings = {}

local MESSAGE = 4096 -- bytes of one

local severities = { "error", "warning", "information", "hint" }
local numbers = { error = 1, warning = 2, information = 3, hint = 4 }

local function describe(found)
  return { buffer = found.bufnr, name = buffers.name_of(found.bufnr), line = found.lnum + 1, column = found.col + 1,
    end_line = found.end_lnum and found.end_lnum + 1, end_column = found.end_col and found.end_col + 1,
    severity = severities[found.severity], message = text.shown(tostring(found.message), MESSAGE),
    source = found.source and text.shown(tostring(found.source), MESSAGE),
    code = found.code ~= nil and text.shown(tostring(found.code), MESSAGE) or nil }
end

--- The diagnostics of a buffer, or of all buffers.
---@param input { buffer?: integer|string, severity?: string }
---@return table? answer
---@return operations.Error? err
function findings.diagnostics(input)
  local buffer, err
  if input.buffer ~= nil then
    buffer, err = buffers.find(input.buffer)
    if not buffer then
      return nil, err
    end
  end
  local severity = input.severity and { min = numbers[input.severity] }
  local all, list, rest = vim.diagnostic.get(buffer, { severity = severity }), marks.array(), pace.new()
  for _, found in ipairs(all) do
    if #list == limits.nvim_items then
      break
    end
    rest()
    list[#list + 1] = api.nvim_buf_is_valid(found.bufnr) and describe(found) or nil
  end
  return { diagnostics = list, total = #all }
end

--- The quickfix list.
---@return table
function findings.quickfix()
  local given, list, rest = fn.getqflist({ items = 0, title = 0 }), marks.array(), pace.new()
  for i = 1, math.min(#given.items, limits.nvim_items) do
    rest()
    local item = given.items[i]
    local named = item.bufnr > 0 and api.nvim_buf_is_valid(item.bufnr)
    list[i] = { name = named and buffers.name_of(item.bufnr) or nil, line = item.lnum, column = item.col,
      type = item.type, text = text.shown(item.text, MESSAGE) }
  end
  return { title = text.shown(given.title, MESSAGE), items = list, total = #given.items }
end

local function set_quickfix(input)
  local items = {}
  for i, item in ipairs(input.items) do
    items[i] = { filename = item.name, lnum = item.line, col = item.column or 0,
      text = printable.line(item.text or ""),
      type = item.type or "" }
  end
  fn.setqflist({}, " ", { title = printable.line(input.title or ""), items = items })
  return { total = #items }
end

findings.definitions = {
  { namespace = "diagnostics", name = "list", type = "query", title = "List diagnostics",
    handler = findings.diagnostics,
    description = "What language servers and linters found, in one buffer or all.",
    inputSchema = { type = "object", properties = { buffer = { type = buffers.schema.type,
      description = "number of a buffer, or its file name; default: all buffers" },
      severity = { enum = severities, description = "the least" } } } },
  { namespace = "quickfix", name = "list", type = "query", title = "The quickfix list", handler = findings.quickfix,
    description = "The entries of the quickfix list." },
  { namespace = "quickfix", name = "set", type = "mutation", title = "Set the quickfix list", handler = set_quickfix,
    _meta = { destructive = false, idempotent = true },
    description = "Makes a new quickfix list; the ones before stay in its history (`:colder`).",
    inputSchema = { type = "object", required = { "items" }, properties = { title = { type = "string" },
      items = { type = "array", maxItems = 10000, items = { type = "object", required = { "name", "line" },
        properties = { name = { type = "string", description = "file" }, line = { type = "integer", minimum = 1 },
          column = { type = "integer", minimum = 1 }, text = { type = "string" },
          type = { enum = { "E", "W", "I", "N" } } } } } } } },
}

return findings
