-- /oauth/...: an authorization server and /oauth/mcp, which it protects. POST /oauth/setup takes a configuration (JSON)
-- and forgets what was before; GET /oauth/log is the array of the requests that arrived since: method, path, fields (of
-- query, form or JSON), headers. Paths are those below /oauth, or begin with /.well-known/.
--
--   documents   path below /.well-known/ -> metadata
--   answers     path -> { status, headers, body, times } instead of what would be said, the body so many times; or a
--               list of them, one per request, then what would be said
--   clients     client id -> secret, or "" for a public client
--   token       members of the token endpoint's answers that are others than usual ("none": left out)
--   delay       seconds that the token endpoint takes
--   response    fields of authorization responses that are others than usual ("none": left out)
--   client      members of registrations that are others than usual
--   mcp         { challenge, revoked }: what /oauth/mcp says after "Bearer"; takes it no token? It wants the scopes of
--               the argument `need`, of its query or of a tool's call, and is an MCP server with a tool `scope`
local cjson = require("cjson")

local notes = ngx.shared.notes
local path = ngx.var.uri:match("^/oauth(.*)$") or ngx.var.uri

local function reply(status, body)
  ngx.status = status
  ngx.header["Content-Type"] = ngx.header["Content-Type"] or "application/json"
  ngx.print(type(body) == "string" and body or cjson.encode(body))
  ngx.exit(ngx.HTTP_OK)
end

-- A list in the notes, whole.
local function list_of(key)
  local list = {}
  for i = 1, notes:llen(key) do
    list[i] = notes:lpop(key)
    notes:rpush(key, list[i])
  end
  return list
end

ngx.req.read_body()
local body = ngx.req.get_body_data() or ""
if path == "/setup" then
  notes:flush_all()
  notes:set("oauth", body)
  reply(200, "{}")
elseif path == "/configure" then -- a new configuration, nothing is forgotten
  notes:set("oauth", body)
  reply(200, "{}")
elseif path == "/log" then
  reply(200, "[" .. table.concat(list_of("oauth log"), ",") .. "]")
end

local config = cjson.decode(notes:get("oauth") or "{}")
local headers = ngx.req.get_headers()
local fields = ngx.req.get_uri_args()
if headers["content-type"] == "application/json" then
  fields = cjson.decode(body)
elseif ngx.req.get_method() == "POST" and path ~= "/mcp" then
  fields = ngx.decode_args(body)
end
notes:rpush("oauth log", cjson.encode({
  method = ngx.req.get_method(), path = path, fields = fields, headers = headers,
}))

local answer = (config.answers or {})[path]
if answer and answer[1] then
  answer = answer[notes:incr("answers " .. path, 1, 0)]
end
if answer and answer ~= cjson.null then
  for name, value in pairs(answer.headers or {}) do
    ngx.header[name] = value
  end
  reply(answer.status or 200, answer.body:rep(answer.times or 1))
end

-- Replaces members of `t`.
local function others(t, changes)
  for name, value in pairs(changes or {}) do
    t[name] = value ~= "none" and value or nil
  end
  return t
end

local function secret_of(id)
  return (config.clients or {})[id] or notes:get("client " .. id)
end

-- The client that a request to the token endpoint proves to come from, or nil.
local function authenticate()
  local pair = (headers.authorization or ""):match("^Basic (.+)$")
  local id, secret = fields.client_id, fields.client_secret or ""
  if pair then
    id, secret = ngx.decode_base64(pair):match("^([^:]*):(.*)$")
    id, secret = ngx.unescape_uri(id), ngx.unescape_uri(secret)
  end
  return id and secret_of(id) == secret and id
end

local function refuse(code, description)
  reply(code == "invalid_client" and 401 or 400, { error = code, error_description = description })
end

local function issue_token(scope)
  local n = notes:incr("tokens", 1, 0)
  local token = others({
    access_token = "access-" .. n, token_type = "Bearer", expires_in = 3600, scope = scope,
    refresh_token = fields.grant_type ~= "client_credentials" and "refresh-" .. n or nil,
  }, config.token)
  notes:set("refresh " .. tostring(token.refresh_token), scope or "")
  notes:set("access " .. token.access_token, token.scope or "")
  reply(200, token)
end

