--- `operations serve`: serves operations as an HTTP API until it is interrupted.
local arguments = require("operations.cli.arguments")
local core = require("operations.core")
local exposures = require("operations.cli.exposure")
local ip = require("operations.base.ip")
local limits = require("operations.base.limits")
local mcp_servers = require("operations.sources.mcp_servers")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local operations = require("operations")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local secret = require("operations.sources.secret")
local sources = require("operations.cli.sources")
local system = require("operations.system")
local task = require("operations.task")
local url = require("operations.base.url")
local watched = require("operations.cli.watched")

local serve = {
  usage = "operations serve [SOURCE...] [OPTIONS]",
  summary = "Serves the operations of its sources over HTTP until Ctrl-C. Prints its URL\n"
    .. "and, without --token, --issuer or --no-auth, the header that every request\n"
    .. "needs. Logs a line for each request to stderr: JSON unless it is a terminal.",
  options = {
    { name = "--port", value = "N", help = "port to listen at (8080); 0: any free port" },
    { name = "--host", value = "ADDRESS", help = "numeric address to listen at (127.0.0.1)" },
    { name = "--mcp-server", help = "serve an MCP server at /mcp, too" },
    { name = "--prefix", value = "/PATH", help = "prefix of all paths" },
    { name = "--token", value = "TOKEN", many = true, help = "token, or env:NAME, file:PATH, cmd:COMMAND" },
    { name = "--scopes", value = "A,B", help = "the scopes of the token's holder (none)" },
    { name = "--issuer", value = "URL", help = "accept tokens that this server signs, not --token" },
    { name = "--audience", value = "NAME", help = "their audience: the URL of this server, or a name" },
    { name = "--jwks", value = "URL", help = "the issuer's keys (default: from its metadata)" },
    { name = "--docs", help = "a page at /docs to read and call the operations" },
    { name = "--no-auth", help = "serve every caller, without a token" },
    { name = "--public", help = "allow --no-auth for other machines" },
    { name = "--tls-cert", value = "FILE", help = "serve https: certificate and chain; HUP reloads it" },
    { name = "--tls-key", value = "FILE", help = "its key" },
    { name = "--tls-client-ca", value = "FILE", help = "authorities of required client certificates" },
    { name = "--allow-host", value = "NAME", many = true, help = "a host name of this server besides localhost" },
    { name = "--allow-origin", value = "ORIGIN", many = true, help = "web pages that may call: https://app.example" },
    { name = "--trusted-proxy", value = "CIDR", many = true, help = "proxies whose X-Forwarded-* fields count" },
    exposures.option, exposures.upstream_errors,
    rules.policy, rules.read_only, rules.audit, rules.transform,
    { name = "--watch", value = "DIR", many = true, help = "Lua definitions, reloaded when they change" },
    { name = "--metrics", help = "figures for Prometheus at /metrics" },
    { name = "--idempotency", value = "STORE", help = "keep answers by Idempotency-Key: memory or redis://..." },
    { name = "--rate", value = "N", help = "calls a second of each caller, others are answered 429" },
    { name = "--timeout", value = "SECONDS", help = "of a call (60)" },
    { name = "--max-requests", value = "N", help = "requests at once (1024)" },
    { name = "--max-body", value = "BYTES", help = "limit of a request's body (16 MiB)" },
    { name = "--drain-delay", value = "SECONDS", help = "serve after TERM while /readyz says 503 (0)" },
    { name = "--grace", value = "SECONDS", help = "time for running requests after Ctrl-C (5)" },
    output.log_option,
  },
}

local POLL = 0.5 -- seconds between checks of watched directories and of HUP
local STDERR = 2

