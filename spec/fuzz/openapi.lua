--- OpenAPI documents with strange values in any place: read as far as they go, every operation that comes of them can
--- be described and called, with any input and any answer, and fails only by an error object.
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local mutate = require("spec.fuzz.mutate")
local operations = require("operations")
local random = require("spec.support.random")
local samples = require("spec.support.openapi_samples")
local support = require("spec.support.openapi")

local MAX_EVENTS = 1000

local documents = { samples.openapi, samples.swagger }
local words = {
  "$ref", "#/components/schemas/Pet", "#/definitions/Pet", "#/paths/~1b", "#", "get", "post", "query", "parameters",
  "name", "in", "path", "header", "cookie", "body", "formData", "schema", "type", "object", "array", "string",
  "integer",
  "null", "items", "properties", "required", "allOf", "oneOf", "discriminator", "mapping", "content",
  "application/json",
  "multipart/form-data", "application/x-www-form-urlencoded", "text/event-stream", "*/*", "style", "deepObject", "form",
  "explode", "simple", "encoding", "headers", "responses", "200", "default", "2XX", "servers", "url",
  "http://{host}/{p}",
  "variables", "security", "securitySchemes", "oauth2", "apiKey", "http", "flows", "links", "callbacks", "x-other",
  "/a/{id}", "{id}", "3.0.3", "2.0", "3.2.0", "id", "f", "q", "format", "binary", "nullable", "const", "enum",
  "pattern",
}
local inputs = {
  '{"id": 1, "q": ["a"], "j": {"a": 1}, "body": {"id": 1, "f": "x", "kids": [{"id": 2}]}}', '{"id": "a b/c", "f": "x"}',
  '{"b": {"id": 1}, "q": [1, 2], "f": {"data": "x", "filename": "a"}, "g": ["x", "y"]}', "{}",
}
local bodies = { '{"id": 1, "kids": []}', '["a"]', "x", 'data: {"data": "x"}\n\n', "", '{"id": null, "error": "no"}' }
local types = { "application/json", "text/event-stream", "application/problem+json", "text/plain", "*/*", ";" }

local function reply()
  local body = random.chance(50) and random.pick(bodies) or mutate.json({ bodies[1] }, words)
  return {
    status = random.pick({ 200, 200, 201, 204, 302, 404, 500 }), body = body, chunks = { body },
    headers = { ["content-type"] = random.chance(80) and random.pick(types) or nil },
  }
end

local function check_outcome(result, err, what)
  assert(result ~= nil or operations.is_error(err), what .. " fails without an error object")
end

local function call(registry, id, kind)
  local input = json.decode(mutate.json(inputs, words))
  if kind ~= "subscription" then
    local envelope, err = registry:execute(id, input)
    return check_outcome(envelope, err, id)
  end
  local subscription, err = registry:subscribe(id, input)
  check_outcome(subscription, err, id)
  for _ = 1, subscription and MAX_EVENTS or 0 do
    local event, why = subscription:next()
    if event == nil then
      assert(why == nil or operations.is_error(why), why)
      return
    end
  end
  assert(not subscription, "a stream without end")
end

local function use(definitions, config)
  local registry = operations.registry({ log = function() end, on_warning = function() end })
  local ids, err = registry:register_all(definitions)
  assert(ids or not config.eager, tostring(err))
  assert(ids or operations.is_error(err))
  for i, id in ipairs(ids or {}) do
    call(registry, id, definitions[i].type)
  end
end

return {
  make = function()
    return random.upto(1000000) .. " " .. mutate.json(documents, words)
  end,
  run = function(input)
    local seed, text = input:match("^(%d+) (.*)$")
    local document = text and json.decode(text)
    if type(document) ~= "table" or document == json.null then
      return
    end
    random.seed(tonumber(seed))
    local config = { eager = random.chance(50), base_url = random.chance(50) and "http://x.test" or nil }
    local api = support.api(marked.object(document), config, reply)
    check_outcome(api.definitions, api.report, "the document")
    if api.definitions then
      use(api.definitions, config)
    end
  end,
}
