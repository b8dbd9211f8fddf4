--- Makes the help of Vim, doc/operations.txt, of the Markdown pages in doc/. `make help-file` runs main.lua, which
--- writes the file; vimdoc_spec.lua compares.
local markdown = require("spec.doc.markdown")

local vimdoc = {}

local WIDTH = 78

--- The pages, in the order of the help. Those about the repository itself (development, comparison) are not in it.
vimdoc.pages = {
  "neovim", "neovim-assistants", "registry", "schemas", "data", "errors", "openapi", "graphql", "http-client", "oauth",
  "mcp", "mcp-server", "http-server", "http-callers", "http-hosting", "openapi-document", "tools", "code", "sandbox",
  "middleware", "policy", "calls", "jobs", "protocol", "scaling", "hosts", "embedding", "openresty", "command-line",
  "command-to-program", "scripts", "testing", "types", "pieces", "limits", "security", "from-typescript",
}

local in_help = {}
for _, name in ipairs(vimdoc.pages) do
  in_help[name] = true
end

local function width(text)
  return #text:gsub("[\128-\191]", "")
end

local function slug(heading)
  return (heading:lower():gsub("[^%w%- _]", ""):gsub("[ _]", "-"))
end

-- Headings of the page about the plugin have short tags: operations-installation.
local function tag_of(page, heading)
  return "operations-" .. (page == "neovim" and "" or page .. "-") .. slug(heading)
end

local function link(text, target, page)
  local name, anchor = target:match("^([%w%-]*)%.?m?d?#?(.*)$")
  name = name ~= "" and name or page
  if target:find("^https?:") then
    return text .. " (" .. target .. ")"
  elseif not name or target:find("/") or not in_help[name] then
    return text == target and text or ("%s (%s)"):format(text, (target:gsub("^%.%./", "")))
  end
  local tag = anchor == "" and "operations-" .. name .. "-page"
    or "operations-" .. (name == "neovim" and "" or name .. "-") .. anchor:gsub("_", "-")
  return ("%s |%s|"):format(text, tag)
end

