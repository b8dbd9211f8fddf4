--- Workers of nginx are replaced while requests keep coming.
local callers = require("spec.support.callers")
local eventually = require("spec.support.eventually")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")
local operations = require("operations")
local test_server = require("spec.support.server")

describe("workers of nginx", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local app

  before_each(function()
    app = test_server.start({ app = true, workers = 2 })
  end)

  after_each(function()
    app:stop()
  end)

  local function workers()
    local pids = {}
    for pid in inside.shell("pgrep -P " .. app.pid).out:gmatch("%d+") do
      pids[#pids + 1] = pid
    end
    return pids
  end

  -- A request that its worker has for a while. Without a kept connection, which nginx closes when a worker ends.
  local function pay()
    local answer, err = operations.http.request({ method = "POST", url = app.url .. "/api/spec/pay",
      headers = { ["content-type"] = "application/json", connection = "close" }, body = '{"note":"a","wait":0.01}' })
    return err and tostring(err) or answer.status ~= 201 and answer.status .. " " .. answer.body or nil
  end

  it("are replaced without a lost request", function()
    operations.run(function()
      local calling = callers.start(pay)
      for _ = 1, 4 do
        local old
        eventually(function() -- the first ones come after the pid file
          old = workers()
          return #old == 2
        end)
        assert(os.execute("kill -HUP " .. app.pid))
        eventually(function()
          return not is_running(old[1]) and not is_running(old[2]) and #workers() == 2
        end)
        calling.more_answers()
      end
      assert.is_nil(calling.finish())
    end)
  end)
end)
