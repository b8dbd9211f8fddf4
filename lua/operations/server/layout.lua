--- The layout of an HTTP API: the path and method of each operation, and why an operation cannot have them.
local caching = require("operations.server.caching")
local members = require("operations.base.members")
local request_head = require("operations.server.request_head")
local url = require("operations.base.url")

local layout, none = {}, {}

-- First segments, below the prefix, that belong to the server itself.
local reserved = { docs = true, ["openapi.json"] = true, mcp = true, healthz = true, readyz = true, metrics = true,
  [".well-known"] = true }

local known = { GET = true, HEAD = true, QUERY = true, POST = true, PUT = true, PATCH = true, DELETE = true }

--- The HTTP settings of a spec, its `_meta.http`.
---@param spec operations.Spec
---@return table
function layout.given(spec)
  return type(spec._meta) == "table" and type(spec._meta.http) == "table" and spec._meta.http or {}
end

-- Paths are a tree of their segments. A node has its children by segment; key 0 is the child for a parameter, key 1 the
-- place of the path that ends at the node, key 2 the list of children for segments with a parameter and literal text.

--- A segment of a path with parameters and literal text, such as "{id}.json".
---@class operations.MixedSegment
---@field text string
---@field pattern string

-- The child for such a segment; made if it does not exist. More literal text goes first.
local function mixed_child(node, segment)
  node[2] = node[2] or {}
  for _, child in ipairs(node[2]) do
    if child.pattern == segment.pattern then
      return child.node
    end
  end
  local made = { pattern = segment.pattern, text = segment.text, node = {} }
  table.insert(node[2], made)
  table.sort(node[2], function(a, b)
    return #a.pattern > #b.pattern or #a.pattern == #b.pattern and a.pattern < b.pattern
  end)
  return made.node
end

--- The place of a path; made if it does not exist.
---@param tree table
---@param segments (string|false|operations.MixedSegment)[]  false: a parameter
---@return { methods: table }
function layout.grow(tree, segments)
  local node = tree
  for _, segment in ipairs(segments) do
    if type(segment) == "table" then
      node = mixed_child(node, segment)
    else
      local key = segment or 0 -- a parameter
      node[key] = node[key] or {}
      node = node[key]
    end
  end
  node[1] = node[1] or { methods = {} }
  return node[1]
end

--- The text of a path.
---@param segments (string|false)[]  false: a parameter
---@param names table<integer, string>  of the parameters
---@return string
function layout.path(segments, names)
  local texts = {}
  for i, segment in ipairs(segments) do
    texts[i] = type(segment) == "table" and segment.text or segment and url.encode(segment) or "{" .. names[i] .. "}"
  end
  return "/" .. table.concat(texts, "/")
end

-- Finds the place of decoded segments and the values of its parameters. Literal segments take precedence over
-- parameters.
local function walk(node, segments, at, values)
  local segment = segments[at]
  if segment == nil then
    return node[1]
  end
  local found = node[segment] and walk(node[segment], segments, at + 1, values)
  for _, child in ipairs(not found and segment ~= "" and node[2] or none) do
    found = not found and segment:find(child.pattern) and walk(child.node, segments, at + 1, values) or found
  end
  if not found and node[0] and segment ~= "" then
    values[at] = segment
    found = walk(node[0], segments, at + 1, values)
  end
  return found
end

--- Finds the place of a path.
---@param tree table
---@param segments string[]  decoded
---@param values table<integer, string>  gets the values of parameters, by the number of their segment
---@return { methods: table }?
function layout.find(tree, segments, values)
  return walk(tree, segments, 1, values)
end

-- Every place below a node, with the segments that lead there: 0 for a parameter, tables for mixed ones.
local function visit_below(node, path, visit)
  for key, child in pairs(node) do
    if key == 1 then
      visit(child, path)
    elseif key == 2 then
      for _, mixed in ipairs(child) do
        visit_below(mixed.node, members.joined(path, { mixed }), visit)
      end
    else
      visit_below(child, members.joined(path, { key }), visit)
    end
  end
end

--- Visits every place of a tree, in no certain order.
---@param tree table
---@param visit fun(place: { methods: table }, path: (string|integer|operations.MixedSegment)[])  `path`: its segments,
---  0 for a parameter
function layout.each_place(tree, visit)
  visit_below(tree, {}, visit)
end

-- A segment with parameters and literal text; nil for others.
local function mixed(segment)
  if segment:find("{[^{}]+}") then
    local pattern = segment:gsub("{[^{}]+}", "\0"):gsub("[^%w%z]", "%%%0"):gsub("%z", ".+")
    return { text = segment, pattern = "^" .. pattern .. "$" }
  end
end

