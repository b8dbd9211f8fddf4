-- /api/...: the API of the specs.
local http_api = require("spec.support.http_api")

package.loaded["spec.api"] = package.loaded["spec.api"] or http_api.new()
package.loaded["spec.api"]:serve_request()
