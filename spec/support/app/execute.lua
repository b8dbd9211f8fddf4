-- The benchmark's operation, called by a content handler as people write them: no to_http.
local json = require("operations").json
local serve_api = require("spec.bench.serve_api")

package.loaded["spec.registry"] = package.loaded["spec.registry"] or serve_api.registry()
local envelope, err = package.loaded["spec.registry"]:execute("task.get", { id = tonumber(ngx.var.arg_id) })
ngx.header["content-type"] = "application/json"
ngx.print(json.encode(envelope and envelope.data or tostring(err)))
