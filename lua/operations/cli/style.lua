--- The style of texts for people: the width of their terminal, and colours.
local system = require("operations.system")

local STDOUT = 1
local WIDTH = 80 -- columns for files and pipes

---@class operations.cli.Style
---@field width integer  columns
---@field is_terminal boolean
---@field _has_colour boolean
local Style = {}
Style.__index = Style

local style = {}

---@type operations.cli.Option
style.option = { name = "--color", value = "WHEN", values = { "auto", "always", "never" },
  help = "auto, always or never (auto: at a terminal)" }

local colours = { bold = "1", dim = "2", red = "31", green = "32", magenta = "35" } -- legible on dark and on light

--- The style from the options.
---@param options table<string, any>  of parsed arguments
---@return operations.cli.Style?
---@return string? message  error in --color
function style.of(options)
  local wish, is_terminal = options.color or "auto", system.is_terminal(STDOUT)
  if wish ~= "auto" and wish ~= "always" and wish ~= "never" then
    return nil, ("--color: expected auto, always or never, got %q"):format(wish)
  end
  local none = os.getenv("NO_COLOR")
  local has_colour = wish == "always" or wish == "auto" and is_terminal and (none == nil or none == "")
    and os.getenv("TERM") ~= "dumb"
  return setmetatable({
    width = system.terminal_size(STDOUT) or WIDTH, is_terminal = is_terminal, _has_colour = has_colour,
  }, Style)
end

--- A text in a colour, or unchanged.
---@param name "bold"|"dim"|"red"|"green"|"magenta"
---@param text string
---@return string
function Style:paint(name, text)
  return self._has_colour and text ~= "" and ("\27[%sm%s\27[0m"):format(colours[name], text) or text
end

-- The place after the string or the other scalar at `start` of JSON text.
local function scalar_end(text, start)
  local stop = text:match('^"[^"\\]*"()', start) or text:match('^[^"%s,%]}:]+()', start)
  if stop or start > #text then
    return stop or start
  end
  stop = start + 1
  repeat
    stop = text:match('^[^"\\]*()', stop)
    local escape = text:sub(stop, stop) == "\\"
    stop = stop + (escape and 2 or 1)
  until not escape
  return stop
end

--- JSON text with the names of members, texts and other scalars in colours, or unchanged.
---@param text string
---@return string
function Style:json(text)
  if not self._has_colour then
    return text
  end
  local parts, at = {}, 1
  while at <= #text do
    local start = text:match("^[%s,:%[%]{}]*()", at)
    local stop = scalar_end(text, start)
    local word = text:sub(start, stop - 1)
    local colour = word:sub(1, 1) ~= '"' and "magenta" or text:find("^%s*:", stop) and "bold" or "green"
    parts[#parts + 1], at = text:sub(at, start - 1) .. self:paint(colour, word), stop
  end
  return table.concat(parts)
end

return style
