--- An MCP server over HTTP: its own listeners, nginx's requests, and a place in an HTTP API. Loaded only by servers
--- over HTTP, since it requires many modules.
local access_log = require("operations.server.access_log")
local hosts = require("operations.hosts")
local http = require("operations.mcp.server.http")
local http_server = require("operations.server")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")
local resource_metadata = require("operations.server.resource_metadata")
local serving = require("operations.server.serving")
local workers = require("operations.mcp.server.workers")

local web = {}

local function not_found()
  return { status = 404, headers = { ["content-type"] = "text/plain" }, body = "MCP is at /mcp\n" }
end

--- Listens on plain Lua and in Neovim.
---@param server operations.McpServer
---@param options? operations.ListenOptions
---@return operations.ServerListener?
---@return operations.Error? err
function web.listen(server, options)
  local given = members.merged({ max_body = server.options.max_body, log = server.options.log }, options)
  local is_local = serving.is_local(given)
  if server.options.authorize == nil and not is_local then
    return nil, serving.strangers("to_mcp", given.host)
  end
  local opened, err = listener.listen(given, function(request)
    local path = request_head.split(request.target)
    request.is_local = is_local
    local is_mcp = path == "/mcp" or path == "/mcp/"
    return (is_mcp or path:find("^/%.well%-known/")) and server:handle(request) or not_found()
  end, server.options.access_log and function(refused)
    access_log.refused(server.options.access_log, server.options.log, refused)
  end)
  if opened then
    server._listeners[#server._listeners + 1] = opened
  end
  return opened, err
end

-- Once in each worker of nginx.
local function begin(server, host)
  server._exits = true
  host.on_exit(function()
    server:drain(limits.drain)
  end)
  if host.workers() > 1 then
    server.workers = workers.new(server, function(request)
      return http.answer(server, request)
    end)
    server.sessions.new_id = function()
      return server.workers:id()
    end
  end
end

--- Answers one HTTP request.
---@param server operations.McpServer
---@param request operations.ServerRequest
---@return operations.ServerResponse
function web.handle(server, request)
  local host = not server._exits and hosts.current()
  if host and host.serve_http then -- also when it is a part of an HTTP API
    begin(server, host)
  end
  local options = server.options
  local function answer()
    return resource_metadata.answer(options.oauth, request)
      or resource_metadata.challenge(options.oauth, http.handle(server, request))
  end
  return options.access_log and access_log.serve(options.access_log, options.log, request, answer) or answer()
end

--- Answers nginx's running request.
---@param server operations.McpServer
function web.serve_request(server)
  return hosts.current().serve_http(function(request)
    return server:handle(request)
  end)
end

-- Options that both servers share.
local shared = { "authorize", "anonymous", "oauth", "hide_denied", "origins", "cors", "hosts", "filter", "max_body",
  "max_requests", "max_identity_requests", "expose_errors", "upstream_errors", "heartbeat", "log" }

--- Makes an HTTP API with MCP at `/mcp` below its prefix.
---@param registry operations.Registry
---@param options operations.HttpOptions  with `mcp`: a boolean or a server
---@param new fun(registry: operations.Registry, options: operations.McpOptions): operations.McpServer
---@return operations.Server?
---@return operations.Error? err
function web.to_http(registry, options, new)
  local given, rest = options.mcp, members.copy(options)
  rest.mcp = nil
  local server, err = http_server.new(registry, rest)
  if not server or not given then
    return server, err
  elseif given == true then
    local ours = {}
    for _, name in ipairs(shared) do
      ours[name] = options[name]
    end
    given = new(registry, ours)
    given._jobs, given.options.tasks = server._jobs, options.tasks -- one store
    for _, client in ipairs(options.upstreams or {}) do
      given:_offer_guarded(client)
    end
  end
  server:mount(server.options.prefix .. "/mcp", given)
  if given.options.oauth and given.options.oauth ~= server.options.oauth then
    server:mount("/.well-known/oauth-protected-resource", given)
  end
  return server
end

return web
