--- What an authorizer can be told.
local client = require("operations.oauth.client")
local endpoint = require("operations.oauth.endpoint")
local options = require("operations.oauth.options")
local store = require("operations.oauth.store")
local url = require("operations.url")

local authorizer_options = {}

---@class operations.oauth.AuthorizerOptions: operations.oauth.Transport
---@field open? fun(url: string): string|table|nil, operations.Error?  has the user log in at a URL and returns the URL
---  that the browser was sent back to, or its fields `{ code, state, iss }`; may wait
---@field redirect_uri? string  where the browser is sent back to; https, or http on this machine
---@field client? table|fun(issuer: string): table?, operations.Error?  a client that the authorization server knows:
---  `{ client_id, client_secret?, client_auth?, issuer? }`; with `issuer` it is shown to that one only
---@field client_metadata_url? string  https: the client's metadata document, and its name
---@field client_name? string  when it is registered; default "operations for Lua"
---@field client_uri? string
---@field grant? "authorization_code"|"client_credentials"|fun(asked: table): table?, operations.Error?  client
---  credentials: the program itself is the client, nobody logs in; a function is told `{ issuer, token_endpoint,
---  resource, scope }` and returns the fields of another grant, `{ grant_type, assertion, ... }`
---@field scope? string|string[]  what to ask for at first, instead of all that the server lists
---@field store? operations.oauth.Store  default: in memory

local kinds = {
  open = { ["function"] = true }, redirect_uri = { string = true },
  client = { table = true, ["function"] = true }, client_metadata_url = { string = true },
  client_name = { string = true }, client_uri = { string = true }, grant = { string = true, ["function"] = true },
  scope = { string = true, table = true }, store = { table = true },
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

--- Checks options. Raises at the caller's caller what is of the wrong type.
---@param given operations.oauth.AuthorizerOptions
---@return operations.oauth.AuthorizerOptions copy  ready for use
---@return string? problem
function authorizer_options.check(given)
  local copy = options.check("authorizer", given, kinds, {}, 1)
  copy.scope, copy.store = options.scope(copy.scope), copy.store or store.memory()
  return copy, problem_of(copy)
end

return authorizer_options
