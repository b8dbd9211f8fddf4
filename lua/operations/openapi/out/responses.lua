--- The responses of an operation: its data, its stream, and problems (RFC 9457) by status.
local core = require("operations.core")
local jobs = require("operations.openapi.out.jobs")
local property_order = require("operations.base.property_order")

local responses = {}

local PROBLEM = "application/problem+json"

--- The problem object, as `components/schemas/Problem`.
responses.problem = {
  type = "object", title = "Problem", description = "Why a request failed (RFC 9457). Programs go by `code`.",
  required = { "type", "title", "status", "code" },
  properties = {
    type = { type = "string" }, title = { type = "string" }, status = { type = "integer" },
    detail = { type = "string", description = "For people." },
    code = { type = "string", description = "What happened, for programs." },
    details = setmetatable({}, core.object_mt),
    requestId = { type = "string" }, retryable = { type = "boolean" }, mayHaveRun = { type = "boolean" },
  },
}

local reference = { ["$ref"] = "#/components/schemas/Problem" }

--- The responses of every operation, as `components/responses`.
responses.shared = {
  Refused = { description = "The request is refused.", content = { [PROBLEM] = { schema = reference } } },
  Failed = { description = "The operation failed.", content = { [PROBLEM] = { schema = reference } } },
}

-- One code with its details, in addition to the members of all problems.
local function branch(components, entry)
  local properties = { code = entry.pattern and { pattern = entry.pattern } or { const = entry.code } }
  if entry.schema ~= nil and entry.schema ~= true then
    properties.details = components:schema(entry.schema)
  end
  return { description = entry.description ~= "" and entry.description or nil, required = { "code" },
    properties = properties }
end

-- Any code except these.
local function others(entries)
  local codes = {}
  for i, entry in ipairs(entries) do
    codes[i] = entry.pattern and { pattern = entry.pattern } or { const = entry.code }
  end
  return { required = { "code" }, properties = { code = { ["not"] = codes[2] and { anyOf = codes } or codes[1] } } }
end

local function description_of(entries)
  local texts = {}
  for _, entry in ipairs(entries) do
    texts[#texts + 1] = entry.description ~= "" and entry.description or nil
  end
  return texts[1] and table.concat(texts, " ") or "The operation failed."
end

-- The declared errors by status ("default" for families of codes), each list in the order of declaration.
local function by_status(spec, status_of)
  local found = {}
  for _, entry in ipairs(type(spec.errorSchemas) == "table" and spec.errorSchemas or {}) do
    local status = entry.pattern and "default" or tostring(status_of(entry))
    found[status] = found[status] or {}
    table.insert(found[status], entry)
  end
  return found
end

-- Adds the problems to a map of responses; returns the codes by status.
local function add_problems(all, components, entry)
  local codes
  all["4XX"] = { ["$ref"] = "#/components/responses/Refused" }
  all.default = { ["$ref"] = "#/components/responses/Failed" }
  for status, entries in pairs(by_status(entry.spec, entry.status_of)) do
    local branches = {}
    codes = codes or {}
    codes[status] = setmetatable({}, core.array_mt)
    for i, declared in ipairs(entries) do
      branches[i], codes[status][i] = branch(components, declared), declared.code
    end
    branches[#branches + 1] = others(entries)
    all[status] = { description = description_of(entries), content = { [PROBLEM] = { schema = {
      ["$ref"] = "#/components/schemas/Problem", [status == "default" and "anyOf" or "oneOf"] = branches } } } }
  end
  return codes
end

-- An event of a stream: its data is JSON by the operation's schema.
local function event_of(schema)
  return {
    type = "object", required = { "data" },
    properties = {
      id = { type = "string" }, event = { type = "string" }, retry = { type = "integer" },
      data = { type = "string", contentMediaType = "application/json", contentSchema = schema },
    },
  }
end

-- Generators of clients look at the first media type.
local media_types = { "text/event-stream", "application/x-ndjson" }

-- Before 3.2 the items of a stream cannot be described.
local function stream_of(schema, version)
  local content, items = {}, { event_of(schema), schema }
  for i, name in ipairs(media_types) do
    content[name] = version == "3.2" and { itemSchema = items[i] }
      or { schema = { type = "string" }, ["x-itemSchema"] = items[i] }
  end
  property_order.set(content, media_types)
  return content
end

local function accepts_anything(schema)
  return schema == nil or schema == true or type(schema) == "table" and next(schema) == nil
end

-- The responses of a successful call.
local function add_success(all, components, entry, version, method)
  local spec = entry.spec
  if spec.type == "subscription" then
    all["200"] = { description = "What happens, as it happens.",
      content = stream_of(components:schema(spec.outputSchema), version) }
    return
  end
  local status = tostring(entry.status or 200)
  all[status] = { description = "The result.",
    content = { [entry.output_media or "application/json"] = {
      schema = components:body(spec.outputSchema, entry.output_media) } } }
  if entry.cache and method == "get" and status == "200" then
    all["200"].headers = { ETag = { description = "Sent back in If-None-Match, it names what the caller has.",
      schema = { type = "string" } } }
    all["304"] = { description = "It is what If-None-Match names." }
  end
  if accepts_anything(spec.outputSchema) then
    all["204"] = { description = "No result." }
  end
  all["202"] = all["202"] or entry.task and jobs.accepted or nil
end

-- The answers of an API that pass as they are.
local function relayed(components, entry)
  local spec = entry.spec
  local media = entry.output_media
  local content = accepts_anything(spec.outputSchema) and {}
    or { [media or "application/json"] = { schema = components:body(spec.outputSchema, media) } }
  return {
    ["2XX"] = { description = "The answer.", content = next(content) and content or nil },
    ["4XX"] = { description = "What the API says, or why the request is refused.", content = {
      ["application/json"] = setmetatable({}, core.object_mt), [PROBLEM] = { schema = reference } } },
    default = { ["$ref"] = "#/components/responses/Failed" },
  }
end

--- The responses of an operation, and the codes of its errors by status.
---@param components operations.openapi.Components
---@param entry operations.openapi.Entry
---@param version "3.0"|"3.1"|"3.2"
---@param method string  the method in the document, in lower case
---@return table<string, table>
---@return table<string, string[]>? codes
function responses.of(components, entry, version, method)
  local all = {}
  if entry.relay and entry.spec.type ~= "subscription" then
    return relayed(components, entry)
  end
  add_success(all, components, entry, version, method)
  local codes = add_problems(all, components, entry)
  return all, codes
end

return responses
