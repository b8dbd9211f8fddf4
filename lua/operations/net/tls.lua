--- The server's side of TLS: the security of a listener. Reads the files of certificates and keys, and again when they
--- are renewed.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local files = require("operations.base.files")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local runtime = require("operations.base.runtime")
local scheduler = require("operations.task.scheduler")
local tls_layer = require("operations.net.tls_layer")

local tls = {}

---@class operations.TlsOptions
---@field cert? string  file, PEM: the server's certificate, followed by its chain
---@field key? string  file, PEM
---@field key_password? string
---@field certificates? { cert: string, key: string, key_password: string? }[]  several, instead of `cert` and `key`:
---  the one with the name that the client asks for (SNI) is used, else the first
---@field client_ca? string  file, PEM: clients are asked for a certificate signed by one of these
---@field client_certificate? "required"|"optional"  with `client_ca`; default "required"
---@field handshake_timeout? number  ms, default 10,000

local option_kinds = {
  cert = "string", key = "string", key_password = "string", certificates = "table", client_ca = "string",
  client_certificate = "string", handshake_timeout = "number",
}

local pair_kinds = { cert = "string", key = "string", key_password = "string" }

---@class operations.Security
---@field refusal? string  bytes sent to a client that speaks HTTP without TLS
---@field timeout number  ms
---@field log fun(level: string, message: string)
---@field _context table
---@field _rotated number  ms since the epoch
local Security = {}
Security.__index = Security

--- The layer of an accepted connection.
---@param up fun(event: string, ...)  of its stream
---@return operations.TlsLayer
function Security:layer(up)
  return tls_layer.new(self, up)
end

-- Changes the keys of session tickets each time the last ticket of a key has expired, so that a leaked key decrypts
-- only recorded connections of that time.
local function rotate(self)
  local now = scheduler.now()
  local times = math.floor((now - self._rotated) / limits.tls_session)
  for _ = 1, math.min(times, 2) do
    self._context:rotate()
  end
  if times ~= 0 then -- negative: the clock was set back
    self._rotated = now
  end
end

--- The session of an accepted connection.
---@return table
function Security:session()
  rotate(self)
  return self._context:session()
end

local function flaw(message)
  return nil, errors.new("VALIDATION_ERROR", message)
end

local function read(path, what)
  local text, why = files.read(path)
  if not text then
    local named = path .. ": "
    return flaw(("%s: cannot be read: %s"):format(what, why:sub(1, #named) == named and why:sub(#named + 1) or why))
  end
  return text
end

-- The contents of the files in the options; the second result is the error.
local function read_pairs(list)
  local texts = {}
  for i, pair in ipairs(list) do
    local cert, key, err
    cert, err = read(pair.cert, "the certificate " .. pair.cert)
    if cert then
      key, err = read(pair.key, "the key " .. pair.key)
    end
    if not key then
      return nil, err
    end
    texts[i] = { cert = cert, key = key, password = pair.key_password }
  end
  return texts
end

-- Expired certificates are used: their renewal may be late, and `reload` reads the new ones.
local function warn_of_expired(self, context)
  for i, pair in ipairs(self._pairs) do
    if context:left(i) < 0 then
      self.log("warn", ("the certificate %s has expired"):format(pair.cert))
    end
  end
end

local function name_of(self, part, index)
  local pair = self._pairs[index]
  if part == "cert" then
    return "the certificate " .. pair.cert
  elseif part == "key" then
    return ("the key %s (for the certificate %s)"):format(pair.key, pair.cert)
  end
  return part and "client_ca " .. self._options.client_ca or "TLS"
end

--- Reads the files again. Existing connections continue; new ones use the new files. If a file is invalid, the old ones
--- stay in use.
---@return true?
---@return operations.Error? err  VALIDATION_ERROR
function Security:reload()
  local options = self._options
  local certificates, err = read_pairs(self._pairs)
  local client_ca
  if certificates and options.client_ca then
    client_ca, err = read(options.client_ca, "client_ca " .. options.client_ca)
  end
  if err then
    return nil, err
  end
  local context, message, part, index = self._module.context({
    certificates = certificates, client_ca = client_ca, session = limits.tls_session / 1000, previous = self._context,
    client_certificate = client_ca and (options.client_certificate or "required") or nil,
  })
  if not context then
    return flaw(("%s: %s"):format(name_of(self, part, index), message))
  end
  self._context = context
  warn_of_expired(self, context)
  return true
end

-- The list of certificates in the options.
local function check(options, name, level)
  argument.options(options, option_kinds, name, level)
  local list, mode = options.certificates or { options }, options.client_certificate
  if options.certificates and (options.cert or options.key) then
    error(("bad options to '%s' (`tls.certificates`, or `cert` and `key`, not both)"):format(name), level)
  elseif mode ~= nil and (not options.client_ca or mode ~= "required" and mode ~= "optional") then
    error(("bad option 'client_certificate' to '%s' (\"required\" or \"optional\", with `client_ca`)"):format(name),
      level)
  end
  for _, pair in ipairs(list) do
    if type(pair) ~= "table" or not pair.cert or not pair.key then
      error(("bad options to '%s' (`tls.cert` and `tls.key` expected, names of files)"):format(name), level)
    elseif options.certificates then
      argument.options(pair, pair_kinds, name, level)
    end
  end
  return #list > 0 and list or error(("bad option 'certificates' to '%s' (none is in it)"):format(name), level)
end

--- Makes the security of a listener.
---@param options operations.TlsOptions
---@param settings? { log: fun(level: string, message: string)?, refusal: string? }
---@param level? integer  as for `error`, for misuse
---@return operations.Security?
---@return operations.Error? err  VALIDATION_ERROR: names the file and the error in it; UNAVAILABLE: the C module was
---  not built, because OpenSSL's headers were missing
function tls.security(options, settings, level)
  local list = check(options, "listen", (level or 1) + 2)
  local built, module = runtime.optional("operations.tls")
  if not built then
    return nil, errors.new("UNAVAILABLE",
      "TLS needs OpenSSL 3: install its headers (Debian: libssl-dev) and build this library again:\n" .. module)
  end
  settings = settings or {}
  local self = setmetatable({
    refusal = settings.refusal, log = settings.log or log.write, timeout = options.handshake_timeout or
      limits.handshake_timeout, _options = options, _pairs = list, _module = module, _context = nil,
    _rotated = scheduler.now(),
  }, Security)
  local ok, err = self:reload()
  if not ok then
    return nil, err
  end
  return self
end

return tls
