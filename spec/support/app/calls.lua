-- /calls: what specs call (spec/support/calls.lua), over WebSocket.
require("spec.support.calls_hub"):serve_request()
