--- The MCP servers of `--mcp` and `--mcp-config`; they run while the command runs.
local asking = require("operations.people.asking")
local base64 = require("operations.base.base64")
local cache = require("operations.sources.cache")
local client_config = require("operations.mcp.client.config")
local from_mcp = require("operations.mcp.client")
local http = require("operations.net.http")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local source_options = require("operations.sources.options")
local url = require("operations.base.url")

local mcp_servers = {}

-- Names for unnamed servers: from their package or host, without words that only say that it is a server.

-- Programs that run others: the first argument that is not an option counts.
local runners = {
  env = true, npx = true, bunx = true, uvx = true, pipx = true, pnpx = true, node = true, bun = true, deno = true,
  tsx = true, uv = true, run = true, lua = true, luajit = true, python = true, perl = true, ruby = true, sh = true,
}

local function clean(text)
  text = text:gsub("[^%w_.-]+", "_"):gsub("^[_.-]+", ""):gsub("[_.-]+$", "")
  return text ~= "" and text or "mcp"
end

-- Parts of a path that say where a program is stored, not what it is.
local places = {
  index = true, main = true, cli = true, server = true, dist = true, build = true, src = true, bin = true,
}

-- "@scope/server-files@1.2", "/opt/files_mcp.lua" and "files-mcp/dist/index.js" all give "files".
local function core_of(text)
  local named, last
  for part in text:gsub("(.)@[^@/]*$", "%1"):gmatch("[^/]+") do
    last = part
    if part ~= "." and not places[(part:gsub("%.%a+$", ""))] then
      named = part
    end
  end
  last = named or last or text
  last = last:gsub("%.%a+$", ""):gsub("^mcp[-_]", ""):gsub("^server[-_]", "")
  return clean((last:gsub("[-_]server$", ""):gsub("[-_]mcp$", "")))
end

--- The name of a server that a command starts.
---@param words string[]
---@return string
function mcp_servers.of_command(words)
  local named = words[1]
  for _, word in ipairs(words) do
    local is_option = word:find("^%-") or word:find("^[%w_]+=")
    local program = (word:match("([^/]+)$") or word):gsub("[%d.]+$", "") -- python3.13
    if not is_option and not runners[program] then
      named = word
      break
    end
  end
  return core_of(named)
end

--- The name of a server at a URL: the second-to-last part of its host.
---@param text string
---@return string
function mcp_servers.of_url(text)
  local host = (url.parse(text) or { host = text }).host
  if host:find("^[%d.]+$") or host:find("^%[") then
    return clean(host)
  end
  return clean(host:match("([^.]+)%.[^.]+$") or host)
end

