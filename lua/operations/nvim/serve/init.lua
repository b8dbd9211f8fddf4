--- The running editor as an MCP server at a Unix socket, for assistants: its state, operations of plugins, and, if the
--- user lists them in `allow`, mutations for which the user is asked.
---
--- | files                                          | purpose                                             |
--- |------------------------------------------------|------------------------------------------------------|
--- | address                                        | where the socket is                                  |
--- | offers                                         | what plugins add                                     |
--- | buffers, editor, findings, symbols, search     | operations                                           |
--- | resources                                      | the same to be read, and news                        |
--- | question                                       | the user's word                                      |
--- | text, pace                                     | bytes as texts; long work in turns                   |
local address = require("operations.nvim.serve.address")
local approvals = require("operations.people.approvals")
local argument = require("operations.base.argument")
local buffers = require("operations.nvim.serve.buffers")
local editor = require("operations.nvim.serve.editor")
local errors = require("operations.base.error")
local findings = require("operations.nvim.serve.findings")
local log = require("operations.task.log")
local mcp_server = require("operations.mcp.server")
local members = require("operations.base.members")
local offers = require("operations.nvim.serve.offers")
local question = require("operations.nvim.serve.question")
local registries = require("operations.registry")
local resources = require("operations.nvim.serve.resources")
local search = require("operations.nvim.serve.search")
local symbols = require("operations.nvim.serve.symbols")

local api = vim.api
local uv = vim.uv or vim.loop

local serve = {}

---@class operations.nvim.ServeOptions
---@field allow? string[]  ids of mutations that clients may request: "buffers.edit", "git.*"; others are not offered
---@field confirm? "float"|"select"|operations.Confirm  how the user is asked about each of these calls; default: by
---  `vim.ui.select` if a plugin has replaced it, else in a window in the corner
---@field approvals? operations.Approvals  approved calls, by the name of the client; default: a memory for each
---  connection
---@field filter? operations.Filter|fun(spec: operations.Spec): boolean  operations that are offered
---@field path? string  of the socket; default: where the bridge searches it
---@field name? string  of the server, default "nvim"
---@field instructions? string  for the model
---@field timeout? integer  ms of a call, including the user's answer; default 600,000
---@field max_connections? integer  clients at once, default 64
---@field max_requests? integer  calls of a client at once, default 64
---@field log? fun(level: string, message: string, details: any)  default: `vim.notify` of warnings and errors

local option_kinds = { allow = "table", confirm = "string or function", approvals = "table", path = "string",
  filter = "table or function", name = "string", instructions = "string", timeout = "number",
  max_connections = "number", max_requests = "number", log = "function" }

local GROUP, STOP = "operations_serve", "OperationsServeStop"
local REQUESTS = 64

local own = {} -- our operations, in the order of the list
for _, part in ipairs({ editor, buffers, findings, symbols, search }) do
  own = members.joined(own, part.definitions)
end
local reserved = {}
for _, definition in ipairs(own) do
  reserved[definition.namespace] = true
end

local running ---@type operations.nvim.Served?

---@class operations.nvim.Served
---@field path string  of the socket
---@field server operations.McpServer  for additional resources and prompts
---@field registry operations.Registry
local Served = {}
Served.__index = Served

-- Converts "git.*" to a pattern.
local function patterns_of(list)
  local patterns = {}
  for i, item in ipairs(list or {}) do
    if type(item) ~= "string" then
      error(("bad option 'allow' to 'serve' (string expected at [%d], got %s)"):format(i, type(item)), 4)
    end
    patterns[i] = "^" .. item:gsub("[^%w*]", "%%%0"):gsub("%*", ".*") .. "$"
  end
  return patterns
end

local function is_allowed(self, id)
  for _, pattern in ipairs(self._allow) do
    if id:find(pattern) then
      return true
    end
  end
  return false
end

-- What a client was approved is for that client: for its connection, or in a memory that is stored for the name that it
-- gives itself.
local function memory_of(self, mcp)
  if self._memory then
    local name = type(mcp.client) == "table" and mcp.client.name
    return self._memory, { id = "client " .. (type(name) == "string" and name or "") }
  end
  local key = mcp.connection or self
  self._memories[key] = self._memories[key] or approvals.new()
  return self._memories[key]
end

-- The definition with a handler that asks the user first. A call that would fail is not asked about.
local function confirmed(self, definition, id)
  local handler, preview = definition.handler, buffers.previews[id]
  return members.merged(definition, { handler = function(input, context)
    local lines, given
    if preview then
      lines, given = preview(input)
      if not lines then
        return nil, given
      end
    end
    local mcp = type(context.metadata) == "table" and context.metadata.mcp or {}
    local memory, identity = memory_of(self, mcp)
    local ok, err = approvals.ask({ operationId = id, input = input, identity = context.identity or identity,
      spec = definition, client = mcp.client, preview = lines }, function(call)
      return self._confirm(call, memory)
    end, memory)
    if not ok then
      return nil, err
    end
    return handler(given or input, context)
  end })
end

local function add(self, definition)
  local id = definition.namespace .. "." .. definition.name
  if definition.type == "query" then
    return assert(self.registry:register(definition))
  elseif is_allowed(self, id) then
    return assert(self.registry:register(confirmed(self, definition, id)))
  end
end