---@class operations.cli.ServeOptions
---@field host string
---@field port integer
---@field max_requests? integer
---@field max_body? integer
---@field grace number  seconds
---@field drain_delay number  seconds
---@field rate? number  calls a second
---@field timeout? number  seconds
---@field idempotency? true|operations.AnswerStore
---@field leaving? boolean  it is about to stop
---@field tokens? string[]  nil: no token is required
---@field docs? true  serve the page
---@field mcp? true  serve an MCP server
---@field tls? operations.TlsOptions
---@field scheme "http"|"https"
---@field own_token? boolean  generated, so it must be shown
---@field identity? operations.Identity  of callers with the token
---@field authorize? function|operations.oauth.ResourceServer  callers have tokens of an authorization server, or are
---  identified by their certificates

-- Reads the numeric options; returns a message for an invalid one.
local function read_numbers(parsed, options)
  local ranges = { { "port", 8080, 65535 }, { "grace", 5 }, { "max-requests" }, { "max-body" }, { "drain-delay", 0 },
    { "rate" }, { "timeout" } }
  for i, range in ipairs(ranges) do
    local name, is_whole = range[1], i ~= 2 and i < 5
    local value, message = arguments.number(parsed, name, range[2], range[3])
    if message then
      return message
    elseif value and is_whole and value % 1 ~= 0 then
      return ("--%s: expected a whole number, got %q"):format(name, parsed.options[name])
    elseif value and i > 5 and value < 0.001 then
      return ("--%s: expected a number from 0.001 on, got %s"):format(name, parsed.options[name])
    end
    options[name:gsub("-", "_")] = value and is_whole and math.floor(value) or value
  end
end

-- Reads the store of answers; returns a message for an invalid one.
local function read_store(parsed, options)
  local given = parsed.options.idempotency
  if given == "memory" then
    options.idempotency = true
  elseif given then
    local ok, made = pcall(function()
      return operations.middleware.redis(given)
    end)
    if not ok then
      return ("--idempotency: memory or redis://HOST:PORT expected, got %q"):format(url.redact_any(given))
    end
    options.idempotency = made
  end
end

-- Reads the tokens that callers may have; or nil and a message.
local function read_tokens(parsed)
  local tokens = {}
  for i, given in ipairs(parsed.options.token) do
    local message
    tokens[i], message = secret.read(given)
    if not tokens[i] then
      return nil, "--token: " .. message
    end
  end
  return tokens
end

local function is_loopback(host)
  return url.is_loopback(host:find(":", 1, true) and "[" .. host .. "]" or host)
end

local function scopes_of(text)
  local scopes = operations.array()
  for scope in (text or ""):gmatch("[^,%s]+") do
    table.insert(scopes, scope)
  end
  return scopes
end

-- Reads the options for an authorization server; returns a message for an invalid combination.
local function read_issuer(given, options)
  if given.token or given.scopes or given["no-auth"] then
    return "--issuer: tokens and their scopes come from there; --token, --scopes and --no-auth have no effect"
  elseif not given.issuer or not given.audience then
    return "--issuer and --audience belong together"
  end
  local ok, made = pcall(operations.oauth.resource_server, { issuer = given.issuer, audience = given.audience,
    jwks_uri = given.jwks })
  options.authorize = ok and made or nil
  return not ok and ("--issuer: %s"):format((tostring(made):gsub("^.-%((.*)%)$", "%1"))) or nil
end

-- Identifies callers by their certificates. A certificate is required.
local function by_certificate(scopes)
  return function(request)
    local shown = type(request.peer.tls) == "table" and request.peer.tls or {}
    return shown.fingerprint and { id = shown.subject, fingerprint = shown.fingerprint, scopes = scopes } or nil
  end
end

-- Reads the options for access; returns a message for an invalid combination.
local function read_access(parsed, options)
  local given = parsed.options
  if given.issuer or given.audience or given.jwks then
    return read_issuer(given, options)
  elseif given["no-auth"] and given["tls-client-ca"] and not given.token then
    options.authorize = by_certificate(scopes_of(given.scopes))
    return nil
  elseif given["no-auth"] then
    if given.token or given.scopes then
      return given["tls-client-ca"] and "--no-auth: no token is checked, so --token has no effect"
        or "--no-auth: no token is checked, so --token and --scopes have no effect"
    elseif not given.public and not is_loopback(options.host) then
      return ("--no-auth: everyone who reaches %s could call everything; add --public if that is intended"):format(
        options.host)
    end
    return nil
  end
  local message
  options.own_token = not given.token
  if given.token then
    options.tokens, message = read_tokens(parsed)
  else
    options.tokens = { (core.random_id():gsub("-", "")) }
  end
  options.identity = { id = "token", scopes = scopes_of(given.scopes) }
  return message
