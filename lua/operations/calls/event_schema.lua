--- The events of the call protocol as JSON Schema, as data: arriving events are checked by them, and programs may
--- export them. Specification: doc/protocol.md, section 3.
local members = require("operations.base.members")
local T = require("operations.schema.type")

local event_schema = {
  longest_id = 256, -- characters
}

local identifier = T.string({ minLength = 1, maxLength = event_schema.longest_id })
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
}

local by_type, all = {}, {}
for _, name in ipairs(members.names(payloads)) do
  payloads[name].requestId = identifier
  local event = T.object({
    type = T.const(name),
    id = T.optional(T.string({ maxLength = event_schema.longest_id })),
    payload = T.object(payloads[name], open),
  }, open)
  by_type[name], all[#all + 1] = event, event
end

--- The schema of an identity.
---@type operations.JsonSchema
event_schema.identity = identity

--- The schema of each event.
---@type table<string, operations.JsonSchema>
event_schema.by_type = by_type

--- The schema of any event.
---@type operations.JsonSchema
event_schema.any = T.any_of(all, { title = "An event of the call protocol" })

return event_schema
