--- What `--mcp` and `--mcp-config` name: servers that run, or are called, while the command does.
local base64 = require("operations.base.base64")
local cleanup = require("operations.cli.cleanup")
local from_mcp = require("operations.mcp.client")
local http_client = require("operations.cli.http_client")
local limits = require("operations.base.limits")
local login = require("operations.cli.login")
local output = require("operations.cli.output")
local task = require("operations.task")
local url = require("operations.base.url")

local mcp_sources = {}

-- Names for servers that nobody gave one: what their package or host is called, without what says that it is a server.

-- Programs that run others: what counts is the first argument that is no option.
local runners = {
  env = true, npx = true, bunx = true, uvx = true, pipx = true, pnpx = true, node = true, bun = true, deno = true,
  tsx = true, uv = true, run = true, lua = true, luajit = true, python = true, perl = true, ruby = true, sh = true,
}

local function clean(text)
  text = text:gsub("[^%w_.-]+", "_"):gsub("^[_.-]+", ""):gsub("[_.-]+$", "")
  return text ~= "" and text or "mcp"
end

-- Parts of a path that say where a program is kept, not what it is.
local places = {
  index = true, main = true, cli = true, server = true, dist = true, build = true, src = true, bin = true,
}

-- "@scope/server-files@1.2" is "files", "/opt/files_mcp.lua" and "files-mcp/dist/index.js" too.
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
function mcp_sources.of_command(words)
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

--- The name of a server at a URL: the part of its host in front of the last one.
---@param text string
---@return string
function mcp_sources.of_url(text)
  local host = (url.parse(text) or { host = text }).host
  if host:find("^[%d.]+$") or host:find("^%[") then
    return clean(host)
  end
  return clean(host:match("([^.]+)%.[^.]+$") or host)
end

--- Splits a command line as a shell would, but expands nothing.
---@param line string
---@return string[]? words  nil when a quote is open
function mcp_sources.words(line)
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

-- Servers

-- How long a server may take to end by itself, ms: somebody waits for the prompt.
local STOP = { close = 1000, term = 1000 }

local function authorization(auth)
  if auth and auth.type == "bearer" then
    return "Bearer " .. auth.token
  elseif auth and auth.type == "basic" then
    return "Basic " .. base64.encode(auth.username .. ":" .. auth.password)
  end
end

-- The part of a configuration that all servers share.
local function common(log, verbose)
  return {
    log = log, stop = STOP,
    on_stderr = verbose and function(line)
      output.complain("%s", line)
    end or nil,
    on_progress = function(progress, call)
      local total = progress.total and "/" .. progress.total or ""
      output.progress(("%s: %s%s %s"):format(call.tool, progress.progress, total, progress.message or ""))
    end,
  }
end

local function config_of(source, log, verbose)
  local config, given = common(log, verbose), source.config
  if source.place:find("^https?://") then
    config.url, config.headers = source.place, given.headers
    config.http = http_client.of(given.connection)
    config.headers.Authorization = config.headers.Authorization or authorization(given.auth)
    config.auth = not config.headers.Authorization and login.options() or nil
    return config, given.namespace or mcp_sources.of_url(source.place)
  end
  local words = mcp_sources.words(source.place)
  if not words or not words[1] then
    return nil, "--mcp: expected a command or a URL, every quote of it closed"
  end
  local name = given.namespace or mcp_sources.of_command(words)
  config.command, config.args = table.remove(words, 1), words
  return config, name
end

--- The operations of one server.
---@param source { place: string, shown: string, config: table }
---@param log fun(level: string, message: string)
---@param verbose boolean
---@return operations.Definition[]?
---@return any err
function mcp_sources.server(source, log, verbose)
  local config, name = config_of(source, log, verbose)
  if not config then
    return nil, name
  end
  output.progress("connecting to " .. source.shown)
  local client, err = from_mcp.connect(name, config)
  if not client then
    return nil, err
  end
  cleanup.add(client)
  return client.operations
end

-- What a proxy adds to the configuration of a server: its tools are for who calls, as far as they are asked for, and
-- what it asks is for them. People may take long.
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
---@field include? fun(definition: table): boolean  which tools are taken
---@field on_client fun(client: operations.mcp.Client)  told of each server that is there

local function connect_behind(source, registry, options)
  local config, name = config_of(source, options.log, options.verbose)
  if not config then
    return output.complain("%s", name)
  end
  config.namespace = name
  local ok, client, err = pcall(from_mcp.connect, name, offered(config, options.include))
  if not ok or not client then
    output.complain("cannot load %s", source.shown)
    return output.failure(ok and err or client)
  end
  cleanup.add(client)
  local ids
  ids, err = client:register(registry)
  if not ids then
    return output.failure(err)
  end
  options.on_client(client)
end

--- Connects to one server, or to those that a file lists, while the program goes on: their tools come to the registry
--- once they are there, and follow their lists. What fails is told.
---@param source { kind: string, place: string, shown: string, config: table }
---@param registry operations.Registry
---@param options operations.cli.ProxyOptions
---@return boolean ok  false: the file cannot be read, which was told
function mcp_sources.behind(source, registry, options)
  if source.kind == "mcp" then
    task.detach(connect_behind, source, registry, options)
    return true
  end
  local config = offered(common(options.log, options.verbose), options.include)
  config.auth, config.wait = login.options(), false
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    output.complain("cannot load %s", source.place)
    output.failure(err)
    return false
  end
  cleanup.add(servers)
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

--- The operations of the servers that a file lists; what fails is told and passed over, unless all do.
---@param source { place: string }
---@param log fun(level: string, message: string)
---@param verbose boolean
---@return operations.Definition[]?
---@return any err
function mcp_sources.file(source, log, verbose)
  output.progress("connecting to the servers of " .. source.place)
  local config = common(log, verbose)
  config.auth = login.options()
  local servers, err = from_mcp.load(source.place, config)
  if not servers then
    return nil, err
  end
  cleanup.add(servers)
  local has_failed = false
  for _, problem in ipairs(servers.problems) do
    output.complain("%s: %s", problem.name, problem.message)
    has_failed = has_failed or problem.err ~= nil
  end
  if has_failed and next(servers.clients) == nil then
    return nil
  end
  return servers.operations
end

return mcp_sources
