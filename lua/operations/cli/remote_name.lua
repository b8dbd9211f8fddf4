--- The file name given by a server: from `Content-Disposition` (RFC 6266), else the end of the URL. Never a path.
local printable = require("operations.base.printable")
local url = require("operations.base.url")

local remote_name = {}

local LONGEST = 255 -- bytes of a name, on most systems

-- The last part of a path of any system; nil if it is not a proper name: hidden, like an option, or with characters
-- that hide or reorder others.
local function last_part(text)
  local name = text:match("([^/\\]*)$"):gsub("^%s+", ""):gsub("%s+$", "")
  local is_proper = name:find("^[^.-]") and #name <= LONGEST and not name:find("%c") and printable.line(name) == name
  return is_proper and name or nil
end

-- RFC 8187: charset'language'percent-encoded
local function extended(field)
  local charset, text = field:match("[;%s][fF][iI][lL][eE][nN][aA][mM][eE]%*%s*=%s*([%w-]+)'[^']*'([^;%s]+)")
  return charset and charset:lower() == "utf-8" and url.decode(text) or nil
end

local function plain(field)
  local rest = field:match("[;%s][fF][iI][lL][eE][nN][aA][mM][eE]%s*=%s*(.*)$")
  if not rest then
    return nil
  elseif rest:sub(1, 1) == '"' then
    return (rest:match('^"(.-[^\\])"') or rest:match('^"([^"]*)"') or ""):gsub("\\(.)", "%1")
  end
  return rest:match("^[^;%s]+")
end

--- The file name for an answer.
---@param field? string  its header Content-Disposition
---@param address? string  the URL of the answer
---@return string? name  nil: there is no safe name
function remote_name.of(field, address)
  local given = field and (extended(";" .. field) or plain(";" .. field))
  local name = given and last_part(given)
  if name or not address then
    return name
  end
  local path = address:gsub("[?#].*$", ""):match("^%a[%w+.-]*://[^/]*/(.*)$")
  return path and last_part(url.decode(path) or path) or nil
end

return remote_name
