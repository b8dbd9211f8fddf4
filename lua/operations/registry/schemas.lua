--- JSON Schemas (2020-12) of the envelope, as data: for programs in other languages, and to check what they send. A
--- value fits exactly if `operations.is_response_envelope` accepts it. Members added by later versions are allowed.
local marked = require("operations.base.marked")
local T = require("operations.schema.type")

local array = marked.array

---@class operations.schemas
---@field envelope operations.JsonSchema  the three metas are in its `$defs`
---@field local_meta operations.JsonSchema
---@field http_meta operations.JsonSchema
---@field mcp_meta operations.JsonSchema
---@field content_block operations.JsonSchema  of MCP: text, image, audio, resource_link, resource, or a future one
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

local text = T.string()

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

return schemas
