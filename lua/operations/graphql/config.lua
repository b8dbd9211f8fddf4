--- The configuration of an import, checked before anything is read.
local argument = require("operations.base.argument")
local importing = require("operations.registry.importing")
local members = require("operations.base.members")

local config = {}

---@class operations.graphql.Config : operations.ImporterOptions
---@field namespace? string  of the operations, default "graphql"
---@field endpoint? string  URL of the service
---@field normalize? "cast"|"force"|"off"  default "off": the server has checked the types of its answer
---@field scalars? table<string, any>  JSON Schemas of the service's own scalars; others take anything
---@field uploads? string[]  the scalars whose values are files, default { "Upload" }
---@field max_leaves? integer  fields that are selected by default, 60

config.kinds = members.merged(importing.kinds, {
  endpoint = "string", scalars = "table", uploads = "table", max_leaves = "number",
  headers = "table", auth = "table", timeout = "number", idle_timeout = "number", max_body = "number",
  method = "string", persisted = "boolean", partial = "string", subscriptions = "string", connection_params = "table",
  retry = "boolean or table", jar = "table", unix_socket = "string", ca_file = "string", proxy = "string or false",
  redirect_all = "boolean", http = "table", files = "boolean",
})

local function wrong(message, ...)
  error(("from_graphql: " .. message):format(...), 4)
end

--- Checks a configuration; errors in it are misuse and raise.
---@param given? operations.graphql.Config
---@return operations.graphql.Config  a copy, ready for use
function config.check(given)
  if given ~= nil and type(given) ~= "table" then
    wrong("config: expected a table, got %s", type(given))
  end
  local copy = members.merged(given)
  argument.options(copy, config.kinds, "from_graphql", 4)
  for name, allowed in pairs(importing.choices) do
    if copy[name] and not members.contains(allowed, copy[name]) then
      wrong("config.%s: expected %s, got %q", name, table.concat(allowed, " or "), copy[name])
    end
  end
  copy.namespace = copy.namespace or "graphql"
  copy.normalize = copy.normalize or "off"
  copy.uploads = members.set(copy.uploads or { "Upload" })
  return copy
end

return config
