--- The options for sources and their connections: on the command line, and as members of a remembered source, with the
--- same names.
local core = require("operations.core")
local files = require("operations.base.files")
local members = require("operations.base.members")
local secret = require("operations.sources.secret")
local system = require("operations.system")
local url = require("operations.base.url")

local options = {}

-- All may be repeated: `plan` reads them in their order. Only `operations worker` needs a list.
---@type operations.cli.Option[]
options.list = {
  { name = "--openapi", value = "FILE|URL", help = "the operations of an OpenAPI document" },
  { name = "--graphql", value = "FILE|URL", help = "the fields of a GraphQL service" },
  { name = "--lua", value = "FILE|DIR", help = "the operations that Lua files return" },
  { name = "--command", value = "FILE", help = "programs as operations: a list in JSON or YAML" },
  { name = "--mcp", value = "COMMAND|URL", help = "the tools of an MCP server" },
  { name = "--mcp-config", value = "FILE", help = "the MCP servers that a file lists (mcp.json)" },
  { name = "--redis", value = "URL", many = true, help = "the operations that processes on this Redis serve" },
  { name = "--reliable", help = "Redis: calls wait in a queue and outlive workers" },
  { name = "--websocket", value = "URL", help = "the operations that a hub serves (ws://, wss://)" },
  { name = "--namespace", value = "NAME", help = "namespace of the operations" },
  { name = "--base-url", value = "URL", help = "URL of the API, instead of its document's" },
  { name = "--documents", value = "FILE|DIR", help = "GraphQL: queries of .graphql files as operations" },
  { name = "--subscriptions", value = "URL|sse", help = "GraphQL: where or how they are opened" },
  { name = "--env-allow", value = "NAME", help = "MCP: a variable that the server inherits, too" },
  { name = "--bearer", value = "TOKEN", help = "token (or OPERATIONS_BEARER)" },
  { name = "--basic", value = "USER:PASSWORD", help = "HTTP basic authentication" },
  { name = "--api-key", value = "[NAME=]KEY", help = "API key, for the scheme NAME (GraphQL: header)" },
  { name = "--header", value = "'NAME: VALUE'", help = "a header of every request" },
  { name = "--document-header", value = "HEADER", help = "OpenAPI: a header for the document only" },
  { name = "--ref-root", value = "DIR", help = "OpenAPI: where $refs of a file may read files" },
  { name = "--patch", value = "FILE", help = "OpenAPI: mend the document (JSON Patch, RFC 6902)" },
  { name = "--no-check", help = "send inputs that do not fit, with a warning" },
  { name = "--lenient", help = "OpenAPI: read answers that are almost JSON" },
  { name = "--next-page", value = "RULE", help = "OpenAPI: the way to the next page, for --all" },
  { name = "--redirect-all", help = "OpenAPI: follow redirects of POST and other methods" },
  { name = "--remote-refs", help = "OpenAPI: fetch $refs that are URLs" },
  { name = "--client-id", value = "ID", help = "OpenAPI: OAuth client, also for operations login" },
  { name = "--client-secret", value = "SECRET", help = "OpenAPI: its secret (client credentials)" },
  { name = "--scope", value = "'A B'", help = "OpenAPI: OAuth scopes to request" },
  { name = "--profile", value = "NAME", help = "profile of the sources (or OPERATIONS_PROFILE)" },
  { name = "--refresh", help = "fetch documents again, even if they are cached" },
  { name = "--ca-file", value = "FILE", help = "certificates to trust instead of the system's (PEM)" },
  { name = "--cert", value = "FILE", help = "certificate to show to servers (PEM)" },
  { name = "--key", value = "FILE", help = "its key, if it is not in the same file" },
  { name = "--proxy", value = "URL", help = "proxy instead of the environment's, or 'none'" },
  { name = "--unix-socket", value = "PATH", help = "connect to this socket, whatever the host" },
  { name = "--insecure", help = "do not check the certificates of servers" },
  { name = "--retry", value = "N", help = "try a request up to N times if that is safe" },
  { name = "--verbose", short = "-v", help = "show logs, requests and problems of documents" },
}

options.help = [[
A remembered source (`operations add`) needs no option. An option of an API or
server applies to the --openapi or --mcp before it, or to all if there is none.
The namespace of an MCP server is its package or host:
`npx -y @acme/server-files` offers `files.read`, ... A TOKEN, PASSWORD, KEY,
SECRET or VALUE may be env:NAME, file:PATH or cmd:COMMAND, which keeps it out of
the list of processes.
]]

--- Options that name a source.
options.kinds = { "openapi", "graphql", "lua", "command", "mcp", "mcp-config", "redis", "websocket" }

local is_kind = members.set(options.kinds)

