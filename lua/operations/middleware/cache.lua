--- Caches the answers of queries for as long as the answers allow, separately for each identity.
local argument = require("operations.base.argument")
local core = require("operations.core")
local errors = require("operations.base.error")
local freshness = require("operations.middleware.freshness")
local identity_key = require("operations.base.identity_key")
local json = require("operations.base.json")
local layer = require("operations.middleware.layer")
local limits = require("operations.base.limits")
local lru = require("operations.base.lru")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local scheduler = require("operations.task.scheduler")
local single_flight = require("operations.task.single_flight")

local cache = {}

---@class operations.CacheOptions
---@field ttl? number  ms that an answer without its own lifetime, and without `_meta.ttlMs` in its spec, is fresh;
---  default 0: it is not stored
---@field max_bytes? integer  of all answers and their inputs, default 16 MiB
---@field max_entry? integer  bytes of one, default 1 MiB
---@field max_entries? integer  default 10,000
---@field vary? fun(input: any, context: operations.Context): string  further things that the answer depends on

local kinds = { ttl = "number", max_bytes = "number", max_entry = "number", max_entries = "number", vary = "function" }

-- An answer in text form, so that changing a returned value does not change the cache.
---@class operations.CacheEntry
---@field source "http"|"mcp"|"local"|false  of its envelope; false: the bare value
---@field raw? string  a string
---@field text? string  other data, as JSON
---@field meta? string  as JSON
---@field made number  ms since the epoch
---@field fresh number  ms since the epoch
---@field etag? string

---@class operations.Cache  a middleware
---@field _kept operations.Lru
---@field _flights operations.SingleFlight
---@field _options operations.CacheOptions
local Cache = {}
Cache.__index = Cache

local sorted = { sort_keys = true }

