--- OAuth for HTTP APIs: tokens of users who logged in (`operations login`), which are kept between
--- calls and renewed, and tokens of programs (client credentials), which the adapter requests.
local authorizer = require("operations.oauth.authorizer")
local directories = require("operations.base.directories")
local entries = require("operations.mcp.client.entries")
local errors = require("operations.base.error")
local http = require("operations.net.http")
local source_options = require("operations.sources.options")
local stores = require("operations.oauth.store")
local tokens = require("operations.oauth.token")

local credentials = {}

--- The store of the tokens of users; nil without a directory for it.
---@return operations.oauth.Store?
function credentials.store()
  local state = directories.state()
  return state and stores.directory(state .. "/oauth")
end

local function key_of(source)
  return ("source %s %s"):format(source.name, source.place)
end

---@class operations.sources.SignIn  the stored data of a login
---@field token operations.oauth.Token
---@field token_endpoint string
---@field client_id string

--- The stored data of the last login to a source.
---@param source operations.sources.Source
---@return operations.sources.SignIn?
function credentials.held(source)
  local place = source.name and credentials.store()
  local held = place and place.load(key_of(source))
  return type(held) == "table" and type(held.token) == "table" and held or nil
end

--- Stores or removes a login.
---@param source operations.sources.Source
---@param held? operations.sources.SignIn
function credentials.keep(source, held)
  local place = credentials.store()
  if place then
    place.save(key_of(source), held)
  end
end

local function expired(source, reason)
  return errors.new("ACCESS_DENIED", ("the token of %s has expired%s: operations login %s"):format(source.name,
    reason and " and was not renewed (" .. reason .. ")" or "", source.name), { kind = "oauth" })
end

-- The stored login, which another call may have renewed.
local function reload(source, held)
  local now = credentials.held(source)
  held.token = now and now.token or held.token
end

-- Renews the token, alone among all calls.
local function renew(source, held, secret)
  reload(source, held)
  if tokens.is_fresh(held.token) then
    return held.token.access_token
  end
  local used, client = held.token.refresh_token, { client_id = held.client_id, client_secret = secret }
  if not used then
    return nil, expired(source)
  end
  local fresh, err = tokens.request(held.token_endpoint, client, {
    grant_type = "refresh_token", refresh_token = used,
  }, { http = source_options.client(source.config.connection, http) })
  if not fresh then
    reload(source, held) -- a program without the lock may have used the refresh token
    if held.token.refresh_token ~= used and tokens.is_fresh(held.token) then
      return held.token.access_token
    end
    return nil, expired(source, err.message)
  end
  held.token = fresh
  credentials.keep(source, held)
  return fresh.access_token
end

-- A valid token; or nil and an error.
local function current(source, held, secret)
  if tokens.is_fresh(held.token) then
    return held.token.access_token
  end
  local place = credentials.store()
  if not place then
    return renew(source, held, secret)
  end
  return stores.alone(place, key_of(source), renew, source, held, secret)
end

-- The addresses of the servers of an MCP source, as far as they are known without running anything.
local function addresses_of(source)
  if source.kind == "mcp" then
    return { source.place:find("^https?://") and source.place or nil }
  end
  local list, content = {}, source.kind == "mcp-config" and entries.read(source.place)
  for _, entry in ipairs(content and entries.list(content, function() end) or {}) do
    local value = type(entry.value) == "table" and entry.value or {}
    local address = value.url or value.httpUrl or value.serverUrl
    if type(address) == "string" and address:find("^https?://[^$]*$") then
      list[#list + 1] = address
    end
  end
  return list
end

--- Can a user log in to the source?
---@param source operations.sources.Source
---@return boolean
function credentials.has_users(source)
  return source.kind == "openapi" or addresses_of(source)[1] ~= nil
end

--- Removes the tokens of a source, and the registrations of this program with their issuers.
---@param source operations.sources.Source
---@return string removed  what was removed, for the user; "" if there was nothing
function credentials.forget(source)
  local counts = { token = credentials.held(source) and 1 or 0, registration = 0 }
  if counts.token > 0 then
    credentials.keep(source, nil)
  end
  local place = credentials.store()
  for _, address in ipairs(place and addresses_of(source) or {}) do
    local token, registration = authorizer.new({ store = place }):log_out(address)
    counts.token = counts.token + (token and 1 or 0)
    counts.registration = counts.registration + (registration and 1 or 0)
  end
  local parts = {}
  for _, what in ipairs({ "token", "registration" }) do
    local count = counts[what]
    parts[#parts + 1] = count > 0 and (count == 1 and "the " .. what or ("%d %ss"):format(count, what)) or nil
  end
  return table.concat(parts, " and ")
end

--- Gives a source the credentials of its login, or of its OAuth client.
---@param source operations.sources.Source
---@param is_rehearsal? boolean  nothing must be sent, so the token is not renewed
function credentials.prepare(source, is_rehearsal)
  local given, held = source.config.oauth, credentials.held(source)
  if source.config.auth then
    return
  elseif held then
    source.config.auth = { type = "bearer", token = function()
      if is_rehearsal then
        return held.token.access_token
      end
      return current(source, held, given.client_secret)
    end }
  elseif given.client_id and given.client_secret then
    source.config.auth = { type = "oauth2", client_id = given.client_id, client_secret = given.client_secret,
      scope = given.scope }
  end
end

return credentials