local function segments_of(spec, options)
  local http = layout.given(spec)
  local path, method, is_source = http.path, http.method, false
  if not path and options.paths == "source" and spec._meta and spec._meta.source == "openapi" then
    path, method, is_source = spec._meta.path, spec._meta.method, true
  end
  if not path then
    return { spec.namespace, spec.name }, {}, method
  end
  local segments, names = {}, {}
  path = is_source and path:gsub("[?#].*$", "") or path
  for segment in path:gmatch("/([^/]*)") do
    local name = segment:match("^{([^{}]+)}$")
    segments[#segments + 1] = not name and (is_source and mixed(segment) or request_head.decode(segment) or segment)
    names[#segments] = name
  end
  return segments, names, method, is_source
end

-- Could a path be that of a job (`respond_async`)?
local function is_job(segments)
  return segments[1] == "jobs" and segments[2] == false and (segments[3] == nil or segments[3] == "result")
    and segments[4] == nil
end

-- Why an operation cannot have this path and method; nil if it can.
local function flaw_of(place, spec, segments, names, method, options)
  local id, path = spec.namespace .. "." .. spec.name, options.prefix .. layout.path(segments, names)
  if options.keeps_jobs and is_job(segments) then
    return { path = "/_meta/http/path", keyword = "reserved",
      message = ("%s: the path %s belongs to the server's jobs; tasks = false leaves them out"):format(id, path) }
  elseif type(segments[1]) == "string" and reserved[segments[1]] then
    return { path = "/_meta/http/path", keyword = "reserved",
      message = ("%s: the path %s belongs to the server; _meta.http.path gives another"):format(id, path) }
  elseif method and not known[method] then
    return { path = "/_meta/http/method", keyword = "enum",
      message = ("%s: GET, QUERY, POST, PUT, PATCH or DELETE expected, got %q"):format(id, tostring(method)) }
  end
  for other, taken in pairs(place.methods) do
    if not method or not taken.method or other == method then
      return { path = "/_meta/http/path", keyword = "unique",
        message = ("%s: the path %s is that of %s already"):format(id, path, taken.id) }
    end
  end
end

-- Operations that are not exposed take no path.
local function is_internal(spec)
  return type(spec._meta) == "table" and spec._meta.exposed == false
end

-- Checks `_meta.http.idempotencyKey`.
local function key_flaw(spec, options)
  local wanted = layout.given(spec).idempotencyKey
  local message = wanted ~= nil and (wanted ~= "required" and "\"required\" expected"
    or (spec.type or "mutation") ~= "mutation" and "only mutations have keys"
    or not options.keeps_answers and "the server has no option `idempotency`")
  return message and { path = "/_meta/http/idempotencyKey", keyword = "const",
    message = ("%s.%s: _meta.http.idempotencyKey: %s"):format(spec.namespace, spec.name, message) } or nil
end

-- Checks `_meta.http.status`: a status of an answer with a body.
local function status_flaw(spec)
  local status = layout.given(spec).status
  if status == nil or type(status) == "number" and status % 1 == 0 and status >= 200 and status <= 299
    and (status < 204 or status > 206) and spec.type ~= "subscription" then
    return nil
  end
  return { path = "/_meta/http/status", keyword = "enum", message = ("%s.%s: _meta.http.status: 200 to 203 or 207 to "
    .. "299 expected, and no subscription, got %s"):format(spec.namespace, spec.name, tostring(status)) }
end

--- Gives an operation its path in a tree (`server/layout.lua`).
---@param tree table
---@param spec operations.Spec
---@param options operations.RouteOptions
---@return operations.Issue? flaw  why it cannot have that path
function layout.add(tree, spec, options)
  if is_internal(spec) then
    return nil
  end
  local path = layout.given(spec).path
  if path ~= nil and not request_head.is_template(path) then
    return { path = "/_meta/http/path", keyword = "format",
      message = ("%s.%s: a path such as \"/tasks/{id}\" expected, got %q"):format(spec.namespace, spec.name,
        tostring(path)) }
  end
  local flaw = caching.flaw(spec, layout.given(spec).cache) or key_flaw(spec, options)
    or status_flaw(spec)
  if flaw then
    return flaw
  end
  local segments, names, method, is_source = segments_of(spec, options)
  local place = layout.grow(tree, segments)
  if is_source and spec.type == "subscription" and place.methods[method] then
    return nil -- the operation whose answer may be a stream relays both
  end
  flaw = flaw_of(place, spec, segments, names, method, options)
  if flaw then
    return flaw
  end
  local id = spec.namespace .. "." .. spec.name
  place.methods[method or "*"] = { id = id, method = method, segments = #segments, names = names,
    is_source = is_source }
end

return layout
