-- /mcp: the fixtures of the MCP conformance suite.
local fixture = require("spec.mcp.conformance.server")

fixture.offer_others()
fixture.server:serve_request()
