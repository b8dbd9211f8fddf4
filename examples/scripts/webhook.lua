-- Receives webhooks: verifies the signature, answers at once, works afterwards, and ends the work on TERM.
--     WEBHOOK_SECRET=... lua webhook.lua 8080
local operations = require("operations")
local secret = operations.secret("env:WEBHOOK_SECRET")
local crypto = operations.crypto
local running = 0

local function work(order)
  running = running + 1
  operations.sleep(0.1) -- what takes its time
  print("order " .. order.id .. " done")
  io.stdout:flush()
  running = running - 1
end

local registry = operations.registry()
registry:register({
  namespace = "hooks", name = "order", description = "Takes an order",
  inputSchema = { type = "object", required = { "id" } },
  handler = function(input)
    operations.spawn(work, input) -- not part of the answer
    return operations.http_envelope({ accepted = true }, { statusCode = 202, headers = {} })
  end,
})

local server = assert(operations.to_http(registry, {
  authorize = function(request)
    local body = type(request.body) == "string" and request.body or ""
    local signature = "sha256=" .. crypto.hex(crypto.hmac(secret(), body))
    if crypto.equal(request.headers["x-signature"] or "", signature) then
      return { id = "sender", scopes = {} }
    end
    return nil, "invalid_token"
  end,
}))

local ok, err = pcall(operations.run, function()
  local listener = assert(server:listen({ port = tonumber(arg[1]) }))
  print("port " .. listener.port)
  io.stdout:flush()
  local stopped, signal = pcall(operations.sleep, math.huge)
  operations.shield(5000, function() -- TERM: no new orders, the accepted ones are done first
    server:drain(1000)
    while running > 0 do
      operations.sleep(0.01)
    end
  end)
  return not stopped and error(signal, 0)
end)
print("stopped by " .. (err.details and err.details.signal or tostring(err)))
os.exit(ok and 0 or err.details and err.details.exitCode or 1, true)
