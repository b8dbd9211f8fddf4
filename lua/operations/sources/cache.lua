--- The cache of sources between calls, in $XDG_CACHE_HOME/operations/sources: one private file for each, always
--- replaced as a whole. It begins with a line of JSON, `{ format, meta, sizes }`, followed by segments that are read on
--- demand. An invalid file counts as absent.
local core = require("operations.core")
local directories = require("operations.base.directories")
local entry = require("operations.sources.entry")
local errors = require("operations.base.error")
local files = require("operations.base.files")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local system = require("operations.system")

local cache = {}

local FORMAT = 1
local HEADER = 65536 -- the longest header line in bytes

local function directory()
  local place = directories.cache()
  return place and place .. "/sources"
end

-- The file of a key, without its suffix.
local function path_of(key)
  local place = directory()
  return place and ("%s/%s"):format(place, hexadecimal.of(core.sha256(key)):sub(1, 32))
end

---@class operations.sources.CacheEntry
---@field meta table  the argument of `write`
---@field checked integer  seconds since the epoch: the last time that the origin confirmed it
---@field _file file*
---@field _places table<string, { [1]: integer, [2]: integer }>  offset and size of each segment
local Entry = {}
Entry.__index = Entry

--- A segment, or bytes of it.
---@param name string
---@param from? integer  of its bytes, from 1
---@param to? integer
---@return string? bytes  nil: the segment is unknown, or the file is truncated
function Entry:read(name, from, to)
  local place = self._places[name]
  if not place then
    return nil
  end
  from, to = from or 1, to or place[2]
  self._file:seek("set", place[1] + from - 1)
  local bytes = to >= from and self._file:read(to - from + 1) or ""
  return #bytes == to - from + 1 and bytes or nil
end

local function seconds_of(path)
  local _, _, version = system.kind(path)
  return version and tonumber(version:match("^(%d+)"))
end

--- Opens the entry of a key.
---@param key string
---@return operations.sources.CacheEntry?
function cache.open(key)
  local path = path_of(key)
  local file = path and io.open(path .. ".source", "rb")
  if not file then
    return nil
  end
  local line = (file:read(HEADER) or ""):match("^([^\n]*)\n")
  local header = line and json.decode(line)
  if type(header) ~= "table" or header.format ~= FORMAT then
    file:close()
    return nil
  end
  local places, at = {}, #line + 1
  for _, size in ipairs(header.sizes) do
    places[size.name] = { at, size.size }
    at = at + size.size
  end
  local checked = seconds_of(path .. ".checked") or 0
  return setmetatable({ meta = header.meta, checked = math.max(checked, seconds_of(path .. ".source") or 0),
    _file = file, _places = places }, Entry)
end