-- Inline Markdown as plain text. Code spans stay: Vim shows them as such.
local function plain(text, page)
  local spans = {}
  text = text:gsub("!%[[^%]]*%]%([^)]*%)", ""):gsub("`[^`]*`", function(span)
    spans[#spans + 1] = span
    return ("\1%d\2"):format(#spans)
  end)
  text = text:gsub("%[([^%]]*)%]%(([^)]*)%)", function(label, target)
    return link(label, target, page)
  end)
  text = text:gsub("%*%*(.-)%*%*", "%1"):gsub("%f[%w*]%*([%w ]+)%*", "%1"):gsub("\\([|<>*_])", "%1")
  return (text:gsub("\1(%d+)\2", function(n)
    return (spans[tonumber(n)]:gsub("\\|", "|"))
  end))
end

-- Breaks a text into lines, the first after `first`, the others after `rest`.
local function wrap(lines, text, first, rest)
  local line, empty = first, true
  for word in text:gmatch("%S+") do
    if not empty and width(line) + 1 + width(word) > WIDTH then
      lines[#lines + 1] = line
      line, empty = rest, true
    end
    line = line .. (empty and "" or " ") .. word
    empty = false
  end
  lines[#lines + 1] = line
end

local function right(lines, tag)
  lines[#lines + 1] = (" "):rep(math.max(WIDTH - width(tag) - 2, 1)) .. "*" .. tag .. "*"
end

-- Tags of what a table describes: functions of the library, commands of the plugin.
local function term_tags(self, term)
  local found = {}
  for span in term:gmatch("`([^`]*)`") do
    local name = span:match("^(operations[%.%w_]+)%(") or span:match('^require%("(operations%.nvim)"%)%.[%w_]+%(')
    if name == "operations.nvim" then
      name = name .. "." .. span:match("%)%.([%w_]+)%(")
    end
    local command = span:match("^:Operations (%l+)")
    found[#found + 1] = command and ":Operations-" .. command or name and name .. "()"
  end
  local new = {}
  for _, tag in ipairs(found) do
    if not self.tags[tag] then
      self.tags[tag] = true
      new[#new + 1] = tag
    end
  end
  if term:find("`:Operations") and not self.tags[":Operations"] then
    self.tags[":Operations"] = true
    table.insert(new, 1, ":Operations")
  end
  return new
end

---@type spec.doc.Printer
local Help = {}
Help.__index = Help

-- Columns whose heading says nothing that the text does not.
local silent = { [""] = true, meaning = true, returns = true, ["what it does"] = true, ["what it gives"] = true }

local function add_row(self, headings, row)
  local lines, cells = self.lines, markdown.cells(row)
  for _, tag in ipairs(term_tags(self, cells[1])) do
    right(lines, tag)
  end
  wrap(lines, plain(cells[1], self.page), "", "  ")
  local short = {}
  for i = 2, #cells do
    local heading, text = headings[i] or "", plain(cells[i], self.page)
    local label = silent[heading] and "" or plain(heading, self.page) .. ": "
    if text ~= "" and i < #cells and width(text) < 30 then
      short[#short + 1] = label .. text
    elseif text ~= "" then
      wrap(lines, label .. text, "    ", "    ")
    end
  end
  if #short > 0 then
    wrap(lines, table.concat(short, "; "), "    ", "    ")
  end
end

function Help:add_table(rows)
  local headings = markdown.cells(rows[1])
  if headings[1] ~= "" and width(headings[1]) > 0 then
    wrap(self.lines, plain(headings[1], self.page) .. ":", "", "")
  end
  for i = 3, #rows do
    add_row(self, headings, rows[i])
  end
  self.lines[#self.lines + 1] = ""
end

function Help:add_code(block)
  local lines = self.lines
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  lines[#lines + 1] = ">"
  for _, line in ipairs(block) do
    lines[#lines + 1] = line == "" and "" or "    " .. line
  end
  lines[#lines + 1] = "<"
end

function Help:add_heading(level, text)
  local lines = self.lines
  if level == 1 then
    lines[#lines + 1] = ("="):rep(WIDTH)
    right(lines, "operations-" .. self.page .. "-page")
    lines[#lines + 1] = text:upper()
  else
    if level == 2 then
      lines[#lines + 1] = ("-"):rep(WIDTH)
    end
    right(lines, tag_of(self.page, text))
    lines[#lines + 1] = plain(text, self.page) .. " ~"
  end
  lines[#lines + 1] = ""
end

-- A paragraph, or an item of a list with its further lines.
function Help:add_text(text)
  local mark = text:match("^%s*%-%s") or text:match("^%s*%d+%.%s") or ""
  local body = plain(text:sub(#mark + 1), self.page)
  if body:find("%S") then
    wrap(self.lines, body, mark, (" "):rep(#mark))
  end
end

function Help:add_space()
  if self.lines[#self.lines] ~= "" then
    self.lines[#self.lines + 1] = ""
  end
end

local function add_contents(self, titles)
  for i, page in ipairs(vimdoc.pages) do
    local text = ("%2d. %s"):format(i, titles[page])
    local tag = "|operations-" .. page .. "-page|"
    self.lines[#self.lines + 1] = text .. (" "):rep(math.max(42 - width(text), 1)) .. tag
  end
  self.lines[#self.lines + 1] = ""
end

--- Makes the help.
---@param read fun(page: string): string[]  the lines of a page
---@return string
function vimdoc.make(read)
  local self = setmetatable({ tags = {}, lines = {
    "*operations.txt*  One call interface for everything a program can invoke", "",
    "                                                                *operations*",
    "Made from the pages in doc/ by `make help-file`.", "",
  } }, Help)
  local sources, titles = {}, {}
  for _, page in ipairs(vimdoc.pages) do
    sources[page] = read(page)
    titles[page] = sources[page][1]:match("^# (.*)$")
  end
  add_contents(self, titles)
  for _, page in ipairs(vimdoc.pages) do
    self.page = page
    markdown.print(sources[page], self)
    self:add_space()
  end
  self.lines[#self.lines + 1] = "vim:tw=78:ts=8:ft=help:norl:"
  return table.concat(self.lines, "\n") .. "\n"
end

return vimdoc
