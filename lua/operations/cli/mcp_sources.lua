--- What `--mcp` and `--mcp-config` name: servers that run, or are called, while the command does.
local base64 = require("operations.base.base64")
local cleanup = require("operations.cli.cleanup")
local from_mcp = require("operations.mcp.client")
local login = require("operations.cli.login")
local names = require("operations.mcp.client.name")
local output = require("operations.cli.output")

local mcp_sources = {}

-- How long a server may take to end by itself, ms: somebody waits for the prompt.
local STOP = { close = 1000, term = 1000 }

local authorization = {
  bearer = function(auth)
    return "Bearer " .. auth.token
  end,
  basic = function(auth)
    return "Basic " .. base64.encode(auth.username .. ":" .. auth.password)
  end,
}

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
    local kind = given.auth and authorization[given.auth.type]
    config.url, config.headers = source.place, given.headers
    config.headers.Authorization = config.headers.Authorization or kind and kind(given.auth) or nil
    config.auth = not config.headers.Authorization and login.options() or nil
    return config, given.namespace or names.of_url(source.place)
  end
  local words = names.words(source.place)
  if not words or not words[1] then
    return nil, "--mcp: expected a command or a URL, every quote of it closed"
  end
  local name = given.namespace or names.of_command(words)
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
  cleanup.add(function()
    client:close()
  end)
  return client.operations
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
  cleanup.add(function()
    servers:close()
  end)
  for _, problem in ipairs(servers.problems) do
    output.complain("%s: %s", problem.name, problem.message)
  end
  if #servers.problems > 0 and next(servers.clients) == nil then
    return nil
  end
  return servers.operations
end

return mcp_sources
