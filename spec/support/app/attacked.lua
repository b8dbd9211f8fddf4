-- /attacked/...: the API of the specs with MCP, which `make soak` attacks.
local http_api = require("spec.support.http_api")

package.loaded["spec.attacked"] = package.loaded["spec.attacked"] or http_api.new({ prefix = "/attacked", mcp = true })
package.loaded["spec.attacked"]:serve_request()
