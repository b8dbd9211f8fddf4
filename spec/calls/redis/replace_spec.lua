--- Workers are replaced while calls keep coming: the new one serves before the old one is told to end.
local callers = require("spec.support.callers")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local redis = require("spec.support.redis")

describe("workers of Redis", function()
  local server

  setup(function()
    server = redis.start()
  end)

  teardown(function()
    server.stop()
  end)

  local function start_worker(mode)
    local serving = false
    local worker = assert(operations.process.spawn({ command.interpreter(), "lua/operations/cli/main.lua", "worker",
      "--redis", server.url, "--lua", "examples/definitions", mode == "reliable" and "--reliable" or nil,
      env = command.environment(), on_stderr = function(line)
        serving = serving or line:find("serving 3 operations", 1, true) ~= nil
      end }))
    eventually(function()
      return serving
    end)
    return worker
  end

  for _, mode in ipairs({ "fast", "reliable" }) do
    it("are replaced without a lost call: " .. mode, function()
      operations.run(function()
        local worker = start_worker(mode)
        local map = operations.call_map(assert(operations.transports.redis(server.url, { mode = mode })))
        local calling = callers.start(function()
          local _, err = map:call("demo.greet", { name = "Ada" })
          return err
        end)
        for _ = 1, 4 do
          local new = start_worker(mode)
          os.execute("kill -TERM " .. worker.pid)
          assert.same({ signal = 15 }, worker:wait())
          worker = new
          calling.more_answers()
        end
        local lost = calling.finish()
        assert.is_nil(lost, tostring(lost))
        map:close()
        worker:stop({ close = 0 })
      end)
    end)
  end
end)
