local sleep = require("operations").sleep
local ok, raised = pcall(sleep, 0.01)
ngx.header["X-Refused"] = not ok and raised or "no"
ok, raised = coroutine.wrap(pcall)(sleep, 0.01)
ngx.header["X-Refused-Inside"] = not ok and raised or "no"
