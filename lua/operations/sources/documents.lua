--- Caches the OpenAPI documents of sources between calls: the text, the positions of its parts, and its operations. A
--- file is current until it changes; a URL is checked again after a day, with the entity tag of its last answer.
local cache = require("operations.sources.cache")
local core = require("operations.core")
local document = require("operations.openapi.document")
local document_parts = require("operations.sources.document_parts")
local errors = require("operations.base.error")
local from_openapi = require("operations.openapi")
local http = require("operations.net.http")
local json = require("operations.base.json")
local json_patch = require("operations.base.json_patch")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local registries = require("operations.registry")
local source_options = require("operations.sources.options")
local system = require("operations.system")
local url = require("operations.base.url")

local documents = {}

local function is_url(place)
  return place:find("^https?://") ~= nil
end

--- The configuration of the adapter.
---@param source operations.sources.Source
---@return operations.openapi.Config
function documents.config(source)
  local given = members.merged(source.config, source.call)
  if next(given.api_keys) then
    given.auth = members.merged({ given.auth }, given.api_keys)
  end
  given.oauth, given.connection, given.api_keys = nil, nil, nil
  given.http = source_options.client(source.config.connection, given.http or http) or given.http
  return given
end

-- The same for a document of the cache, which is patched before it is stored.
local function config_of_cached(source, location)
  local config = documents.config(source)
  config.location, config.patch = location, nil
  return config
end

-- Fetching.

local function status_error(place, reply)
  return errors.new("EXECUTION_ERROR", ("%s: answered %d instead of an OpenAPI document"):format(url.redact(place),
    reply.status), { kind = "status", location = url.redact(place) })
end

-- The text of a document if its validators have changed; true if not.
local function fetch(source, held, face)
  source_options.reveal_document_headers(source)
  local headers = members.merged({ Accept = "application/json, application/yaml;q=0.9, */*;q=0.5" },
    source.config.document_headers)
  local meta = held and held.meta or {}
  headers["If-None-Match"], headers["If-Modified-Since"] = meta.etag, not meta.etag and meta.modified or nil
  face.progress("loading " .. source.shown)
  local client = source_options.client(source.config.connection, http) or http
  local reply, err = client.request({ url = source.place, headers = headers, max_body = limits.document,
    credentials = members.names(source.config.document_headers) })
  if not reply then
    return nil, err
  elseif reply.status == 304 and held then
    return true
  elseif reply.status ~= 200 then
    return nil, status_error(source.place, reply)
  end
  return reply.body, { etag = reply.headers.etag, modified = reply.headers["last-modified"], location = reply.url,
    content_type = reply.headers["content-type"] }
end

local function read_file(source)
  local file, message = io.open(source.place, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  if not text then
    return nil, errors.new("EXECUTION_ERROR", message or source.place .. ": cannot be read",
      { kind = "file", location = source.place })
  end
  return text, { version = select(3, system.kind(source.place)), location = source.place }
end

-- Caching.

local function specs_of(definitions)
  local registry = registries.new({ log = function() end })
  for _, definition in ipairs(definitions) do
    registry:register(definition)
  end
  return (registry:specs())
end

-- Reads the complete document and caches it.
local function take(source, text, meta)
  source_options.reveal_document_headers(source) -- its $refs are fetched with the same headers
  local root, err, is_json = document.parse(text, meta.location, meta.content_type)
  if root and source.config.patch then
    root, err = json_patch.apply(root, source.config.patch)
  end
  if not root then
    return nil, err
  elseif not is_json or source.config.patch then
    text = document_parts.encode(root)
  end
  local found = document_parts.find(text)
  local config = config_of_cached(source, meta.location)
  local definitions, report = from_openapi.document(root, config)
  if not definitions then
    return nil, report
  end
  local list = specs_of(definitions)
  cache.write_specs(source, list, meta, { { name = "document", bytes = text },
    { name = "parts", bytes = found and assert(json.encode(found)) or "null" } })
  return { definitions = definitions, report = report }
end

local DAY = 86400 -- seconds

-- Is the cached document current without a check?
local function is_current(source, held)
  if not is_url(source.place) then
    return held.meta.version ~= nil and held.meta.version == select(3, system.kind(source.place))
  end
  return source.name ~= nil and core.now() / 1000 - held.checked < DAY
end

--- The current cached entry of a source.
---@param source operations.sources.Source
---@param options { face: operations.sources.Face, refresh?: boolean }
---@return operations.sources.CacheEntry? held
---@return operations.Error? err
---@return { definitions: operations.Definition[], report: operations.openapi.Problem[] }? loaded  when the document was
---  read now; alone, when it cannot be cached
function documents.open(source, options)
  local key = cache.key(source)
  local held = cache.open(key)
  if held and not options.refresh and is_current(source, held) then
    return held
  end
  local text, meta
  if is_url(source.place) then
    text, meta = fetch(source, not options.refresh and held or nil, options.face)
  else
    text, meta = read_file(source)
  end
  if text == true then
    cache.check(key)
    return held
  elseif not text and held and is_url(source.place) and not options.refresh then
    options.face.complain("%s cannot be asked for news: using its document of %s", source.shown,
      os.date("%Y-%m-%d", held.checked))
    return held
  elseif not text then
    return nil, meta
  end
  local loaded, err = take(source, text, meta)
  if not loaded then
    return nil, err
  end
  return cache.open(key), nil, loaded
end

-- The definitions of an entry, from a document with only the required parts.
local function cut(source, held, item)
  local found = json.decode(held:read("parts") or "null")
  local text = type(found) == "table" and document_parts.cut(function(from, to)
    return held:read("document", from, to)
  end, found, item.path)
  local root = text and json.decode(text, { property_order = true })
  local config = config_of_cached(source, held.meta.location)
  config.include = function(info)
    return info.method == item.method and info.path == item.path
  end
  local definitions = root and from_openapi.document(root, config)
  for _, definition in ipairs(definitions or {}) do
    if definition.type == item.type then
      definition.name = item.id:sub(#definition.namespace + 2) -- another operation may have the name
      return { definition }
    end
  end
end

--- The definition of one operation, or all definitions.
---@param source operations.sources.Source
---@param held operations.sources.CacheEntry
---@param item? operations.sources.Entry
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error|nil report  nil: it was reported before
function documents.definitions(source, held, item)
  local few = item and item.path and cut(source, held, item)
  if few then
    return few
  end
  local config = config_of_cached(source, held.meta.location)
  local root, err = document.parse(held:read("document") or "", source.shown)
  if not root then
    return nil, err
  end
  return from_openapi.document(root, config)
end

return documents
