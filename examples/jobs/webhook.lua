-- Receives webhooks and leaves the work to workers: answers 202 once Redis has the job, and may be stopped at any time.
--     lua5.4 examples/jobs/webhook.lua redis://127.0.0.1 8080
local operations = require "operations"
local url, port = arg[1], tonumber(arg[2] or 0)

pcall(operations.run, function()
  local map = operations.call_map(assert(operations.transports.redis(url, { mode = "reliable" })))
  local registry = operations.registry()
  registry:register {
    namespace = "hooks", name = "report", description = "Takes an order for a report",
    inputSchema = { type = "object", required = { "id", "pages" },
      properties = { id = { type = "string" }, pages = { type = "integer" }, seconds = { type = "number" } } },
    handler = function(input)
      -- A sender that gets no answer sends the order again: with its id it is the same job.
      local job, err = map:submit("report.write", { pages = input.pages, seconds = input.seconds },
        { requestId = input.id })
      if not job then
        return nil, err -- 503: the sender tries again later
      end
      return operations.http_envelope({ job = job.id }, { statusCode = 202, headers = {} })
    end,
  }
  local server = assert(operations.to_http(registry, { authorize = false }))
  local listener = assert(server:listen { port = port })
  io.stdout:write("port ", listener.port, "\n")
  io.stdout:flush()
  operations.sleep(math.huge)
end)
