--- `operations help manual`: the manual page, which is beside this file, as text. spec/doc/manual.lua makes it, with
--- the few requests of man(7) that are read here.
local files = require("operations.base.files")
local prose = require("operations.people.prose")

local manual = {}

local WIDEST = 100 -- columns: longer lines are hard to read

local characters = { e = "\\", ["-"] = "-", ["&"] = "", ["(aq"] = "'", ["(ga"] = "`", ["(ha"] = "^", ["(ti"] = "~" }

-- The text of a line; what is bold or in italics stays as words.
local function plain(line)
  return (line:gsub("\\f[BIR]", ""):gsub("\\(%([a-z][a-z])", characters):gsub("\\([e&-])", characters))
end

---@class operations.cli.ManualPage
---@field parts string[]
---@field style operations.cli.Style
---@field width integer
---@field indent integer  of the next text
---@field is_term boolean?  the next text is a term
---@field is_verbatim boolean?
---@field heading string?  the last one
local Page = {}
Page.__index = Page

function Page:add(text)
  self.parts[#self.parts + 1] = text
end

function Page:add_heading(margin, text)
  self.heading = "\n" .. margin .. self.style:paint("bold", text) .. "\n"
  self:add(self.heading)
  self.indent = 4
end

local requests = {
  SH = function(self, text) self:add_heading("", text) end,
  SS = function(self, text) self:add_heading("  ", text) end,
  PP = function(self)
    self:add(self.parts[#self.parts] ~= self.heading and "\n" or "")
    self.indent = 4
  end,
  TP = function(self) self:add("\n") self.is_term = true end,
  IP = function(self, text) self:add("\n    " .. text:match("^%S+") .. "\n") self.indent = 6 end,
  EX = function(self) self.is_verbatim = true end,
  EE = function(self) self.is_verbatim = nil end,
}

function Page:add_text(text)
  if self.is_verbatim then
    self:add("      " .. text .. "\n")
  elseif self.is_term then
    self:add("    " .. self.style:paint("bold", text) .. "\n")
    self.is_term, self.indent = nil, 8
  else
    self:add(prose.wrap(text, self.width, (" "):rep(self.indent)))
  end
end

--- The page as text.
---@param style operations.cli.Style
---@return string? text  nil: its file is not installed
function manual.text(style)
  local source = files.own("operations/cli/operations.1")
  if not source then
    return nil
  end
  local self = setmetatable({ parts = {}, style = style, width = math.min(style.width, WIDEST), indent = 4 }, Page)
  for line in source:gmatch("([^\n]*)\n") do
    local name, rest = line:match("^%.(%u%u) ?(.*)$")
    if requests[name] then
      requests[name](self, plain(rest))
    elseif not name and line:sub(1, 1) ~= "." then
      self:add_text(plain(line))
    end
  end
  return (table.concat(self.parts):gsub("^\n", ""))
end

return manual
