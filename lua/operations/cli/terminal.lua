--- The style of texts for people: the width of their terminal, and colours if wanted.
local system = require("operations.system")

local terminal = {}

local STDOUT = 1
local WIDTH = 80 -- columns for files and pipes

---@type operations.cli.Option
terminal.option = { name = "--color", value = "WHEN", help = "auto, always or never (auto: at a terminal)" }

local codes = { bold = "1", dim = "2", green = "32", yellow = "33" }

---@class operations.cli.Style
---@field width integer  columns
---@field is_terminal boolean
---@field _has_colour boolean
local Style = {}
Style.__index = Style

--- The style from the options.
---@param options table<string, any>  of parsed arguments
---@return operations.cli.Style?
---@return string? message  error in --color
function terminal.style(options)
  local wish, is_terminal = options.color or "auto", system.is_terminal(STDOUT)
  if wish ~= "auto" and wish ~= "always" and wish ~= "never" then
    return nil, ("--color: expected auto, always or never, got %q"):format(wish)
  end
  local none = os.getenv("NO_COLOR")
  local has_colour = wish == "always" or wish == "auto" and is_terminal and (none == nil or none == "")
    and os.getenv("TERM") ~= "dumb"
  return setmetatable({
    width = system.terminal_width(STDOUT) or WIDTH, is_terminal = is_terminal, _has_colour = has_colour,
  }, Style)
end

--- A text in a colour, or unchanged.
---@param name "bold"|"dim"|"green"|"yellow"
---@param text string
---@return string
function Style:paint(name, text)
  return self._has_colour and text ~= "" and ("\27[%sm%s\27[0m"):format(codes[name], text) or text
end

return terminal
