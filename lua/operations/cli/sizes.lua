--- Sizes and rates for people.
local sizes = {}

local units = { "kB", "MB", "GB", "TB" }

--- A number of bytes: "1 byte", "999 bytes", "1.2 MB".
---@param count integer
---@return string
function sizes.text(count)
  if count < 1000 then
    return ("%d byte%s"):format(count, count == 1 and "" or "s")
  end
  local value, unit = count / 1000, 1
  while value >= 999.95 and units[unit + 1] do
    value, unit = value / 1000, unit + 1
  end
  return ("%.1f %s"):format(value, units[unit])
end

--- The progress and the rate of a transfer.
---@param count integer  bytes so far
---@param total? integer
---@param elapsed number  ms
---@return string
function sizes.progress(count, total, elapsed)
  local text = sizes.text(count)
  if total and total > 0 then
    text = ("%s of %s (%d %%)"):format(text, sizes.text(total), math.floor(count * 100 / total))
  end
  return elapsed > 0 and ("%s, %s/s"):format(text, sizes.text(math.floor(count * 1000 / elapsed))) or text
end

return sizes