-- Base64url of the digest, by another program than ours.
local function s256(verifier)
  assert(verifier:find("^[%w._~-]+$"))
  local pipe = io.popen("printf %s " .. verifier .. " | openssl dgst -sha256 -binary | base64 | tr +/ -_ | tr -d '=\n'")
  local digest = pipe:read("*a")
  pipe:close()
  return digest
end

local grants = {}

function grants.client_credentials()
  issue_token(fields.scope)
end

function grants.refresh_token()
  local scope = notes:get("refresh " .. tostring(fields.refresh_token))
  if not scope then
    refuse("invalid_grant", "no such refresh token: " .. tostring(fields.refresh_token))
  end
  notes:delete("refresh " .. fields.refresh_token)
  issue_token(scope ~= "" and scope or nil)
end

function grants.authorization_code(client)
  local asked = cjson.decode(notes:get("code " .. tostring(fields.code)) or "{}")
  notes:delete("code " .. tostring(fields.code))
  for what, ok in pairs({
    client = asked.client_id == client, redirect = asked.redirect_uri == fields.redirect_uri,
    resource = asked.resource == fields.resource, verifier = asked.code_challenge == s256(fields.code_verifier),
  }) do
    if not ok then
      refuse("invalid_grant", "wrong " .. what)
    end
  end
  issue_token(asked.scope)
end

local routes = {}

routes["/token"] = function()
  ngx.sleep(config.delay or 0)
  local client = authenticate()
  if not client then
    refuse("invalid_client", "who is that?")
  end
  local grant = grants[fields.grant_type] or function()
    refuse("unsupported_grant_type")
  end
  grant(client)
end

-- Says yes at once and sends the browser back.
routes["/authorize"] = function()
  local code = "code-" .. notes:incr("codes", 1, 0)
  if not secret_of(fields.client_id) then
    reply(400, "unknown client")
  end
  notes:set("code " .. code, cjson.encode(fields))
  local back = others({ code = code, state = fields.state, iss = config.issuer }, config.response)
  ngx.header.Location = fields.redirect_uri .. "?" .. ngx.encode_args(back)
  reply(302, "{}")
end

routes["/register"] = function()
  local n = notes:incr("clients", 1, 0)
  local method = fields.token_endpoint_auth_method
  local client = others({
    client_id = "client-" .. n, client_secret = method ~= "none" and "secret-" .. n or nil,
    token_endpoint_auth_method = method, redirect_uris = fields.redirect_uris,
  }, config.client)
  notes:set("client " .. client.client_id, client.client_secret or "")
  reply(201, client)
end

local function challenge(status, text)
  ngx.header["WWW-Authenticate"] = "Bearer " .. text
  reply(status, "{}")
end

-- What an MCP server (revision 2025-11-25) with one tool says to a message; nil: nothing.
local function mcp_answer(message, scope)
  local params = message.params or {}
  local results = {
    initialize = {
      protocolVersion = params.protocolVersion, capabilities = { tools = { listChanged = false } },
      serverInfo = { name = "guarded", version = "1" },
    },
    ["tools/list"] = { tools = { { name = "scope", inputSchema = { type = "object" } } } },
    ["tools/call"] = { content = { { type = "text", text = scope } } },
  }
  local result = results[message.method]
  if message.id then
    return {
      jsonrpc = "2.0", id = message.id, result = result,
      error = not result and { code = -32601, message = "no such method" } or nil,
    }
  end
end

routes["/mcp"] = function()
  if ngx.req.get_method() ~= "POST" then
    reply(405, "{}")
  end
  local message = body ~= "" and cjson.decode(body) or {}
  local arguments = (message.params or {}).arguments or ngx.req.get_uri_args()
  local scope = notes:get("access " .. (headers.authorization or ""):gsub("^Bearer ", ""))
  if not scope or config.mcp.revoked then
    challenge(401, config.mcp.challenge or "")
  end
  for name in (arguments.need or ""):gmatch("%S+") do
    if not (" " .. scope .. " "):find(" " .. name .. " ", 1, true) then
      challenge(403, 'error="insufficient_scope", scope="' .. name .. '"')
    end
  end
  if not message.method then
    reply(200, { scope = scope })
  end
  local said = mcp_answer(message, scope)
  reply(said and (said.error and 404 or 200) or 202, said or "")
end

local document = (config.documents or {})[path:match("^/%.well%-known/(.*)$") or path]
if document then
  reply(200, document)
end
local route = routes[path] or function()
  reply(404, { error = "not_found" })
end
route()
