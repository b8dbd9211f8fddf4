--- Caches the OpenAPI documents of sources between calls: the text, the positions of its parts, and its operations. A
--- file is current until it changes; a URL is checked again after a day, with the entity tag of its last answer.
local cache = require("operations.sources.cache")
local document = require("operations.openapi.document")
local errors = require("operations.base.error")
local from_openapi = require("operations.openapi")
local http = require("operations.net.http")
local json = require("operations.base.json")
local json_patch = require("operations.base.json_patch")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local source_options = require("operations.sources.options")
local url = require("operations.base.url")

local openapi_documents = {}

-- The parts of a document as text: path items and components. A call needs few parts of a large document: they are cut
-- out into a document of their own, in which every reference can be resolved.

-- The position after the value at `at`, in a text that is known to be JSON.
local function skip(text, at)
  local depth = 0
  repeat
    local found = text:match("^[%s,:]*()", at)
    local first = text:sub(found, found)
    if first == '"' then
      at = found + 1
      repeat
        at = text:find('["\\]', at)
        local is_escape = text:byte(at) == 92
        at = at + (is_escape and 2 or 1)
      until not is_escape
    elseif first == "{" or first == "[" then
      depth, at = depth + 1, found + 1
    elseif first == "}" or first == "]" then
      depth, at = depth - 1, found + 1
    else
      at = text:match("^[^%s,:%]}]+()", found)
    end
  until depth == 0
  return at
end

-- Calls `fn` for each member of the object at `at`: its key, the start of the member, its value, the end.
local function each_member(text, at, fn)
  at = text:match("^%s*{%s*()", at)
  while at and text:sub(at, at) == '"' do
    local behind_key = skip(text, at)
    local value = text:match("^%s*:%s*()", behind_key)
    local stop = skip(text, value)
    fn(json.decode(text:sub(at, behind_key - 1)), at, value, stop - 1)
    at = text:match("^%s*,%s*()", stop)
  end
end

-- Objects whose members are parts. Security schemes are not: no reference names those that a call needs.
local sections = { paths = true, definitions = true, parameters = true, responses = true }

-- Are there no references or names that point outside the parts of this document?
local function is_closed(text)
  for _, keyword in ipairs({ "$id", "$anchor", "$dynamicRef", "$recursiveRef", "$self", "x-operation" }) do
    if text:find('"' .. keyword .. '"', 1, true) then
      return false
    end
  end
  for reference in text:gmatch('"[$o][rp]e[fr]a?t?i?o?n?R?e?f?"%s*:%s*"([^"]*)"') do
    if reference:sub(1, 2) ~= "#/" then
      return false
    end
  end
  return true
end

---@class operations.sources.DocumentParts
---@field rest { [1]: integer, [2]: integer }[]  first and last bytes of the root's other members
---@field parts table<string, { [1]: integer, [2]: integer }>  of members, by pointer

