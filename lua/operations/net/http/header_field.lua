--- Header fields: patterns of their parts (RFC 9110, 5.5 and 5.6), and parsers for quoted strings, dates and links.
local core = require("operations.core")

local header_field = {}

-- The characters of a token: names of fields, methods and parameters.
local TOKEN = "[%w!#$%%&'*+.^_`|~-]+"

header_field.token = TOKEN

local WHOLE = "^" .. TOKEN .. "$"

--- A control character that a value must not contain: any but tab.
header_field.control = "[^%C\t]"

--- Is it a token?
---@param value any
---@return boolean
function header_field.is_token(value)
  return type(value) == "string" and value:find(WHOLE) ~= nil
end

--- Trims blanks at both ends.
---@param text string
---@return string
function header_field.trim(text)
  local from = text:find("[^ \t]")
  return from and text:match(".*[^ \t]", from) or "" -- linear time, wherever the blanks are
end

--- Reads a quoted string.
---@param text string
---@param from integer  position of its opening quote
---@return string? value  nil when it is not closed
---@return integer? after  position after it
function header_field.quoted(text, from)
  local position, pieces = from + 1, {}
  while true do
    local chunk, mark, after = text:match('^([^"\\]*)(["\\])()', position)
    if not chunk then
      return nil
    end
    pieces[#pieces + 1] = chunk
    if mark == '"' then
      return table.concat(pieces), after
    end
    pieces[#pieces + 1] = text:sub(after, after)
    position = after + 1
  end
end

local months = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}

-- Days from 1970-01-01 in the Gregorian calendar; years begin in March, so that leap days come last.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local leaps = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leaps + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- RFC 9110: a two-digit year more than 50 years ahead belongs to the previous century.
local function full_year(text)
  local year = tonumber(text)
  if #text > 2 then
    return year
  end
  return year + (year < 70 and 2000 or 1900)
end

--- Reads a date (5.6.7) in any of its three forms:
--- "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or "Sun Nov  6 08:49:37 1994".
---@param text string
---@return integer?  ms since the epoch; nil when it is not a date
function header_field.date(text)
  local day, name, year, h, m, s = text:match("^%a+, *(%d%d?)[ -](%a%a%a)[ -](%d%d+) (%d%d):(%d%d):(%d%d) GMT$")
  if not day then
    name, day, h, m, s, year = text:match("^%a%a%a (%a%a%a) +(%d%d?) (%d%d):(%d%d):(%d%d) (%d%d%d%d)$")
  end
  local month = name and months[name:lower()]
  if not month then
    return nil
  end
  day, h, m, s = tonumber(day), tonumber(h), tonumber(m), tonumber(s)
  if day < 1 or day > 31 or h > 23 or m > 59 or s > 60 then
    return nil
  end
  return (((days(full_year(year), month, day) * 24 + h) * 60 + m) * 60 + s) * 1000
end

-- RFC 6265, 5.1.1: what separates the parts of a cookie's date.
local BETWEEN = "[\9\32-\47\59-\64\91-\96\123-\126]+"

--- Reads the date of a cookie, in any form that browsers read (RFC 6265, 5.1.1): without a day of the week or a zone,
--- with one digit for an hour, with a year of two digits.
---@param text string
---@return integer?  ms since the epoch; nil when it is not a date
function header_field.cookie_date(text)
  local h, m, s, day, month, year
  for part in (text:gsub(BETWEEN, " ")):gmatch("[^ ]+") do
    local a, b, c = (part .. " "):match("^(%d%d?):(%d%d?):(%d%d?)[^%d]")
    local first, name = (part .. " "):match("^(%d%d?)[^%d]"), months[part:sub(1, 3):lower()]
    local last = (part .. " "):match("^(%d%d%d?%d?)[^%d]")
    if a and not h then
      h, m, s = tonumber(a), tonumber(b), tonumber(c)
    elseif first and not day then
      day = tonumber(first)
    elseif name and not month then
      month = name
    elseif last and not year then
      year = #last == 2 and full_year(last) or tonumber(last)
    end
  end
  if not (h and day and month and year) or day < 1 or day > 31 or year < 1601 or h > 23 or m > 59 or s > 59 then
    return nil
  end
  return (((days(year, month, day) * 24 + h) * 60 + m) * 60 + s) * 1000
end

--- The wait that a server asks for (RFC 9110, 10.2.3): seconds, or a date.
---@param headers table
---@return number? ms
function header_field.retry_after(headers)
  local text = headers["retry-after"]
  if not text then
    return nil
  elseif text:find("^%d+$") then
    return math.min(tonumber(text) * 1000, 2 ^ 53)
  end
  local at = header_field.date(text)
  return at and math.max(at - core.now(), 0)
end

---@class operations.Link  of a field `Link` (RFC 8288)
---@field target string  as written: a URI reference
---@field relations table<string, true>  in lower case
---@field parameters table<string, string>  by name in lower case; the first of duplicates

-- One parameter after its semicolon: name, value and the position after it.
local function parameter(text, from)
  local name, after = text:match("^[ \t]*(" .. header_field.token .. ")[ \t]*()", from)
  if not name then
    return nil, nil, from
  elseif text:sub(after, after) ~= "=" then
    return name:lower(), "", after
  end
  after = text:match("^=[ \t]*()", after)
  if text:sub(after, after) == '"' then
    local value, finish = header_field.quoted(text, after)
    return name:lower(), value, finish
  end
  local value, finish = text:match("^([^%s;,]*)()", after)
  return name:lower(), value, finish
end

local function parameters_of(text, from)
  local found = {}
  while true do
    local position = text:match("^[ \t]*;()", from)
    if not position then
      return found, from
    end
    local name, value, after = parameter(text, position)
    if not after then
      return nil
    elseif name and found[name] == nil then
      found[name] = value
    end
    from = after
  end
end

local function relations_of(parameters)
  local relations = {}
  for relation in (parameters.rel or ""):gmatch("%S+") do
    relations[relation:lower()] = true
  end
  return relations
end

--- Reads the value of `Link`, from one field or several joined by commas. An invalid part ends the list.
---@param text string
---@return operations.Link[]
function header_field.links(text)
  local list, position = {}, 1
  while true do
    local target, after = text:match("^[ \t,]*<([^>]*)>()", position)
    local parameters
    if target then
      parameters, position = parameters_of(text, after)
    end
    if not parameters then
      return list
    end
    list[#list + 1] = { target = target, relations = relations_of(parameters), parameters = parameters }
    if not text:find("^[ \t]*,", position) then
      return list
    end
  end
end

--- The target of a relation of the answer itself; links with another anchor are ignored.
---@param text string
---@param relation string
---@return string?
function header_field.link_target(text, relation)
  for _, link in ipairs(header_field.links(text)) do
    if link.relations[relation] and link.parameters.anchor == nil then
      return link.target
    end
  end
end

return header_field
