--- Registries mounted in another one: their operations appear there with a prefix before their namespace. Nothing is
--- copied; the mounted registry is read each time.
local errors = require("operations.base.error")
local members = require("operations.base.members")

local mounts = {}

---@class operations.Mount
---@field registry operations.Registry
---@field start string  what the ids begin with: the prefix and a dot

local none = {}

local function after(text, start)
  return text:sub(1, #start) == start and text:sub(#start + 1) or nil
end

--- The registry behind the mount that an id belongs to, and the id in that registry.
---@param self operations.Registry
---@param id string
---@return operations.Registry?  nil when it has no such operation and no route
---@return string? there
---@return string? start  the removed start
function mounts.find(self, id)
  for _, mount in ipairs(self._mounts or none) do
    local there = after(id, mount.start)
    if there and (mount.registry:type_of(there) or mount.registry._call_map) then
      return mount.registry, there, mount.start
    end
  end
end

--- Is `holds` true for a mounted registry?
---@param self operations.Registry
---@param holds fun(other: operations.Registry): boolean
---@return boolean
function mounts.any(self, holds)
  for _, mount in ipairs(self._mounts or none) do
    if holds(mount.registry) then
      return true
    end
  end
  return false
end

local function placed(spec, start)
  spec.namespace = start .. spec.namespace
  return spec
end

--- Calls a method of the mounted registry (`get`, `get_spec`) for an operation.
---@param self operations.Registry
---@param method string
---@param id string
---@return operations.Definition?
---@return operations.Error?
function mounts.get(self, method, id)
  local other, there, start = mounts.find(self, id)
  if not other then
    return nil
  end
  local found, err = other[method](other, there)
  return found and placed(found, start), err
end

-- The filter for a mounted registry; false when it excludes all of its namespaces.
local function filter_there(filter, start)
  if filter and filter.namespace then
    local namespace = after(filter.namespace, start)
    return namespace and members.merged(filter, { namespace = namespace }) or false
  end
  return filter
end

--- Adds the results of `method` ("list", "specs") of the mounted registries to `list` and `flaws`, except ids that are
--- registered in `self`.
---@param self operations.Registry
---@param method string
---@param filter? operations.Filter
---@param list table[]
---@param flaws operations.Error[]
function mounts.add_to(self, method, filter, list, flaws)
  for _, mount in ipairs(self._mounts or none) do
    local there = filter_there(filter, mount.start)
    if there ~= false then
      local found, failed = mount.registry[method](mount.registry, there)
      for _, spec in ipairs(found) do
        placed(spec, mount.start)
        if not self._operations:find(spec.namespace .. "." .. spec.name) then
          list[#list + 1] = spec
        end
      end
      for _, flaw in ipairs(failed) do
        flaws[#flaws + 1] = flaw
      end
    end
  end
end

-- Is `wanted` the registry, or mounted in it at any level?
local function leads_to(registry, wanted)
  return registry == wanted or mounts.any(registry, function(other)
    return leads_to(other, wanted)
  end)
end

local function refused(message, ...)
  message = message:format(...)
  return nil, errors.new("VALIDATION_ERROR", message, { { path = "/prefix", keyword = "mount", message = message } })
end

--- Mounts a registry.
---@param self operations.Registry
---@param other operations.Registry
---@param prefix? string
---@return boolean? ok
---@return operations.Error? err  VALIDATION_ERROR
function mounts.add(self, other, prefix)
  if not prefix or prefix == "" or prefix:find("[%s%c]") then
    return refused("a prefix without blanks expected, got %q", tostring(prefix))
  elseif leads_to(other, self) then
    return refused("a registry cannot be mounted in itself (prefix %q)", prefix)
  end
  local start = prefix .. "."
  for _, mount in ipairs(self._mounts or none) do
    if after(start, mount.start) or after(mount.start, start) then
      return refused("the prefix %q overlaps with that of another mount, %q", prefix, mount.start:sub(1, -2))
    end
  end
  self._mounts = self._mounts or {}
  table.insert(self._mounts, { registry = other, start = start })
  return true
end

return mounts
