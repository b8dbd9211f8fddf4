--- What `--redis` and `--websocket` name: operations of other processes.
local cleanup = require("operations.cli.cleanup")
local operations = require("operations")

local remote_sources = {}

-- Registers what the other side offers; a list of definitions, which is empty, or nil and an error.
local function import(transport, err, registry, log)
  if not transport then
    return nil, err
  end
  local map = operations.call_map(transport, { log = log })
  cleanup.add(function()
    map:close()
  end)
  local ids
  ids, err = operations.import(registry, map)
  if not ids then
    return nil, err
  end
  registry:route(map)
  return {}
end

---@param url string
---@param registry operations.Registry
---@param log fun(level: string, message: string)
---@param reliable? boolean  in mode `reliable`
---@return operations.Definition[]?
---@return any err
function remote_sources.redis(url, registry, log, reliable)
  local ok, transport, err = pcall(operations.transports.redis, url, { mode = reliable and "reliable" or "fast" })
  if not ok then
    return nil, transport
  end
  return import(transport, err, registry, log)
end

---@param url string
---@param registry operations.Registry
---@param log fun(level: string, message: string)
---@param token? string
---@return operations.Definition[]?
---@return any err
function remote_sources.websocket(url, registry, log, token)
  local ok, transport, err = pcall(operations.transports.websocket, url, { token = token })
  if not ok then
    return nil, transport
  end
  return import(transport, err, registry, log)
end

return remote_sources
