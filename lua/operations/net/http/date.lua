--- Dates of HTTP headers (RFC 9110, 5.6.7): all three forms that were ever in use.
local http_date = {}

local months = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}

-- Days from 1970-01-01 in the Gregorian calendar, March first, so that leap days come last.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  local leaps = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leaps + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

-- RFC 9110: two digits that seem more than 50 years ahead mean the century before.
local function full_year(text)
  local year = tonumber(text)
  if #text > 2 then
    return year
  end
  return year + (year < 70 and 2000 or 1900)
end

--- Reads "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or "Sun Nov  6 08:49:37 1994".
---@param text string
---@return integer?  ms since the epoch; nil when it is no date
function http_date.parse(text)
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

return http_date