local function confirm_of(given)
  if type(given) == "function" then
    return function(call) return given(call) end
  elseif given ~= nil and given ~= "float" and given ~= "select" then
    error(("bad option 'confirm' to 'serve' (\"float\", \"select\" or a function expected, got %q)"):format(given), 4)
  end
  return function(call, memory)
    return question.ask(call, memory, given)
  end
end

-- Stops a server that runs here, even if its module was loaded again since: both know the event.
local function stop_others()
  api.nvim_exec_autocmds("User", { pattern = STOP, modeline = false })
end

local function watch(self)
  local group = api.nvim_create_augroup(GROUP, { clear = true })
  local function close()
    self:close()
  end
  api.nvim_create_autocmd("VimLeavePre", { group = group, callback = close })
  api.nvim_create_autocmd("User", { group = group, pattern = STOP, callback = close })
  resources.add(self.server, group)
  question.command(true)
end

local function make(options)
  local self = setmetatable({ _allow = patterns_of(options.allow), _memory = options.approvals,
    _memories = setmetatable({}, { __mode = "k" }), _confirm = confirm_of(options.confirm) }, Served)
  self.registry = registries.new({ log = options.log })
  for _, definition in ipairs(own) do
    add(self, definition)
  end
  self.server = mcp_server.new(self.registry, { name = options.name or "nvim", title = "Neovim", expose_errors = true,
    instructions = options.instructions, timeout = options.timeout, filter = options.filter,
    max_requests = options.max_requests or REQUESTS, log = options.log or log.write })
  return self
end

-- A private directory, or the reason why there is none.
local function private_directory()
  local directory, message = address.directory()
  if not directory then
    return nil, message
  end
  pcall(vim.fn.mkdir, directory, "p", tonumber("700", 8))
  local found = uv.fs_lstat(directory)
  if not found or found.type ~= "directory" then
    return nil, directory .. " does not exist and cannot be created"
  elseif found.uid ~= uv.getuid() or found.mode % 64 ~= 0 then
    return nil, directory .. " has to belong to its user alone (mode 0700)"
  end
  return directory
end

-- Removes a socket's file when no process listens there: its editor was killed.
local function remove_stale(path)
  local before, pipe = uv.fs_lstat(path), uv.new_pipe(false)
  if not before or before.type ~= "socket" then
    return pipe:close()
  end
  pipe:connect(path, function(err)
    pipe:close()
    local now = uv.fs_lstat(path)
    if err == "ECONNREFUSED" and now and now.ino == before.ino then
      uv.fs_unlink(path)
    end
  end)
end

local function remove_stale_ones(directory)
  local scan = uv.fs_scandir(directory)
  local name = scan and uv.fs_scandir_next(scan)
  while name do
    if address.is_socket(name) then
      remove_stale(directory .. "/" .. name)
    end
    name = uv.fs_scandir_next(scan)
  end
end

-- The default socket of this editor, in a directory that is private to the user; or nil and ACCESS_DENIED. Removes
-- sockets that killed editors left there.
local function default_path()
  local directory, message = private_directory()
  if not directory then
    return nil, errors.new("ACCESS_DENIED", message)
  end
  remove_stale_ones(directory)
  local name = vim.v.servername
  return address.path(directory, name ~= "" and name or "pid " .. vim.fn.getpid())
end

--- Serves the editor to MCP clients until it is closed or the editor ends. A previous server is closed: a plugin's
--- setup may run again.
---@param options? operations.nvim.ServeOptions
---@return operations.nvim.Served?
---@return operations.Error? err  TRANSPORT_LOST, ACCESS_DENIED: the socket cannot be created
function serve.start(options)
  if vim.in_fast_event() then
    error("serve cannot be called in a fast context such as a callback of vim.loop: use vim.schedule", 2)
  end
  argument.optional(options, "table", 1, "serve")
  options = options or {}
  argument.options(options, option_kinds, "serve")
  if options.approvals then
    argument.object(options.approvals, "allows", "memory of approvals", 1, "serve")
  end
  local self = make(options)
  local path, err = options.path, nil
  if not path then
    path, err = default_path()
  end
  if not path then
    return nil, err
  end
  stop_others()
  local listener
  listener, err = self.server:listen_lines({ path = path, max_connections = options.max_connections })
  if not listener then
    return nil, err
  end
  self.path, running = path, self
  offers.follow({ add = function(definition)
    add(self, definition)
  end, remove = function(id)
    self.registry:unregister(id)
  end })
  watch(self)
  return self
end

--- Ends the server: running calls are cancelled, the connections of clients end.
function Served:close()
  if self._closed then
    return
  end
  self._closed = true
  if running == self then
    running = nil
    offers.follow(nil)
  end
  pcall(api.nvim_del_augroup_by_name, GROUP)
  question.command(false)
  self.server:close()
end

--- Offers operations of a plugin to the clients of the editor, now or once it serves. Queries are offered at once,
--- mutations if the user lists them in `allow`. Offering an operation again, as a reloaded plugin does, replaces the
--- previous one.
---@param definitions operations.Definition|operations.Definition[]
---@return fun()? withdraw  removes them
---@return operations.Error? err  VALIDATION_ERROR; nothing was offered
function serve.offer(definitions)
  return offers.add(definitions, reserved)
end

return serve
