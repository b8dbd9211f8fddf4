--- Reads the tables of options and fields of pages.

-- Tables of which the first column has keys of data, or values.
local other_tables = { ["`_meta`"] = true, ["`idempotency`"] = true, ["`request.peer.tls`"] = true }

--- The first cells of a page's tables of options and fields.
---@param page string  its name, without directory and suffix
---@return string[]
local function option_rows(page)
  local rows, is_inside, is_options = {}, false, false
  for line in io.lines(("doc/%s.md"):format(page)) do
    local cell = line:match("^| ([^|]*) |")
    if cell and not is_inside then
      is_options = not other_tables[cell] and (cell:find("^option") or cell == "field" or cell:find("^`[%l_.]+`$")
        or cell:find("^`[%w_.]+%(.*options%??%)`$"))
    elseif cell and is_options then
      rows[#rows + 1] = cell
    end
    is_inside = line:find("^|") ~= nil
  end
  return rows
end

return option_rows
