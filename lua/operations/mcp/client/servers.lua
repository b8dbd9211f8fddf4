--- Many servers at once, as files called `mcp.json` list them. One that fails costs the others nothing.
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local errors = require("operations.base.error")
local json = require("operations.base.json")
local members = require("operations.base.members")
local task_map = require("operations.task.map")

local servers = {}

---@class operations.mcp.Servers
---@field clients table<string, operations.mcp.Client>  by the name of the server
---@field operations operations.Definition[]  of all of them, in the order of their names
---@field problems { name: string, message: string, err?: operations.Error }[]  servers that failed, tools left out
local Servers = {}
Servers.__index = Servers

local function read(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = path })
  end
  local text = file:read("*a")
  file:close()
  local value, err = json.decode(text or "")
  if type(value) ~= "table" then
    return nil, errors.new("VALIDATION_ERROR",
      ("%s: %s"):format(path, err and err.message or "a JSON object expected"), { location = path })
  end
  return value
end

-- `${NAME}`, `${env:NAME}` and `${NAME:-default}` from the environment; raises the name of one that is not set.
local function expand(value)
  if type(value) == "string" then
    return (value:gsub("%${([^}]+)}", function(inner)
      local name, default = inner:match("^(.-):%-(.*)$")
      name = (name or inner):gsub("^env:", "")
      local found = os.getenv(name) or default
      if not found then
        error(errors.new("VALIDATION_ERROR", ("the environment has no %s"):format(name)), 0)
      end
      return found
    end))
  elseif type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = expand(item)
  end
  return copy
end

-- Arguments and variables are texts, whatever JSON they were written as.
local function as_texts(list)
  local copy = {}
  for key, item in pairs(type(list) == "table" and list or {}) do
    local kind = type(item)
    copy[key] = (kind == "number" or kind == "boolean") and tostring(item) or item
  end
  return type(list) == "table" and copy or list
end

local taken_over = { "command", "args", "env", "cwd", "url", "headers", "timeout" }

-- The configuration of an entry, with what counts for all.
local function config_of(entry, common, namespace)
  local own = members.merged({ namespace = namespace }, common)
  for _, key in ipairs(taken_over) do
    if entry[key] ~= nil and entry[key] ~= json.null then
      own[key] = expand(entry[key])
    end
  end
  own.args, own.env = as_texts(own.args), as_texts(own.env)
  own.url = own.url or expand(entry.serverUrl)
  if entry.type == "sse" then
    own.verdict = "events"
  end
  return own
end

-- The names of the servers and their entries; nil when there is no object of them.
local function entries_of(source)
  local listed = source.mcpServers or source.servers
  local table_of = listed or source
  if type(table_of) ~= "table" or table_of[1] ~= nil then
    return nil
  end
  local names = {}
  for name, entry in pairs(table_of) do
    local is_table = type(entry) == "table"
    if type(name) == "string" and (is_table and entry.disabled ~= true or not is_table and listed) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names, table_of
end

-- Namespaces of their own for all: names that come to the same are told apart by a number.
local function namespaces_of(names, report)
  local taken, result = {}, {}
  for _, name in ipairs(names) do
    local wanted = name:gsub("[%s%c]+", "_")
    local given, n = wanted, 1
    while taken[given] do
      n = n + 1
      given = wanted .. "_" .. n
    end
    if n > 1 then
      report(name, ("the name %q is taken; its operations are called %s.*"):format(wanted, given))
    end
    taken[given], result[name] = true, given
  end
  return result
end

local function connect(name, entry, common, namespace, open)
  if type(entry) ~= "table" then
    return nil, errors.new("VALIDATION_ERROR", "its entry is no object")
  end
  local ok, client, err = pcall(function()
    return clients.connect(name, config.check(name, config_of(entry, common, namespace)), open)
  end)
  if ok then
    return client, err
  elseif errors.is_error(client) then
    return nil, client
  end
  return nil, errors.new("VALIDATION_ERROR", (tostring(client):gsub("^[^\n]-:%d+: ", ""):gsub("^from_mcp: ", "")))
end

--- Connects to all servers of a file or table, several at the same time.
---@param source string|table  a path; or `{ mcpServers = { name = { command =, args =, env =, url =, ... } } }`
---@param common operations.mcp.Config  for all of them
---@param open function
---@return operations.mcp.Servers?
---@return operations.Error? err  the file cannot be read, or lists no servers
function servers.load(source, common, open)
  local self = setmetatable({ clients = {}, operations = {}, problems = {} }, Servers)
  local path = type(source) == "string" and source or nil
  if path then
    local value, err = read(path)
    if not value then
      return nil, err
    end
    source = value
  end
  local function report(name, message, err)
    table.insert(self.problems, { name = name, message = message, err = err })
  end
  local names, entries = entries_of(source)
  if not names then
    return nil, errors.new("VALIDATION_ERROR", (path and path .. ": " or "") .. "an object of servers expected",
      { location = path })
  end
  local namespaces = namespaces_of(names, report)
  local ok, err = task_map.map(names, function(name)
    local client, failure = connect(name, entries[name], common, namespaces[name], open)
    self.clients[name] = client
    if not client then
      report(name, failure.message, failure)
    end
    return true
  end)
  if not ok then
    self:close()
    return nil, err
  end
  self:_collect(names, report)
  return self
end

function Servers:_collect(names, report)
  for _, name in ipairs(names) do
    local client = self.clients[name]
    for _, definition in ipairs(client and client.operations or {}) do
      table.insert(self.operations, definition)
    end
    for _, problem in ipairs(client and client.problems or {}) do
      report(name, ("tool %s: %s"):format(problem.name, problem.message))
    end
  end
end

--- Registers the operations of all servers, and keeps the registry in step with their lists.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function Servers:register(registry)
  local all = {}
  for _, client in pairs(self.clients) do
    local ids, err = client:register(registry)
    if not ids then
      return nil, err
    end
    all = members.joined(all, ids)
  end
  table.sort(all)
  return all
end

--- Ends all connections, at the same time.
function Servers:close()
  local list = {}
  for _, client in pairs(self.clients) do
    list[#list + 1] = client
  end
  task_map.map(list, function(client)
    client:close()
    return true
  end)
end

Servers.__close = Servers.close

return servers
