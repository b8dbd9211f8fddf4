--- The text of a document: from a file or over HTTP, and as a table (JSON or YAML).
local errors = require("operations.base.error")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local response = require("operations.openapi.response")
local url = require("operations.base.url")
local yaml = require("operations.openapi.yaml")

local text = {}

--- The text of a file.
---@param path string
---@return string? text
---@return string? message
function text.read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local bytes, reason = file:read("*a")
  file:close()
  return bytes, reason and ("%s: %s"):format(path, reason)
end

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
---@return string|operations.Error where  the URL that gave it, after redirects; the error when there is no text
function text.fetch(address, base, config)
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
  return reply.body or "", reply.url or address
end

--- JSON begins with a bracket, and so does YAML in flow style, which is read when the name says so.
local function read(bytes, from)
  local looks_json = bytes:find("^\239?\187?\191?%s*[{%[]") ~= nil
  local value, err
  if looks_json then
    value, err = json.decode(bytes)
    if value ~= nil or not from:find("%.ya?ml$") then
      return value, err and err.message
    end
  end
  return yaml.decode(bytes)
end

--- Parses a document, or a file that one refers to.
---@param bytes string
---@param from string  its path or URL, for the message
---@return table? root
---@return operations.Error? err
function text.parse(bytes, from)
  local root, message = read(bytes, from)
  if type(root) == "table" then
    return root
  end
  return nil, errors.new("EXECUTION_ERROR", ("%s: %s"):format(from, message or "it holds no object"),
    { kind = "parse", location = from })
end

return text
