--- The MCP servers of `--mcp` and `--mcp-config`; they run while the command runs.
local base64 = require("operations.base.base64")
local from_mcp = require("operations.mcp.client")
local http = require("operations.net.http")
local limits = require("operations.base.limits")
local login = require("operations.cli.login")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local server_name = require("operations.cli.server_name")
local source_options = require("operations.cli.source_options")
local task = require("operations.task")

local mcp_sources = {}

-- Time for a server to end by itself, ms: a person waits for the prompt.
local STOP = { close = 1000, term = 1000 }

local function authorization(auth)
  if auth and auth.type == "bearer" then
    return "Bearer " .. auth.token
  elseif auth and auth.type == "basic" then
    return "Basic " .. base64.encode(auth.username .. ":" .. auth.password)
  end
end

-- The part of the configuration that all servers share.
local function common(log, options)
  return {
    log = log, stop = STOP, on_message = options.on_message,
    on_stderr = options.verbose and function(line)
      output.complain("%s", line)
    end or nil,
    on_progress = function(progress, call)
      local total = progress.total and "/" .. progress.total or ""
      output.progress(("%s: %s%s %s"):format(call.tool, progress.progress, total, progress.message or ""))
    end,
  }
end

-- The namespace for the server's operations.
local function name_of(source)
  local place, namespace = source.place, source.config.namespace
  if namespace or place:find("^https?://") then
    return namespace or server_name.of_url(place)
  end
  local words = server_name.words(place)
  return words and words[1] and server_name.of_command(words)
end

local function config_of(source, log, options)
  local config, given = common(log, options), source.config
  if source.place:find("^https?://") then
    config.url, config.headers = source.place, given.headers
    config.http = source_options.client(given.connection, http)
    config.headers.Authorization = config.headers.Authorization or authorization(given.auth)
    config.auth = not config.headers.Authorization and login.options() or nil
    return config, name_of(source)
  end
  local words = server_name.words(source.place)
  if not words or not words[1] then
    return nil, "--mcp: expected a command or a URL, every quote of it closed"
  end
  config.command, config.args = table.remove(words, 1), words
  return config, name_of(source)
end

--- The operations of one server.
---@param source { place: string, shown: string, config: table }
---@param log fun(level: string, message: string)
---@param options { verbose: boolean?, on_message: function? }
---@return operations.Definition[]?
---@return any err
function mcp_sources.server(source, log, options)
  local config, name = config_of(source, log, options)
  if not config then
    return nil, name
  end
  output.progress("connecting to " .. source.shown)
  local client, err = from_mcp.connect(name, config)
  if not client then
    return nil, err
  end
  output.at_end(client)
  return client.operations
end

-- Additions of a proxy to a server's configuration: its tools are for the caller, filtered as requested, and its
-- questions go to the caller. People may need long.
local function offered(config, include)
  config.questions, config.timeout = "caller", limits.server_max_timeout
  config.accessControl = { requiredScopes = {} }
  config.include = include and function(tool)
    return include({ namespace = config.namespace, name = tool.name })
  end
  return config
end

---@class operations.cli.ProxyOptions
---@field log fun(level: string, message: string)
---@field verbose boolean
---@field include? fun(definition: table): boolean  selects tools
---@field on_client fun(client: operations.mcp.Client)  called with each connected server

local function connect_behind(source, registry, options)
  local config, name = config_of(source, options.log, options)
  if not config then
    return output.complain("%s", name)
  end
  config.namespace = name
  local ok, client, err = pcall(from_mcp.connect, name, offered(config, options.include))
  if not ok or not client then
    output.complain("cannot load %s", source.shown)
    return output.failure(ok and err or client)
  end
  output.at_end(client)
  local ids
  ids, err = client:register(registry)
  if not ids then
    return output.failure(err)
  end
  options.on_client(client)
end

--- Connects to one server, or to those in a file, in the background: their tools are registered once they are known,
--- and follow the servers' lists. Reports failures.
---@param source { kind: string, place: string, shown: string, config: table }
---@param registry operations.Registry
---@param options operations.cli.ProxyOptions
---@return boolean ok  false: the file cannot be read, which was reported
function mcp_sources.behind(source, registry, options)
  if source.kind == "mcp" then
    task.detach(connect_behind, source, registry, options)
    return true
  end
  local config = offered(common(options.log, options), options.include)
  config.auth, config.wait = login.options(), false
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    output.complain("cannot load %s", source.place)
    output.failure(err)
    return false
  end
  output.at_end(servers)
  local known = {}
  servers:on_state(function(name, state, reason)
    local client = servers.clients[name]
    if client and not known[client] and state == "connected" then
      known[client] = true
      options.on_client(client)
    elseif state == "closed" and reason then
      output.complain("%s: %s", name, tostring(reason))
    end
  end)
  servers:register(registry)
  return true
end

--- The operations of the servers in a file; reports servers that fail and skips them, unless all fail.
---@param source { place: string, wanted?: string }  `wanted`: the namespace of the only server to start
---@param log fun(level: string, message: string)
---@param options { verbose: boolean?, on_message: function? }
---@return operations.Definition[]?
---@return any err
function mcp_sources.file(source, log, options)
  output.progress("connecting to the servers of " .. source.place)
  local config = common(log, options)
  config.auth = login.options()
  config.start = source.wanted and function(_, namespace)
    return namespace == source.wanted
  end
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    return nil, err
  end
  output.at_end(servers)
  local has_failed = false
  for _, problem in ipairs(servers.problems) do
    if not source.wanted or problem.namespace == source.wanted then
      output.complain("%s: %s", problem.name, problem.message)
    end
    has_failed = has_failed or problem.err ~= nil
  end
  if has_failed and next(servers.clients) == nil then
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
---@param list operations.cli.Source[]
---@param id string
---@return operations.cli.Source[]
function mcp_sources.narrow(list, id)
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

return mcp_sources
