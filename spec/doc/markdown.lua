--- The blocks of a Markdown page, as the pages of doc/ use them.
local markdown = {}

local function block_end(source, from, pattern)
  local to = from
  while source[to + 1] and source[to + 1]:find(pattern) do
    to = to + 1
  end
  return to
end

local function code_end(source, from)
  local to = from + 1
  while source[to] ~= "```" do
    to = to + 1
  end
  return to
end

-- The lines of a paragraph end before an empty line, a list's item, a table, code or a heading.
local function text_end(source, from)
  local to = from
  while true do
    local following = source[to + 1]
    if not following or following == "" or following:find("^%s*%- ") or following:find("^%s*%d+%. ")
      or following:find("^[|#`]") and not following:find("^`[^`]") then
      return to
    end
    to = to + 1
  end
end

local function slice(source, from, to)
  local lines = {}
  for i = from, to do
    lines[#lines + 1] = source[i]
  end
  return lines
end

--- The cells of a table's row; a bar within one is `\|`.
---@param row string
---@return string[]
function markdown.cells(row)
  local cells = {}
  for cell in row:gsub("\\|", "\1"):gmatch("|([^|]*)") do
    cells[#cells + 1] = (cell:gsub("\1", "\\|"):match("^%s*(.-)%s*$"))
  end
  cells[#cells] = nil -- behind the last bar
  return cells
end

---@class spec.doc.Printer
---@field add_code fun(self: table, lines: string[], language: string)
---@field add_table fun(self: table, rows: string[])
---@field add_heading fun(self: table, level: integer, text: string)
---@field add_text fun(self: table, text: string)  a paragraph, or an item of a list with its further lines
---@field add_space fun(self: table)  an empty line

--- Gives each block of a page to a printer, in order.
---@param source string[]  lines
---@param printer spec.doc.Printer
function markdown.print(source, printer)
  local at = 1
  while source[at] do
    local line, to = source[at], at
    if line:find("^```") then
      to = code_end(source, at)
      printer:add_code(slice(source, at + 1, to - 1), line:sub(4))
    elseif line:find("^|") then
      to = block_end(source, at, "^|")
      printer:add_table(slice(source, at, to))
    elseif line:find("^#+ ") then
      printer:add_heading(#line:match("^#+"), line:match("^#+ (.*)$"))
    elseif line == "" then
      printer:add_space()
    else
      to = text_end(source, at)
      printer:add_text(table.concat(source, " ", at, to))
    end
    at = to + 1
  end
end

--- The lines of a text.
---@param text string
---@return string[]
function markdown.lines(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line
  end
  return lines
end

--- The lines of a page of doc/.
---@param page string
---@return string[]
function markdown.read(page)
  local file = assert(io.open(("doc/%s.md"):format(page)))
  local text = file:read("*a")
  file:close()
  return markdown.lines(text)
end

return markdown
