--- The paths of operations on the server: `{prefix}/{namespace}/{name}`, or the path that `_meta.http` names. Changes
--- of the registry take effect with the next request.
local caching = require("operations.server.caching")
local errors = require("operations.base.error")
local input_reader = require("operations.server.input_reader")
local layout = require("operations.server.layout")
local relaying = require("operations.server.relaying")
local request_head = require("operations.server.request_head")

local route = {}

-- And GET and HEAD, if a query string can carry the input.
local methods_of = { query = { "QUERY", "POST" }, mutation = { "POST" }, subscription = { "QUERY", "POST" } }

--- One operation at one path.
---@class operations.Route
---@field id string
---@field kind "query"|"mutation"|"subscription"
---@field spec operations.Spec
---@field imported boolean  its handler calls another server
---@field flat? operations.Flat  how a query string becomes its input; nil: it cannot
---@field media? string  the input is a body of this media type
---@field output_media? string  and so is the output
---@field names table<integer, string>  of the parameters of its path, by the number of their segment
---@field path operations.Flat  how these become members of the input
---@field takes_context boolean
---@field status? integer  of an answer that succeeds, where the handler gives none
---@field key_required? boolean  requests have to have an Idempotency-Key
---@field task? "optional"|"required"|"late"  calls may be, or have to be, jobs
---@field cache? operations.CachePolicy  what caches may do with answers to GET
---@field relay? operations.openapi.Plan  it is served as its own document says

--- The routes of one path, by method.
---@class operations.Place
---@field methods table<string, operations.Route>
---@field allow string  as the header says it
---@field public boolean  everybody sees what is there, and may call it

---@class operations.Routes
local Routes = {}
Routes.__index = Routes

-- The media type of a schema whose values are raw bodies; nil for other schemas.
local function media_of(schema)
  if type(schema) == "table" and schema.type == "string" and type(schema.contentMediaType) == "string"
    and schema.contentEncoding == nil then
    return schema.contentMediaType
  end
end

