--- Requests to a server's `handle`, as a listener would make them, and their answers read whole.
local operations = require("operations")

local http_request = {}

local function whole(body)
  if type(body) == "string" then
    return body
  end
  local pieces = {}
  for piece in body do
    pieces[#pieces + 1] = piece
  end
  return table.concat(pieces)
end

--- Sends one request to `handle`.
---@param server operations.Server
---@param method string
---@param target string
---@param headers? table
---@param body? string|table|function  a table is sent as JSON
---@param more? table  further fields of the request
---@return { status: integer, headers: table, text: string, json: any }
function http_request.send(server, method, target, headers, body, more)
  local sent = { host = "localhost" }
  for name, value in pairs(headers or {}) do
    sent[name] = value
  end
  if type(body) == "table" then
    body, sent["content-type"] = assert(operations.json.encode(body)), sent["content-type"] or "application/json"
  end
  local request = { method = method, target = target, headers = sent, body = body or "" }
  for name, value in pairs(more or {}) do
    request[name] = value
  end
  local response = server:handle(request)
  local text = whole(response.body)
  local json = (response.headers["content-type"] or ""):find("json", 1, true) and operations.json.decode(text)
  return { status = response.status, headers = response.headers, text = text, json = json or nil }
end

return http_request