-- Removes the oldest files until the rest is small enough.
local function trim(place, newest)
  local list, total = {}, 0
  for _, name in ipairs(system.list(place) or {}) do
    local _, _, version = system.kind(place .. "/" .. name)
    local time, size = (version or ""):match("^([%d.]+):(%d+)$")
    if time then
      list[#list + 1] = { path = place .. "/" .. name, time = tonumber(time), size = tonumber(size) }
      total = total + tonumber(size)
    end
  end
  table.sort(list, function(a, b)
    return a.time < b.time
  end)
  for _, file in ipairs(list) do
    if total > limits.cli_cache and file.path ~= newest then
      os.remove(file.path)
      total = total - file.size
    end
  end
end

--- Stores segments under a key. If that fails, the next call works without them.
---@param key string
---@param meta table
---@param segments { name: string, bytes: string }[]
function cache.store(key, meta, segments)
  local path, sizes, texts = path_of(key), {}, {}
  for i, segment in ipairs(segments) do
    sizes[i], texts[i + 1] = { name = segment.name, size = #segment.bytes }, segment.bytes
  end
  texts[1] = json.encode({ format = FORMAT, meta = meta, sizes = sizes }) .. "\n"
  if path and #texts[1] < HEADER and system.make_private_directory(directory()) then
    system.write_private(path .. ".source", table.concat(texts))
    trim(directory(), path .. ".source")
  end
end

--- Records that the entry is current.
---@param key string
function cache.check(key)
  local path = path_of(key)
  if path then
    system.write_private(path .. ".checked", "")
  end
end

--- Removes the entry of a key.
---@param key string
function cache.remove(key)
  local path = path_of(key)
  if path then
    os.remove(path .. ".source")
    os.remove(path .. ".checked")
  end
end

-- The list of a source's operations and their keys, from its last load.

--- The cache key of a source.
---@param source operations.sources.Source
---@return string
function cache.key(source)
  local config = source.config or {}
  local patch = config.patch and assert(json.encode(config.patch, { sort_keys = true })) or nil
  local parts = { source.kind, source.place, config.namespace or "" }
  parts[#parts + 1] = config.connection and config.connection.unix_socket -- the same URL is another API there
  parts[#parts + 1] = patch
  return table.concat(parts, "\n")
end

local DAY = 86400 -- seconds

--- The entry of an OpenAPI document. A file is current until it changes, the URL of a remembered source for a day.
---@param source operations.sources.Source
---@return operations.sources.CacheEntry?
---@return boolean? is_current  false: its origin has to be asked
function cache.current(source)
  local held = cache.open(cache.key(source))
  if not held then
    return nil
  elseif source.place:find("^https?://") then
    return held, source.name ~= nil and core.now() / 1000 - held.checked < DAY
  end
  return held, held.meta.version ~= nil and held.meta.version == select(3, system.kind(source.place))
end

--- The text of a source's file, and the metadata by which its entry is current.
---@param source operations.sources.Source
---@return string? text
---@return table|operations.Error meta
function cache.file(source)
  local text, message = files.read(source.place)
  if not text then
    return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = source.place })
  end
  return text, { version = select(3, system.kind(source.place)), location = source.place }
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
---@param source operations.sources.Source
---@param list operations.sources.Entry[]
---@param meta? table
---@param segments? { name: string, bytes: string }[]
function cache.write(source, list, meta, segments)
  cache.store(cache.key(source), members.merged(meta, { count = #list }),
    members.joined(segments_of(list), segments or {}))
end

-- The tools of MCP servers as these listed them, by the name of the server; nil: there are none.
local function tools_of(specs)
  local found = {}
  for _, spec in ipairs(specs) do
    local meta = spec._meta
    if type(meta) == "table" and meta.source == "mcp" and meta.tool and meta.server then
      found[meta.server] = found[meta.server] or marked.array()
      local own = meta.schemas or {}
      local output = own.outputSchema or spec.outputSchema
      table.insert(found[meta.server], { name = meta.tool, title = meta.title, description = spec.description,
        inputSchema = own.inputSchema or spec.inputSchema, outputSchema = type(output) == "table" and output or nil,
        annotations = meta.annotations,
        icons = meta.icons, execution = meta.execution, _meta = meta._meta })
    end
  end
  return next(found) and { name = "tools", bytes = assert(json.encode(found, { keep_order = true })) } or nil
end

--- Stores the operations of a source, given their specs.
---@param source operations.sources.Source
---@param specs operations.Spec[]
---@param meta? table
---@param segments? { name: string, bytes: string }[]
function cache.write_specs(source, specs, meta, segments)
  cache.write(source, entry.list(specs, source.name), meta, members.joined(segments or {}, { tools_of(specs) }))
end

--- Stores the operations of a source, given their definitions.
---@param source operations.sources.Source
---@param definitions operations.Definition[]
---@param meta? table
---@param segments? { name: string, bytes: string }[]
function cache.write_definitions(source, definitions, meta, segments)
  local registry = require("operations.registry").new({ log = function() end }) -- late: most commands only read
  for _, definition in ipairs(definitions) do
    registry:register(definition)
  end
  cache.write_specs(source, (registry:specs()), meta, segments)
end

--- The cached tools of MCP servers, by the name of the server, or those of one.
---@param source operations.sources.Source
---@param server? string
---@return table?
function cache.tools(source, server)
  local held = source.name and cache.open(cache.key(source))
  local bytes = held and held:read("tools")
  local found = bytes and json.decode(bytes) or {}
  if server then
    return found[server]
  end
  return next(found) and found or nil
end

--- The cached entries of a source.
---@param source operations.sources.Source
---@return operations.sources.Entry[]?
function cache.entries(source)
  local held = cache.open(cache.key(source))
  local bytes = held and held:read("entries")
  local list = bytes and json.decode(bytes)
  for _, item in ipairs(list or {}) do
    item.keys = nil
  end
  return list
end

--- The keys of the entry at a position in that list.
---@param source operations.sources.Source
---@param place integer
---@return table[]
function cache.keys(source, place)
  local held = cache.open(cache.key(source))
  local at = 0
  for line in (held and held:read("keys") or ""):gmatch("[^\n]+") do
    at = at + 1
    if at == place then
      return json.decode(line) or {}
    end
  end
  return {}
end

return cache