local function build(self)
  local tree, flaws = {}, {}
  for _, spec in ipairs(self._registry:specs({ schemas = false })) do
    flaws[#flaws + 1] = layout.add(tree, spec, self._options)
  end
  self._tree, self._flaws = tree, flaws
end

local function make_route(self, entry)
  local spec, flaw = self._registry:get_spec(entry.id)
  if not spec then
    return nil, flaw
  end
  local kind, _, looks = self._registry:type_of(entry.id)
  if layout.given(spec).idempotencyKey and media_of(spec.outputSchema) then
    return nil, errors.new("VALIDATION_ERROR", entry.id .. ": answers that are bytes cannot be kept by Idempotency-Key")
  end
  local source = type(spec._meta) == "table" and spec._meta.source
  return {
    id = entry.id, kind = kind, spec = spec, takes_context = looks,
    imported = source == "openapi" or source == "graphql" or source == "mcp"
      or self._registry:get_handler(entry.id) == nil,
    media = media_of(spec.inputSchema), output_media = media_of(spec.outputSchema),
    flat = input_reader.compile(spec.inputSchema, entry.names), names = entry.names,
    path = input_reader.of_members(spec.inputSchema, entry.names),
    relay = entry.is_source and relaying.plan(self._registry, entry.id) or nil,
    task = kind ~= "subscription" and not entry.is_source and type(spec._meta) == "table" and spec._meta.task or nil,
    key_required = layout.given(spec).idempotencyKey == "required", status = layout.given(spec).status,
    cache = kind == "query" and caching.policy(layout.given(spec).cache) or nil,
  }
end

-- The methods of an operation that names none. Tools of MCP servers are called by POST only: their annotations cannot
-- be relied upon.
local function add_methods(methods, made)
  for _, method in ipairs(made.spec._meta and made.spec._meta.source == "mcp" and methods_of.mutation
    or methods_of[made.kind]) do
    methods[method] = made
  end
  if methods.QUERY and made.flat then
    methods.GET, methods.HEAD = made, made
  end
end

-- May everybody call these operations? A filter function may answer differently each time.
local function is_public(self, methods)
  local filter = self._options.filter
  for _, made in pairs(methods) do
    if type(filter) == "function" or self._registry:visible(made.id, nil, filter) ~= "yes" then
      return false
    end
  end
  return true
end

--- The value of the header Allow.
---@param methods table<string, operations.Route>
---@return string
function route.allow(methods)
  local names = { "OPTIONS" }
  for method in pairs(methods) do
    names[#names + 1] = method
  end
  table.sort(names)
  return table.concat(names, ", ")
end

-- Completes a place when it is first needed: schemas are read then.
local function finish(self, place)
  local methods = {}
  for method, entry in pairs(place.methods) do
    local made, flaw = make_route(self, entry)
    if not made then
      return nil, flaw
    elseif method == "*" then
      add_methods(methods, made)
    elseif (method == "GET" or method == "HEAD") and not made.flat and not made.relay then
      self._options.log("warn", ("not served: the input of %s does not fit in a query string, as its method %s needs")
        :format(made.id, method))
    else
      methods[method] = made
      methods.HEAD = method == "GET" and made or methods.HEAD
    end
  end
  return { methods = methods, allow = route.allow(methods), public = is_public(self, methods) }
end

-- Builds the tree again: the registry has changed.
local function refresh(self)
  self._stale, self._by_path, self._made, self._of = false, {}, {}, {}
  build(self)
  for _, flaw in ipairs(self._flaws) do
    self._options.log("warn", "not served: " .. flaw.message)
  end
end

--- Finds the routes of a path below the prefix.
---@param path string  raw
---@return operations.Place? place
---@return table<integer, string>|operations.Error? values  of the path's parameters, by the number of their segment; or
---  why its schemas cannot be made
function Routes:find(path)
  if self._stale then
    refresh(self)
  end
  local place = self._by_path[path]
  if place then
    return place
  end
  local segments, values = request_head.segments(path), {}
  local found = segments and layout.find(self._tree, segments, values)
  if not found or next(found.methods) == nil then
    return nil
  end
  place = self._made[found]
  if not place then
    local flaw
    place, flaw = finish(self, found)
    if not place then
      return nil, flaw
    end
    self._made[found] = place
    if next(values) == nil and not path:find("%", 1, true) then
      self._by_path[path] = place
    end
  end
  return place, values
end

--- How an operation is served, wherever its path is.
---@param id string
---@return operations.Route?
function Routes:of(id)
  if self._stale then
    refresh(self)
  end
  self._of[id] = self._of[id] or make_route(self, { id = id, names = {} })
  return self._of[id]
end

-- The operations at a complete place, each with its methods.
local function methods_by_id(finished)
  local found = {}
  for method, made in pairs(finished.methods) do
    found[made.id] = found[made.id] or { route = made, methods = {} }
    found[made.id].methods[method] = true
  end
  return found
end

--- An operation as it is served.
---@class operations.Served
---@field route operations.Route
---@field path string  below the prefix: "/tasks/{id}"
---@field path_names string[]  names of its parameters
---@field methods table<string, true>

--- All operations that have a path, in no particular order.
---@param go_on? fun()  called between two places, whose schemas may have to be made
---@return operations.Served[]
function Routes:all(go_on)
  if self._stale then
    refresh(self)
  end
  local list = {}
  layout.each_place(self._tree, function(node, path)
    local place, flaw = self._made[node], nil
    if go_on then
      go_on()
    end
    if not place then
      place, flaw = finish(self, node)
      self._made[node] = place
    end
    if flaw then
      self._options.log("warn", "not in the document: " .. flaw.message)
    end
    for _, found in pairs(place and methods_by_id(place) or {}) do
      local names, segments = {}, {}
      for at, segment in ipairs(path) do
        names[#names + 1] = found.route.names[at]
        segments[at] = segment ~= 0 and segment
      end
      list[#list + 1] = { route = found.route, methods = found.methods, path_names = names,
        path = layout.path(segments, found.route.names) }
    end
  end)
  return list
end

-- Learns when the registry changes. The registry holds the routes weakly.
local function follow(self, registry)
  local weak, stop = setmetatable({ self }, { __mode = "v" }), nil
  stop = registry:on_revision(function()
    if weak[1] then
      weak[1]._stale = true
    else
      stop()
    end
  end)
end

---@class operations.RouteOptions
---@field prefix string
---@field paths? "source"  operations of OpenAPI documents keep their paths
---@field filter? operations.Filter|function
---@field keeps_jobs? boolean  paths of jobs belong to the server
---@field keeps_answers? boolean  requests may have an Idempotency-Key
---@field log fun(level: string, message: string)

--- Lays out the operations of a registry.
---@param registry operations.Registry
---@param options operations.RouteOptions
---@return operations.Routes?
---@return operations.Error? err  VALIDATION_ERROR: paths that are reserved or given twice
function route.new(registry, options)
  local self = setmetatable({ _registry = registry, _options = options, _by_path = {}, _made = {}, _of = {},
    _stale = false }, Routes)
  follow(self, registry)
  build(self)
  if #self._flaws > 0 then
    return nil, errors.new("VALIDATION_ERROR", self._flaws[1].message, self._flaws)
  end
  return self
end

return route
