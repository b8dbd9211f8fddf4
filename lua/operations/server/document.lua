--- The OpenAPI document of the server: the operations that a caller may see. Cached for callers who may see the same.
local caching = require("operations.server.caching")
local callers = require("operations.server.caller")
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local out = require("operations.openapi.out")
local problem = require("operations.server.problem")
local turn = require("operations.task.turn")

local document = {}

local function entry_of(server, served, denied)
  local route = served.route
  return { spec = route.spec, denied = denied, path = served.path, path_names = served.path_names,
    methods = served.methods, flat = route.flat ~= nil, media = route.media, output_media = route.output_media,
    cache = route.cache and route.cache.given, key_required = route.key_required,
    status = route.status, relay = route.relay, task = server.options.tasks ~= false and route.task or nil,
    status_of = function(declared)
      return problem.status({ code = declared.code }, route)
    end }
end

-- Is an operation in the document of this caller (nil: of everybody)? With the reason, if the caller may not call it.
local function is_seen(server, spec, caller)
  local sight = server.registry:visible(spec.namespace .. "." .. spec.name, caller and caller.identity,
    server.options.filter)
  if sight ~= "denied" or not caller then
    return sight ~= "hidden"
  elseif not caller.denied or server.options.hide_denied then
    return false
  end
  local _, refusal = callers.deny(spec, caller.identity)
  return true, refusal.message
end

-- A function that lets the host's loop run now and then, and raises when the task is cancelled. nil: this code cannot
-- be suspended.
local function pace()
  local take_turn = turn.taker()
  return take_turn and function()
    local stopped = take_turn()
    if stopped then
      error(stopped, 0)
    end
  end
end

local function seen_by(server, caller, go_on)
  local seen, denied, ids = {}, {}, {}
  for _, served in ipairs(server.routes:all(go_on)) do
    local is, reason = is_seen(server, served.route.spec, caller)
    if is then
      seen[#seen + 1] = served
      denied[#seen], ids[#seen] = reason, served.route.id .. " " .. (reason or "")
    end
  end
  table.sort(ids)
  return seen, denied, core.sha256(table.concat(ids, "\n"))
end

-- The authorization servers, where `authorize` is a resource server.
local function authority_of(authorize)
  if type(authorize) == "table" and type(authorize.issuer) == "string" then
    return { issuer = authorize.issuer, endpoints = authorize.endpoints }
  end
end

local function make(server, version, seen, denied, outer_prefix, go_on)
  local options, entries = server.options, {}
  local given = options.openapi or {}
  for i, served in ipairs(seen) do
    entries[i] = entry_of(server, served, denied[i])
  end
  return out.document(entries, { version = version, info = given.info, servers = given.servers,
    prefix = (outer_prefix or "") .. options.prefix, authorized = options.authorize and true or false,
    scheme = type(options.authorize) == "table" and options.authorize.scheme or nil,
    anonymous = options.anonymous, authority = authority_of(options.authorize), go_on = go_on })
end

--- The document as a table.
---@param server operations.Server
---@param version "3.0"|"3.1"|"3.2"
---@param caller? { identity: operations.Identity?, denied: boolean? }  nil: everything that is served
---@return table
function document.of(server, version, caller)
  local seen, denied = seen_by(server, caller)
  return make(server, version, seen, denied)
end

-- Texts are cached for one revision of the registry.
local function kept_of(server)
  local revision, kept = server.registry:revision(), server._documents
  if not kept or kept.revision ~= revision then
    kept = { revision = revision, count = 0, texts = {} }
    server._documents = kept
  end
  return kept
end

local function text_of(server, version, caller, outer_prefix)
  local go_on = pace()
  local kept, seen, denied, key = kept_of(server), seen_by(server, caller, go_on)
  key = version .. key .. (outer_prefix or "")
  local found = kept.texts[key]
  if not found then
    local text = assert(json.encode(make(server, version, seen, denied, outer_prefix, go_on),
      { keep_order = true, max_depth = limits.document_depth }))
    found = { text = text, tag = caching.tag_of(text) }
    if kept.count < limits.documents then
      kept.count, kept.texts[key] = kept.count + 1, found
    end
  end
  return found
end

local versions = members.set({ "3.0", "3.1", "3.2" })

-- Reads the query: the version, and whether denied operations are listed as well. nil: the query is wrong.
local function read_query(query)
  local version, denied
  for pair in (query or ""):gmatch("[^&]+") do
    local named = pair:match("^version=(.*)$")
    if not version and versions[named or ""] then
      version = named
    elseif pair == "denied=true" and not denied then
      denied = true
    else
      return nil
    end
  end
  return version or "3.1", denied or false
end

--- The answer to an admitted request for the document; nil: the query is wrong.
---@param server operations.Server
---@param request operations.ServerRequest
---@param query? string
---@param identity? operations.Identity
---@return operations.ServerResponse?
function document.answer(server, request, query, identity)
  local version, denied = read_query(query)
  if not version then
    return nil
  end
  local found = text_of(server, version, { identity = identity, denied = denied }, request.outer_prefix)
  local headers = { ["content-type"] = "application/json", ["cache-control"] = "private, no-cache",
    etag = found.tag, vary = server.options.authorize and "Authorization" or nil }
  if caching.has_tag(request.headers["if-none-match"], found.tag) then
    return { status = 304, headers = headers, body = "" }
  end
  return { status = 200, headers = headers, body = found.text }
end

return document
