--- Operations of MCP servers (Model Context Protocol, revisions 2024-11-05 to 2026-07-28; stdio and HTTP).
---
--- `operations.mcp.protocol` defines messages and their meaning. This room implements the client, from the program's
--- side to the server's:
---
--- | files                                | purpose                                                   |
--- |--------------------------------------|------------------------------------------------------------|
--- | servers, entries, variables, config  | which servers, and what is asked of their connections      |
--- | client, lifecycle, methods, offer,   | one server, as the program and its registries see it       |
--- | definitions                          |                                                            |
--- | session, handshake                   | its connections, one after the other, and their revision   |
--- | rounds, tasks                        | its requests, and what takes more than one of them         |
--- | incoming                             | what the server asks, and the program answers              |
--- | duplex, stdio, events, http, waits   | a connection: messages out, answers and messages in        |
--- | requester, outgoing, reply           | what those over HTTP are made of                           |
local argument = require("operations.base.argument")
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local entries = require("operations.mcp.client.entries")
local errors = require("operations.base.error")
local members = require("operations.base.members")
local servers = require("operations.mcp.client.servers")
local task = require("operations.task")

---@class operations.from_mcp
local from_mcp = {}

-- Opens the connection of a configuration; `kind` "events": as in 2024-11-05. A client of a program does not load the
-- code for URLs.
local function open(options, listeners, kind)
  local transport = options.command and "stdio" or kind or "http"
  return require("operations.mcp.client." .. transport).open(options, listeners)
end

--- Connects to a server: starts it if it is a program (`command`, `args`), else calls it (`url`). Waits until it has
--- declared its capabilities; with `wait = false` it returns at once, and the client connects in the background: see
--- `client.state` and `client:wait`.
---@param name string  of the connection; the operations are called `name.tool`
---@param options operations.mcp.Config
---@return operations.mcp.Client?
---@return operations.Error? err  EXECUTION_ERROR, TIMEOUT, ABORTED, MCP_<code>
function from_mcp.connect(name, options)
  argument.expect(name, "string", 1, "connect")
  argument.expect(options, "table", 2, "connect")
  local given, waits = options, options.wait ~= false
  if options.wait ~= nil then
    argument.options({ wait = options.wait }, { wait = "boolean" }, "from_mcp")
    given = members.merged(options)
    given.wait = nil
  end
  local checked = config.check(name, given)
  if waits then
    return clients.connect(name, checked, open)
  end
  local client = clients.new(name, checked, open)
  task.detach(client._start, client)
  return client
end

--- Connects to many servers at the same time: those of a file in the form of `mcp.json`, or of such a table. A failing
--- server or an unknown key is a problem in the result and does not affect the others. Files may have comments and
--- trailing commas. `${NAME}`, `${env:NAME}` and `${NAME:-default}` are environment variables, `${workspaceFolder}` is
--- `workspace`, `${cmd:...}` is the output of a command, which runs each time the server is started.
---@param source string|table  a path, or `{ mcpServers = { name = { command =, args =, env =, url =, headers = } } }`
---@param options? operations.mcp.Config  for all servers; also `workspace`: a directory, default the current one, and
---  `start`: function(name, namespace) -> boolean, selects the servers to start; the others stay closed until
---  `servers:enable(name)`
---@return operations.mcp.Servers?
---@return operations.Error? err  the file cannot be read, or the task was cancelled
function from_mcp.load(source, options)
  if type(source) ~= "string" and type(source) ~= "table" then
    error(("bad argument #1 to 'load' (path or table expected, got %s)"):format(type(source)), 2)
  end
  argument.optional(options, "table", 2, "load")
  if options and options.start ~= nil and type(options.start) ~= "function" then
    error(("from_mcp: config.start: function expected, got %s"):format(type(options.start)), 2)
  end
  return servers.load(source, options or {}, open)
end

--- Reads a file in the form of `mcp.json`, with comments and trailing commas, without starting anything.
---@param path string
---@return table?
---@return operations.Error? err
function from_mcp.read(path)
  argument.expect(path, "string", 1, "read")
  return entries.read(path)
end

--- The namespaces of the servers in such a file, without starting anything.
---@param path string
---@return string[]?
---@return operations.Error? err  the file cannot be read, or lists no servers
function from_mcp.namespaces(path)
  local value, err = from_mcp.read(path)
  local list, problem
  if value then
    list, problem = entries.list(value, function() end)
    err = problem and errors.new("VALIDATION_ERROR", path .. ": " .. problem, { location = path })
  end
  local names = {}
  for i, entry in ipairs(list or {}) do
    names[i] = entry.namespace
  end
  return list and names, err
end

return from_mcp
