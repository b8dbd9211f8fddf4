--- Fetches documents over HTTP.
local limits = require("operations.limits")
local response = require("operations.from_openapi.response")
local url = require("operations.url")

local fetch = {}

local function headers_for(address, base, config)
  local headers, names = { Accept = "application/json, application/yaml;q=0.9, */*;q=0.5" }, {}
  local own = base and url.parse(base)
  if own and url.origin(own) == url.origin(url.parse(address)) then
    for name, value in pairs(config.headers or {}) do
      headers[name], names[#names + 1] = value, name
    end
  end
  return headers, names
end

--- The text at an address. Credentials are for the API, so they are not sent for its document; `config.headers` go to
--- the document's own origin only.
---@param address string
---@param base string?  the URL of the document, if it has one
---@param config operations.openapi.Config
---@return string? text
---@return operations.Error? err
function fetch.text(address, base, config)
  local headers, names = headers_for(address, base, config)
  local reply, err = config.http.request({
    method = "GET", url = address, headers = headers, timeout = config.timeout, credentials = names,
    max_body = limits.document, jar = config.jar, ca_file = config.ca_file, proxy = config.proxy,
  })
  if not reply then
    return nil, err
  elseif not response.is_success(reply.status) then
    return nil, response.failure(reply)
  end
  return reply.body or ""
end

return fetch
