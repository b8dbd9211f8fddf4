--- `operations.schemas`: the JSON Schemas of the envelope, and of the events of the call protocol, by which arriving
--- events are checked.
local envelopes = require("operations.registry.schemas")
local events = require("operations.calls.event_schema")
local members = require("operations.base.members")

---@class operations.schemas
---@field call_event operations.JsonSchema  any event of the call protocol
---@field call_events table<string, operations.JsonSchema>  by type ("call.requested", ...)
---@field identity operations.JsonSchema  of the caller, as requests carry it
return members.merged(envelopes, {
  call_event = events.any, call_events = events.by_type, identity = events.identity,
})