-- The secret that a word refers to, read once, when a request needs it.
local function later(option, word)
  local value
  return function()
    if not value then
      local message
      value, message = secret.read(word)
      if not value then
        error(("--%s: %s"):format(option, message), 0)
      end
    end
    return value
  end
end

-- USER:PASSWORD, where the password or the whole may be a reference.
local function basic(word)
  local username, password
  return function()
    if not username then
      local text, message = word, nil
      if secret.is_reference(word) then
        text, message = secret.text(word)
      end
      local user, rest = (text or ""):match("^([^:]*):(.*)$")
      if user and not secret.is_reference(word) then
        rest, message = secret.text(rest)
      end
      if not (user and rest) then
        error("--basic: " .. (message or "expected USER:PASSWORD"), 0)
      end
      username, password = user, rest
    end
    return username, password
  end
end

local function set_header(headers, option, value)
  local name, content = value:match("^([^:%s]+):%s*(.*)$")
  if not name then
    return ("%s: expected 'NAME: VALUE', got %q"):format(option, value)
  elseif content:find("[%z\1-\31\127]") then
    return ("%s: the value of %s has a line break or another control character"):format(option, name)
  end
  headers[name] = content
end

-- The operations of a patch in a file, JSON or YAML; or nil and a message.
local function read_patch(path)
  local text, message = files.read(path)
  if not text then
    return nil, message
  end
  local patch, err = require("operations.openapi.document").parse(text, path) -- late: few sources have a patch
  if core.kind(patch) ~= "array" then
    return nil, err and err.message or path .. ": expected a list of operations (RFC 6902)"
  end
  return patch
end

-- Changes the configuration of a source for each option; returns a message for an invalid value.
local setters = {
  namespace = function(config, value) config.namespace = value end,
  ["base-url"] = function(config, value)
    if not value:find("^https?://[^/]") then
      return ("--base-url: expected a URL such as https://api.example/v1, got %q"):format(value)
    elseif value:find("^%a+://[^/?#]*@") then
      return "--base-url: expected a URL without a user name and password: --basic USER:PASSWORD gives them"
    end
    config.base_url = value
  end,
  bearer = function(config, value) config.auth = { type = "bearer", token = later("bearer", value) } end,
  basic = function(config, value)
    if not secret.is_reference(value) and not value:find(":", 1, true) then
      return "--basic: expected USER:PASSWORD"
    end
    local read = basic(value)
    config.auth = { type = "basic", username = function() return (read()) end,
      password = function() return (select(2, read())) end }
  end,
  ["ref-root"] = function(config, value) config.ref_root = value end,
  documents = function(config, value)
    config.documents = members.joined(config.documents or {}, { value })
  end,
  subscriptions = function(config, value)
    if value ~= "sse" and value ~= "websocket" and not value:find("^wss?://[^/]") then
      return ("--subscriptions: expected a URL such as wss://api.example/graphql, websocket or sse, got %q")
        :format(value)
    end
    config.subscriptions = value
  end,
  lenient = function(config) config.lenient = true end,
  ["next-page"] = function(config, value)
    local to, from = value:match("^([^/=]*)=?(/.*)$")
    local way, name = value:match("^(%a+):(.+)$")
    if from and (to == "" or value:find("=", 1, true)) then
      config.next_page = { from = from, to = to ~= "" and to or nil }
    elseif way == "page" or way == "offset" then
      config.next_page = { [way] = name }
    else
      return ("--next-page: expected /POINTER, NAME=/POINTER, page:NAME or offset:NAME, got %q"):format(value)
    end
  end,
  ["redirect-all"] = function(config) config.redirect_all = true end,
  ["remote-refs"] = function(config) config.remote_refs = true end,
  patch = function(config, path)
    local message
    config.patch, message = read_patch(path)
    return message and "--patch: " .. message
  end,
  ["env-allow"] = function(config, value) table.insert(config.env_allow, value) end,
  ["no-check"] = function(config) config.validate = "warn" end,
  ["api-key"] = function(config, value)
    local name, key = secret.named(value)
    if name then
      config.api_keys[name] = later("api-key", key)
    else
      config.auth = { type = "apiKey", token = later("api-key", value) }
    end
  end,
  header = function(config, value) return set_header(config.headers, "--header", value) end,
  ["document-header"] = function(config, value)
    return set_header(config.document_headers, "--document-header", value)
  end,
  ["client-id"] = function(config, value) config.oauth.client_id = value end,
  ["client-secret"] = function(config, value) config.oauth.client_secret = later("client-secret", value) end,
  scope = function(config, value) config.oauth.scope = value end,
}

local function readable(option, field)
  return function(given, path)
    local file, message = io.open(path)
    if not file then
      return ("--%s: %s"):format(option, message)
    end
    file:close()
    given[field] = path
  end
end

