--- Words of POSIX shells, zsh and fish: whatever a text contains, the shell reads it as one word and as nothing else.
local printable = require("operations.base.printable")

local shell = {}

-- No word begins with "=", which zsh would look up.
local SAFE = "^[A-Za-z0-9_./:@%%+,-][A-Za-z0-9_./:=@%%+,-]*$"

local function octal(bytes)
  return (bytes:gsub(".", function(byte)
    return ("\\%03o"):format(byte:byte())
  end))
end

-- Bytes that neither a terminal nor a reader must meet, for the shell to make.
local function made(bytes)
  return "$(printf '" .. octal(bytes) .. "')"
end

--- A text as one word. Its characters that steer a terminal are written as numbers.
---@param text string  without NUL, which no word can have
---@return string
function shell.word(text)
  if text:find(SAFE) then
    return text
  end
  -- In single quotes, fish reads \\ and \' as one character.
  local quoted = "'" .. text:gsub("([\\']+)()", function(run, after)
    local is_plain = run == "\\" and text:find("^[ -~]", after)
    return not is_plain and "'" .. run:gsub(".", "\\%0") .. "'" or nil
  end) .. "'"
  return printable.replace(quoted, function(bytes)
    return "'\"" .. made(bytes) .. "\"'"
  end)
end

-- Within double quotes; "!" would be the history of a shell that someone types in, and fish keeps the \ of \`.
local function double_quoted(text)
  text = text:gsub('[\\"$]', "\\%0"):gsub("[!`]", "\"'%0'\"")
  return printable.replace(text, made)
end

--- Texts and variables of the environment as one word; only these variables are expanded.
---@param parts (string|{ variable: string })[]
---@return string
function shell.join(parts)
  local texts, has_variable = {}, false
  for i, part in ipairs(parts) do
    if type(part) == "table" then
      has_variable = true
      -- fish has no ${NAME}
      texts[i] = "$" .. part.variable .. (parts[i + 1] and parts[i + 1] ~= "" and '""' or "")
    else
      texts[i] = double_quoted(part)
    end
  end
  return has_variable and '"' .. table.concat(texts) .. '"' or shell.word(table.concat(parts))
end

--- A command that prints any bytes.
---@param bytes string
---@return string
function shell.printf(bytes)
  local text = bytes:gsub("%%", "%%%%"):gsub("[%z\1-\31\39\92\127-\255]", octal):gsub("^%-", octal)
  return "printf '" .. text .. "'"
end

return shell
