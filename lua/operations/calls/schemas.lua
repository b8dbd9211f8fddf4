--- `operations.schemas`: the JSON Schemas of the envelope, and of the events of the call protocol, which
--- arrivals are checked by.
local envelopes = require("operations.registry.schemas")
local events = require("operations.calls.event_schema")
local members = require("operations.base.members")

---@class operations.schemas
---@field call_event operations.JsonSchema  any event of the call protocol
---@field call_events table<string, operations.JsonSchema>  each of them, by its type ("call.requested", ...)
---@field identity operations.JsonSchema  of the caller, as requests carry it
return members.merged(envelopes, {
  call_event = events.any, call_events = events.by_type, identity = events.identity,
})