-- The same for the options of its requests.
local connection_setters = {
  ["ca-file"] = readable("ca-file", "ca_file"),
  cert = readable("cert", "cert_file"),
  key = readable("key", "key_file"),
  insecure = function(given) given.insecure = true end,
  ["unix-socket"] = function(given, path) given.unix_socket = path end,
  proxy = function(given, value)
    if value ~= "none" and not value:find("^%a[%w]*://[^/]") then
      return ("--proxy: expected a URL such as http://proxy.example:3128, or none, got %q"):format(value)
    end
    given.proxy = value ~= "none" and value
  end,
  retry = function(given, value)
    local attempts = tonumber(value)
    if not attempts or attempts < 1 or attempts > 100 or attempts % 1 ~= 0 then
      return ("--retry: expected a whole number from 1 to 100, got %q"):format(value)
    end
    given.retry = { attempts = attempts }
  end,
}

for name, setter in pairs(connection_setters) do
  setters[name] = function(config, value)
    return setter(config.connection, value)
  end
end

-- The place as shown in messages, without passwords and tokens in URLs and command lines.
local function shown(kind, place)
  if place:find("^%a[%w+.-]*://") then
    return place:find("^https?:") and url.redact(place) or url.redact_any(place)
  end
  return kind == "mcp" and place:match("%S+") or place
end

local function nothing()
  return { headers = {}, document_headers = {}, oauth = {}, connection = {}, api_keys = {}, env_allow = {} }
end

local function inherited(general)
  local parts, copy = nothing(), members.merged(general)
  for name in pairs(parts) do
    copy[name] = members.copy(general[name])
  end
  return copy
end

---@class operations.sources.Source
---@field kind string  one of `kinds`
---@field place string
---@field shown string  the place for messages, without secrets
---@field config table  of the adapter, without the parts that only a call needs
---@field name? string  of a remembered source
---@field call? table  additions to the adapter's configuration for a call

--- The sources in the options, in order.
---@param order { name: string, value: any }[]
---@return operations.sources.Source[]? list
---@return string? message  error message
function options.plan(order)
  local general, list = nothing(), {}
  local current = general
  for _, option in ipairs(order) do
    if is_kind[option.name] then
      current = inherited(general)
      list[#list + 1] = {
        kind = option.name, place = option.value, shown = shown(option.name, option.value), config = current,
      }
    elseif setters[option.name] then
      local message = setters[option.name](current, option.value)
      if message then
        return nil, message
      end
    end
  end
  local token = os.getenv("OPERATIONS_BEARER")
  if token and #list == 1 and not list[1].config.auth then -- with several, it would be unclear which one it is for
    list[1].config.auth = { type = "bearer", token = token }
  end
  return list
end

-- Reads the secret of a configured value now.
local function now(value)
  if type(value) == "function" then
    return value()
  end
  return value
end

local function reveal_headers(headers, option)
  for name, value in pairs(headers) do
    if secret.is_reference(value) then
      local text, message = secret.text(value)
      if not text then
        error(("--%s %s: %s"):format(option, name, message), 0)
      end
      headers[name] = text
    end
  end
end

--- Sets the headers of a source's document, with their secrets. Raises a message when one is missing.
---@param source operations.sources.Source
function options.reveal_document_headers(source)
  reveal_headers(source.config.document_headers, "document-header")
end

--- Sets the secrets of a source before a call. Raises a message when one is missing.
---@param source operations.sources.Source
function options.reveal(source)
  local config = source.config
  reveal_headers(config.headers, "header")
  options.reveal_document_headers(source)
  for _, values in ipairs({ config.api_keys, config.auth }) do
    for key, value in pairs(values) do
      values[key] = now(value)
    end
  end
  config.oauth.client_secret = now(config.oauth.client_secret)
end

--- Makes a client from another. Redirects to another origin do not get our certificate: the HTTP client takes care of
--- that.
---@param connection table  of a source's configuration: options of requests
---@param inner table  the client that sends
---@return table? client  nil: the connection has no options
function options.client(connection, inner)
  if next(connection) == nil then
    return nil
  end
  local client = {}
  for _, method in ipairs({ "request", "open" }) do
    client[method] = function(request)
      return inner[method](members.merged(connection, request))
    end
  end
  return client
end

--- The option that a source is given by, told from how it is written.
---@param place string
---@return string kind  "openapi", ...
function options.kind_of(place)
  if place:find("^rediss?://") or place:find("^redis%+") then
    return "redis"
  elseif place:find("^wss?://") then
    return "websocket"
  elseif place:find("^https?://[^?#]*/graphql/?$") or place:find("^https?://[^?#]*/graphql/?[?#]")
    or place:find("%.graphqls?$") or place:find("%.gql$") then
    return "graphql"
  elseif not place:find("^https?://") and (place:find("%.lua$") or system.kind(place) == "directory") then
    return "lua"
  end
  return "openapi"
end

return options
