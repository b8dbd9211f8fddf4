--- Who asks: a client of an authorization server, and how it proves to be that client (RFC 6749, 2.3).
local base64 = require("operations.base.base64")
local url = require("operations.base.url")

local client = {}

---@alias operations.oauth.Proof fun(fields: table, headers: table): boolean?, operations.Error?  adds what proves who
---asks, such as a signed JWT (RFC 7523), to the form or the headers of a request

---@class operations.oauth.Client
---@field client_id string
---@field client_secret? string
---@field client_auth? "client_secret_basic"|"client_secret_post"|"none"|operations.oauth.Proof  default: basic with a
---  secret, none without

local methods = {}

-- Both parts are encoded first, as fields of a form are.
function methods.client_secret_basic(self, _, headers)
  headers.Authorization = "Basic "
    .. base64.encode(url.encode(self.client_id) .. ":" .. url.encode(self.client_secret or ""))
end

function methods.client_secret_post(self, fields)
  fields.client_id, fields.client_secret = self.client_id, self.client_secret
end

function methods.none(self, fields)
  fields.client_id = self.client_id
end

--- Is there such a method?
---@param name any
---@return boolean
function client.knows(name)
  return methods[name] ~= nil
end

local function method_of(self)
  return self.client_auth or (self.client_secret and "client_secret_basic" or "none")
end

--- What is wrong with a client, if anything.
---@param self table
---@return string?
function client.problem(self)
  local method = method_of(self)
  if type(self.client_id) ~= "string" then
    return ("client_id: expected a string, got %s"):format(type(self.client_id))
  elseif type(method) == "function" then
    return nil
  elseif not client.knows(method) then
    return ("client_auth: there is no method %q"):format(tostring(method))
  elseif method ~= "none" and type(self.client_secret) ~= "string" then
    return ("client_auth: %s needs a client_secret"):format(method)
  end
end

--- Adds the client's name and proof to a request.
---@param self operations.oauth.Client
---@param fields table  of the form
---@param headers table
---@return boolean? ok
---@return operations.Error? err
function client.authenticate(self, fields, headers)
  local method = method_of(self)
  if type(method) == "function" then
    fields.client_id = self.client_id
    return method(fields, headers)
  end
  methods[method](self, fields, headers)
  return true
end

return client