-- The cache key of a call; nil when the input or the identity is not JSON.
local function key_of(self, id, input, context)
  local text = json.encode(input, sorted)
  local identity = context.identity == nil and "null" or identity_key.with_rights(context.identity)
  if not text or not identity then
    return nil
  end
  local vary = self._options.vary
  local other = vary and number_text.of(vary(input, context)) or ""
  return ("%s\n%d %d\n%s%s%s"):format(id, #identity, #other, identity, other, text)
end

local function write(value)
  if type(value) == "string" then
    return value, nil
  end
  return nil, json.encode(value)
end

-- The entry for an answer and its size; nil when it must not be stored.
local function entry_of(self, value, spec, now)
  local is_envelope = core.is_response_envelope(value)
  local meta = is_envelope and value.meta or nil
  local fresh, etag = freshness.of(meta, spec, self._options.ttl, now)
  local data, relayed = value, is_envelope and meta.raw ~= nil
  if is_envelope then
    data = value.data
  end
  if relayed then
    data, meta = meta.raw, members.copy(meta)
    meta.raw = nil
  end
  if not fresh or fresh <= 0 and not etag or data == nil then
    return nil
  end
  local raw, text = write(data)
  local meta_text = meta and json.encode(meta)
  if not (raw or text) or meta and not meta_text then
    return nil
  end
  return { source = meta and meta.source or false, raw = raw, text = text, meta = meta_text, made = now,
    relayed = relayed, fresh = now + fresh, etag = etag }, #(raw or text) + #(meta_text or "")
end

-- Makes a new answer from an entry.
local function answer_of(entry, id, now)
  local data = entry.raw
  if not data then
    data = assert(json.decode(entry.text))
  end
  if not entry.source then
    return data
  end
  local meta = assert(json.decode(entry.meta))
  if entry.source == "local" then
    return core.local_envelope(data, id)
  elseif entry.source == "mcp" then
    return core.mcp_envelope(data, meta)
  end
  if type(meta.headers) == "table" then
    local age = freshness.seconds(meta.headers.age) or 0
    meta.headers.age = ("%d"):format(age + math.floor((now - entry.made) / 1000))
  end
  if entry.relayed then
    meta.raw, data = data, nil
  end
  return core.http_envelope(data, meta)
end

local function put(self, key, entry, size)
  size = entry and size + #key or 0
  if entry and size <= self._options.max_entry then
    self._kept:put(key, entry, size)
  else
    self._kept:remove(key)
  end
end

local function is_unchanged(value, err)
  return err and err.code == "HTTP_304" or value ~= nil and core.is_response_envelope(value)
    and value.meta.source == "http" and value.meta.statusCode == 304
end

-- The headers of an answer that confirmed the stored one (304).
local function headers_of(value, err)
  local found = err and type(err.details) == "table" and err.details.headers or value and value.meta.headers
  return type(found) == "table" and found or {}
end

-- A call of a query that may be answered from the cache.
---@class operations.CacheCall
---@field key string
---@field spec operations.Spec
---@field inner function  the handler that it is a call of
---@field input any
---@field context operations.Context

-- Confirms an entry: its lifetime is that of the confirming answer (RFC 9111, 4.3.4).
local function renew(self, call, entry, headers)
  local now = scheduler.now()
  local meta = json.decode(entry.meta)
  meta.headers.age = nil
  meta.headers = members.merged(meta.headers, headers)
  local fresh, etag = freshness.of(meta, call.spec, self._options.ttl, now)
  local renewed = members.merged(entry, { meta = assert(json.encode(meta)), made = now, fresh = now + (fresh or 0),
    etag = etag })
  put(self, call.key, fresh and renewed or nil, #(entry.raw or entry.text) + #renewed.meta)
  return renewed
end

-- Calls the handler; stores the answer.
local function ask(self, call)
  local context, id = call.context, layer.id(call.spec)
  local stale = self._kept:get(call.key)
  context.ifNoneMatch = stale and stale.etag
  local value, err = call.inner(call.input, context)
  context.ifNoneMatch = nil
  if stale and stale.etag and is_unchanged(value, err) then
    layer.note(context, id, "cache confirmed")
    local entry = renew(self, call, stale, headers_of(value, err))
    return answer_of(entry, id, entry.made), nil, entry
  end
  layer.note(context, id, "cache miss")
  if err then
    return nil, err
  end
  local entry, size = entry_of(self, value, call.spec, scheduler.now())
  put(self, call.key, entry, size)
  return value, nil, entry
end

local own_end = { ABORTED = true, TIMEOUT = true }

-- The answer of the running call of the same query, if it applies here.
---@return boolean settled
---@return any value  when not settled: is the answer one that must not be stored, and so not be shared?
---@return operations.Error? err
local function outcome(results, id)
  local raised, err, entry = not results[1], results[3], results[4]
  if raised then
    err = results[2]
  elseif entry then
    return true, answer_of(entry, id, scheduler.now())
  elseif not err then
    return false, true
  end
  if errors.is_error(err) and not own_end[err.code] then
    return true, nil, err
  end
  return false
end

local function cached(self, inner, spec)
  local id = layer.id(spec)
  return function(input, context)
    local relay = context.relay
    local key = not (rawget(context, "emit") or context.sink or relay and not relay.keeps)
      and key_of(self, id, input, context)
    key = key and relay and key .. "\n" .. relay.keeps or key
    if not key then
      return inner(input, context)
    end
    while true do
      local entry, now = self._kept:get(key), scheduler.now()
      if entry and now < entry.fresh then
        layer.note(context, id, "cache hit")
        return answer_of(entry, id, now)
      end
      local runs, interruption, results = self._flights:follow(key)
      if not runs then
        local value, err = self._flights:lead(key, ask, self,
          { key = key, spec = spec, inner = inner, input = input, context = context })
        return value, err
      elseif interruption then
        return nil, layer.not_begun(interruption)
      end
      local settled, value, err = outcome(results, id)
      if settled then
        layer.note(context, id, "cache shared")
        return value, err
      elseif value then
        layer.note(context, id, "cache miss")
        return inner(input, context)
      end
    end
  end
end

function Cache:__call(handler, spec)
  return self._wrap(handler, spec)
end

--- Removes all answers.
function Cache:clear()
  self._kept:clear()
end

--- Caches answers of queries: an HTTP answer with status 200 by its Cache-Control or Expires, others for `ttlMs` of
--- their MCP result or of their spec's `_meta`, else for `ttl`. A stale answer with an ETag is revalidated: the handler
--- gets `context.ifNoneMatch`, and 304 confirms the stored answer. Concurrent calls of the same query share one answer.
--- Identities never share answers. Streams, pages and bodies in pieces are never stored.
---@param options? operations.CacheOptions
---@return operations.Cache
function cache.new(options)
  argument.optional(options, "table", 1, "cache")
  argument.options(options or {}, kinds, "cache")
  local given = members.merged({ ttl = 0, max_bytes = limits.cache_bytes, max_entry = limits.cache_entry,
    max_entries = limits.middleware_keys }, options)
  for _, name in ipairs({ "ttl", "max_bytes", "max_entry", "max_entries" }) do
    local least = name == "max_entries" and 1 or 0
    if not (given[name] >= least and given[name] < math.huge) then
      error(("bad option '%s' to 'cache' (%d or more expected, got %s)"):format(name, least,
        number_text.of(given[name])), 2)
    end
  end
  local self = setmetatable({ _options = given, _flights = single_flight.new(),
    _kept = lru.new(given.max_entries, given.max_bytes) }, Cache)
  self._wrap = layer.new(function(inner, spec)
    return spec.type == "query" and cached(self, inner, spec) or nil
  end, given.vary ~= nil)
  return self
end

return cache
