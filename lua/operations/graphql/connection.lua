--- Connections: pages of a list (the GraphQL Cursor Connections Specification), which `registry:pages` follows.
local schemas = require("operations.graphql.schema")

local connection = {}

--- Is a type a page of a list?
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type
---@return boolean
function connection.is(schema, of)
  local info = of.kind == "OBJECT" and schemas.field(of, "pageInfo")
  local known = info and info.type.name and schema:find(info.type.name)
  if not known or not schemas.field(known, "hasNextPage") then
    return false
  end
  return schemas.field(of, "nodes") ~= nil or schemas.field(of, "edges") ~= nil
end

--- Selects what tells of the pages before and after a connection.
---@param schema operations.graphql.Schema
---@param of operations.graphql.Type  the connection
---@param selections operations.graphql.Selection[]  of the connection; changed
function connection.add_page_info(schema, of, selections)
  local info, inner = schema:named(schemas.field(of, "pageInfo").type), {}
  for _, name in ipairs({ "hasNextPage", "endCursor", "hasPreviousPage", "startCursor" }) do
    inner[#inner + 1] = schemas.field(info, name) and { name = name } or nil
  end
  selections[#selections + 1] = { name = "pageInfo", selections = inner }
end

local moves = { after = true, before = true, first = true, last = true }

--- The keys by which arguments move a connection; nil when there are none.
---@param arguments operations.graphql.Input[]
---@param key fun(name: string): string?  of the input, for an argument
---@return table?
function connection.keys(arguments, key)
  local keys = {}
  for _, argument in ipairs(arguments) do
    if moves[argument.name] then
      keys[argument.name] = key(argument.name)
    end
  end
  return (keys.after or keys.before) and keys or nil
end

return connection
