--- `operations.schemas`: the JSON Schemas of the envelope, and of the events of the call protocol, by which arriving
--- events are checked. Specification: doc/protocol.md, section 3.
local envelopes = require("operations.registry.schemas")
local members = require("operations.base.members")
local T = require("operations.schema.type")

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

---@class operations.schemas
---@field call_event operations.JsonSchema  any event of the call protocol
---@field call_events table<string, operations.JsonSchema>  by type ("call.requested", ...)
---@field identity operations.JsonSchema  of the caller, as requests carry it
return members.merged(envelopes, {
  call_event = T.any_of(all, { title = "An event of the call protocol" }), call_events = by_type, identity = identity,
})
