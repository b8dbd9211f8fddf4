--- The MCP servers that other programs have configured: where their files are, what these list, and the options of a
--- remembered source for one of them. Only reads; nothing is started.
local compat = require("operations.base.compat")
local core = require("operations.core")
local directories = require("operations.base.directories")
local entries = require("operations.mcp.client.entries")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local property_order = require("operations.base.property_order")
local remembered = require("operations.sources.remembered")
local secrets = require("operations.base.secrets")
local system = require("operations.system")
local url = require("operations.base.url")

local clients = {}

-- Files of a user, the one that is written first, and of a project. "~" is HOME, "$C" the directory of configurations.
local places = {
  claude = { user = { "~/.claude.json", "$C/Claude/claude_desktop_config.json",
    "~/Library/Application Support/Claude/claude_desktop_config.json" }, project = { ".mcp.json" } },
  cursor = { user = { "~/.cursor/mcp.json" }, project = { ".cursor/mcp.json" } },
  gemini = { user = { "~/.gemini/settings.json" }, project = { ".gemini/settings.json" } },
  mcphub = { user = { "$C/mcphub/servers.json" }, project = { ".mcphub/servers.json" } },
  opencode = { user = { "$C/opencode/opencode.json", "$C/opencode/opencode.jsonc" }, project = { "opencode.json" } },
  vscode = { user = { "$C/Code/User/mcp.json", "~/Library/Application Support/Code/User/mcp.json" },
    project = { ".vscode/mcp.json" } },
  zed = { user = { "$C/zed/settings.json" }, project = { ".zed/settings.json" } },
}

--- The names of the programs, sorted.
---@type string[]
clients.names = members.names(places)

local function absolute(path)
  local home, config = os.getenv("HOME") or "", directories.config()
  path = path:gsub("^~", (home:gsub("%%", "%%%%")))
  return (path:gsub("^%$C", ((config or home .. "/.config/operations"):gsub("/operations$", ""):gsub("%%", "%%%%"))))
end

