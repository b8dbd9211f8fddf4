-- A request that nobody answers: the connection is refused.
local http = require("operations.net.http")

return function()
  local response, err = http.request({
    method = "POST",
    url = "http://127.0.0.1:1/path?q=1",
    headers = { ["X-Name"] = { "one", "two" }, Accept = "application/json" },
    body = ("x"):rep(2000),
    timeout = 5000,
  })
  assert(response == nil and err.code == "EXECUTION_ERROR" and err.details.kind == "connect", tostring(err))
end
