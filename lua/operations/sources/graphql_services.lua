--- Caches the schemas of GraphQL services between calls, and their operations. A file is current until it changes; a
--- service is asked again after a day. While the hash of its schema is the same, the list of its operations is kept.
local cache = require("operations.sources.cache")
local core = require("operations.core")
local documents = require("operations.graphql.documents")
local entry = require("operations.sources.entry")
local from_graphql = require("operations.graphql")
local graphql_config = require("operations.graphql.config")
local hexadecimal = require("operations.base.hexadecimal")
local http = require("operations.net.http")
local introspection = require("operations.graphql.introspection")
local json = require("operations.base.json")
local members = require("operations.base.members")
local source_options = require("operations.sources.options")

local graphql_services = {}

local function is_url(place)
  return place:find("^https?://") ~= nil
end

local function is_service(place)
  return is_url(place) and not introspection.is_file(place)
end

-- Keys by the name of their header.
local function auth_of(config)
  local forms = { config.auth }
  for _, name in ipairs(members.names(config.api_keys)) do
    forms[#forms + 1] = { type = "apiKey", name = name, token = config.api_keys[name] }
  end
  return forms[2] and forms or forms[1]
end

local connection_options = { "ca_file", "cert_file", "key_file", "proxy", "retry", "unix_socket" }

--- The configuration of the adapter.
---@param source operations.sources.Source
---@return operations.graphql.Config
function graphql_services.config(source)
  local given, call = source.config, source.call or {}
  local config = { namespace = given.namespace, auth = auth_of(given), headers = given.headers, files = given.files,
    validate = given.validate, subscriptions = given.subscriptions, documents = given.documents,
    redirect_all = given.redirect_all, max_body = call.max_body,
    endpoint = given.base_url or is_service(source.place) and source.place or nil }
  for _, name in ipairs(connection_options) do
    config[name] = given.connection[name]
  end
  config.http = source_options.client(given.connection, call.http or http) or call.http
  return config
end

-- The schema as text: SDL, or the JSON of an introspection answer.
local function ask(source, options)
  source_options.reveal(source)
  options.face.progress("asking " .. source.shown .. " for its schema")
  local result, err = introspection.fetch(source.place, graphql_config.check(graphql_services.config(source)))
  if not result then
    return nil, err
  end
  return type(result) == "string" and result or assert(json.encode(result, { sort_keys = true })), {}
end

-- The definitions of a cached schema.
local function definitions_of(source, text)
  local is_json = is_service(source.place) or source.place:find("%.json$")
  return from_graphql.document(is_json and json.decode(text) or text, graphql_services.config(source))
end

-- Caches a schema that is new.
local function take(source, text, meta)
  local definitions, report
  if is_url(source.place) then
    definitions, report = definitions_of(source, text)
  else
    definitions, report = from_graphql.file(source.place, graphql_services.config(source))
  end
  if not definitions then
    return nil, report
  end
  if source.name or is_url(source.place) then
    cache.write_definitions(source, definitions, meta, { { name = "schema", bytes = text } })
  end
  return { definitions = definitions, report = report }
end

local function digest(text)
  return hexadecimal.of(core.sha256(text))
end

-- The digest of the documents of a source, whose operations are in the list; nil without any.
local function digest_of_documents(source)
  local list, err = documents.list(source.config.documents or {})
  local texts = {}
  for i, each in ipairs(list or texts) do
    texts[i] = each.path .. "\n" .. each.text
  end
  return texts[1] and digest(table.concat(texts, "\0")) or nil, err
end

-- The text of a schema: of the cache where only documents have changed.
local function text_of(source, held, options)
  if held then
    return held:read("schema"), { version = held.meta.version }
  elseif is_url(source.place) then
    return ask(source, options)
  end
  return cache.file(source)
end

--- The current cached entry of a source.
---@param source operations.sources.Source
---@param options { face: operations.sources.Face, refresh?: boolean }
---@return operations.sources.CacheEntry? held
---@return operations.Error? err
---@return { definitions: operations.Definition[], report: table }? loaded  when the schema was read now; alone, when it
---  cannot be cached
function graphql_services.open(source, options)
  local held, is_current = cache.current(source)
  local listed, wrong = digest_of_documents(source)
  is_current = is_current and not options.refresh
  if wrong then
    return nil, wrong
  elseif is_current and held.meta.documents == listed then
    return held
  end
  local text, meta = text_of(source, is_current and held, options)
  if not text and held and is_url(source.place) and not options.refresh then
    options.face.notice("%s cannot be asked for news: using its schema of %s", source.shown,
      os.date("%Y-%m-%d", held.checked))
    return held
  elseif not text then
    return nil, meta
  end
  meta.hash, meta.documents = digest(text), listed
  if held and held.meta.hash == meta.hash and held.meta.version == meta.version and held.meta.documents == listed then
    cache.check(cache.key(source))
    return held
  end
  local loaded, err = take(source, text, meta)
  if not loaded then
    return nil, err
  end
  return cache.open(cache.key(source)), nil, loaded
end

--- The definitions of a source: one operation, or all.
---@param source operations.sources.Source
---@param options { face: operations.sources.Face, refresh?: boolean, id?: string }
---@return operations.Definition[]? definitions
---@return any report  or the error; nil: it was reported before
function graphql_services.definitions(source, options)
  local held, err, loaded = graphql_services.open(source, options)
  if err then
    return nil, err
  elseif loaded then
    return loaded.definitions, loaded.report
  end
  local definitions
  definitions, err = definitions_of(source, held:read("schema") or "")
  local found = definitions and options.id and entry.find(options.id, cache.entries(source) or {}) or {}
  for _, definition in ipairs(#found == 1 and definitions or {}) do
    if definition.namespace .. "." .. definition.name == found[1].id then
      return { definition }
    end
  end
  return definitions, not definitions and err or nil
end

return graphql_services