--- The files of a program that are there.
---@param name string
---@return string[]
function clients.files(name)
  local found, seen = {}, {}
  for _, path in ipairs(members.joined(places[name].user, places[name].project)) do
    path = directories.absolute(absolute(path))
    found[#found + 1] = not seen[path] and system.kind(path) == "file" and path or nil
    seen[path] = true
  end
  return found
end

local keys = { "mcpServers", "servers", "context_servers", "mcp" }

-- The objects of a file that list servers: its own, and those that Claude keeps for the working directory.
local function lists_of(content)
  local found = {}
  local project = type(content.projects) == "table" and content.projects[directories.current()]
  for _, part in ipairs({ content, type(project) == "table" and project or nil }) do
    for _, key in ipairs(keys) do
      if type(part[key]) == "table" then
        found[#found + 1] = part
        break
      end
    end
  end
  return found
end

---@class operations.sources.ClientServer
---@field name string
---@field file string
---@field entry operations.mcp.Entry
---@field place string  its address, or its program, without secrets

-- How a server is reached, for people: no argument, as these may be secrets.
local function place_of(entry)
  local own = type(entry.value) == "table" and entries.options(entry) or {}
  if type(own.url) == "string" then
    return own.url:find("^https?:") and url.redact(own.url) or url.redact_any(own.url)
  end
  return type(own.command) == "string" and own.command or "?"
end

--- The servers that a program has configured.
---@param name string
---@return operations.sources.ClientServer[]
---@return operations.Error[] problems  of files that cannot be read
function clients.list(name)
  local found, problems = {}, {}
  for _, path in ipairs(clients.files(name)) do
    local content, err = entries.read(path)
    problems[#problems + 1] = err
    for _, part in ipairs(content and lists_of(content) or {}) do
      for _, entry in ipairs(entries.list(part, function() end) or {}) do
        found[#found + 1] = { name = entry.name, file = path, entry = entry, place = place_of(entry) }
      end
    end
  end
  return found, problems
end

-- References of these programs to a variable: ${NAME}, ${env:NAME}, {env:NAME} (opencode), $NAME (Gemini).
local function variable_of(text)
  return text:match("^%${env:([%w_]+)}$") or text:match("^%${([%w_]+)}$") or text:match("^{env:([%w_]+)}$")
    or text:match("^%$([%a_][%w_]*)$")
end

local function quoted(word)
  return word:find("^[%w_./:=@%%+,-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The options for the headers of a server; or nil and the reason.
local function headers_of(headers)
  local order = {}
  for _, name in ipairs(members.names(headers)) do
    local value = tostring(headers[name])
    local token = name:lower() == "authorization" and value:match("^[Bb]earer +(.*)$")
    local variable = variable_of(token or value)
    local option = token and { name = "bearer", value = variable and "env:" .. variable or token }
      or { name = "header", value = name .. ": " .. (variable and "env:" .. variable or value) }
    if remembered.secret_problem(option.name, option.value) or value:find("${", 1, true) and not variable then
      return nil, ("the header %s has a secret or an expression"):format(name)
    end
    order[#order + 1] = option
  end
  return order
end

-- The words of a server's command line; or nil and the reason.
local function words_of(own)
  local words = {}
  for _, name in ipairs(members.names(type(own.env) == "table" and own.env or {})) do
    local value = own.env[name]
    local text = core.kind(value) == "string" and value or number_text.of(value)
    if secrets.is_name(name) or text:find("[${]") or value == core.null or text == "" then
      return nil, ("the variable %s has a secret or an expression"):format(name)
    end
    words[#words + 1] = name .. "=" .. text
  end
  words = words[1] and members.joined({ "env" }, words) or {}
  local before = ""
  for _, word in ipairs(members.joined({ own.command }, own.args)) do
    word = number_text.of(word)
    local flag, value = word:match("^(%-%-?[%w_-]+)=(.+)$")
    if before:find("^%-") and secrets.is_name(before) or flag and value and secrets.is_name(flag) then
      return nil, ("the argument after %s is a secret"):format(flag or before)
    elseif word:find("${", 1, true) or word:find("%a[%w+.-]*://[^/]*@") then
      return nil, "an argument has a password or an expression"
    end
    before = word
    words[#words + 1] = quoted(word)
  end
  return words
end

--- The options of `operations add` for a server; or nil and the reason why a remembered source cannot have them.
---@param server operations.sources.ClientServer
---@return { name: string, value: any }[]? order
---@return string? reason
function clients.order(server)
  local own = type(server.entry.value) == "table" and entries.options(server.entry) or {}
  if type(own.url) == "string" then
    local is_secret = own.url:find("${", 1, true) or remembered.secret_problem("mcp", own.url)
    for name in own.url:gmatch("[?&]([^=&#]+)=") do
      is_secret = is_secret or secrets.is_name(name)
    end
    if is_secret then
      return nil, "its address has a secret or an expression"
    end
    local order, reason = headers_of(type(own.headers) == "table" and own.headers or {})
    return order and members.joined({ { name = "mcp", value = own.url } }, order), reason
  elseif type(own.command) ~= "string" then
    return nil, "it has neither a command nor an address"
  elseif own.cwd or own.envFile then
    return nil, ("it has a %s"):format(own.cwd and "directory of its own (cwd)" or "file of variables (envFile)")
  end
  local words, reason = words_of(own)
  return words and { { name = "mcp", value = table.concat(words, " ") } }, reason
end

--- The user's file of a program, and where the entry of a server belongs in it.
---@param name string
---@param words string[]  the command line of the server
---@return string path  it may not be there
---@return string key  the member with all servers
---@return table entry
function clients.target(name, words)
  local path
  for _, one in ipairs(places[name].user) do
    path = path or system.kind(absolute(one)) == "file" and absolute(one) or nil
  end
  local entry = marked.object({ command = words[1], args = marked.array({ compat.unpack(words, 2) }) })
  local key, kind = "mcpServers", nil
  if name == "vscode" then
    key, entry.type, kind = "servers", "stdio", "type"
  elseif name == "zed" then
    key, entry.source, kind = "context_servers", "custom", "source"
  elseif name == "opencode" then
    key, kind = "mcp", "type"
    entry = marked.object({ type = "local", command = marked.array(words) })
  end
  property_order.set(entry, { kind or "command", "command", "args" })
  return path or absolute(places[name].user[1]), key, entry
end

return clients
