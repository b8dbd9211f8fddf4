--- Plans and queries of GraphQL operations, without a server.
local from_graphql = require("operations.graphql")
local operation = require("operations.graphql.operation")

local graphql_plans = {}

--- The definitions of a source by name, and the report.
function graphql_plans.load(source, options)
  local definitions, report = from_graphql.document(source, options)
  assert(definitions, tostring(report))
  local by_name = {}
  for _, definition in ipairs(definitions) do
    by_name[definition.name] = definition
  end
  return by_name, report
end

--- The plan of an operation.
function graphql_plans.plan(source, name, options)
  local found = assert(graphql_plans.load(source, options)[name], name)
  return operation.plan_of(found.handler)
end

--- The query of a call; or nil and the message of its error.
function graphql_plans.query(source, name, input, options)
  local request, err = graphql_plans.plan(source, name, options).request(input or {})
  return request and request.query, err and err.message
end

return graphql_plans
