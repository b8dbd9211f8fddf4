--- Joins the lists of several providers into one, in pages; the first provider with a name or URI answers for it.
local marks = require("operations.base.marked")
local message = require("operations.mcp.protocol.message")

local listing = {}

local PAGE = 1000

--- Items per page.
listing.size = PAGE

--- All items of the providers; the first of equal keys.
---@param call operations.mcp.ServerCall
---@param method string  of `operations.mcp.Provider`
---@param key string  the member that identifies items
---@return table[]
function listing.all(call, method, key)
  local list, seen = {}, {}
  if call.server.awaited then
    call.server:_settle()
  end
  for _, provider in ipairs(call.server.providers) do
    for _, item in ipairs(provider[method] and provider[method](provider, call) or {}) do
      if not seen[item[key]] then
        seen[item[key]], list[#list + 1] = true, item
      end
    end
  end
  return list
end

-- The start of a page; nil for an unknown cursor.
local function start_of(cursor, size)
  if cursor == nil then
    return 1
  end
  local start = type(cursor) == "string" and cursor:find("^%d+$") and #cursor < 10 and tonumber(cursor)
  return start and start > 1 and start <= size and start or nil
end

--- A page of a list as a result.
---@param call operations.mcp.ServerCall
---@param list table[]
---@param member string  of the result
---@param make? fun(item: any): table?  makes the items of the page only
---@return table?
---@return operations.mcp.Failure?
function listing.paged(call, list, member, make)
  local start = start_of(message.present(call.params.cursor), #list)
  if not start then
    return nil, { code = message.codes.INVALID_PARAMS, message = call.method .. ": there is no such cursor" }
  end
  local page = marks.array()
  for i = start, math.min(start + PAGE - 1, #list) do
    page[#page + 1] = not make and list[i] or make and make(list[i]) or nil
  end
  return { [member] = page, nextCursor = start + PAGE <= #list and tostring(start + PAGE) or nil }
end

--- A page of the items of all providers.
---@param call operations.mcp.ServerCall
---@param method string
---@param key string
---@param member string
---@return table?
---@return operations.mcp.Failure?
function listing.page(call, method, key, member)
  return listing.paged(call, listing.all(call, method, key), member)
end

--- The answer of the first provider that has one; a failure is the answer when no other provider has one.
---@param call operations.mcp.ServerCall
---@param method string
---@return table?
---@return operations.mcp.Failure?
function listing.first(call, method, ...)
  if call.server.awaited then
    call.server:_settle()
  end
  local problem
  for _, provider in ipairs(call.server.providers) do
    if provider[method] then
      local result, failure = provider[method](provider, call, ...)
      if result then
        return result
      end
      problem = problem or failure
    end
  end
  return nil, problem
end

--- Can a provider have such items? True if there are clients of other servers.
---@param server operations.McpServer
---@param kind "resources"|"prompts"
---@return boolean
function listing.has(server, kind)
  if server.options.clients then
    return true
  end
  for _, provider in ipairs(server.providers) do
    if provider:has(kind) then
      return true
    end
  end
  return false
end

return listing