end

-- The error in the addresses of proxies and the origins of pages.
local function read_others(parsed)
  for _, text in ipairs(parsed.options["allow-origin"] or {}) do
    if text ~= "*" and not url.is_origin(text) then
      return ("--allow-origin: an origin such as https://app.example expected, got %q"):format(text)
    end
  end
  for _, text in ipairs(parsed.options["trusted-proxy"] or {}) do
    if text ~= "unix:" and not ip.network(text) then
      return ("--trusted-proxy: an address, a network such as 10.0.0.0/8 or unix: expected, got %q"):format(text)
    end
  end
end

-- Reads the files for TLS; returns a message when one is missing.
local function read_tls(parsed, options)
  local cert, key = parsed.options["tls-cert"], parsed.options["tls-key"]
  options.scheme = cert and "https" or "http"
  options.tls = cert and { cert = cert, key = key, client_ca = parsed.options["tls-client-ca"] }
  if not cert and parsed.options["tls-client-ca"] then
    return "--tls-client-ca: certificates of clients need --tls-cert and --tls-key"
  elseif cert and not key then
    return "--tls-cert: --tls-key has to name the file of its key"
  elseif key and not cert then
    return "--tls-key: --tls-cert has to name the file of its certificate"
  end
end

-- Reads the options, or reports an error.
local function read(parsed)
  local host, prefix = parsed.options.host or "127.0.0.1", parsed.options.prefix
  local options = { host = host == "localhost" and "127.0.0.1" or host, docs = parsed.options.docs,
    mcp = parsed.options["mcp-server"] }
  local message = read_numbers(parsed, options) or read_store(parsed, options) or read_access(parsed, options)
    or read_tls(parsed, options)
  if not options.host:find("^%d+%.%d+%.%d+%.%d+$") and not options.host:find("^%x*:[%x:.]*$") then
    message = ("--host: expected a numeric address, such as 0.0.0.0 or ::1, got %q"):format(host)
  elseif prefix and not prefix:find("^/[^?#%s]*[^/?#%s]$") then
    message = ("--prefix: expected a path such as /api, got %q"):format(prefix)
  else
    message = message or exposures.flaw(parsed.options) or read_others(parsed)
  end
  return not message and options or nil, message
end

-- The function that authenticates callers, or nil. Tokens may change.
local function authorizer(options)
  if options.authorize or not options.tokens then
    return options.authorize
  end
  local accepts, of
  return function(request)
    if of ~= options.tokens then
      local identities = {}
      for _, token in ipairs(options.tokens) do
        identities[token] = options.identity
      end
      accepts, of = operations.oauth.static_tokens(identities), options.tokens
    end
    return accepts(request)
  end
end

