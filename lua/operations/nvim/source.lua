--- The kinds of sources of the editor: MCP servers of a file or table, OpenAPI documents, definitions of a program and
--- directories of them. Each runs in the background, has a state, and can be restarted.
local effects = require("operations.mcp.client.effects")
local errors = require("operations.base.error")
local form = require("operations.nvim.form")
local log = require("operations.nvim.log")
local members = require("operations.base.members")
local operations = require("operations")
local single_flight = require("operations.task.single_flight")
local supervisor = require("operations.mcp.client.supervisor")
local task = require("operations.task")
local trust = require("operations.people.trust")

local vim = rawget(_G, "vim")

local source = {}

---@class operations.nvim.Source
---@field kind "mcp"|"openapi"|"operations"|"directory"
---@field is_brought boolean  the current directory brought its file: the user is asked before it is used
---@field is_added? boolean  by `add_source`, not by setup()
---@field names string[]  of its parts: servers, or itself
---@field begin fun(self: operations.nvim.Source)  starts it if it has not begun
---@field reload fun(self: operations.nvim.Source)  reads its file again
---@field state fun(self, name: string): operations.mcp.State, operations.Error?, integer  and its operations
---@field act fun(self, action: "restart"|"enable"|"disable", name: string): true?, operations.Error?  waits
---@field close fun(self: operations.nvim.Source, ended?: fun())  removes its operations at once; does not wait

--- Resolves a path as users write it: beside their init.lua, or in the current directory if it begins with "./" or
--- "../".
---@param path string
---@return string path
---@return boolean is_brought  by the current directory
function source.find(path)
  local is_brought = path:find("^%.%.?/") ~= nil
  if is_brought then
    return vim.fn.getcwd() .. "/" .. path:gsub("^%./", ""), true
  end
  path = vim.fn.expand(path)
  return path:sub(1, 1) == "/" and path or vim.fn.stdpath("config") .. "/" .. path, false
end

-- Is a file that the directory brought trusted, with everything that it would run? Asks the user if not.
local function is_trusted(path, add)
  local subject = trust.subject(path)
  local ok, message = add(subject)
  if ok == nil then
    log.write("error", message)
    return false
  end
  local trusts, _, why = subject:ask(form.person)
  if not trusts then
    log.write("warn", ("not trusted, left out: operations trust %s%s"):format(trust.command_line({ path }),
      why and " (" .. why .. ")" or ""))
  end
  return trusts
end

-- MCP servers.
local Servers = {}

function Servers.__index(self, key)
  return key == "names" and (self.loaded and self.loaded.names or self._own_names) or Servers[key]
end

local function server_options(options)
  return members.merged({
    log = log.write, workspace = vim.fn.getcwd(), wait = false,
    elicitation = { form = form.elicit, url = form.visit },
    on_log = function(entry)
      local text = type(entry.data) == "string" and entry.data or operations.json.encode(entry.data)
      log.write("info", ("%s: %s"):format(entry.logger or entry.level, text))
    end,
  }, options or {})
end

local function load_servers(self, given)
  local loaded, err = operations.from_mcp.load(given, server_options(self._options))
  self.loaded, self.problem = loaded, err
  if not loaded then
    log.write("error", tostring(err))
    return
  end
  for _, problem in ipairs(loaded.problems) do
    log.write("warn", ("%s: %s"):format(problem.name, problem.message))
  end
  loaded:on_state(function(name, state, reason)
    if self.loaded == loaded and not self._closed then
      if reason then
        log.write("warn", ("%s is %s: %s; :Operations servers restart %s"):format(name, state, reason.message, name))
      end
      self._tell(name, state, reason)
    end
  end)
  loaded:register(self._registry)
end

local function trust_servers(self, path)
  local ok, trusts = pcall(is_trusted, path, function(subject)
    return effects.add(subject, path, vim.fn.getcwd())
  end)
  self.pending = nil
  if ok and trusts and not self._closed then
    load_servers(self, path)
  elseif not ok then
    log.write("error", errors.text(trusts))
  end
  self._tell()
end

