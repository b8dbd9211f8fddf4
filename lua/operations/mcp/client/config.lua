--- The configuration of a connection: what there is, checked before anything is started.
local argument = require("operations.base.argument")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local negotiation = require("operations.mcp.protocol.negotiation")
local task = require("operations.task")
local url = require("operations.base.url")

local config = {}

---@class operations.mcp.Config
---@field command? string  stdio: the program; looked for in its PATH
---@field args? string[]
---@field env? table<string, string|number>  added to what is inherited
---@field env_allow? string[]  what is inherited, default `operations.process.inherited`
---@field cwd? string
---@field on_stderr? fun(line: string)
---@field stop? { close?: number, term?: number }  ms until TERM, and KILL
---@field restart? boolean  a server that ended is started again by the next call; default false
---@field url? string  Streamable HTTP, or HTTP+SSE (2024-11-05); a user in it is refused: give `headers` or `auth`
---@field headers? table<string, string>  HTTP: sent with every request
---@field auth? operations.oauth.AuthorizerOptions|operations.oauth.Authorizer  HTTP: how a user logs in when the server
---  asks for it; an object with the methods of an authorizer is used as it is
---@field ca_file? string
---@field proxy? string|false
---@field stream? boolean  HTTP, legacy: listen for what the server says by itself; default true
---@field era? "auto"|"modern"|"legacy"  default "auto": asks the server, once
---@field version? string  pins a revision; a modern one is used without asking
---@field verdict? "modern"|"legacy"|"events"  what an earlier negotiation found
---@field timeout? number  ms of one request; progress begins it anew
---@field max_timeout? number  ms, whatever the progress; of a tool that is a task, until it is done
---@field connect_timeout? number  ms
---@field probe_timeout? number  ms
---@field max_message? integer  bytes
---@field client? { name: string, version: string }
---@field capabilities? table  of the client, besides those that the functions below stand for
---@field roots? (string|table)[]|fun(): table[]  directories that the server may look at, as URIs
---@field sampling? fun(params: table, context: table): table?, any
---@field elicitation? fun(params: table, context: table): table?, any|{ form?: function, url?: function }
---@field questions? "caller"  elicitation and sampling without a function above are handed on to the caller of the tool
---@field on_progress? fun(progress: table, call: { tool: string })
---@field on_log? fun(entry: { level: string, logger: string?, data: any })
---@field on_message? fun(way: "in"|"out", message: any)  told of each message, a text that goes out or a value
---  that came; it must neither wait nor raise, nor refer to the client
---@field log_level? string
---@field log? fun(level: string, message: string, details: any)
---@field namespace? string  of the operations, default: the name of the connection
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?
---@field include? string[]|fun(tool: table): boolean  names of tools
---@field exclude? string[]|fun(tool: table): boolean
---@field disabled_tools? string[]  tools that are taken out until `client:enable` takes them in
---@field text? "json"  a result that is one text block of JSON, and fits the tool's outputSchema, is that data;
---  default: the blocks are the data
---@field is_error? "data"|"fail"  a tool's own failure is an envelope with `meta.isError` (default), or an error
---@field normalize? "cast"|"force"|"off"  of results; default: the registry's
---@field on_mismatch? "warn"|"fail"  of results that do not fit the tool's outputSchema; default: the registry's
---@field retry? boolean  send calls of read-only and idempotent tools again when the answer was lost; default true
---@field http? table  HTTP client, default `operations.http`

local kinds = {
  command = "string", args = "table", env = "table", env_allow = "table", cwd = "string", on_stderr = "function",
  stop = "table", restart = "boolean", url = "string", headers = "table", auth = "table", ca_file = "string",
  proxy = "string or false", stream = "boolean", era = "string", version = "string", verdict = "string",
  timeout = "number", max_timeout = "number", connect_timeout = "number", probe_timeout = "number",
  max_message = "number", client = "table", capabilities = "table", roots = "table or function", sampling = "function",
  elicitation = "function or table", questions = "string", on_progress = "function", on_log = "function",
  on_message = "function", log_level = "string",
  log = "function", namespace = "string", accessControl = "table or function", include = "table or function",
  exclude = "table or function", disabled_tools = "table", text = "string", is_error = "string",
  normalize = "string", on_mismatch = "string", retry = "boolean", http = "table",
}

