-- /relayed/bytes: an operation of an API whose other side is /raw/bytes of the same nginx, served as its document says.
local operations = require("operations")

local BINARY = { ["application/octet-stream"] = { schema = { type = "string", format = "binary" } } }

local function make()
  local registry = operations.registry()
  assert(registry:register_all(assert(operations.from_openapi.document({ openapi = "3.1.0",
    info = { title = "t", version = "1" }, paths = { ["/bytes"] = {
      get = { operationId = "get", parameters = { { name = "size", ["in"] = "query", schema = { type = "integer" } } },
        responses = { ["200"] = { description = "", content = BINARY } } },
      post = { operationId = "post", requestBody = { content = BINARY },
        responses = { ["200"] = { description = "" } } },
    } } }, { namespace = "api", accessControl = {},
    base_url = ("http://127.0.0.1:%s/raw"):format(ngx.var.server_port) }))))
  return assert(operations.to_http(registry, { prefix = "/relayed", paths = "source", max_body = 2 ^ 30 }))
end

package.loaded["spec.relayed"] = package.loaded["spec.relayed"] or make()
package.loaded["spec.relayed"]:serve_request()
