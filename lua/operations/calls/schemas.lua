--- `operations.schemas`: the JSON Schemas (2020-12) of the envelope, as data for programs in other languages, and of
--- the events of the call protocol, by which arriving events are checked. Specification: doc/protocol.md, section 3.
---
--- A value fits that of the envelope exactly if `operations.is_response_envelope` accepts it. Members added by later
--- versions are allowed.
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local T = require("operations.schema.type")

local array, text = marked.array, T.string()

---@class operations.schemas
---@field envelope operations.JsonSchema  the three metas are in its `$defs`
---@field local_meta operations.JsonSchema
---@field http_meta operations.JsonSchema
---@field mcp_meta operations.JsonSchema
---@field content_block operations.JsonSchema  of MCP: text, image, audio, resource_link, resource, or a future one
---@field call_event operations.JsonSchema  any event of the call protocol
---@field call_events table<string, operations.JsonSchema>  by type ("call.requested", ...)
---@field identity operations.JsonSchema  of the caller, as requests carry it
local schemas = {}

local function named(name, title, schema)
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
  schema["$id"], schema.title = "urn:operations:" .. name, title
  return schema
end

-- The required fields of a content block of a known type.
local function block(name, fields)
  return {
    ["if"] = { properties = { type = { const = name } } },
    ["then"] = T.object(fields),
  }
end

schemas.content_block = named("content_block", "A content block of MCP", {
  type = "object",
  required = array({ "type" }),
  properties = { type = text },
  allOf = array({
    block("text", { text = text }),
    block("image", { data = text, mimeType = T.optional(text) }),
    block("audio", { data = text, mimeType = T.optional(text) }),
    block("resource_link", { uri = text, name = T.optional(text) }),
    block("resource", { resource = T.object() }),
  }),
})

schemas.local_meta = named("local_meta", "Where data of a Lua function comes from", T.object({
  { "source", T.const("local") },
  { "operationId", text },
  { "timestamp", T.number({ description = "Milliseconds since the Unix epoch." }) },
}))

schemas.http_meta = named("http_meta", "Where data of an HTTP API comes from", T.object({
  { "source", T.const("http") },
  { "statusCode", T.number() },
  { "headers", T.optional(T.map(T.any_of({ text, T.array(text) }), {
    description = "By names in lower case, values joined by commas; cookies are an array, setCookie.",
  })) },
  { "contentType", T.optional(text) },
  { "event", T.optional(text) },
  { "lastEventId", T.optional(text) },
  { "retry", T.optional(T.number({ description = "Milliseconds." })) },
}))

schemas.mcp_meta = named("mcp_meta", "Where data of an MCP server comes from", T.object({
  { "source", T.const("mcp") },
  { "isError", T.boolean() },
  { "content", T.array(T.ref("urn:operations:content_block")) },
  { "structuredContent", T.optional(true) },
  { "_meta", T.optional(T.object()) },
}, { ["$defs"] = { content_block = schemas.content_block } }))

schemas.envelope = named("envelope", "An answer from any source", T.object({
  { "data", T.optional(true) },
  { "meta", T.any_of({ T.ref("#/$defs/local_meta"), T.ref("#/$defs/http_meta"), T.ref("#/$defs/mcp_meta") }) },
}, { ["$defs"] = {
  local_meta = schemas.local_meta, http_meta = schemas.http_meta, mcp_meta = schemas.mcp_meta,
} }))

local LONGEST_ID = 256 -- characters

local identifier = T.string({ minLength = 1, maxLength = LONGEST_ID })
local milliseconds = T.number({ minimum = 0 })
local count = T.integer({ minimum = 1 })
local open = { additionalProperties = true } -- members of later versions are allowed and ignored

local identity = T.object({
  id = T.string(),
  scopes = T.array(T.string()),
  resources = T.optional({ type = "object", additionalProperties = T.array(T.string()) }),
}, open)

local function meta(source, fields)
  fields.source = T.const(source)
  return T.object(fields, open)
end

-- Distinguishes an envelope from other data, as `core.is_response_envelope` does, but no more: refusing an answer would
-- leave its caller waiting. `operations.schemas.envelope` describes the envelopes that this library makes.
local envelope = T.object({
  data = T.optional(true),
  meta = T.any_of({
    meta("local", { operationId = T.string(), timestamp = T.number() }),
    meta("http", { statusCode = T.number() }),
    meta("mcp", { isError = T.boolean(), content = T.array(true) }),
  }),
}, open)

local payloads = {
  ["call.requested"] = {
    operationId = T.string({ minLength = 1, maxLength = 512 }),
    input = T.optional(true),
    parentRequestId = T.optional(identifier),
    deadline = T.optional(milliseconds),
    ttl = T.optional(milliseconds),
    idleTimeout = T.optional(milliseconds),
    identity = T.optional(identity),
    metadata = T.optional({ type = "object" }),
    credit = T.optional(count),
    progress = T.optional(T.boolean()),
    capabilities = T.optional({ type = "object" }),
  },
  ["call.responded"] = { output = envelope, seq = T.optional(count) },
  ["call.completed"] = {},
  ["call.aborted"] = { reason = T.optional(T.string()) },
  ["call.error"] = {
    code = T.string({ minLength = 1 }),
    message = T.string(),
    details = T.optional(true),
    retryable = T.optional(T.boolean()),
    mayHaveRun = T.optional(T.boolean()),
    retryAfter = T.optional(milliseconds),
  },
  ["call.credit"] = { n = count },
  ["call.progress"] = { done = T.number(), total = T.optional(T.number()), message = T.optional(T.string()) },
}

local by_type, all = {}, {}
for _, name in ipairs(members.names(payloads)) do
  payloads[name].requestId = identifier
  local event = T.object({
    type = T.const(name),
    id = T.optional(T.string({ maxLength = LONGEST_ID })),
    payload = T.object(payloads[name], open),
  }, open)
  by_type[name], all[#all + 1] = event, event
end

schemas.call_event = T.any_of(all, { title = "An event of the call protocol" })
schemas.call_events, schemas.identity = by_type, identity

return schemas
