--- Named sources: those in the user's file, $XDG_CONFIG_HOME/operations/config.json, and those in the project's file
--- `.operations.json`, which count once the user trusts what that file would run.
---
---   { "sources": { "github": { "openapi": "https://...", "bearer": "env:TOKEN", "profiles": { "work": {} } } } }
---
--- The members of a source are options of the command line; a switch is `true`, headers may be a list. Secrets are
--- referred to, never stored: env:NAME, file:PATH, cmd:COMMAND.
local cache = require("operations.sources.cache")
local core = require("operations.core")
local directories = require("operations.base.directories")
local entries = require("operations.sources.entry")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local project = require("operations.sources.project")
local secret = require("operations.sources.secret")
local source_options = require("operations.sources.options")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")
local url = require("operations.base.url")

local remembered = {}

local secrets = members.set({ "bearer", "basic", "api-key", "client-secret" })
local kinds = members.set(source_options.kinds)
local is_header = members.set({ "header", "document-header" })

-- Options that belong to one call, not to a source.
local passing = members.set({ "profile", "refresh", "verbose" })

local options = {}
for _, option in ipairs(source_options.list) do
  local name = option.name:gsub("^%-%-", "")
  if not passing[name] then
    local is_many = is_header[name] or name == "api-key" or name == "env-allow" or name == "documents"
    options[#options + 1] = { name = name, is_switch = option.value == nil, many = is_many }
    options[name] = options[#options]
  end
end

-- Reading.

-- A header whose name shows that it contains a credential.
local function is_secret_header(value)
  local name, content = value:match("^([^:]*):%s*(.*)$")
  name = (name or ""):lower()
  for _, word in ipairs({ "auth", "cookie", "key", "password", "secret", "session", "token" }) do
    if name:find(word, 1, true) then
      return not secret.is_reference(content)
    end
  end
  return false
end

local function has_password(text)
  local parsed = text:find("^%a[%w+.-]*://") and text:match("^%a[%w+.-]*://([^/]*)@")
  return parsed ~= nil and parsed ~= false
end

--- The reason why a member must not be remembered, or nil: it would store a secret in a file.
---@param name string
---@param value any
---@return string?
function remembered.secret_problem(name, value)
  local named = "give env:NAME, file:PATH or cmd:COMMAND"
  if type(value) ~= "string" then
    return nil
  elseif secrets[name] and not secret.is_reference(select(2, secret.named(value)) or value)
    and not (name == "basic" and secret.is_reference(value:match(":(.*)$") or "")) then
    return ("a remembered source holds no secrets: %s instead of the %s itself"):format(named,
      name == "basic" and "password" or name == "api-key" and "key" or name == "bearer" and "token" or "secret")
  elseif is_header[name] and is_secret_header(value) then
    return ("a remembered source holds no secrets: %s behind '%s:'"):format(named, value:match("^[^:]*"))
  elseif (kinds[name] or name == "proxy" or name == "base-url") and has_password(value) then
    return ("a remembered source holds no secrets: %s has a password"):format(url.redact_any(value))
  end
end

local function member_problem(name, value)
  local option = options[name]
  if not option then
    return "unknown member" .. suggestion.behind(name, options, "name")
  elseif option.is_switch then
    return value ~= true and "expected true" or nil
  elseif option.many and type(value) == "table" then
    for _, item in ipairs(value) do
      local problem = type(item) ~= "string" and "expected strings" or remembered.secret_problem(name, item)
      if problem then
        return problem
      end
    end
    return nil
  elseif type(value) ~= "string" then
    return ("expected a string, got %s"):format(core.kind(value) or type(value))
  end
  return remembered.secret_problem(name, value)
end

-- The error in the members of a source or profile: path and message.
local function entry_problem(entry, path, is_profile)
  if type(entry) ~= "table" or core.kind(entry) == "array" then
    return path, "expected an object"
  end
  local count = 0
  for _, name in ipairs(members.names(entry)) do
    local value = entry[name]
    count = count + (kinds[name] and 1 or 0)
    local problem
    if name == "profiles" and not is_profile then
      for _, profile in ipairs(type(value) == "table" and members.names(value) or {}) do
        local where, message = entry_problem(value[profile], path .. "/profiles/" .. profile, true)
        if where then
          return where, message
        end
      end
      problem = type(value) ~= "table" and "expected an object" or nil
    else
      problem = member_problem(name, value)
    end
    if problem then
      return path .. "/" .. name, problem
    end
  end
  if count ~= 1 and not is_profile then
    return path, ("expected one of openapi, graphql, lua, mcp, mcp-config, redis and websocket, got %d"):format(count)
  end
end

--- Parses a file of sources.
---@param text string
---@param path string
---@return table? content
---@return string? message
local function parse(text, path)
  local content, err = json.decode(text)
  if content == nil then
    return nil, ("%s: %s"):format(path, err.message)
  elseif core.kind(content) == "object" and core.kind(content.sources) == "array" and #content.sources == 0 then
    content.sources = {} -- as some programs write an object without members
  elseif core.kind(content) ~= "object" or core.kind(content.sources or {}) ~= "object" then
    return nil, ("%s: expected { \"sources\": { NAME: { ... } } }"):format(path)
  end
  for _, name in ipairs(members.names(content.sources or {})) do
    local where, message = entry_problem(content.sources[name], "/sources/" .. name)
    if not remembered.is_name(name) then
      where, message = "/sources/" .. name, "expected a name of letters, digits, _ and -"
    end
    if where then
      return nil, ("%s: %s: %s"):format(path, where, message)
    end
  end
  return content
end

--- Is it a valid name of a source?
---@param name string
---@return boolean
function remembered.is_name(name)
  return name:find("^%w[%w_-]*$") ~= nil
end

local function user_file()
  local directory = directories.config()
  return directory and directory .. "/config.json"
end

-- All sources.

local paths = members.set({ "lua", "command", "ref-root", "mcp-config", "ca-file", "cert", "key", "patch",
  "unix-socket", "documents" })

local function with_path(name, value, base)
  local is_path = paths[name] or (name == "openapi" or name == "graphql") and not value:find("^https?://")
  return is_path and directories.absolute(value, base) or value
end

---@class operations.sources.RememberedSource
---@field name string
---@field entry table<string, any>
---@field file string  that contains it
---@field base string  directory that its paths are relative to

local function collect(all, content, file)
  for name, entry in pairs(content.sources or {}) do
    all[name] = { name = name, entry = entry, file = file, base = file:match("^(.*)/[^/]*$") }
  end
end

---@class operations.sources.Remembered
---@field by_name table<string, operations.sources.RememberedSource>
---@field names string[]  sorted
---@field untrusted? string  the project's file, if it is not trusted
---@field refusal? string  why, and what to do
---@field left_out table<string, any>  the sources in that file, by name

-- The text of a file; nil where there is none, nil and a message where it cannot be read.
local function text_of(path)
  if not path or not system.kind(path) then
    return nil
  end
  return system.read_regular(path, limits.sources_file)
end

-- Adds the sources of the project's file, if the user trusts what they would do; returns a message for a broken file.
local function read_project(all, found, face)
  local path = project.file()
  local text, problem = text_of(path)
  if not text then
    found.untrusted, found.refusal = problem and path, problem
    return nil
  end
  local content, message = parse(text, path)
  local subject = project.subject(path, content or {}, with_path)
  local is_trusted, changed, why = subject:ask(content and face and face.person())
  if is_trusted and not content then
    return message
  elseif is_trusted then
    collect(all, content, path)
  else
    if why and why ~= subject.problem then
      face.complain("%s", why)
    end
    found.untrusted, found.refusal = path, project.refusal(subject, changed)
    found.left_out = content and content.sources or {}
  end
end

--- What the project's file, or another one of its form, would do.
---@param path string  absolute
---@return operations.people.Subject?
---@return string? message  error in the file
function remembered.subject(path)
  local text, message = system.read_regular(path, limits.sources_file)
  local content
  if text then
    content, message = parse(text, path)
  end
  return content and project.subject(path, content, with_path), message
end

--- Reads the remembered sources. A project's source overrides the user's with the same name.
---@param face? operations.sources.Face  asks whether a project's file is trusted
---@return operations.sources.Remembered?
---@return string? message  error in a file
function remembered.read(face)
  local all, found = {}, { by_name = nil, left_out = {} }
  local file = user_file()
  local text, problem = text_of(file)
  if text then
    local content
    content, problem = parse(text, file)
    collect(all, content or {}, file)
  end
  problem = problem or read_project(all, found, face)
  if problem then
    return nil, problem
  end
  found.by_name, found.names = all, members.names(all)
  return found
end

--- The options of a remembered source.
---@param source operations.sources.RememberedSource
---@param profile? string
---@return { name: string, value: any }[]? order
---@return string? message
function remembered.order(source, profile)
  local entry = members.merged(source.entry)
  local profiles = entry.profiles or {}
  entry.profiles = nil
  if profile and profiles[profile] then
    entry = members.merged(entry, profiles[profile])
  end
  local order = {}
  for _, kind in ipairs(source_options.kinds) do
    if entry[kind] then
      order[1] = { name = kind, value = with_path(kind, entry[kind], source.base) }
    end
  end
  order[2] = { name = "namespace", value = entry.namespace or source.name }
  for _, option in ipairs(options) do
    local value = entry[option.name]
    if value ~= nil and not kinds[option.name] and option.name ~= "namespace" then
      for _, item in ipairs(type(value) == "table" and value or { value }) do
        order[#order + 1] = { name = option.name, value = with_path(option.name, item, source.base) }
      end
    end
  end
  return order
end

-- Options of this call in addition to the remembered ones.
local function given_options(order)
  local list = {}
  for _, option in ipairs(order) do
    list[#list + 1] = not kinds[option.name] and option or nil
  end
  return list
end

-- The sources with the options of a call.

---@class operations.sources.NamedSources
---@field names string[]  sorted
---@field is_partial boolean  a project's sources are left out, as they are not trusted
local Named = {}
Named.__index = Named

--- Reads the remembered sources, to be used with the options of a call.
---@param given { profile?: string, order?: { name: string, value: any }[] }
---@param face? operations.sources.Face  nil: neither asks about nor reports untrusted files
---@return operations.sources.NamedSources?
---@return string? message
function remembered.named(given, face)
  local all, message = remembered.read(face)
  if not all then
    return nil, message
  elseif face and all.refusal then
    face.complain("%s", all.refusal)
  end
  local profile = given.profile or os.getenv("OPERATIONS_PROFILE")
  local has_profile = false
  for _, name in ipairs(all.names) do
    has_profile = has_profile or (all.by_name[name].entry.profiles or {})[profile] ~= nil
  end
  if given.profile and not has_profile and all.names[1] then
    return nil, ("--profile: no source has a profile %q"):format(profile)
  end
  return setmetatable({
    names = all.names, _all = all.by_name, _profile = profile, _given = given_options(given.order or {}),
    is_partial = all.untrusted ~= nil, _untrusted = all.untrusted, _left_out = all.left_out,
  }, Named)
end

--- The reason why a name is not a source.
---@param name string
---@return string
function Named:problem(name)
  if self._left_out[name] then
    return ("%s is a source of %s, which is not trusted"):format(name, self._untrusted)
  end
  return ("no source %q%s; operations sources lists them"):format(name, suggestion.behind(name, self.names))
end

--- The source with this name.
---@param name string
---@return operations.sources.Source?
---@return string? message
function Named:get(name)
  local found = self._all[name]
  if not found then
    return nil, self:problem(name)
  end
  local order, message = remembered.order(found, self._profile)
  local list
  if order then
    list, message = source_options.plan(members.joined(order, self._given))
  end
  if not list then
    return nil, ("%s: %s: %s"):format(found.file, name, message)
  end
  list[1].name, list[1].file, list[1].entry = name, found.file, found.entry
  return list[1]
end

--- The names of all profiles, sorted.
---@return string[]
function Named:profiles()
  local all = {}
  for _, source in pairs(self._all) do
    all = members.merged(all, source.entry.profiles)
  end
  return members.names(all)
end

--- The cached entries of all sources, each with its source's name; of one where the beginning of an id names it.
---@param prefix? string
---@return operations.sources.Entry[]
function Named:entries(prefix)
  local all = {}
  local only = prefix and prefix:match("^([%w_-]+)%.")
  for _, name in ipairs(self._all[only] and { only } or self.names) do
    local source = self:get(name)
    for _, item in ipairs(source and cache.entries(source) or {}) do
      item.source = name
      all[#all + 1] = item
    end
  end
  return all
end

--- The source of an operation, found without starting or fetching anything.
---@param word string  an id, or another name of it
---@return operations.sources.Source? source
---@return string? message  error message; nil: no source has it
---@return string? code  code of the error
function Named:of(word)
  local name = word:match("^([%w_-]+)%.")
  if name and (self._all[name] or self._left_out[name]) then
    local source, message = self:get(name)
    return source, message, not source and "SOURCE" or nil
  end
  local all = self:entries()
  local found = entries.find(word, all)
  if #found == 1 then
    return self:get(found[1].source)
  end
  return nil, entries.problem(word, found, all), #found > 1 and "USAGE" or "OPERATION_NOT_FOUND"
end

-- Changing the user's file.

local PATIENCE, PAUSE = 10000, 20 -- ms for which, and after which, the lock of another program is asked for again

-- The lock on the file of sources: programs may change it at the same time.
local function lock(path)
  local stop = core.now() + PATIENCE
  local held, message = system.lock(path)
  while held == false and core.now() < stop do
    require("operations.task").sleep(PAUSE / 1000)
    held, message = system.lock(path)
  end
  return held or nil, message or path .. ": another program has not released it"
end

local function write(path, change)
  local text, problem = text_of(path)
  local content, message = nil, problem
  if not problem then
    content, message = parse(text or "{}", path)
  end
  if not content then
    return nil, message -- a file that cannot be read is not replaced
  end
  content.sources = content.sources or {}
  change(content.sources)
  local ok
  path = system.real_path(path) or path -- a link to the file stays one
  ok, message = system.write_private(path, assert(json.encode(content, { indent = 2, sort_keys = true })) .. "\n")
  return ok and path or nil, message
end

--- Changes the user's sources, after the changes of other programs.
---@param change fun(sources: table<string, table>)
---@return string? path
---@return string? message
function remembered.change(change)
  local path = user_file()
  if not path then
    return nil, "neither XDG_CONFIG_HOME nor HOME says where to remember it"
  end
  local ok, message = system.make_private_directory(directories.config())
  if not ok then
    return nil, message
  end
  local held
  held, message = lock(path .. ".lock")
  if not held then
    return nil, message
  end
  local written
  written, message = write(path, change)
  system.unlock(held, path .. ".lock")
  return written, message
end

--- The options that may be remembered, as members of a source.
remembered.options = options

return remembered
