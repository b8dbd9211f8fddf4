--- Wraps descriptions to lines, without HTML and Markdown.
local cells = require("operations.people.cells")

local prose = {}

local entities = { lt = "<", gt = ">", amp = "&", quot = '"', apos = "'", nbsp = " " }

--- A text without the syntax of HTML and Markdown.
---@param text string
---@return string
function prose.unmarked(text)
  text = text:gsub("<br%s*/?>", "\n"):gsub("</p>", "\n\n"):gsub("<!%-%-.-%-%->", ""):gsub("</?%a[^<>]*>", "")
  text = text:gsub("!?%[([^%[%]]*)%]%([^()]*%)", "%1"):gsub("%*%*([^*\n]+)%*%*", "%1"):gsub("__([^_\n]+)__", "%1")
  text = text:gsub("%*([^*%s][^*\n]*)%*", "%1"):gsub("%f[^%s%z]_([^_%s][^_\n]*)_%f[^_%w]", "%1")
  text = ("\n" .. text):gsub("\n#+ +", "\n"):gsub("\n> ?%[!%u+%]", "\n"):gsub("\n> ?", "\n"):gsub("`+([^`\n]+)`+", "%1")
  return (text:gsub("&(%a+);", entities):gsub("^%s+", ""):gsub("%s+$", ""))
end

--- The first paragraph of a text, in one line.
---@param text string
---@return string
function prose.summary(text)
  local paragraph = (prose.unmarked(text) .. "\n\n"):match("^(.-)\n%s*\n")
  return (paragraph:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- Adds the lines of one paragraph.
local function add_paragraph(lines, paragraph, width, indent)
  local line = ""
  for word in paragraph:gmatch("%S+") do
    if line ~= "" and cells.width(line) + cells.width(word) + 1 > width - #indent then
      lines[#lines + 1] = indent .. line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line ~= "" and indent .. line or ""
end

--- Wraps a text to a number of columns; keeps list items and blank lines apart.
---@param text string
---@param width integer
---@param indent? string
---@return string  with a newline at the end
function prose.wrap(text, width, indent)
  local lines, paragraph = {}, nil
  local function finish()
    if paragraph then
      add_paragraph(lines, paragraph, width, indent or "")
    end
    paragraph = nil
  end
  for line in (text .. "\n"):gmatch("([^\n]*)\n") do
    if not line:find("%S") then
      finish()
      lines[#lines + 1] = lines[#lines] ~= "" and "" or nil
    elseif line:find("^%s*[-*] ") or line:find("^%s*%d+[.)] ") then
      finish()
      paragraph = line
    else
      paragraph = paragraph and paragraph .. " " .. line or line
    end
  end
  finish()
  return table.concat(lines, "\n") .. "\n"
end

--- A text in columns, such as a help text, for a narrower terminal: long lines are broken at blanks, and continue below
--- their last column.
---@param text string
---@param width integer
---@return string
function prose.fitted(text, width)
  return (text:gsub("[^\n]+", function(line)
    if cells.width(line) <= width then
      return nil
    end
    local left = line:match("^(.*%S  +)%S")
    left = left and cells.width(left) <= width * 0.6 and left or line:match("^ *")
    local indent = (" "):rep(cells.width(left))
    return left .. prose.wrap(line:sub(#left + 1), width, indent):sub(#indent + 1, -2)
  end))
end

return prose
