local command = require("spec.support.command")

describe("the cleanup of abandoned coroutines", function()
  for seed = 1, 6 do
    it("runs once, and no task is lost, whatever a collection interrupts: seed " .. seed, function()
      assert.same({ out = "0\n", err = "", code = 0 }, command.run("lua spec/support/abandoning.lua " .. seed))
    end)
  end

  it("continues when the state is closed, where it began inside a call and the program never waits", function()
    assert.same({ out = "begun\ncalled\nended\n", err = "", code = 0 }, command.run([[lua -e '
      local operations = require("operations")
      local registry = operations.registry()
      registry:register({ namespace = "events", name = "get", type = "subscription", handler = function(_, context)
        context.defer(function()
          print("begun")
          operations.sleep(0.01)
          print("ended")
        end)
        coroutine.yield(1)
      end })
      registry:register({ namespace = "a", name = "collect", type = "query", handler = function()
        local function abandon()
          registry:subscribe("events.get"):next()
        end
        abandon()
        collectgarbage()
        collectgarbage()
        return true
      end })
      assert(registry:execute("a.collect"))
      print("called")
    ']]))
  end)
end)
