-- /mcp: the fixtures of the MCP conformance suite.
require("spec.mcp.conformance.server").server:serve_request()
