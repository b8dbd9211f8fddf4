--- Fetches a document over HTTP.
local document = require("operations.from_openapi.document")
local response = require("operations.from_openapi.response")

local fetch = {}

--- Credentials are for the API, so they are not sent for its document; `config.headers` are.
---@param address string
---@param config operations.openapi.Config
---@return table? root
---@return operations.Error? err
function fetch.document(address, config)
    local headers, names = { Accept = "application/json, */*;q=0.5" }, {}
  for name, value in pairs(config.headers or {}) do
    headers[name], names[#names + 1] = value, name
  end
  local reply, err = config.http.request({
    method = "GET", url = address, headers = headers, timeout = config.timeout, credentials = names,
  })
  if not reply then
    return nil, err
  elseif not response.is_success(reply.status) then
    return nil, response.failure(reply)
  end
  return document.parse(reply.body or "", address)
end

return fetch
