--- GitHub's operations behind the recorder as an MCP server over stdio, whose tools are all listed.
package.path = "./?.lua;" .. package.path
local github = require("spec.bench.code_mode.github")
local operations = require("operations")

local registry = github.registry(assert(os.getenv("OPENAPI_DOCUMENT"), "OPENAPI_DOCUMENT: GitHub's document"))
assert(operations.to_mcp(registry, { name = "github", search = false, log = function() end }):stdio())
