--- What a list of definitions has become since it was read last, and a registry that follows it.
local json = require("operations.base.json")

local changes = {}

-- What a definition says, as text that can be compared.
local function words_of(definition)
  local spec = {}
  for key, value in pairs(definition) do
    spec[key] = key ~= "handler" and value or nil
  end
  return json.encode(spec, { sort_keys = true })
end

---@class operations.mcp.Changes
---@field added operations.Definition[]
---@field removed operations.Definition[]
---@field changed operations.Definition[]  as they are now

--- What is new in a list, gone from it, different.
---@param before operations.Definition[]
---@param after operations.Definition[]
---@return operations.mcp.Changes
function changes.between(before, after)
  local old, found = {}, { added = {}, removed = {}, changed = {} }
  for _, definition in ipairs(before) do
    old[definition.name] = definition
  end
  for _, definition in ipairs(after) do
    local other = old[definition.name]
    old[definition.name] = nil
    if not other then
      table.insert(found.added, definition)
    elseif words_of(other) ~= words_of(definition) then
      table.insert(found.changed, definition)
    end
  end
  for _, definition in ipairs(before) do
    if old[definition.name] then
      table.insert(found.removed, definition)
    end
  end
  return found
end

--- Did nothing change?
---@param found operations.mcp.Changes
---@return boolean
function changes.is_none(found)
  return #found.added + #found.removed + #found.changed == 0
end

-- Is the operation of this id the server's, and not another that the program has registered under it?
local function is_ours(registry, id, definition)
  local spec = registry:get_spec(id)
  local meta = spec and spec._meta
  return meta ~= nil and meta.source == "mcp" and meta.server == definition._meta.server
end

--- Brings a registry up to date. What it does not take costs the others nothing.
---@param registry operations.Registry
---@param found operations.mcp.Changes
---@return true?
---@return operations.Error? err  the first
function changes.apply(registry, found)
  for _, definition in ipairs(found.removed) do
    local id = definition.namespace .. "." .. definition.name
    if is_ours(registry, id, definition) then
      registry:unregister(id)
    end
  end
  local problem
  for _, list in ipairs({ found.added, found.changed }) do
    for _, definition in ipairs(list) do
      local replace = is_ours(registry, definition.namespace .. "." .. definition.name, definition)
      local id, err = registry:register(definition, { replace = replace })
      problem = problem or not id and err or nil
    end
  end
  return not problem or nil, problem
end

return changes