-- The middleware of all operations, and the figures if they are wanted.
local function policies(parsed, options)
  local list, metrics = {}, parsed.options.metrics and operations.middleware.metrics() or nil
  list[1] = metrics
  if options.rate then
    list[#list + 1] = operations.middleware.rate_limit({ rate = options.rate, by = "identity" })
  end
  return list, metrics
end

-- A watched directory is a separate source, also when --lua names it.
local function is_watched(parsed)
  local identities = {}
  for i, directory in ipairs(parsed.options.watch or {}) do
    identities[i] = select(2, system.kind(directory))
  end
  return function(option)
    return option.name == "lua" and members.contains(identities, (select(2, system.kind(option.value))))
  end
end

-- Takes MCP servers, whose tools follow as they come and go.
local function takes_servers(parsed, exposure, clients)
  local options = { face = sources.face, log = sources.logger(parsed.options.verbose), verbose = parsed.options.verbose,
    access = function(definition)
      return exposure:access(definition)
    end,
    on_source = function(client)
      clients[#clients + 1] = client
    end }
  return function(source, registry)
    return mcp_servers.behind(source, registry, options)
  end
end

-- The exit code of an MCP server that no further attempt reaches. Waits for those that are connecting.
local function await(clients)
  local ends_at = core.now() + limits.mcp_wait
  for _, client in ipairs(clients) do
    client:wait(math.max(ends_at - core.now(), 0), true)
  end
  for _, client in ipairs(clients) do
    if client.state == "lost" then
      return output.is_unreachable(client.reason) and output.codes.UNREACHABLE or output.codes.SOURCE
    end
  end
end

-- Is there a server that is not connected yet?
local function is_partial(clients)
  for _, client in ipairs(clients) do
    for _, name in ipairs(client.names or {}) do
      if client:state(name) == "connecting" or client:state(name) == "retrying" then
        return true
      end
    end
    if client.state == "connecting" or client.state == "retrying" then
      return true
    end
  end
  return false
end

-- The registry with its watched directories, and what loads the other sources again; or nil and the exit code. Fills
-- `clients` with those of MCP servers.
local function collect(parsed, exposure, middleware, clients)
  local directories, list = parsed.options.watch or {}, {}
  local kinds, stop = {}, nil
  local given = { but = is_watched(parsed), exposure = exposure, names = parsed.rest, none = directories[1] ~= nil,
    behind = takes_servers(parsed, exposure, clients), kinds = kinds, middleware = middleware,
    starts = function(definitions)
      stop = sources.start(definitions)
      return stop
    end }
  local registry, code = sources.registry(parsed, given)
  code = code or await(clients)
  if not registry or code then
    return nil, code
  end
  for i, directory in ipairs(directories) do
    list[i] = watched.new(directory, registry, function(definition)
      exposure:open(definition)
    end, sources.start)
    if not list[i] then
      return nil, output.codes.SOURCE
    end
  end
  return registry, list, function()
    local before = stop
    local fresh = sources.reload(parsed, registry, given)
    if fresh and before then
      before()
    end
    return fresh
  end
end

-- Prints the server's address and how to call it.
local function announce(options, listener, prefix)
  local host = options.host:find(":", 1, true) and "[" .. options.host .. "]" or options.host
  local url_of_server = ("%s://%s:%d%s"):format(options.scheme, host, listener.port, prefix or "")
  output.text(url_of_server .. "\n")
  if options.own_token then
    output.text(("Authorization: Bearer %s\n"):format(options.tokens[1]))
  end
  if options.docs then -- the page takes the token and removes it from the address
    output.text(("%s/docs%s\n"):format(url_of_server, options.own_token and "#token=" .. options.tokens[1] or ""))
  end
  if options.mcp then
    output.text(url_of_server .. "/mcp\n")
  end
  if (options.tokens or options.authorize) and not options.tls and not is_loopback(options.host) then
    output.complain("tokens and data go to %s unencrypted: give --tls-cert and --tls-key, put a proxy with TLS in "
      .. "front, or use a trusted network", options.host)
  end
end

local function follow(directories)
  while true do
    operations.sleep(POLL)
    for _, directory in ipairs(directories) do
      directory:check()
    end
  end
end

-- Reads certificates, tokens and sources again; reports errors and keeps the old ones.
local function reload(parsed, options, listener, load_again)
  local ok, err = listener:reload()
  if options.tls then
    output.complain("%s", ok and "certificates were read again" or err.message .. "; the old ones stay")
  end
  if parsed.options.token then
    local tokens, message = read_tokens(parsed)
    options.tokens = tokens or options.tokens
    output.complain("%s", tokens and "tokens were read again" or message .. "; the old ones stay")
  end
  output.complain("%s", load_again() and "sources were read again" or "the old operations stay")
end

local function follow_hangups(seen, ...)
  while true do
    operations.sleep(POLL)
    local count = system.hangups()
    if count ~= seen then
      seen = count
      reload(...)
    end
  end
end

-- Lets running requests end; a second interrupt stops them at once.
local function drain(server, options)
  local grace, delay = options.grace, options.drain_delay
  options.leaving = true
  if delay > 0 then
    output.complain("ending in %s s: /readyz answers 503, requests are still accepted", number_text.of(delay))
    local waiting = task.spawn(operations.sleep, delay)
    if not pcall(waiting.wait, waiting) then
      return output.complain("ended at once")
    end
  end
  output.complain("ending%s", server.running == 0 and ""
    or (": what runs (%d) has %s s to end; Ctrl-C again ends at once"):format(server.running,
      number_text.of(grace)))
  local draining = task.spawn(server.drain, server, grace * 1000)
  local ended = pcall(draining.wait, draining)
  if not ended then
    output.complain("ended at once")
  end
end

-- Serves until it is interrupted.
local function run(server, directories, options)
  if directories[1] then
    task.detach(follow, directories)
  end
  local ok, raised = pcall(operations.sleep, math.huge)
  if not ok and system.interrupted() then
    drain(server, options)
  end
  server:close()
  if not ok then
    error(raised, 0)
  end
end

-- Reports invalid paths.
local function refuse(flaws)
  for _, flaw in ipairs(flaws) do
    output.complain("%s", flaw.message)
  end
  output.complain("other paths: _meta.http.path in Lua, --namespace NAME behind --openapi or --mcp")
  return output.codes.VALIDATION_ERROR
end

-- Why it cannot listen.
local function tell_listen(err)
  if type(err.details) ~= "table" or err.details.kind ~= "listen" then
    return output.fail(err)
  end
  local in_use = err.message:match("^(.*): Address already in use$")
  return output.usage("serve: %s", in_use and in_use .. " is in use: give another --port (0: any free one)"
    or err.message)
end

---@param parsed operations.cli.Arguments
---@return integer code
function serve.run(parsed)
  local options, message = read(parsed)
  if not options then
    return output.usage("serve: %s", message)
  end
  local write_entry
  write_entry, message = output.log_writer(parsed)
  if message then
    return output.usage("serve: %s", message)
  end
  local exposure = exposures.new(parsed)
  local middleware, metrics = policies(parsed, options)
  local clients = {}
  local registry, directories, load_again = collect(parsed, exposure, middleware, clients)
  if not registry then
    return directories
  end
  local timeout = options.timeout and options.timeout * 1000
  local most = options.max_requests or limits.requests
  local server, err = operations.to_http(registry, {
    prefix = parsed.options.prefix, authorize = authorizer(options) or false,
    hosts = parsed.options["allow-host"], origins = parsed.options["allow-origin"],
    trusted_proxies = parsed.options["trusted-proxy"], max_requests = most,
    max_identity_requests = options.tokens and most or nil, -- all callers with a token are one identity
    max_body = options.max_body, docs = options.docs, upstream_errors = parsed.options["upstream-errors"],
    upstreams = clients, mcp = options.mcp, access_log = write_entry,
    log = sources.logger(parsed.options.verbose),
    metrics = metrics, idempotency = options.idempotency, timeout = timeout,
    max_timeout = timeout and math.max(timeout, limits.server_max_timeout), ready = function()
      return not options.leaving
    end,
  })
  if not server then
    return err.details and refuse(err.details) or output.fail(err)
  end
  local listener
  listener, err = server:listen({ host = options.host, port = options.port, tls = options.tls })
  if not listener then
    return tell_listen(err)
  elseif options.tls or not system.is_terminal(STDERR) then -- a closed terminal ends it
    task.detach(follow_hangups, system.hangups(), parsed, options, listener, load_again)
  end
  exposure:tell(registry, not options.authorize and { identity = options.identity,
    advice = options.tokens and " (--scopes A,B gives it some)" or " (--token gives some)" } or nil,
    is_partial(clients))
  announce(options, listener, parsed.options.prefix)
  run(server, directories, options)
  return output.codes.OK
end

return serve
