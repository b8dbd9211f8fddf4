--- `operations login` and `logout`.
local credentials = require("operations.sources.credentials")
local document = require("operations.openapi.document")
local openapi_documents = require("operations.sources.openapi_documents")
local endpoint = require("operations.oauth.endpoint")
local errors = require("operations.base.error")
local http = require("operations.net.http")
local loader = require("operations.sources.loader")
local login = require("operations.cli.login")
local members = require("operations.base.members")
local oauth_login = require("operations.oauth.login")
local operations = require("operations")
local output = require("operations.cli.output")
local source_options = require("operations.sources.options")
local sources = require("operations.cli.sources")

local sign_in_commands = {}

-- A flow whose addresses may be opened and get credentials.
local function checked(source, flow)
  for _, name in ipairs({ "authorizationUrl", "tokenUrl" }) do
    local problem = endpoint.problem(flow[name])
    if problem then
      return nil, errors.new("EXECUTION_ERROR", ("%s: the %s of its document is refused: %s"):format(source.name, name,
        problem))
    end
  end
  local scopes = type(flow.scopes) == "table" and flow.scopes or {}
  return { authorization_endpoint = flow.authorizationUrl, token_endpoint = flow.tokenUrl,
    scope = table.concat(members.names(scopes), " ") }
end

-- The flow in a document that sends users to a browser.
local function flow_of(source)
  local held, err = openapi_documents.open(source, { face = sources.face })
  if not held then
    return nil, err or errors.new("EXECUTION_ERROR",
      source.name .. ": a login needs a place for the cache of its document")
  end
  local root
  root, err = document.parse(held:read("document") or "", source.shown)
  if not root then
    return nil, err
  end
  local components = type(root.components) == "table" and root.components or {}
  local schemes = type(components.securitySchemes) == "table" and components.securitySchemes or {}
  for _, name in ipairs(members.names(schemes)) do
    local scheme = schemes[name]
    local flow = type(scheme) == "table" and type(scheme.flows) == "table" and scheme.flows.authorizationCode
    if type(flow) == "table" then
      return checked(source, flow)
    end
  end
  return nil, errors.new("EXECUTION_ERROR",
    source.name .. ": its document has no OAuth flow for users (authorizationCode)")
end

-- Sends the user to a browser; true, or nil and an error.
local function log_in(source)
  local given = source.config.oauth
  local flow, err = flow_of(source)
  if not flow then
    return nil, err
  end
  flow.scope = given.scope or flow.scope ~= "" and flow.scope or nil
  local transport = members.merged(login.options(), { http = source_options.client(source.config.connection, http) })
  transport.store = transport.store or operations.oauth.memory_store()
  local token
  local client = { client_id = given.client_id, client_secret = given.client_secret }
  token, err = oauth_login.authorize(transport, client, flow)
  if not token then
    return nil, err
  end
  credentials.keep(source, { token = token, token_endpoint = flow.token_endpoint, client_id = given.client_id })
  return true
end

-- The named source; or nil and the exit code.
local function source_of(command, parsed)
  local named, code = sources.named(parsed)
  if not named then
    return nil, code
  elseif #parsed.rest ~= 1 then
    return nil, output.usage("%s: expected the NAME of a source, got %d words", command, #parsed.rest)
  end
  local source, message = named:get(parsed.rest[1])
  if not source then
    return nil, output.usage("%s: %s", command, message)
  end
  return source
end

sign_in_commands.login = {
  usage = "operations login NAME [OPTIONS]",
  summary = "Logs in to a remembered source in a browser, and keeps the token. An OpenAPI\n"
    .. "source needs --client-id, here or in operations add. OPERATIONS_LOGIN=paste\n"
    .. "asks for the address at which the browser ended.",
  options = {},
}

---@param parsed operations.cli.Arguments
---@return integer code
function sign_in_commands.login.run(parsed)
  local source, code = source_of("login", parsed)
  if not source then
    return code
  end
  local ok, done, err
  if source.kind == "mcp" and source.place:find("^https?://") then
    done, err = loader.load(source, { face = sources.face, log = sources.logger(parsed.options.verbose),
      verbose = parsed.options.verbose }, operations.registry())
  elseif source.kind ~= "openapi" then
    return output.usage("login: %s is a source of kind %s, which has no login", source.name, source.kind)
  elseif not source.config.oauth.client_id then
    return output.usage("login: %s needs the id that its API gave to your client: --client-id ID", source.name)
  else
    ok, done, err = pcall(function()
      source_options.reveal(source)
      return log_in(source)
    end)
    if not ok then
      done, err = nil, done
    end
  end
  if not done then
    return output.fail(err)
  end
  output.notice("logged in to %s", source.name)
  return output.codes.OK
end

sign_in_commands.logout = {
  usage = "operations logout NAME",
  summary = "Removes the token of a remembered source, and the registration of this program\n"
    .. "with the server that gave it out.",
  options = {},
}

---@param parsed operations.cli.Arguments
---@return integer code
function sign_in_commands.logout.run(parsed)
  local source, code = source_of("logout", parsed)
  if not source then
    return code
  end
  if not credentials.has_users(source) then
    return output.usage("logout: %s is a source of kind %s, which has no login", source.name, source.kind)
  end
  local removed = credentials.forget(source)
  output.notice("logged out of %s%s", source.name, removed ~= "" and ": removed " .. removed
    or source.kind ~= "openapi" and ": there was no login" or "")
  return output.codes.OK
end

return sign_in_commands
