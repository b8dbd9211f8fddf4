--- OAuth for APIs of OpenAPI documents: tokens of users who logged in (`operations login`), which are kept between
--- calls and renewed, and tokens of programs (client credentials), which the adapter requests.
local directories = require("operations.base.directories")
local errors = require("operations.base.error")
local http_client = require("operations.cli.http_client")
local options = require("operations.oauth.options")
local tokens = require("operations.oauth.token")

local sign_in = {}

local function store()
  local state = directories.state()
  return state and options.directory_store(state .. "/oauth")
end

local function key_of(source)
  return ("source %s %s"):format(source.name, source.place)
end

---@class operations.cli.SignIn  the stored data of a login
---@field token operations.oauth.Token
---@field token_endpoint string
---@field client_id string

--- The stored data of the last login to a source.
---@param source operations.cli.Source
---@return operations.cli.SignIn?
function sign_in.held(source)
  local place = source.name and store()
  local held = place and place.load(key_of(source))
  return type(held) == "table" and type(held.token) == "table" and held or nil
end

--- Stores or removes a login.
---@param source operations.cli.Source
---@param held? operations.cli.SignIn
function sign_in.keep(source, held)
  local place = store()
  if place then
    place.save(key_of(source), held)
  end
end

local function expired(source, reason)
  return errors.new("ACCESS_DENIED", ("the token of %s has expired%s: operations login %s"):format(source.name,
    reason and " and was not renewed (" .. reason .. ")" or "", source.name), { kind = "oauth" })
end

-- A valid token; or nil and an error.
local function current(source, held, secret)
  if tokens.is_fresh(held.token) then
    return held.token.access_token
  elseif not held.token.refresh_token then
    return nil, expired(source)
  end
  local client = { client_id = held.client_id, client_secret = secret }
  local fresh, err = tokens.request(held.token_endpoint, client, {
    grant_type = "refresh_token", refresh_token = held.token.refresh_token,
  }, { http = http_client.of(source.config.connection) })
  if not fresh then
    return nil, expired(source, err.message)
  end
  held.token = fresh
  sign_in.keep(source, held)
  return fresh.access_token
end

--- Gives a source the credentials of its login, or of its OAuth client.
---@param source operations.cli.Source
---@param is_rehearsal? boolean  nothing must be sent, so the token is not renewed
function sign_in.prepare(source, is_rehearsal)
  local given, held = source.config.oauth, sign_in.held(source)
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

return sign_in
