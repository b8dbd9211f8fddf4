--- The pages of a connection (Relay's cursor connections): the next one is asked for by the cursor of `pageInfo`.
local core = require("operations.core")
local errors = require("operations.base.error")
local exchange = require("operations.graphql.exchange")
local limits = require("operations.base.limits")
local members = require("operations.base.members")

local pages = {}

---@class operations.graphql.PageArguments
---@field path string[]  from the data to the connection
---@field after string  keys of the input
---@field first string
---@field before? string
---@field last? string

local function failure(message)
  return errors.new("EXECUTION_ERROR", message, { kind = "pages" })
end

-- The connection in an answer, as far as it has the form of one, and its `pageInfo`.
local function connection_of(data, path)
  for _, name in ipairs(path) do
    data = core.kind(data) == "object" and data[name] or nil
  end
  local connection = core.kind(data) == "object" and data or {}
  return connection, core.kind(connection.pageInfo) == "object" and connection.pageInfo or {}
end

-- Says where the items of a page are, so that they can be joined with those of others.
local function mark_items(envelope, connection, path)
  for _, name in ipairs({ "nodes", "edges" }) do
    if core.kind(connection[name]) == "array" then
      envelope.meta.items = "/" .. table.concat(members.joined(path, { name }), "/")
      return
    end
  end
end

-- Does an input ask for the last items, and so for the pages before these?
local function is_backwards(page, input)
  return page.before ~= nil and (input[page.before] ~= nil or page.last ~= nil and input[page.last] ~= nil)
    and input[page.after] == nil and input[page.first] == nil
end

-- The cursor of the next page, and the argument that takes it; nil at the end.
local function following(page, input, info)
  local backwards = is_backwards(page, input)
  local more, cursor = "hasNextPage", "endCursor"
  if backwards then
    more, cursor = "hasPreviousPage", "startCursor"
  end
  if info[more] == true and type(info[cursor]) == "string" then
    return info[cursor], backwards and page.before or page.after
  end
end

--- Emits every page but the last, which it returns.
---@param endpoint operations.graphql.Endpoint
---@param plan { page: operations.graphql.PageArguments, request: function }
---@param input table
---@param context operations.Context
---@return operations.Envelope? envelope
---@return operations.Error? err
function pages.run(endpoint, plan, input, context)
  local seen, count = {}, 1
  while true do
    local request, wrong = plan.request(input, true)
    if not request then
      return nil, wrong
    end
    local envelope, err = exchange.send(endpoint, request, context)
    if not envelope then
      return nil, err
    end
    local connection, info = connection_of(envelope.data, plan.page.path)
    mark_items(envelope, connection, plan.page.path)
    local cursor, argument = following(plan.page, input, info)
    if not cursor then
      return envelope
    end
    context.emit(envelope)
    if seen[cursor] then
      return nil, failure("the pages form a cycle")
    elseif count >= limits.pages then
      return nil, failure(("there are more than %d pages"):format(limits.pages))
    end
    seen[cursor], count = true, count + 1
    input = members.merged(input, { [argument] = cursor })
  end
end

return pages
