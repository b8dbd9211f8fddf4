--- Remembered sources of a command: all, the named ones, or the one with an operation.
local entry = require("operations.cli.entry")
local kept = require("operations.cli.kept")
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
  if all.untrusted then
    output.complain("%s %s, so its sources are left out: read it, then run operations trust", all.untrusted,
      all.has_changed and "has changed since it was trusted" or "is not trusted")
  end
end

---@class operations.cli.NamedSources
---@field names string[]  sorted
local Named = {}
Named.__index = Named

--- Reads the remembered sources.
---@param parsed operations.cli.Arguments
---@param is_quiet? boolean  does not report untrusted files
---@return operations.cli.NamedSources?
---@return string? message
function named_sources.read(parsed, is_quiet)
  local all, message = remembered.read()
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
  }, Named)
end

--- The reason why a name is not a source.
---@param name string
---@return string
function Named:problem(name)
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

-- The source whose name begins an id.
local function prefix_of(self, word)
  local name = word:match("^([%w_-]+)%.")
  return name and self._all[name] and name or nil
end

--- The cached entries of all sources, each with its source's name.
---@return operations.cli.Entry[]
function Named:entries()
  local all = {}
  for _, name in ipairs(self.names) do
    local source = self:get(name)
    for _, item in ipairs(source and kept.entries(source) or {}) do
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
  local name = prefix_of(self, word)
  if name then
    return self:get(name)
  end
  local all = self:entries()
  local found = entry.find(word, all)
  if #found == 1 then
    return self:get(found[1].source)
  end
  return nil, entry.problem(word, found, all), #found > 1 and "USAGE" or "OPERATION_NOT_FOUND"
end

return named_sources
