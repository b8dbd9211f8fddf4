--- Remembered sources of a command: all, the named ones, or the one with an operation.
local cache = require("operations.cli.cache")
local entry = require("operations.cli.entry")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local remembered = require("operations.cli.remembered")
local source_options = require("operations.cli.source_options")
local suggestion = require("operations.base.suggestion")

local named_sources = {}

-- Options of this call in addition to the remembered ones.
local function given_options(order)
  local list, kinds = {}, members.set(source_options.kinds)
  for _, option in ipairs(order) do
    list[#list + 1] = not kinds[option.name] and option or nil
  end
  return list
end

local function tell_untrusted(all)
  if all.refusal then
    output.complain("%s", all.refusal)
  end
end

---@class operations.cli.NamedSources
---@field names string[]  sorted
---@field is_partial boolean  a project's sources are left out, as they are not trusted
local Named = {}
Named.__index = Named

--- Reads the remembered sources.
---@param parsed operations.cli.Arguments
---@param is_quiet? boolean  neither asks about nor reports untrusted files
---@return operations.cli.NamedSources?
---@return string? message
function named_sources.read(parsed, is_quiet)
  local all, message = remembered.read(not is_quiet)
  if not all then
    return nil, message
  end
  if not is_quiet then
    tell_untrusted(all)
  end
  local profile = parsed.options.profile or os.getenv("OPERATIONS_PROFILE")
  local has_profile = false
  for _, name in ipairs(all.names) do
    has_profile = has_profile or (all.by_name[name].entry.profiles or {})[profile] ~= nil
  end
  if parsed.options.profile and not has_profile and all.names[1] then
    return nil, ("--profile: no source has a profile %q"):format(profile)
  end
  return setmetatable({
    names = all.names, _all = all.by_name, _profile = profile, _given = given_options(parsed.order),
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
---@return operations.cli.Source?
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

--- The cached entries of all sources, each with its source's name.
---@return operations.cli.Entry[]
function Named:entries()
  local all = {}
  for _, name in ipairs(self.names) do
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
---@return operations.cli.Source? source
---@return string? message  error message; nil: no source has it
---@return string? code  code of the error
function Named:of(word)
  local name = word:match("^([%w_-]+)%.")
  if name and (self._all[name] or self._left_out[name]) then
    local source, message = self:get(name)
    return source, message, not source and "SOURCE" or nil
  end
  local all = self:entries()
  local found = entry.find(word, all)
  if #found == 1 then
    return self:get(found[1].source)
  end
  return nil, entry.problem(word, found, all), #found > 1 and "USAGE" or "OPERATION_NOT_FOUND"
end

return named_sources
