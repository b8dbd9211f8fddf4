--- An HTTP client that keeps to the options of `operations.cli.connection`, whoever uses it.
local http = require("operations.net.http")
local members = require("operations.base.members")

local http_client = {}

--- Makes one of another. Redirects to another origin are not shown a certificate of ours: the HTTP client sees to that.
---@param given table  options of requests, as the setters of `connection` filled them in
---@param inner? table  the client that sends; default: the library's
---@return table? client  `inner` where there are no options
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
