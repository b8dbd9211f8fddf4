--- The configuration of a connection, checked before anything is started.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local importing = require("operations.registry.importing")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local log = require("operations.task.log")
local members = require("operations.base.members")
local negotiation = require("operations.mcp.protocol.negotiation")
local number_text = require("operations.base.number_text")
local printable = require("operations.base.printable")
local process = require("operations.net.process")
local task = require("operations.task")
local url = require("operations.base.url")

local config = {}

---@class operations.mcp.Config
---@field command? string  stdio: the program; searched in its PATH
---@field args? string[]
---@field env? table<string, string|number>  added to the inherited variables
---@field env_allow? string[]  inherited variables; default: `operations.process.inherited`,
---  proxies, certificates and SSH_AUTH_SOCK
---@field cwd? string
---@field on_stderr? fun(line: string)
---@field stop? { close?: number, term?: number }  ms until TERM, and KILL
---@field restart? boolean  connects again when the server has ended or was lost; default true
---@field wait? boolean  false: `connect` and `load` return before there is a connection
---@field tools? table[]  the tools as an earlier list had them, offered until the server has listed its own
---@field url? string  Streamable HTTP, or HTTP+SSE (2024-11-05); without user and password: use `headers` or `auth`
---@field headers? table<string, string>  HTTP: sent with every request
---@field auth? operations.oauth.AuthorizerOptions|operations.oauth.Authorizer  HTTP: how a user logs in when the server
---  requires it; an object with the methods of an authorizer is used directly
---@field ca_file? string
---@field proxy? string|false
---@field stream? boolean  HTTP, legacy: listens for messages of the server; default true
---@field era? "auto"|"modern"|"legacy"  default "auto": asks the server once
---@field version? string  pins a revision; a modern one is used without asking
---@field verdict? "modern"|"legacy"|"events"  result of an earlier negotiation
---@field timeout? number  ms of one request; progress restarts it
---@field max_timeout? number  ms, regardless of progress; for a tool that runs as a task, until it is done
---@field connect_timeout? number  ms
---@field probe_timeout? number  ms
---@field max_message? integer  bytes
---@field client? { name: string, version: string }
---@field capabilities? table  of the client, besides those of the functions below
---@field roots? (string|table)[]|fun(): table[]|false  directories that the server may access, as URIs; default false:
---  the client has no roots
---@field sampling? fun(params: table, context: table): table?, any
---@field elicitation? fun(params: table, context: table): table?, any|{ form?: function, url?: function }
---@field questions? "caller"  elicitation and sampling without a function above go to the caller of the tool
---@field on_progress? fun(progress: table, call: { tool: string })
---@field on_log? fun(entry: { level: string, logger: string?, data: any })
---@field on_message? fun(way: "in"|"out", message: any)  called with each message, the text of an outgoing one or the
---  value of an incoming one; it must neither wait nor raise, nor refer to the client
---@field log_level? string
---@field log? fun(level: string, message: string, details: any)
---@field namespace? string  of the operations, default: the name of the connection
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?
---@field include? string[]|fun(tool: table): boolean  names of tools
---@field exclude? string[]|fun(tool: table): boolean
---@field disabled_tools? string[]  tools that are not offered until `client:enable`
---@field text? "json"  a result of one text block with JSON that fits the tool's outputSchema becomes that data;
---  default: the blocks are the data
---@field is_error? "data"|"fail"  a tool's own failure is an envelope with `meta.isError` (default), or an error
---@field normalize? "cast"|"force"|"off"  of results; default: the registry's
---@field on_mismatch? "warn"|"fail"  for results that do not fit the tool's outputSchema; default: the registry's
---@field fill? boolean  false: not even required arguments take their `default`s; those of others never go out
---@field validate? "on"|"warn"|"off"  what arguments that do not fit a tool's inputSchema mean: an error (default),
---  a warning, or nothing
---@field retry? boolean  repeats calls of read-only and idempotent tools whose answer was lost; default true
---@field http? table  HTTP client, default `operations.http`

local kinds = members.merged(importing.kinds, {
  command = "string", args = "table", env = "table", env_allow = "table", cwd = "string", on_stderr = "function",
  stop = "table", restart = "boolean", tools = "table", url = "string",
  headers = "table", auth = "table", ca_file = "string",
  proxy = "string or false", stream = "boolean", era = "string", version = "string", verdict = "string",
  timeout = "number", max_timeout = "number", connect_timeout = "number", probe_timeout = "number",
  max_message = "number", client = "table", capabilities = "table",
  roots = "table or function or false", sampling = "function",
  elicitation = "function or table", questions = "string", on_progress = "function", on_log = "function",
  on_message = "function", log_level = "string",
  log = "function", disabled_tools = "table", text = "string", is_error = "string",
  retry = "boolean", http = "table",
})

local choices = {
  era = { auto = true, modern = true, legacy = true }, text = { json = true }, is_error = { data = true, fail = true },
  verdict = { modern = true, legacy = true, events = true },
  questions = { caller = true },
}
for name, values in pairs(importing.choices) do
  choices[name] = members.set(values)
end

