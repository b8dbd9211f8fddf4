-- Submits a job and waits for its outcome: `lua5.4 submit.lua URL [PAGES [SECONDS]]`. It can be stopped at any time:
-- the next run has the same id, and finds the same job.
local operations = require "operations"

local url, pages, seconds = arg[1], tonumber(arg[2] or 3), tonumber(arg[3] or 1)
local id = "report-of-" .. pages .. "-pages"

operations.run(function()
  local map = operations.call_map(assert(operations.transports.redis(url, { mode = "reliable" })))
  local job = assert(map:submit("report.write", { pages = pages, seconds = seconds }, { requestId = id }))
  print("Redis has the job " .. job.id)
  local envelope, err
  repeat
    envelope, err = map:outcome(id, 500)
    job = assert(map:job(id))
    io.stderr:write(job.message or "waiting", "\n")
  until envelope or err.code ~= "PENDING"
  print(assert(envelope, err).data.pages .. " pages")
  map:close()
end)
