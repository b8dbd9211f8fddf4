--- Makes the manual page of the program, lua/operations/cli/operations.1, of doc/command-line.md and the options of
--- each command. It has only the requests that lua/operations/cli/manual.lua reads: .SH .SS .PP .TP .IP .EX .EE.
local commands = require("operations.cli.commands")
local markdown = require("spec.doc.markdown")
local source_options = require("operations.sources.options")

local manual = {}

---@type spec.doc.Printer
local Page = {}
Page.__index = Page

-- Characters that man(7) prints as others, or not at all.
local special = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti" }

local function escaped(text)
  return (text:gsub("[\\%-'`^~]", special))
end

-- A line of text must not begin with a character of control.
local function line_of(text)
  return (text:gsub("^%.", "\\&%0"))
end

-- Inline Markdown: code is bold, links are their texts.
local function inline(text)
  local spans = {}
  text = text:gsub("!%[[^%]]*%]%([^)]*%)", ""):gsub("`([^`]*)`", function(span)
    spans[#spans + 1] = span:gsub("\\|", "|")
    return ("\1%d\2"):format(#spans)
  end)
  text = text:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):gsub("\\([|<>*_])", "%1")
  text = escaped(text):gsub("%*%*(.-)%*%*", "\\fB%1\\fR"):gsub("%f[%w*]%*([%w ]+)%*", "\\fI%1\\fR")
  return (text:gsub("\1(%d+)\2", function(n)
    return "\\fB" .. escaped(spans[tonumber(n)]) .. "\\fR"
  end))
end

function Page:add(...)
  for _, line in ipairs({ ... }) do
    self.lines[#self.lines + 1] = line
  end
end

function Page:add_code(lines)
  self:add(".PP", ".EX")
  for _, line in ipairs(lines) do
    self:add(line_of(escaped(line)))
  end
  self:add(".EE")
end

function Page:add_term(term, text)
  self:add(".TP", line_of(term), line_of(text))
end

function Page:add_table(rows)
  local headings = markdown.cells(rows[1])
  for i = 3, #rows do
    local cells = markdown.cells(rows[i])
    local last, notes = table.remove(cells), {}
    for column = 2, #cells do
      notes[#notes + 1] = cells[column] ~= "" and ("%s: %s"):format(headings[column], cells[column]) or nil
    end
    self:add_term(inline(cells[1]), inline(last .. (notes[1] and (" (%s)"):format(table.concat(notes, "; ")) or "")))
  end
end

function Page:add_heading(level, text)
  if level == 1 then
    return self:add(".SH DESCRIPTION")
  end
  self:add(level == 2 and ".SH " .. inline(text):upper() or ".SS " .. inline(text))
end

function Page:add_text(text)
  local mark, rest = text:gsub("%s+", " "):match("^ ?([-%d]+%.?) (.*)$")
  local body = inline(mark and rest or text)
  if body:find("%S") then
    self:add(mark and (".IP %s 3"):format(escaped(mark)) or ".PP", line_of(body))
  end
end

function Page.add_space() end -- each block begins with a request

local function of_option(option)
  local names = (option.short and option.short .. ", " or "") .. option.name
  return "\\fB" .. escaped(names) .. "\\fR" .. (option.value and " \\fI" .. escaped(option.value) .. "\\fR" or "")
end

function Page:add_options(list)
  for _, option in ipairs(list) do
    self:add_term(of_option(option), escaped(option.help))
  end
end

function Page:add_commands()
  self:add(".SH COMMANDS AND THEIR OPTIONS")
  for _, entry in ipairs(commands.list) do
    local command = commands.find(entry[1])
    self:add(".SS " .. entry[1], ".PP", "\\fB" .. escaped(command.usage) .. "\\fR",
      ".PP", escaped((command.summary:gsub("\n", " "))))
    if command.notes then
      self:add_code(markdown.lines(command.notes))
    end
    self:add_options(command.options)
  end
  self:add(".SS all commands")
  self:add_options(commands.shared)
  self:add(".SS sources, for most commands")
  self:add_options(source_options.list)
end

--- Makes the page.
---@param source string[]  the lines of doc/command-line.md
---@return string  in the language of man(7)
function manual.make(source)
  local self = setmetatable({ lines = {} }, Page)
  self:add('.\\" Made from doc/command-line.md by `make help-file`.', '.TH OPERATIONS 1 "" operations',
    ".SH NAME", "operations \\- call operations of HTTP APIs, MCP servers, processes and Lua files",
    ".SH SYNOPSIS", "\\fBoperations\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]")
  markdown.print(source, self)
  self:add_commands()
  return table.concat(self.lines, "\n") .. "\n"
end

return manual
