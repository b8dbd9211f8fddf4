--- The sources named in setup(): MCP servers and OpenAPI documents, started on first use in the background, in one
--- registry. A failing source is reported and does not affect the others.
local argument = require("operations.base.argument")
local effects = require("operations.mcp.client.effects")
local errors = require("operations.base.error")
local form = require("operations.nvim.form")
local log = require("operations.nvim.log")
local members = require("operations.base.members")
local operations = require("operations")
local task = require("operations.task")
local task_wait = require("operations.task.wait")
local trust = require("operations.people.trust")

local vim = rawget(_G, "vim")

local sources = {}

---@class operations.nvim.Sources
---@field registry operations.Registry
---@field servers? operations.mcp.Servers
---@field problem? operations.Error  mcp.json could not be read
---@field _loading table<string, boolean>  documents being loaded
---@field _of_apis table<string, boolean>  ids of operations from documents
local Sources = {}
Sources.__index = Sources

local function tell(self)
  local waiting = self._waiting
  self._waiting = {}
  task_wait.wake(waiting)
  for _, listener in ipairs(members.joined(self._listeners)) do
    listener()
  end
end

-- Resolves a path as users write it: beside their init.lua, or in the current directory if it begins with "./" or
-- "../". Returns also whether the directory brought the file, so that the user is asked.
local function find(path)
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
  local trusts, changed = subject:is_trusted()
  if not trusts and not subject.problem and form.trust(subject, changed) then
    trusts, message = subject:trust()
  end
  if not trusts then
    local why = message or subject.problem
    log.write("warn", ("not trusted, left out: operations trust %s%s"):format(trust.command_line({ path }),
      why and " (" .. why .. ")" or ""))
  end
  return trusts
end

local function server_options(self)
  return members.merged({
    log = log.write, workspace = vim.fn.getcwd(), wait = false,
    elicitation = { form = form.elicit, url = form.visit },
    on_log = function(entry)
      local text = type(entry.data) == "string" and entry.data or operations.json.encode(entry.data)
      log.write("info", ("%s: %s"):format(entry.logger or entry.level, text))
    end,
  }, self._options.mcp or {})
end

-- Loads the servers of a path or table.
local function take_servers(self, given)
  local servers, err = operations.from_mcp.load(given, server_options(self))
  self.servers, self.problem = servers, err
  if not servers then
    log.write("error", tostring(err))
    return
  end
  for _, problem in ipairs(servers.problems) do
    log.write("warn", ("%s: %s"):format(problem.name, problem.message))
  end
  servers:on_state(function(name, state, reason)
    if reason and not self._closed then
      log.write("warn", ("%s is %s: %s"):format(name, state, reason.message))
    end
    tell(self)
  end)
  servers:register(self.registry)
end

-- Loads the servers; those of a file that the directory brought once the user trusts them.
local function load_servers(self)
  local given, is_brought = self._options.servers, false
  if type(given) == "string" then
    given, is_brought = find(given)
  end
  if given == nil then
    return
  elseif not is_brought then
    return take_servers(self, given)
  end
  self._loading[given] = true
  task.detach(function()
    local ok, trusts = pcall(is_trusted, given, function(subject)
      return effects.add(subject, given, vim.fn.getcwd())
    end)
    self._loading[given] = nil
    if ok and trusts and not self._closed then
      take_servers(self, given)
    elseif not ok then
      log.write("error", errors.text(trusts))
    end
    tell(self)
  end)
end

-- Is the document of an API a file that the directory brought?
local function is_brought_api(entry)
  return type(entry.file) == "string" and select(2, find(entry.file)) == true
end

local function trusts_api(namespace, entry)
  local path = find(entry.file)
  return is_trusted(path, function(subject)
    subject:line("%s: operations of an OpenAPI document", namespace)
    subject:file(path, function()
      return operations.from_openapi.files(path, entry.ref_root) or {}
    end)
    return true
  end)
end

local function read_api(namespace, entry)
  local options = members.merged({ namespace = namespace }, entry)
  local document, file, url = options.document, options.file, options.url
  options.document, options.file, options.url = nil, nil, nil
  if document then
    return operations.from_openapi.document(document, options)
  elseif file then
    return operations.from_openapi.file((find(file)), options)
  end
  return operations.from_openapi.url(url, options)
end

