--- An HTTP client with the options of `operations.cli.connection`.
local http = require("operations.net.http")
local members = require("operations.base.members")

local http_client = {}

--- Makes a client from another. Redirects to another origin do not get our certificate: the HTTP client takes care of
--- that.
---@param given table  options of requests, as the setters of `connection` filled them in
---@param inner? table  the client for sending; default: the library's
---@return table? client  `inner` without options
function http_client.of(given, inner)
  if next(given) == nil then
    return inner
  end
  local client, sender = {}, inner or http
  for _, method in ipairs({ "request", "open" }) do
    client[method] = function(options)
      return sender[method](members.merged(given, options))
    end
  end
  return client
end

return http_client