--- Variables that servers inherit: those of all programs, and what they need for connections of their own.
---@type string[]
config.inherited = members.joined(process.inherited, { "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
  "http_proxy", "https_proxy", "all_proxy", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
  "SSH_AUTH_SOCK" })

-- Raises at the caller of `from_mcp.connect`.
local function wrong(text, ...)
  error(("from_mcp: " .. text):format(...), 5)
end

local function check_value(key, value)
  if type(value) == "number" and (value ~= value or value <= 0) then
    wrong("config.%s: a number above 0 expected, got %s", key, number_text.of(value))
  elseif choices[key] and not choices[key][value] then
    wrong("config.%s: there is no %q", key, value)
  end
end

local function kind_of(value)
  return value == json.null and "null" or core.kind(value) or type(value)
end

-- Lists and maps of texts.
local of_texts = { args = true, env = true, headers = true, env_allow = true, disabled_tools = true }

-- Values of other kinds would fail where they are used, far from their place.
local function check_texts(key, list)
  for name, value in pairs(of_texts[key] and list or {}) do
    if (key == "env" or key == "headers") and type(name) ~= "string" then
      wrong("config.%s: names and values expected, got a list", key)
    end
    local is_text = type(value) == "string" or type(value) == "number" and key ~= "env_allow"
    if not is_text or type(value) == "string" and value:find("%z") then
      wrong("config.%s%s: expected a string, got %s", key,
        type(name) == "number" and ("[%d]"):format(name - 1) or "." .. tostring(name),
        is_text and "one with a NUL byte" or kind_of(value))
    end
  end
end

local function check_place(given)
  if given.command == "" or (given.command or ""):find("%z") then
    wrong("config.command: the name of a program expected, got %s", given.command == "" and "an empty text"
      or "one with a NUL byte")
  elseif (given.command == nil) == (given.url == nil) then
    wrong("config: either command or url expected")
  elseif given.url and not given.url:find("^https?://[^/]") then
    wrong("config.url: an http or https URL expected, got %q", url.redact_any(given.url))
  elseif given.version and not negotiation.is_known(given.version) then
    wrong("config.version: unknown revision %q", given.version)
  end
end

-- A function of the program, whose errors are ignored.
local function guarded(fn)
  return function(...)
    local ok, raised = xpcall(fn, errors.traced, ...)
    if not ok then
      task.on_error(raised, raised)
    end
  end
end

-- The authorizer of this connection. It uses the connection's network options, unless its own options differ.
local function auth_of(given)
  local auth = given.auth
  if auth == nil or auth.challenged then
    return auth
  end
  local options = members.merged({ http = given.http, ca_file = given.ca_file, proxy = given.proxy }, auth)
  local authorizer = require("operations.oauth.authorizer") -- only loaded if users log in
  local ok, made = pcall(authorizer.new, options)
  if not ok then
    wrong("config.auth: %s", (tostring(made):gsub("^authorizer: ", "")))
  end
  return made
end

--- Checks a configuration; errors in it are misuse and raise.
---@param name string
---@param given operations.mcp.Config
---@return operations.mcp.Config  a copy with its defaults
function config.check(name, given)
  argument.options(given, kinds, "from_mcp", 4)
  for key, value in pairs(given) do
    check_value(key, value)
    check_texts(key, value)
  end
  check_place(given)
  local copy = members.merged(given)
  copy.name, copy.namespace = name, given.namespace or printable.name(name)
  copy.timeout = given.timeout or limits.mcp_timeout
  copy.max_timeout = math.max(given.max_timeout or limits.mcp_max_timeout, copy.timeout)
  copy.connect_timeout = given.connect_timeout or limits.mcp_connect_timeout
  copy.probe_timeout = given.probe_timeout or given.url and copy.connect_timeout or limits.mcp_probe_timeout
  copy.max_message = given.max_message or limits.body
  copy.auth = auth_of(given)
  copy.env_allow = given.env_allow or config.inherited
  copy.log = guarded(given.log or log.write)
  return copy
end

local functions = {
  "roots", "sampling", "elicitation", "on_progress", "on_log", "log", "include", "exclude", "accessControl",
}

---@class operations.mcp.ConnectionConfig : operations.mcp.Config
---@field has_answers boolean  do functions of the program answer the server's requests?

--- The part of a configuration that a connection needs, without the program's functions: they may refer to the client,
--- and a dropped client must be collected while one of its streams is open.
---@param self operations.mcp.Config  checked
---@return operations.mcp.ConnectionConfig
function config.of_connection(self)
  local has_answers = (self.roots or self.sampling or self.elicitation or self.questions) ~= nil
  local copy = members.merged(self, { has_answers = has_answers })
  if self.command then -- if it is silent, it is asked in the other era: that takes time, too
    copy.probe_timeout = math.min(self.probe_timeout, self.connect_timeout / 2)
  end
  for _, key in ipairs(functions) do
    copy[key] = nil
  end
  return copy
end

--- What an approval of a call depends on: the program or the address that is called.
---@param given operations.mcp.Config  checked
---@return string
function config.destination(given)
  return given.url or table.concat(members.joined({ given.command }, given.args or {}), "\0")
end

return config