local function load_api(self, namespace, entry)
  local ok, list, report
  if is_brought_api(entry) then
    ok, list = pcall(trusts_api, namespace, entry)
    if ok and not list then
      self._loading[namespace] = nil
      return tell(self)
    end
  end
  if ok ~= false then
    ok, list, report = pcall(read_api, namespace, entry)
  end
  local ids, err
  if not ok then
    err = errors.from(list)
  elseif not list then
    err = report
  else
    ids, err = self.registry:register_all(list)
  end
  self._loading[namespace] = nil
  for _, id in ipairs(ids or {}) do
    self._of_apis[id] = true
  end
  if not ids then
    log.write("error", ("api %s: %s"):format(namespace, err.message or tostring(err)))
  end
  tell(self)
end

local function begin_apis(self, are_brought)
  for namespace, entry in pairs(self._options.apis or {}) do
    if is_brought_api(entry) == are_brought then
      self._loading[namespace] = true
      task.detach(load_api, self, namespace, entry)
    end
  end
end

--- Starts the sources that are not started yet; does not wait.
---@param completes? boolean  for a completion: nothing that the current directory brought is started or asked for
function Sources:begin(completes)
  local is_brought = type(self._options.servers) == "string" and select(2, find(self._options.servers))
  if not self._begun then
    self._begun = true
    begin_apis(self, false)
    if not is_brought then
      load_servers(self)
    end
  end
  if not completes and not self._begun_all then
    self._begun_all = true
    begin_apis(self, true)
    if is_brought then
      load_servers(self)
    end
  end
end

--- The sources that are starting, as text.
---@return string[]
function Sources:pending()
  local names = {}
  for namespace in pairs(self._loading) do
    names[#names + 1] = namespace
  end
  for _, name in ipairs(self.servers and self.servers.names or {}) do
    if self.servers:state(name) == "connecting" then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

--- Starts the sources that are not started yet and waits until the operation is registered, or no more will come.
---@param id string
---@return operations.Spec?
function Sources:spec(id)
  self:begin()
  while not self.registry:get_spec(id) and #self:pending() > 0 do
    task.await(function(wake)
      return task_wait.add(self._waiting, wake)
    end)
  end
  return (self.registry:get_spec(id))
end

--- Is it an operation of an OpenAPI document?
---@param id string
---@return boolean
function Sources:is_http(id)
  return self._of_apis[id] == true
end

--- Calls a function when operations were added or removed, or a source failed. It must not wait.
---@param fn fun()
---@return fun() stop
function Sources:follow(fn)
  table.insert(self._listeners, fn)
  return function()
    for i, listener in ipairs(self._listeners) do
      if listener == fn then
        table.remove(self._listeners, i)
        return
      end
    end
  end
end

--- Reads the file of servers again: closes the running ones, and starts those that are in the file now.
function Sources:reload()
  local former = self.servers
  self.servers = nil
  if former then
    former:close()
  end
  load_servers(self)
  tell(self)
end

--- The file of the servers and its current entries.
---@return string? path
---@return table<string, table>? servers
---@return operations.Error? err
function Sources:configured()
  local given = self._options.servers
  local path, value, err = nil, given, nil
  if type(given) == "string" then
    path = (find(given))
    value, err = operations.from_mcp.read(path)
  end
  value = type(value) == "table" and value or {}
  return path, value.mcpServers or value.servers or {}, err
end

--- Ends all sources; may be called where waiting is impossible.
---@param ended? fun()  called when all servers have ended
function Sources:close(ended)
  self._closed = true
  task.detach(function()
    if self.servers then
      self.servers:close()
    end
    if ended then
      vim.schedule(ended)
    end
  end)
end

local api_places = { document = "table", file = "string", url = "string" }

local function check_apis(apis)
  for namespace, entry in pairs(apis) do
    local places = 0
    for place, kind in pairs(api_places) do
      places = places + (type(entry) == "table" and type(entry[place]) == kind and 1 or 0)
    end
    if type(namespace) ~= "string" or places ~= 1 then
      error(("bad option 'apis' to 'setup' (apis.%s: a table with file, url or document expected)"):format(
        tostring(namespace)), 4)
    end
  end
end

local kinds = { servers = "string or table", apis = "table", mcp = "table", registry = "table" }

--- Checks the options of setup(); misuse raises at the caller's line.
---@param options operations.nvim.Options
---@return operations.nvim.Sources
function sources.new(options)
  argument.options(options, kinds, "setup", 4)
  check_apis(options.apis or {})
  local registry = options.registry or operations.registry({ log = log.write })
  return setmetatable({
    registry = registry, _options = options, _loading = {}, _of_apis = {}, _waiting = {}, _listeners = {},
  }, Sources)
end

return sources
