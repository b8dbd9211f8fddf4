--- Where a token is to be had: who protects a server now, under which name, and for which scopes.
local endpoint = require("operations.oauth.endpoint")
local metadata = require("operations.oauth.metadata")
local scope = require("operations.oauth.scope")
local url = require("operations.base.url")

local place = {}

---@class operations.oauth.Place
---@field issuer string
---@field same boolean  it is the issuer of the token before
---@field resource string
---@field scope? string  what to ask for

-- Which of the issuers that may give out tokens: the one in use, the one that knows us, or the first.
local function choose_issuer(options, record, issuers)
  local known = type(options.client) == "table" and options.client.issuer
  for _, preferred in ipairs({ record and record.issuer or false, known or false }) do
    if metadata.contains(issuers, preferred) then
      return preferred
    end
  end
  return issuers[1]
end

-- A client without an issuer of its own belongs to the one that it was first shown to.
local function belongs_elsewhere(options, record, issuer)
  local given = options.client
  return type(given) == "table" and not given.issuer and record ~= nil
    and record.client_id == given.client_id and record.issuer ~= issuer
end

--- Looks up who protects a server. What was asked for before is asked for again, with what the server wants now.
---@param options operations.oauth.AuthorizerOptions
---@param server string  URL
---@param record? operations.oauth.Record  of the token before
---@param asked { resource_metadata: string?, scope: string? }  the server's challenge
---@return operations.oauth.Place?
---@return operations.Error? err
function place.find(options, server, record, asked)
  local resource, err = metadata.resource(server, asked.resource_metadata, options)
  if not resource then
    return nil, err
  end
  local issuer = choose_issuer(options, record, resource.issuers)
  if belongs_elsewhere(options, record, issuer) then
    return nil, endpoint.failure(("%s is now protected by %s, which does not know the client of %s"):format(
      url.redact(server), url.redact(issuer), url.redact(record.issuer)))
  end
  local same = record ~= nil and record.issuer == issuer
  local before = same and record.scope or nil
  local wanted = scope.union(options.scope, asked.scope) or (not before and resource.scope or nil)
  return { issuer = issuer, same = same, resource = resource.resource, scope = scope.union(before, wanted) }
end

return place
