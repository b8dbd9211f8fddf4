--- Callers whose credentials are known beforehand: what `authorize` of a server takes. Credentials are found by their
--- digests, so that the time it takes says nothing about them.
local argument = require("operations.base.argument")
local core = require("operations.core")

local static = {}

local function check(identity, name, level)
  if type(identity) ~= "table" then
    error(("bad argument #1 to '%s' (an identity expected for each, got %s)"):format(name, type(identity)), level + 1)
  end
end

--- Makes the `authorize` of a server whose callers have tokens that the program knows.
---@param tokens table<string, operations.Identity>  by token
---@return fun(request: operations.ServerRequest): operations.Identity?, string?
function static.tokens(tokens)
  argument.expect(tokens, "table", 1, "static_tokens")
  local identities = {}
  for token, identity in pairs(tokens) do
    check(identity, "static_tokens", 2)
    if type(token) ~= "string" or #token < 1 then
      error("bad argument #1 to 'static_tokens' (a token expected as key)", 2)
    end
    identities[core.sha256(token)] = identity
  end
  return function(request)
    local given = request.headers and request.headers.authorization
    local token = request.token
    if token then
      local identity = identities[core.sha256(token)]
      return identity, not identity and "unknown token" or nil
    end
    return nil, given and "Authorization: Bearer and one token expected" or nil
  end
end

return static
