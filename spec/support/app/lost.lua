-- Tasks that fail, and that nobody waits for.
local operations = require("operations")

operations.spawn(error, "lost: raised", 0)
operations.spawn(function()
  return nil, operations.error("NOT_FOUND", "lost: returned")
end)
ngx.say("spawned")
