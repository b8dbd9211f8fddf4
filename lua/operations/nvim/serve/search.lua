--- Searches in the texts of buffers, as an operation. The editor runs meanwhile.
local buffers = require("operations.nvim.serve.buffers")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local pace = require("operations.nvim.serve.pace")
local text = require("operations.nvim.serve.text")

local api = vim.api

local search = {}

local LINES = 500 -- lines of a buffer per step
local SHOWN, BEFORE = 400, 100 -- bytes of a shown line, and bytes before the match
local MATCHES = 100

-- A function that finds the pattern in a line: the first byte, or nil; or nil and an error.
local function finder(input)
  if not input.regex then
    local pattern = input.ignore_case and input.pattern:lower() or input.pattern
    return function(line)
      return ((input.ignore_case and line:lower() or line):find(pattern, 1, true))
    end
  end
  -- The automaton engine: its time depends on the text only, not on the pattern.
  local ok, regex = pcall(vim.regex, "\\%#=2" .. (input.ignore_case and "\\c" or "\\C") .. input.pattern)
  if not ok then
    return nil, errors.new("VALIDATION_ERROR", "/pattern: " .. text.shown(tostring(regex), SHOWN))
  end
  return function(line)
    local from = regex:match_str(line)
    return from and from + 1
  end
end

local function describe(buffer, number, line, column)
  local from = math.max(1, column - BEFORE)
  while from < column and line:find("^[\128-\191]", from) do
    from = from + 1
  end
  return { buffer = buffer, name = buffers.name_of(buffer), line = number, column = column,
    text = text.shown(line:sub(from, from + SHOWN + 3), SHOWN) }
end

-- Adds the matches in a buffer; returns true when there are enough. A buffer wiped meanwhile has no more lines.
local function search_buffer(buffer, find, matches, most, rest)
  local number = 0
  while api.nvim_buf_is_valid(buffer) and api.nvim_buf_is_loaded(buffer) do
    local lines = api.nvim_buf_get_lines(buffer, number, number + LINES, false)
    for i, line in ipairs(lines) do
      local column = find(line)
      if column and #matches == most then
        return true
      elseif column then
        matches[#matches + 1] = describe(buffer, number + i, line, column)
      end
    end
    number = number + #lines
    if #lines < LINES then
      return false
    end
    rest()
  end
  return false
end

local function run(input)
  local find, err = finder(input)
  local list = api.nvim_list_bufs()
  if find and input.buffer ~= nil then
    list[1], err = buffers.find(input.buffer)
    list = { list[1] }
  end
  if err then
    return nil, err
  end
  local matches, more, rest = marks.array(), false, pace.new()
  for _, buffer in ipairs(list) do
    more = search_buffer(buffer, find, matches, input.limit or MATCHES, rest)
    if more then
      break
    end
    rest()
  end
  return { matches = matches, more = more }
end

search.definitions = {
  { namespace = "search", name = "text", type = "query", title = "Search buffers", handler = run,
    description = "The lines of loaded buffers that contain a text, or match a regular expression of Vim.",
    inputSchema = { type = "object", required = { "pattern" }, properties = {
      pattern = { type = "string", minLength = 1, maxLength = 1000 },
      regex = { type = "boolean", description = "the pattern is a regular expression of Vim" },
      ignore_case = { type = "boolean" },
      buffer = { type = buffers.schema.type, description = "number or file name of the only buffer to search" },
      limit = { type = "integer", minimum = 1, maximum = limits.nvim_items,
        description = "lines at most, default 100" },
    } } },
}

return search
