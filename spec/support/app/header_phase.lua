local ok, raised = pcall(require("operations").sleep, 0.01)
ngx.header["X-Refused"] = not ok and raised or "no"
