-- Asks several servers at once whether they are well; the exit code tells cron or a pipeline.
--     lua health.lua http://127.0.0.1:8080/healthz http://127.0.0.1:1/
local operations = require("operations")

local function check(url)
  local start = operations.monotonic()
  local answer, err = operations.http.request({ url = url, timeout = 5000, retry = { attempts = 2, delay = 100 } })
  local ms = operations.monotonic() - start
  if answer and answer.status == 200 then
    return { url = url, well = true, text = ("%d in %.0f ms"):format(answer.status, ms) }
  end
  return { url = url, well = false, text = answer and answer.status or err.details.kind }
end

local all_well = true
for _, result in ipairs(assert(operations.map(arg, check))) do
  print(result.well and "ok  " or "FAIL", result.url, result.text)
  all_well = all_well and result.well
end
os.exit(all_well and 0 or 1, true)
