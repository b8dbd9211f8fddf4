--- Protected resource metadata (RFC 9728): tells clients which authorization servers issue tokens, in a document at
--- `/.well-known/oauth-protected-resource{path}`, and in the challenges of refusals.
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")
local url = require("operations.base.url")

local resource_metadata = {}

local WELL_KNOWN = "/.well-known/oauth-protected-resource"

---@class operations.ResourceMetadata
---@field resource string  the URL of the server, as clients know it: "https://tools.example/mcp"
---@field authorization_servers string[]  their issuers
---@field scopes_supported? string[]
---@field resource_name? string
---@field resource_documentation? string

--- The metadata of the option `oauth`, or that of `authorize`.
---@param options { oauth: operations.ResourceMetadata?, authorize: any }
---@return operations.ResourceMetadata?
function resource_metadata.of(options)
  local authorize = options.authorize
  return options.oauth or type(authorize) == "table" and type(authorize.metadata) == "table" and authorize.metadata
    or nil
end

--- Checks the option `oauth`: misuse raises.
---@param options { oauth: operations.ResourceMetadata? }
---@param name string  of the public function
function resource_metadata.check(options, name)
  local given = options.oauth
  if not given then
    return
  end
  local parsed = type(given.resource) == "string" and url.parse(given.resource)
  if not parsed or not given.resource:find("^https?://") then
    error(("bad option 'oauth' to '%s' (resource: an http or https URL expected)"):format(name), 4)
  elseif type(given.authorization_servers) ~= "table" or type(given.authorization_servers[1]) ~= "string" then
    error(("bad option 'oauth' to '%s' (authorization_servers: a list of URLs expected)"):format(name), 4)
  end
end

-- Origin and path of the resource.
local function parts_of(given)
  local origin, path = given.resource:match("^(https?://[^/?#]+)([^?#]*)")
  return origin, path ~= "/" and path or ""
end

--- Answers a request for the document, which is public; nil for other requests.
---@param given? operations.ResourceMetadata
---@param request operations.ServerRequest
---@return operations.ServerResponse?
function resource_metadata.answer(given, request)
  local path = given and request_head.split(request.target)
  if not given or path:sub(1, #WELL_KNOWN) ~= WELL_KNOWN then
    return nil
  end
  local _, own = parts_of(given)
  if path ~= WELL_KNOWN and path ~= WELL_KNOWN .. own then
    return nil
  elseif request.method == "OPTIONS" then -- pages send headers of MCP with their requests
    return { status = 204, headers = { ["access-control-allow-origin"] = "*", allow = "GET, HEAD, OPTIONS",
      ["access-control-allow-methods"] = "GET, HEAD", ["access-control-allow-headers"] = "*, authorization",
      ["access-control-max-age"] = tostring(limits.preflight / 1000) }, body = "" }
  elseif request.method ~= "GET" and request.method ~= "HEAD" then
    return { status = 405, headers = { allow = "GET, HEAD, OPTIONS" }, body = "" }
  end
  local document = { resource = given.resource, authorization_servers = given.authorization_servers,
    scopes_supported = given.scopes_supported and marks.array(members.joined(given.scopes_supported)),
    resource_name = given.resource_name, resource_documentation = given.resource_documentation,
    bearer_methods_supported = { "header" } }
  return { status = 200, headers = { ["content-type"] = "application/json", ["cache-control"] = "max-age=3600",
    ["access-control-allow-origin"] = "*" }, body = assert(json.encode(document)) }
end

--- Adds the URL of the document to the challenge of a refusal.
---@param given? operations.ResourceMetadata
---@param response operations.ServerResponse
---@return operations.ServerResponse
function resource_metadata.challenge(given, response)
  local challenge = given and response.headers["www-authenticate"]
  if challenge and challenge:find("^Bearer") then
    local origin, path = parts_of(given)
    response.headers["www-authenticate"] = ('%s%s resource_metadata="%s%s%s"'):format(challenge,
      challenge:find(" ", 1, true) and "," or "", origin, WELL_KNOWN, path)
  end
  return response
end

return resource_metadata