local function start_servers(self)
  local given = self._given
  if type(given) == "string" then
    given = source.find(given)
  end
  if self.is_brought then
    self.pending = given
    task.detach(trust_servers, self, given)
  else
    load_servers(self, given)
  end
end

function Servers:begin()
  if not self._begun then
    self._begun = true
    start_servers(self)
  end
end

function Servers:state(name)
  if not self.loaded then
    return self.problem and "lost" or "stopped", self.problem, 0
  end
  local state, err = self.loaded:state(name)
  local client = self.loaded.clients[name]
  return state, err, client and state == "connected" and #client.operations or 0
end

function Servers:act(action, name)
  local loaded = self.loaded
  if not loaded then
    self:begin()
    return true
  elseif action == "disable" then
    return loaded:disable(name)
  end
  local client = loaded.clients[name]
  if client and action == "restart" then
    return client:restart()
  end
  return loaded:enable(name)
end

function Servers:reload()
  local former = self.loaded
  self.loaded = nil
  if former then
    former:close()
  end
  start_servers(self)
  self._tell()
end

--- The file and its current entries.
---@return string? path
---@return table<string, table> servers
---@return operations.Error? err
function Servers:configured()
  local path, value, err = nil, self._given, nil
  if type(value) == "string" then
    path = (source.find(value))
    value, err = operations.from_mcp.read(path)
  end
  value = type(value) == "table" and value or {}
  return path, value.mcpServers or value.servers or {}, err
end

-- Removes the operations of the servers, not those of the same id that a program registered.
local function remove_tools(registry, list)
  for _, definition in ipairs(list) do
    local id = definition.namespace .. "." .. definition.name
    local meta = (registry:get_spec(id) or {})._meta or {}
    if meta.source == "mcp" and meta.server == definition._meta.server then
      registry:unregister(id)
    end
  end
end

function Servers:close(ended)
  self._closed = true
  local loaded = self.loaded
  remove_tools(self._registry, loaded and loaded.operations or {})
  task.detach(function()
    if loaded then
      loaded:close()
    end
    if ended then
      ended()
    end
  end)
end

---@param given string|table  as the option `servers` of setup()
---@param names string[]  until it is loaded
---@param options? operations.mcp.Config
---@param registry operations.Registry
---@param tell fun(name?: string, state?: string, err?: operations.Error)
---@return operations.nvim.Source
function source.servers(given, names, options, registry, tell)
  local is_brought = type(given) == "string" and select(2, source.find(given)) == true
  return setmetatable({ kind = "mcp", is_brought = is_brought, _own_names = names, _given = given, _options = options,
    _registry = registry, _tell = tell }, Servers)
end

-- One list of definitions, read by a function.
local Definitions = {}
Definitions.__index = Definitions

local function withdraw(self)
  for _, id in ipairs(self._ids) do
    self._registry:unregister(id)
  end
  self._ids = {}
end

-- Reads the definitions, which replace the former ones.
local function load(self)
  local ok, list, err = pcall(self._read)
  if not ok then
    return nil, errors.from(list)
  elseif not list then
    return nil, err
  elseif self._closed or self._is_off then
    return true
  end
  withdraw(self)
  local ids
  ids, err = self._registry:register_all(list)
  self._ids = ids or {}
  return ids and true, err
end

local function connect(self)
  self._supervisor:attempt()
  local ok, err = load(self)
  if not ok then
    self._supervisor:failed(err)
    return nil, err
  end
  self._supervisor:succeeded()
  return true
end

-- One attempt; concurrent callers share it.
local function attempt(self)
  return self._flights:run(function()
    return connect(self)
  end)
end

local function start(self)
  if self.is_brought then
    local ok, trusts = pcall(self._trusts)
    if not (ok and trusts) then
      if not ok then
        log.write("error", errors.text(trusts))
      end
      self._is_off = true
      self._set("stopped")
      return
    end
  end
  attempt(self)
end

function Definitions:begin()
  if not self._begun then
    self._begun = true
    self._set("connecting")
    if self.kind == "operations" then
      connect(self) -- which does not wait
    else
      task.detach(start, self)
    end
  end
end

function Definitions:state()
  return self._state, self._err, #self._ids
