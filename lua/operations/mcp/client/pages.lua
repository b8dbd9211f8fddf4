--- Lists that come page by page.
local core = require("operations.core")
local limits = require("operations.base.limits")

local pages = {}

--- Asks for all pages. A cursor is opaque, "" is one too; no cursor, or null, is the end. A server that gives the same
--- cursor twice, or does not come to an end, is told of and asked no further.
---@param request fun(params: table): table?, operations.Error?
---@param key string  of the list within a page
---@param report fun(problem: string)
---@return table[]? items
---@return operations.Error? err
function pages.all(request, key, report)
  local items, seen, cursor = setmetatable({}, core.array_mt), {}, nil
  for _ = 1, limits.mcp_pages do
    local page, err = request({ cursor = cursor })
    if not page then
      return nil, err
    end
    for _, item in ipairs(page[key]) do
      items[#items + 1] = item
    end
    cursor = page.nextCursor
    if cursor == nil or cursor == core.null then
      return items
    elseif seen[cursor] then
      report("the list repeats itself: the cursor of one page leads back to it")
      return items
    end
    seen[cursor] = true
  end
  report(("the list has more than %d pages"):format(limits.mcp_pages))
  return items
end

return pages
