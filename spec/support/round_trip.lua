--- Compares a registry with the one that `from_openapi` makes of its document: both are served and called over HTTP.
local core = require("operations.core")
local instance = require("spec.support.instance")
local json = require("operations.base.json")
local operations = require("operations")
local random_schema = require("spec.support.random_schema")
local schemas = require("operations.schema")

local round_trip = {}

local Trip = {}
Trip.__index = Trip

--- Serves definitions, or a registry.
---@param given table
---@param options? operations.HttpOptions
function round_trip.of(given, options)
  local registry = given
  if not given.execute then
    registry = operations.registry({ log = function() end })
    assert(registry:register_all(given))
  end
  options = options or {}
  options.log = function() end
  local server = assert(operations.to_http(registry, options))
  local listener = assert(server:listen({ port = 0 }))
  return setmetatable({ registry = registry, server = server, options = options,
    url = "http://127.0.0.1:" .. listener.port, opened = { server } }, Trip)
end

function Trip:close()
  for _, server in ipairs(self.opened) do
    server:close()
  end
end

function Trip.text(_, server, version)
  return assert(json.encode(server:openapi(version), { sort_keys = true, max_depth = 2000 }))
end

--- The registry that the document gives.
function Trip:read(version)
  local document = assert(json.decode(self:text(self.server, version), { max_depth = 2000 }))
  local registry = operations.registry()
  local definitions, report = operations.from_openapi.document(document,
    { base_url = self.url, trust_extension = true })
  self.report = report
  assert(registry:register_all(assert(definitions, report)))
  return registry
end