--- Finds the parts of a document.
---@param text string  JSON
---@return operations.sources.DocumentParts?  nil: it must be read completely
function openapi_documents.parts(text)
  if not is_closed(text) then
    return nil
  end
  local rest, parts = json.decode("[]"), json.decode("{}")
  local function take(prefix, at)
    each_member(text, at, function(key, first, _, last)
      parts[prefix .. json_pointer.escape(key)] = { first, last }
    end)
  end
  each_member(text, 1, function(name, first, value, last)
    if sections[name] and text:sub(value, value) == "{" then
      take("#/" .. name .. "/", value)
    elseif name == "components" and text:sub(value, value) == "{" then
      each_member(text, value, function(kind, from, inner, to)
        if kind == "securitySchemes" or text:sub(inner, inner) ~= "{" then
          parts["#/components " .. kind] = { from, to }
        else
          take("#/components/" .. json_pointer.escape(kind) .. "/", inner)
        end
      end)
    else
      rest[#rest + 1] = { first, last }
    end
  end)
  return { rest = rest, parts = parts }
end

-- The pointer of the part that a reference points into.
local function part_of(parts, reference)
  local decoded = url.decode(reference) or reference
  for _, pattern in ipairs({ "^#/components/[^/]+/[^/]+", "^#/[^/]+/[^/]+" }) do
    local pointer = decoded:match(pattern)
    if pointer and parts[pointer] then
      return pointer
    end
  end
end

local MAPPING = '"mapping"%s*:%s*(%b{})'

-- Calls `fn` with each part that a text refers to: by reference, or by the name of a schema (`discriminator`).
local function each_reference(parts, text, fn)
  for reference in text:gmatch('"(#/[^"]+)"') do
    local pointer = part_of(parts, (reference:gsub("\\/", "/")))
    if pointer then
      fn(pointer)
    end
  end
  for mapping in text:gmatch(MAPPING) do
    for name in mapping:gmatch(':%s*"([^"#/]+)"') do
      local pointer = "#/components/schemas/" .. json_pointer.escape(name)
      if parts[pointer] then
        fn(pointer)
      end
    end
  end
end

local function object(list)
  return "{" .. table.concat(list, ",") .. "}"
end

-- The text of a document with the rest and these parts.
local function compose(read, found, texts)
  local whole, groups, kinds = {}, {}, {}
  for i, place in ipairs(found.rest) do
    whole[i] = read(place[1], place[2])
  end
  for pointer, text in pairs(texts) do
    local kind, name = pointer:match("^#/components/([^/]+)/"), pointer:match("^#/([^/]+)/")
    local list = kind and kinds or groups
    local key = kind or name
    list[key] = list[key] or {}
    table.insert(list[key], text)
  end
  local components = {}
  for pointer, place in pairs(found.parts) do
    if pointer:find("^#/components ") then
      components[#components + 1] = read(place[1], place[2])
    end
  end
  for kind, list in pairs(kinds) do
    components[#components + 1] = json.encode(json_pointer.unescape(kind)) .. ":" .. object(list)
  end
  groups.components = components[1] and components
  for name, list in pairs(groups) do
    whole[#whole + 1] = json.encode(name) .. ":" .. object(list)
  end
  return object(whole)
end

--- The text of a document with one path item and everything it refers to.
---@param read fun(from: integer, to: integer): string?  bytes of the document
---@param found operations.sources.DocumentParts
---@param path string  key of the path item
---@return string? text  nil: the document has no such path, or cannot be read
function openapi_documents.cut(read, found, path)
  local first = "#/paths/" .. json_pointer.escape(path)
  local texts, wanted = {}, { first }
  while #wanted > 0 do
    local pointer = table.remove(wanted)
    local place = found.parts[pointer]
    local text = place and read(place[1], place[2])
    if not text then
      return nil
    end
    texts[pointer] = text
    each_reference(found.parts, text, function(other)
      if not texts[other] then
        texts[other] = ""
        wanted[#wanted + 1] = other
      end
    end)
  end
  return compose(read, found, texts)
end

-- Loading.

local function is_url(place)
  return place:find("^https?://") ~= nil
end

--- The configuration of the adapter.
---@param source operations.sources.Source
---@return operations.openapi.Config
function openapi_documents.config(source)
  local given = members.merged(source.config, source.call)
  if next(given.api_keys) then
    given.auth = members.merged({ given.auth }, given.api_keys)
  end
  given.oauth, given.connection, given.api_keys, given.env_allow = nil, nil, nil, nil
  given.http = source_options.client(source.config.connection, given.http or http) or given.http
  return given
end

-- The same for a document of the cache, which is patched before it is stored.
local function config_of_cached(source, location)
  local config = openapi_documents.config(source)
  config.location, config.patch = location, nil
  return config
end

-- Fetching.

local function status_error(place, reply)
  local hint = (reply.status == 401 or reply.status == 403)
    and "; --document-header 'Authorization: Bearer env:TOKEN' gives it credentials" or ""
  return errors.new("EXECUTION_ERROR", ("%s: answered %d instead of an OpenAPI document%s"):format(url.redact(place),
    reply.status, hint), { kind = "status", location = url.redact(place) })
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

-- Caching.

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
    text = assert(json.encode(root, { keep_order = true }))
  end
  local found = openapi_documents.parts(text)
  local config = config_of_cached(source, meta.location)
  local definitions, report = from_openapi.document(root, config)
  if not definitions then
    return nil, report
  end
  cache.write_definitions(source, definitions, meta, { { name = "document", bytes = text },
    { name = "parts", bytes = found and assert(json.encode(found)) or "null" } })
  return { definitions = definitions, report = report }
end

--- The current cached entry of a source.
---@param source operations.sources.Source
---@param options { face: operations.sources.Face, refresh?: boolean }
---@return operations.sources.CacheEntry? held
---@return operations.Error? err
---@return { definitions: operations.Definition[], report: operations.openapi.Problem[] }? loaded  when the document was
---  read now; alone, when it cannot be cached
function openapi_documents.open(source, options)
  local key = cache.key(source)
  local held, is_current = cache.current(source)
  if is_current and not options.refresh then
    return held
  end
  local text, meta
  if is_url(source.place) then
    text, meta = fetch(source, not options.refresh and held or nil, options.face)
  else
    text, meta = cache.file(source)
  end
  if text == true then
    cache.check(key)
    return held
  elseif not text and held and is_url(source.place) and not options.refresh then
    options.face.notice("%s cannot be asked for news: using its document of %s", source.shown,
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
  local text = type(found) == "table" and openapi_documents.cut(function(from, to)
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
function openapi_documents.definitions(source, held, item)
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

-- The text of a document without its operations, as a table: servers, security.
local function root_of(source, held)
  local found = held and json.decode(held:read("parts") or "null")
  if type(found) == "table" then
    return json.decode(compose(function(from, to) return held:read("document", from, to) end, found, {}))
  elseif held then
    return document.parse(held:read("document") or "", source.shown)
  end
  local text, meta = cache.file(source)
  if not text then
    return nil, meta
  end
  return document.parse(text, meta.location)
end

--- The definition of an operation that a document does not have, at its server and with its credentials.
---@param source operations.sources.Source
---@param operation { method: string, path: string, names: string[], has_body: boolean }  names of a query
---@param options { face: operations.sources.Face, refresh?: boolean }
---@return operations.Definition[]? definitions
---@return any err
function openapi_documents.added(source, operation, options)
  local held, err
  if source.name or is_url(source.place) then
    held, err = openapi_documents.open(source, options)
  end
  local root
  if not err then
    root, err = root_of(source, held)
  end
  if type(root) ~= "table" then
    return nil, err
  end
  local is_old, parameters = root.swagger ~= nil, {}
  for i, name in ipairs(operation.names) do
    parameters[i] = { name = name, ["in"] = "query", schema = not is_old and {} or nil }
  end
  local item = { operationId = "request", parameters = parameters, responses = { default = { description = "" } } }
  if operation.has_body and is_old then
    parameters[#parameters + 1] = { name = "body", ["in"] = "body", schema = {} }
  elseif operation.has_body then
    item.requestBody = { content = { ["application/json"] = { schema = {} } } }
  end
  local schemes = is_old and root.securityDefinitions
    or type(root.components) == "table" and root.components.securitySchemes
  if root.security == nil and type(schemes) == "table" then
    item.security = marked.array({ marked.object() }) -- no credentials, unless there are some
    for _, name in ipairs(members.names(schemes)) do
      table.insert(item.security, 1, { [name] = marked.array() })
    end
  end
  root.paths = { [operation.path] = { [operation.method:lower()] = item } }
  return from_openapi.document(root, config_of_cached(source, held and held.meta.location or source.place))
end

return openapi_documents
