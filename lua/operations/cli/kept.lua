--- The cached list of a source's operations and their keys, from its last load.
local cache = require("operations.cli.cache")
local entry = require("operations.cli.entry")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")

local kept = {}

--- The cache key of a source.
---@param source operations.cli.Source
---@return string
function kept.key(source)
  return table.concat({ source.kind, source.place, source.config and source.config.namespace or "" }, "\n")
end

--- Lists as lines of JSON, one per operation: entries, and separately their keys, which only completion needs.
local function segments_of(list)
  local lines, keys = {}, {}
  for i, item in ipairs(list) do
    keys[i] = assert(json.encode(marked.array(item.keys)))
    lines[i] = assert(json.encode(members.merged(item, { keys = false })))
  end
  return { { name = "entries", bytes = "[" .. table.concat(lines, ",\n") .. "]" },
    { name = "keys", bytes = table.concat(keys, "\n") .. "\n" } }
end

--- Stores the operations of a source.
---@param source operations.cli.Source
---@param list operations.cli.Entry[]
---@param meta? table
---@param segments? { name: string, bytes: string }[]
function kept.write(source, list, meta, segments)
  cache.write(kept.key(source), members.merged(meta, { count = #list }),
    members.joined(segments_of(list), segments or {}))
end

--- Stores the operations of a source, given their specs.
---@param source operations.cli.Source
---@param specs operations.Spec[]
---@param meta? table
---@param segments? { name: string, bytes: string }[]
function kept.write_specs(source, specs, meta, segments)
  kept.write(source, entry.list(specs, source.name), meta, segments)
end

--- The cached entries of a source.
---@param source operations.cli.Source
---@return operations.cli.Entry[]?
function kept.entries(source)
  local held = cache.open(kept.key(source))
  local bytes = held and held:read("entries")
  local list = bytes and json.decode(bytes)
  for _, item in ipairs(list or {}) do
    item.keys = nil
  end
  return list
end

--- The keys of the entry at a position in that list.
---@param source operations.cli.Source
---@param place integer
---@return table[]
function kept.keys(source, place)
  local held = cache.open(kept.key(source))
  local at = 0
  for line in (held and held:read("keys") or ""):gmatch("[^\n]+") do
    at = at + 1
    if at == place then
      return json.decode(line) or {}
    end
  end
  return {}
end

return kept