local function by_id(registry)
  local found, list, flaws = {}, registry:specs()
  assert(#flaws == 0, tostring(flaws[1]))
  for _, spec in ipairs(list) do
    if not (spec._meta and spec._meta.exposed == false) then
      found[spec.namespace .. "." .. spec.name] = spec
    end
  end
  return found
end

-- What schemas are is told by what they accept.
local same = { "namespace", "name", "version", "type", "title", "tags", "accessControl" }

local function errors_of(spec)
  local found = {}
  for _, entry in ipairs(spec.errorSchemas or {}) do
    found[entry.code] = { entry.description, entry.pattern or false, entry.statusCode or 422 }
  end
  return found
end

local function compile(schema)
  return assert(schemas.compile(schema == nil and true or schema))
end

-- Values that a schema accepts, and mutations of these, and anything.
local function values_for(schema, pick, n)
  local values = {}
  for i = 1, n do
    local ok, value = pcall(instance.of, schema, { optional = i % 2 == 0, items = pick(3) - 1 })
    if ok and i % 3 ~= 0 and type(value) == "table" and core.kind(value) == "object" and i % 2 == 1 then
      value[({ "a", "n", "zzz", "word", "code", "id" })[pick(6)]] = random_schema.value(pick, 1)
    end
    values[i] = (not ok or i % 3 == 0) and random_schema.value(pick, 2) or value
  end
  return values
end

local function compare_verdicts(id, mine, theirs, pick)
  local a, b = compile(mine), compile(theirs)
  for _, value in ipairs(values_for(mine, pick, 12)) do
    if a:check(value) ~= b:check(value) then
      error(("%s: %s is accepted by one only"):format(id, tostring(json.encode(value))))
    end
  end
end

--- All that two registries say of their operations is the same.
function Trip:compare_specs(registry)
  local mine, theirs, pick = by_id(self.registry), by_id(registry), random_schema.generator(3)
  for id in pairs(theirs) do
    assert(mine[id], id .. " is new")
  end
  for id, spec in pairs(mine) do
    local other = assert(theirs[id], id .. " is gone")
    local ours = {}
    local read = {}
    for _, key in ipairs(same) do
      ours[key], read[key] = spec[key], other[key]
    end
    assert(json.encode(ours, { sort_keys = true }) == json.encode(read, { sort_keys = true }),
      id .. ": " .. json.encode(read))
    local a, b = json.encode(errors_of(spec), { sort_keys = true }), json.encode(errors_of(other), { sort_keys = true })
    assert(a == b, id .. ": " .. a .. " " .. b)
    compare_verdicts(id, spec.inputSchema, other.inputSchema, pick)
    compare_verdicts(id, spec.outputSchema, other.outputSchema, pick)
    for _, entry in ipairs(spec.errorSchemas or {}) do
      for _, there in ipairs(other.errorSchemas) do
        if there.code == entry.code then
          compare_verdicts(id .. " " .. entry.code, entry.schema, there.schema, pick)
        end
      end
    end
  end
end

local function path_of(spec)
  local url = require("operations.base.url")
  return "/" .. url.encode(spec.namespace) .. "/" .. url.encode(spec.name)
end

-- The answer to a call, without what differs from one request to the next.
local function answer_of(server, spec, value, authorization)
  local media = type(spec.inputSchema) == "table" and spec.inputSchema.contentMediaType
  local http = spec._meta and spec._meta.http or {}
  local path, method = http.path or path_of(spec), http.method or "POST"
  local target = path:gsub("{id}", "7")
  local body = media and (type(value) == "string" and value or "x") or value ~= nil and json.encode(value) or ""
  if method == "GET" then
    target, body = target .. "?q=" .. #body, ""
  end
  local answer = operations.run(function()
    local response = server:handle({ method = method, target = target, body = body, headers = { host = "localhost",
      authorization = authorization, ["content-type"] = media or "application/json" } })
    local pieces = { type(response.body) == "string" and response.body or nil }
    while type(response.body) == "function" do
      local piece = response.body()
      if not piece then
        break
      end
      pieces[#pieces + 1] = piece
    end
    return { status = response.status, text = table.concat(pieces), type = response.headers["content-type"] }
  end)
  local problem = json.decode(answer.text)
  if answer.status >= 400 then
    problem.requestId = nil
    for _, issue in ipairs(problem.code == "VALIDATION_ERROR" and problem.details or {}) do
      issue.schemaPath = nil
    end
    answer.text = json.encode(problem, { sort_keys = true })
  elseif problem ~= nil then
    answer.text = json.encode(problem, { sort_keys = true })
  end
  return answer
end

--- Calls both registries by HTTP with generated inputs: status, type and body of the answers are the same.
---@param n integer  inputs for each operation
---@param taken? fun(): string?  the input that a handler got in the last call: it is the same, too
function Trip:compare_calls(registry, pick, n, taken)
  taken = taken or function() end
  local server = assert(operations.to_http(registry, self.options))
  self.opened[#self.opened + 1] = server
  local counts = { all = 0, succeeded = 0, failed = 0 }
  for id, spec in pairs(by_id(self.registry)) do
    for _, value in ipairs(spec.type ~= "subscription" and values_for(spec.inputSchema, pick, n) or {}) do
      local mine, first = answer_of(self.server, spec, value), taken()
      local theirs, second = answer_of(server, registry:get_spec(id), value), taken()
      assert(first == second, ("%s with %s:\n%s\n%s"):format(id, tostring(json.encode(value)), first, second))
      local a, b = json.encode(mine, { sort_keys = true }), json.encode(theirs, { sort_keys = true })
      assert(a == b, ("%s with %s:\n%s\n%s"):format(id, tostring(json.encode(value)), a, b))
      counts.all = counts.all + 1
      local kind = mine.status < 300 and "succeeded" or "failed"
      counts[kind] = counts[kind] + 1
    end
  end
  return counts
end

--- What a subscription tells.
function Trip.events(_, registry, id, input, context)
  local subscription = assert(registry:subscribe(id, input, context))
  local told = { data = {}, ids = {} }
  while true do
    local event, err = subscription:next()
    if not event then
      told.code, told.message, told.details = err and err.code, err and err.message, err and err.details
      return told
    end
    told.data[#told.data + 1], told.ids[#told.ids + 1] = event.data, event.meta.lastEventId
  end
end

return round_trip
