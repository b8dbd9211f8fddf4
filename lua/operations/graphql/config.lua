--- The configuration of an import, checked before anything is read.
local argument = require("operations.base.argument")
local file = require("operations.openapi.file")
local header_field = require("operations.net.http.header_field")
local http = require("operations.net.http")
local http_retry = require("operations.net.http.retry")
local importing = require("operations.registry.importing")
local location = require("operations.openapi.location")
local members = require("operations.base.members")
local openapi_config = require("operations.openapi.config")

local config = {}

---@class operations.graphql.Config : operations.ImporterOptions
---@field namespace? string  of the operations, default "graphql"
---@field endpoint? string  URL of the service; `from_graphql.url` sets it
---@field normalize? "cast"|"force"|"off"  default "off": the server has checked the types of its answer
---@field scalars? table<string, any>  JSON Schemas of the service's own scalars; others take anything
---@field uploads? string[]  the scalars whose values are files, default { "Upload" }
---@field documents? string|string[]  files of operations and fragments, and folders of `.graphql` files
---@field fields? boolean  false: only the operations of `documents`, not the root fields
---@field raw? boolean  false: without `<namespace>.graphql`, which takes any query; true: it is exposed where the
---  others are, although it passes by every rule that names a field
---@field eager? boolean  reads all types at once, so that the report is complete
---@field max_leaves? integer  fields that are selected by default, 60
---@field auth? table  as of `from_openapi`: { type = "bearer", token = }, { type = "basic", username =, password = },
---  { type = "apiKey", name =, token = } or a list of these; functions are called per request
---@field headers? table<string, string>  sent with every request
---@field partial? "data"|"fail"  of an answer that has both data and errors: the data, with `meta.errors` (default), or
---  a failure
---@field method? "POST"|"GET"  of queries; GET where they fit into a URL; default "POST"
---@field persisted? boolean  sends queries by their SHA-256, and whole only where the service does not know it
---@field subscriptions? string  "websocket", "sse", or the URL of a WebSocket (ws, wss); default: WebSocket at the
---  service's URL, and server-sent events where it speaks none
---@field connection_params? table|fun(context: operations.Context): table?  payload of `connection_init`, the first
---  message over WebSocket
---@field files? boolean  may `{ path = }` name files of this machine to upload? Default: not if accessControl exposes
---  the operations
---@field timeout? integer  ms for a whole call, for streams until the first byte
---@field idle_timeout? integer  ms between two pieces of an answer, default 60,000; for streams none
---@field max_body? integer  bytes of an answer
---@field max_event? integer  bytes of one event of a subscription, default 1 MiB
---@field retry? boolean|operations.RetryPolicy  repeats queries, as in `operations.http`; default off
---@field redirect_all? boolean  follows redirects of POST
---@field jar? operations.CookieJar
---@field unix_socket? string
---@field ca_file? string
---@field cert_file? string  client certificate, PEM; its key there or in `key_file`
---@field key_file? string
---@field proxy? string|false
---@field http? table  HTTP client: `request(message)`, `open(message)`; default `operations.http`

config.kinds = members.merged(importing.kinds, {
  endpoint = "string", scalars = "table", uploads = "table", documents = "string or table",
  fields = "boolean", raw = "boolean", eager = "boolean", max_leaves = "number",
  headers = "table", auth = "table", timeout = "number", idle_timeout = "number", max_body = "number",
  method = "string", persisted = "boolean", partial = "string", subscriptions = "string",
  connection_params = "table or function", max_event = "number", cert_file = "string", key_file = "string",
  retry = "boolean or table", jar = "table", unix_socket = "string", ca_file = "string", proxy = "string or false",
  redirect_all = "boolean", http = "table", files = "boolean",
})

-- Raises at the caller of `from_graphql.document` and similar functions.
local function wrong(depth, message, ...)
  error(("from_graphql: " .. message):format(...), depth + 3)
end

local choices = members.merged(importing.choices, { partial = { "data", "fail" }, method = { "POST", "GET" } })

local function check_headers(headers)
  for name, value in pairs(headers or {}) do
    if not header_field.is_token(name) or type(value) ~= "string" or value:find(header_field.control) then
      wrong(2, "config.headers: expected header names, and strings without control characters, got %q",
        tostring(name))
    end
  end
end

local function check_places(copy)
  if copy.endpoint and not location.base(copy.endpoint) then
    wrong(2, "config.endpoint: expected an http or https URL without a user name, got %q", copy.endpoint)
  elseif copy.subscriptions and copy.subscriptions ~= "websocket" and copy.subscriptions ~= "sse"
    and not copy.subscriptions:find("^wss?://[^/?#%s]") then
    wrong(2, "config.subscriptions: expected websocket, sse or a URL of ws or wss, got %q", copy.subscriptions)
  elseif copy.subscriptions and copy.subscriptions:find("^ws:") and (copy.endpoint or ""):find("^https:") then
    wrong(2, "config.subscriptions: expected wss, because the service has https and the credentials are sent there too")
  end
end

-- The schemas of scalars: of uploads that of a file, with `path` where files of this machine may be sent.
local function with_files(copy)
  local schemas = {}
  for name in pairs(copy.uploads) do
    schemas[name] = file.schema({ files_allowed = openapi_config.may_send_files(copy) })
  end
  return members.merged(schemas, copy.scalars)
end

--- Checks a configuration; errors in it are misuse and raise.
---@param given? operations.graphql.Config
---@return operations.graphql.Config  a copy, ready for use
function config.check(given)
  if given ~= nil and type(given) ~= "table" then
    wrong(1, "config: expected a table, got %s", type(given))
  end
  local copy = members.merged(given)
  argument.options(copy, config.kinds, "from_graphql", 4)
  for name, allowed in pairs(choices) do
    if copy[name] and not members.contains(allowed, copy[name]) then
      wrong(1, "config.%s: expected %s, got %q", name, table.concat(allowed, " or "), copy[name])
    end
  end
  check_places(copy)
  check_headers(copy.headers)
  copy.http = copy.http or http
  http_retry.policy(copy.retry, 4)
  copy.namespace = copy.namespace or "graphql"
  copy.normalize = copy.normalize or "off"
  copy.documents = type(copy.documents) == "string" and { copy.documents } or copy.documents or {}
  copy.uploads = members.set(copy.uploads or { "Upload" })
  copy.scalars = with_files(copy)
  return copy
end

return config