--- Splits a command line as a shell does, without expansion.
---@param line string
---@return string[]? words  nil when a quote is open
function mcp_servers.words(line)
  local words, word, at = {}, nil, 1
  while at <= #line do
    local blank = line:match("^%s+", at)
    local quoted, stop = line:match("^'([^']*)'()", at)
    if not quoted then
      quoted, stop = line:match('^"([^"\\]*)"()', at)
    end
    if blank then
      words[#words + 1], word, at = word, nil, at + #blank
    elseif quoted then
      word, at = (word or "") .. quoted, stop
    elseif line:find("^['\"]", at) then
      return nil
    else
      local plain, escaped = line:match("^[^%s'\"\\]+", at), line:match("^\\(.)", at)
      word = (word or "") .. (plain or escaped or "\\")
      at = at + (plain and #plain or escaped and 2 or 1)
    end
  end
  words[#words + 1] = word
  return words
end

-- Connecting.

-- Time for a server to end by itself, ms: a person waits for the prompt.
local STOP = { close = 1000, term = 1000 }

local function authorization(auth)
  if auth and auth.type == "bearer" then
    return "Bearer " .. auth.token
  elseif auth and auth.type == "basic" then
    return "Basic " .. base64.encode(auth.username .. ":" .. auth.password)
  end
end

-- Asks the person at the terminal what a server wants to know.
local function elicitation(person)
  local function server_of(context)
    return context.client and context.client.name or "a server"
  end
  return {
    form = function(params, context)
      return asking.elicit(person, server_of(context), params)
    end,
    url = function(params, context)
      return asking.visit(person, server_of(context), params)
    end,
  }
end

-- The part of the configuration that all servers share.
local function common(source, log, options)
  local allowed = source.config and source.config.env_allow or {}
  return {
    env_allow = allowed[1] and members.joined(client_config.inherited, allowed) or nil,
    elicitation = options.person and elicitation(options.person),
    log = log, stop = STOP, on_message = options.on_message,
    on_stderr = options.verbose and function(line)
      options.face.complain("%s", line)
    end or nil,
  }
end

-- The namespace for the server's operations.
local function name_of(source)
  local place, namespace = source.place, source.config.namespace
  if namespace or place:find("^https?://") then
    return namespace or mcp_servers.of_url(place)
  end
  local words = mcp_servers.words(place)
  return words and words[1] and mcp_servers.of_command(words)
end

local function config_of(source, log, options)
  local config, given = common(source, log, options), source.config
  if source.place:find("^https?://") then
    config.url, config.headers = source.place, given.headers
    config.http = source_options.client(given.connection, http)
    config.headers.Authorization = config.headers.Authorization or authorization(given.auth)
    config.auth = not config.headers.Authorization and options.face.login() or nil
    return config, name_of(source)
  end
  local words = mcp_servers.words(source.place)
  if not words or not words[1] then
    return nil, "--mcp: expected a command or a URL, every quote of it closed"
  end
  config.command, config.args = table.remove(words, 1), words
  return config, name_of(source)
end

--- The operations of one server.
---@param source { place: string, shown: string, config: table }
---@param log fun(level: string, message: string)
---@param options { face: operations.sources.Face, verbose: boolean?, on_message: function? }
---@return operations.Definition[]?
---@return any err
function mcp_servers.server(source, log, options)
  local config, name = config_of(source, log, options)
  if not config then
    return nil, name
  end
  options.face.progress("connecting to " .. source.shown)
  local client, err = from_mcp.connect(name, config)
  if not client then
    return nil, err
  end
  options.face.at_end(client)
  return client.operations
end

-- Additions of a proxy to a server's configuration: its tools are for the caller, filtered as requested, and its
-- questions go to the caller. People may need long.
local function offered(config, options)
  local include = options.include
  config.questions, config.timeout = "caller", limits.server_max_timeout
  config.accessControl = options.access or { requiredScopes = {} }
  config.include = include and function(tool)
    return include({ namespace = config.namespace, name = tool.name })
  end
  return config
end

---@class operations.sources.ProxyOptions
---@field face operations.sources.Face
---@field log fun(level: string, message: string)
---@field verbose boolean
---@field include? fun(definition: table): boolean  selects tools
---@field access? fun(definition: table): operations.AccessControl?  nil: the tool is not for callers; default: all are
---@field on_source fun(source: operations.mcp.Client|operations.mcp.Servers)  called with what connects
---@field on_event? fun(name: string, state: string, reason: operations.Error?)  called with each change of a state

-- Keeps the cache of a remembered source in step with its servers; a filtered or empty list is not cache.
local function keep_cache(source, options, definitions_of)
  return function()
    local list = definitions_of()
    if source.name and not options.include and list[1] then
      cache.write_specs(source, list, {})
    end
  end
end

-- Reports a change of a server's state.
local function report(options, name, state, reason)
  if options.on_event then
    options.on_event(name, state, reason)
  end
  if reason and (state == "lost" or state == "retrying") then
    options.face.complain("%s is %s: %s", name, state, tostring(reason))
  end
end

local function one_behind(source, registry, options)
  local config, name = config_of(source, options.log, options)
  if not config then
    options.face.complain("%s", name)
    return false
  end
  config.namespace, config.wait, config.tools = name, false, cache.tools(source, name)
  local ok, client, err = pcall(from_mcp.connect, name, offered(config, options))
  if not ok or not client then
    options.face.complain("cannot load %s", source.shown)
    options.face.failure(ok and err or client)
    return false
  end
  options.face.at_end(client)
  client:on_state(function(state, reason)
    report(options, name, state, reason)
  end)
  client:on_change(keep_cache(source, options, function() return client.operations end))
  if registry then
    client:register(registry)
  end
  options.on_source(client)
  return true
end

--- Connects to one server, or to those in a file, in the background: their tools are registered once they are known,
--- those of a remembered source from its cache at once, and follow the servers' lists. Reports failures.
---@param source { kind: string, place: string, shown: string, config: table }
---@param registry? operations.Registry  nil: it only connects
---@param options operations.sources.ProxyOptions
---@return boolean ok  false: the source cannot be used, which was reported
function mcp_servers.behind(source, registry, options)
  local has_secrets, message = pcall(source_options.reveal, source)
  if not has_secrets then
    options.face.complain("cannot load %s", source.name or source.shown)
    options.face.failure(message)
    return false
  elseif source.kind == "mcp" then
    return one_behind(source, registry, options)
  end
  local config = offered(common(source, options.log, options), options)
  config.auth, config.wait, config.tools = options.face.login(), false, cache.tools(source)
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    options.face.complain("cannot load %s", source.place)
    options.face.failure(err)
    return false
  end
  options.face.at_end(servers)
  local keep = keep_cache(source, options, function() return servers.operations end)
  servers:on_state(function(name, state, reason)
    report(options, name, state, reason)
    if state == "connected" then
      keep()
    end
  end)
  if registry then
    servers:register(registry)
  end
  options.on_source(servers)
  return true
end

--- The operations of the servers in a file; reports servers that fail and skips them, unless all fail.
---@param source { place: string, wanted?: string }  `wanted`: the namespace of the only server to start
---@param log fun(level: string, message: string)
---@param options { face: operations.sources.Face, verbose: boolean?, on_message: function? }
---@return operations.Definition[]?
---@return any err
function mcp_servers.file(source, log, options)
  options.face.progress("connecting to the servers of " .. source.place)
  local config = common(source, log, options)
  config.auth = options.face.login()
  config.start = source.wanted and function(_, namespace)
    return namespace == source.wanted
  end
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    return nil, err
  end
  options.face.at_end(servers)
  local has_failed, is_any = false, false
  for _, problem in ipairs(servers.problems) do
    if not source.wanted or problem.namespace == source.wanted then
      options.face.complain("%s: %s", problem.name, problem.message)
    end
    has_failed = has_failed or problem.err ~= nil
  end
  for _, client in pairs(servers.clients) do
    is_any = is_any or client.state == "connected"
  end
  if has_failed and not is_any then
    return nil
  end
  return servers.operations
end

-- The namespaces of a source of MCP servers, as far as known before a server starts.
local function namespaces_of(source)
  if source.kind == "mcp" then
    return { name_of(source) }
  end
  return source.kind == "mcp-config" and from_mcp.namespaces(source.place) or {}
end

local function begins(id, namespace)
  return id:sub(1, #namespace) == namespace and id:find("^[./].", #namespace + 1) ~= nil
end

--- Removes the MCP servers that cannot have an operation: if the namespace of a server begins the id, no other server
--- is started. The longest one counts.
---@param list operations.sources.Source[]
---@param id string
---@return operations.sources.Source[]
function mcp_servers.narrow(list, id)
  local wanted, owner = "", nil
  for _, source in ipairs(list) do
    for _, namespace in ipairs(namespaces_of(source)) do
      if #namespace > #wanted and begins(id, namespace) then
        wanted, owner = namespace, source
      end
    end
  end
  local left = {}
  for _, source in ipairs(owner and list or {}) do
    if source == owner then
      left[#left + 1] = members.merged(source, { wanted = source.kind == "mcp-config" and wanted or nil })
    elseif source.kind ~= "mcp" and source.kind ~= "mcp-config" then
      left[#left + 1] = source
    end
  end
  return owner and left or list
end

return mcp_servers
