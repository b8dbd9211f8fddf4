-- The server of serve.lua inside Neovim: says its port, then the longest gap between two ticks of a 5 ms timer of the
-- editor's loop: by itself for two seconds, and while the server is busy.
local operations = require("operations")
local serve_api = require("spec.bench.serve_api")

local uv = vim.uv or vim.loop -- luacheck: ignore 113
local last, worst, served = uv.hrtime(), 0, 0
local timer = uv.new_timer()
timer:start(5, 5, function()
  local now = uv.hrtime()
  worst, last = math.max(worst, (now - last) / 1e6), now
end)

local function say(...)
  io.stdout:write(table.concat({ ... }, " "), "\n")
  io.stdout:flush()
end

local server = assert(operations.to_http(serve_api.registry(), { access_log = function()
  served = served + 1
end }))
operations.spawn(function()
  local listener = assert(server:listen({ port = 0 }))
  operations.sleep(2)
  local alone = worst
  say(listener.port, ("%.1f"):format(alone))
  while served == 0 do
    operations.sleep(0.01)
  end
  worst = 0
  operations.sleep(2)
  say(("%.1f %d"):format(worst, served))
end)
