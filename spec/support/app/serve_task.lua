-- The benchmark's operation, served by to_http.
local operations = require("operations")
local serve_api = require("spec.bench.serve_api")

package.loaded["spec.server"] = package.loaded["spec.server"]
  or assert(operations.to_http(serve_api.registry(), { prefix = "/serve_task" }))
package.loaded["spec.server"]:serve_request()
