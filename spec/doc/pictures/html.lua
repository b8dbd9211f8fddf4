--- Writes the screen of a terminal as HTML: text with the colour sequences of ECMA-48 (SGR), as `tmux capture-pane -e`
--- prints them.
local html = {}

local PAPER, INK = "#1c2128", "#d7dde4"

-- The sixteen colours that a terminal's theme defines.
local theme = { [0] = "#3b434d", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d7dde4",
  "#7d8590", "#ffa198", "#a5f3b0", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff" }

-- A colour of the palette of 256: the theme, a cube of 6 levels, 24 greys.
local function colour_of(n)
  if n < 16 then
    return theme[n]
  elseif n >= 232 then
    local level = (n - 232) * 10 + 8
    return ("#%02x%02x%02x"):format(level, level, level)
  end
  local function level_of(step)
    return step == 0 and 0 or step * 40 + 55
  end
  n = n - 16
  return ("#%02x%02x%02x"):format(level_of(math.floor(n / 36)), level_of(math.floor(n / 6) % 6), level_of(n % 6))
end

-- Reads the colour after 38 or 48 at place `at` of the parameters; returns it and the place of the next parameter.
local function extended(parameters, at)
  if parameters[at] == 5 then
    return colour_of(parameters[at + 1] or 0), at + 2
  end
  return ("#%02x%02x%02x"):format(parameters[at + 1] or 0, parameters[at + 2] or 0, parameters[at + 3] or 0), at + 4
end

local switches = { [1] = { "bold", true }, [3] = { "italic", true }, [4] = { "underline", true },
  [7] = { "reverse", true }, [22] = { "bold", nil }, [23] = { "italic", nil }, [24] = { "underline", nil },
  [27] = { "reverse", nil }, [39] = { "ink", nil }, [49] = { "paper", nil } }

-- Applies the parameters of one sequence to a style.
local function apply(style, list)
  local parameters = {}
  for text in (list == "" and "0" or list):gmatch("%d+") do
    parameters[#parameters + 1] = tonumber(text)
  end
  local at = 1
  while at <= #parameters do
    local n = parameters[at]
    at = at + 1
    if n == 0 then
      style = {}
    elseif switches[n] then
      style[switches[n][1]] = switches[n][2]
    elseif n == 38 then
      style.ink, at = extended(parameters, at)
    elseif n == 48 then
      style.paper, at = extended(parameters, at)
    elseif n >= 30 and n <= 37 or n >= 90 and n <= 97 then
      style.ink = theme[n < 90 and n - 30 or n - 82]
    elseif n >= 40 and n <= 47 or n >= 100 and n <= 107 then
      style.paper = theme[n < 100 and n - 40 or n - 92]
    end
  end
  return style
end

local function css_of(style)
  local ink, paper = style.ink, style.paper
  if style.reverse then
    ink, paper = paper or PAPER, ink or INK
  end
  local list = {}
  list[#list + 1] = ink and "color:" .. ink or nil
  list[#list + 1] = paper and "background:" .. paper or nil
  list[#list + 1] = style.bold and "font-weight:bold" or nil
  list[#list + 1] = style.italic and "font-style:italic" or nil
  list[#list + 1] = style.underline and "text-decoration:underline" or nil
  return table.concat(list, ";")
end

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" }

--- The screen as elements of HTML.
---@param screen string  text and sequences
---@return string
function html.text(screen)
  local parts, style = {}, {}
  local function add(text)
    if text ~= "" then
      local css = css_of(style)
      text = text:gsub("[&<>]", entities)
      -- An element for each line: its background has the height of the line.
      parts[#parts + 1] = css == "" and text or text:gsub("[^\n]+", function(line)
        return ('<span style="%s">%s</span>'):format(css, line)
      end)
    end
  end
  local from = 1
  for first, list, after in screen:gmatch("()\27%[([%d;:]*)m()") do
    add(screen:sub(from, first - 1))
    style = apply(style, list)
    from = after
  end
  add(screen:sub(from))
  return table.concat(parts)
end

--- A page that shows the screen in an element with the id "screen".
---@param screen string
---@return string
function html.page(screen)
  return ([[<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: %s }
#screen { display: inline-block; margin: 0; padding: 14px 18px; background: %s; color: %s;
  font: 14px/1.3 "DejaVu Sans Mono", monospace; white-space: pre }
span { display: inline-block }
</style><pre id="screen">%s</pre>
]]):format(PAPER, PAPER, INK, html.text(screen))
end

return html