local choices = {
  era = { auto = true, modern = true, legacy = true }, text = { json = true }, is_error = { data = true, fail = true },
  normalize = { cast = true, force = true, off = true }, on_mismatch = { warn = true, fail = true },
  verdict = { modern = true, legacy = true, events = true },
  questions = { caller = true },
}

-- Raises at the caller of `from_mcp.connect`.
local function wrong(text, ...)
  error(("from_mcp: " .. text):format(...), 5)
end

local function check_value(key, value)
  if type(value) == "number" and (value ~= value or value <= 0) then
    wrong("config.%s: a number above 0 expected, got %s", key, tostring(value))
  elseif choices[key] and not choices[key][value] then
    wrong("config.%s: there is no %q", key, value)
  end
end

local function check_place(given)
  if (given.command == nil) == (given.url == nil) then
    wrong("config: either command or url expected")
  elseif given.url and not given.url:find("^https?://[^/]") then
    wrong("config.url: an http or https URL expected, got %q", url.redact_any(given.url))
  elseif given.version and not negotiation.is_known(given.version) then
    wrong("config.version: there is no revision %q", given.version)
  end
end

-- The program's function, of which nobody is hurt when it raises.
local function guarded(fn)
  return function(...)
    local ok, raised = xpcall(fn, debug.traceback, ...)
    if not ok then
      task.on_error(raised, raised)
    end
  end
end

-- An authorizer for this connection alone. The way to the network is the connection's, unless the options say another.
local function auth_of(given)
  local auth = given.auth
  if auth == nil or auth.challenged then
    return auth
  end
  local options = members.merged({ http = given.http, ca_file = given.ca_file, proxy = given.proxy }, auth)
  local authorizer = require("operations.oauth.authorizer") -- where nobody logs in it is not needed
  local ok, made = pcall(authorizer.new, options)
  if not ok then
    wrong("config.auth: %s", (tostring(made):gsub("^authorizer: ", "")))
  end
  return made
end

--- Checks a configuration; what is wrong is misuse and raises.
---@param name string
---@param given operations.mcp.Config
---@return operations.mcp.Config  a copy with its defaults
function config.check(name, given)
  argument.options(given, kinds, "from_mcp", 4)
  for key, value in pairs(given) do
    check_value(key, value)
  end
  check_place(given)
  local copy = members.merged(given)
  copy.name, copy.namespace = name, given.namespace or (name:gsub("[%s%c]+", "_"))
  copy.timeout = given.timeout or limits.mcp_timeout
  copy.max_timeout = math.max(given.max_timeout or limits.mcp_max_timeout, copy.timeout)
  copy.connect_timeout = given.connect_timeout or limits.mcp_connect_timeout
  copy.probe_timeout = given.probe_timeout or given.url and copy.connect_timeout or limits.mcp_probe_timeout
  copy.max_message = given.max_message or limits.body
  copy.auth = auth_of(given)
  copy.log = guarded(given.log or log.write)
  return copy
end

local functions = {
  "roots", "sampling", "elicitation", "on_progress", "on_log", "log", "include", "exclude", "accessControl",
}

---@class operations.mcp.ConnectionConfig : operations.mcp.Config
---@field has_answers boolean  the program has functions that answer the server's requests

--- What a connection needs of a configuration: none of the program's functions. They may refer to the client, and a
--- client that is dropped is to be collected while a stream of its is open.
---@param self operations.mcp.Config  checked
---@return operations.mcp.ConnectionConfig
function config.of_connection(self)
  local has_answers = (self.roots or self.sampling or self.elicitation or self.questions) ~= nil
  local copy = members.merged(self, { has_answers = has_answers })
  for _, key in ipairs(functions) do
    copy[key] = nil
  end
  return copy
end

local function named_in(filter, tool)
  if type(filter) == "function" then
    return filter(tool)
  end
  return members.contains(filter, tool.name)
end

--- Does the configuration ask for this tool?
---@param self operations.mcp.Config
---@param tool table
---@return boolean
function config.wants(self, tool)
  return (self.include == nil or named_in(self.include, tool))
    and not (self.exclude ~= nil and named_in(self.exclude, tool))
end

return config