end

function Definitions:act(action)
  if action == "disable" then
    self._is_off, self._begun = true, true
    self._supervisor:stop()
    withdraw(self)
    self._set("disabled")
    return true
  end
  self._is_off, self._begun = false, true
  if self.is_brought and not self._trusts() then
    return true
  end
  return attempt(self)
end

function Definitions:reload()
  if self._begun and not self._is_off then
    task.detach(start, self)
  end
end

function Definitions:close(ended)
  self._closed = true
  self._supervisor:stop()
  withdraw(self)
  if ended then
    ended()
  end
end

---@param kind "openapi"|"operations"|"directory"
---@param name string
---@param read fun(): operations.Definition[]?, any
---@param trusts? fun(): boolean  asks the user; nil: the current directory has not brought it
---@param registry operations.Registry
---@param tell fun(name: string, state: string, err: operations.Error?)
---@return operations.nvim.Source
local function definitions(kind, name, read, trusts, registry, tell)
  local self = setmetatable({ kind = kind, names = { name }, is_brought = trusts ~= nil, _read = read, _trusts = trusts,
    _registry = registry, _ids = {}, _state = "stopped", _flights = single_flight.new() }, Definitions)
  function self._set(state, err)
    if self._closed or state == self._state and not err
      or self._is_off and state ~= "stopped" and state ~= "disabled" then
      return
    end
    self._state, self._err = state, err
    if err then
      log.write(kind == "openapi" and state == "retrying" and self._supervisor.failures > 1 and "info" or "error",
        ("%s %s is %s: %s; :Operations servers restart %s"):format(kind == "openapi" and "api" or kind, name, state,
          err.message or tostring(err), name))
    end
    tell(name, state, err)
  end
  self._supervisor = supervisor.new(name, kind == "openapi", function()
    return attempt(self)
  end, function()
    return not self._closed and not self._is_off
  end, self._set)
  return self
end

--- An OpenAPI document, or a GraphQL service.
---@param name string  the namespace of its operations
---@param entry table  `file`, `url` or `document`, and the options of `from_openapi`; with `graphql`, of `from_graphql`
---@param registry operations.Registry
---@param tell fun(name: string, state: string, err: operations.Error?)
---@return operations.nvim.Source
function source.api(name, entry, registry, tell)
  local options = members.merged({ namespace = name }, entry)
  local document, file, url = options.document, options.file, options.url
  options.document, options.file, options.url, options.graphql = nil, nil, nil, nil
  local importer = entry.graphql and operations.from_graphql or operations.from_openapi
  local path, is_brought
  if file then
    path, is_brought = source.find(file)
  end
  return definitions("openapi", name, function()
    if document then
      return importer.document(document, options)
    elseif path then
      return importer.file(path, options)
    end
    return importer.url(url, options)
  end, is_brought and function()
    return is_trusted(path, function(subject)
      subject:line("%s: operations of %s", name, entry.graphql and "a GraphQL service" or "an OpenAPI document")
      subject:file(path, not entry.graphql and function()
        return operations.from_openapi.files(path, entry.ref_root) or {}
      end or nil)
      return true
    end)
  end or nil, registry, tell)
end

--- Definitions of a program.
---@param name string
---@param list operations.Definition[]
---@param registry operations.Registry
---@param tell fun(name: string, state: string, err: operations.Error?)
---@return operations.nvim.Source
function source.operations(name, list, registry, tell)
  return definitions("operations", name, function()
    return list
  end, nil, registry, tell)
end

--- A directory of definitions, as `operations.scanner.scan` reads them; a file with a problem is reported.
---@param name string
---@param path string
---@param registry operations.Registry
---@param tell fun(name: string, state: string, err: operations.Error?)
---@return operations.nvim.Source
function source.directory(name, path, registry, tell)
  return definitions("directory", name, function()
    local list, problems = operations.scanner.scan((source.find(path)))
    if not list then
      return nil, problems
    end
    for _, problem in ipairs(problems) do
      log.write("warn", ("%s: %s"):format(problem.path or path, problem.message or tostring(problem)))
    end
    return list
  end, nil, registry, tell)
end

return source
