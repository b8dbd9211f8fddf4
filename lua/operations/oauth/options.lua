--- Copies and checks the options of this adapter's constructors; a wrong option raises.
local argument = require("operations.base.argument")
local client = require("operations.oauth.client")
local endpoint = require("operations.oauth.endpoint")
local members = require("operations.base.members")
local store = require("operations.oauth.store")
local url = require("operations.base.url")

local options = { directory_store = store.directory, memory_store = store.memory }

local transport = {
  http = "table", timeout = "number", ca_file = "string", proxy = "string or false", public_only = "boolean",
}

--- Copies options and checks their names and types, including those of the transport.
---@param name string  of the constructor, for messages
---@param given any
---@param kinds table<string, string>  as for `argument.options`
---@param needed string[]
---@param depth? integer  number of calls between the constructor and this function
---@return table copy
function options.check(name, given, kinds, needed, depth)
  local level = 3 + (depth or 0)
  if type(given) ~= "table" then
    error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, type(given)), level)
  end
  argument.options(given, members.merged(transport, kinds), name, level + 1)
  for _, key in ipairs(needed) do
    if given[key] == nil then
      error(("bad option '%s' to '%s' (missing)"):format(key, name), level)
    end
  end
  return members.merged(given)
end

local request = {
  token_endpoint = "string", client_id = "string", client_secret = "string", client_auth = "string or function",
  scope = "string or table", resource = "string or table", params = "table",
}

--- As `options.check`, for what asks one token endpoint.
---@param name string
---@param given any
---@param kinds table<string, string>  of its other options
---@return table copy
function options.request(name, given, kinds)
  local copy = options.check(name, given, members.merged(request, kinds), { "token_endpoint", "client_id" }, 1)
  local problem = endpoint.problem(copy.token_endpoint)
  problem = problem and "token_endpoint: " .. problem or client.problem(copy)
  if problem then
    error(name .. ": " .. problem, 3)
  end
  return copy
end

--- Scopes as a text.
---@param scope string|string[]|nil
---@return string?
function options.scope(scope)
  return type(scope) == "table" and table.concat(scope, " ") or scope
end

---@class operations.oauth.AuthorizerOptions: operations.oauth.Transport
---@field open? fun(url: string): string|table|nil, operations.Error?  lets the user log in at a URL and returns the URL
---  that the browser was redirected to, or its fields `{ code, state, iss }`; may wait
---@field redirect_uri? string  where the browser is redirected to; https, or http on this machine
---@field client? table|fun(issuer: string): table?, operations.Error?  a client that the authorization server has
---  registered: `{ client_id, client_secret?, client_auth?, issuer? }`; with `issuer` it is used with that one only
---@field client_metadata_url? string  https URL of the client's metadata document, which is also its client_id
---@field client_name? string  name for its registration; default "operations for Lua"
---@field client_uri? string
---@field grant? "authorization_code"|"client_credentials"|fun(asked: table): table?, operations.Error?  client
---  credentials: the program itself is the client, without a login; a function gets `{ issuer, token_endpoint,
---  resource, scope }` and returns the fields of another grant, `{ grant_type, assertion, ... }`
---@field scope? string|string[]  scopes to request first, instead of all that the server lists
---@field store? operations.oauth.Store  default: in memory

local authorizer_kinds = {
  open = "function", redirect_uri = "string", client = "table or function", client_metadata_url = "string",
  client_name = "string", client_uri = "string", grant = "string or function", scope = "string or table",
  store = "table",
}

local function is_document_url(text)
  local parsed = url.parse(text)
  return parsed and parsed.scheme == "https" and parsed.path:find("^/.") and not endpoint.problem(text)
end

local function problem_of(given)
  if type(given.grant) == "string" and given.grant ~= "authorization_code" and given.grant ~= "client_credentials" then
    return ("grant: there is no %q"):format(given.grant)
  elseif given.grant == "client_credentials" and not given.client then
    return "client: client_credentials need one"
  elseif given.open and endpoint.problem(given.redirect_uri) then
    return "redirect_uri: " .. endpoint.problem(given.redirect_uri)
  elseif given.client_metadata_url and not is_document_url(given.client_metadata_url) then
    return "client_metadata_url: expected an https URL with a path"
  elseif type(given.client) == "table" and client.problem(given.client) then
    return "client." .. client.problem(given.client)
  end
end

--- Checks the options of an authorizer. Wrong types raise at the caller's caller.
---@param given operations.oauth.AuthorizerOptions
---@return operations.oauth.AuthorizerOptions copy  ready for use
---@return string? problem
function options.authorizer(given)
  local copy = options.check("authorizer", given, authorizer_kinds, {}, 1)
  copy.scope, copy.store = options.scope(copy.scope), copy.store or options.memory_store()
  return copy, problem_of(copy)
end

return options
