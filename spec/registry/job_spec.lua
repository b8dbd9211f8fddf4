local eventually = require("spec.support.eventually")
local operations = require("operations")

describe("a job in process", function()
  local registry, gate

  before_each(function()
    registry = operations.registry({ log = function() end })
    assert(registry:register_all({
      { namespace = "a", name = "double", inputSchema = { type = "object", properties = { n = { type = "integer" } } },
        handler = function(input)
          return 2 * input.n
        end },
      { namespace = "a", name = "wait", handler = function(_, context)
        context.progress(1, 3, "begun")
        operations.await(function(wake)
          gate = wake
        end)
        return context.requestId
      end },
      { namespace = "a", name = "raise", handler = function()
        error("broken")
      end },
      { namespace = "a", name = "ask", handler = function(_, context)
        return (context.elicit("Sure?"))
      end },
      { namespace = "a", name = "start", handler = function(_, context)
        return { id = registry:start("a.who", {}, context).id }
      end },
      { namespace = "a", name = "who", handler = function(_, context)
        operations.sleep(0)
        return { who = context.identity and context.identity.id, deadline = context.deadline }
      end },
    }))
  end)

  it("runs in the background, reports its progress, and keeps its outcome", function()
    operations.run(function()
      local told
      local job = assert(registry:start("a.wait", {}, { on_progress = function(done)
        told = done
      end }))
      assert.equal("working", (job:state()))
      eventually(function()
        return gate
      end)
      local _, record = job:state()
      assert.same({ { done = 1, total = 3, message = "begun" }, 1, 1 }, { record.progress, told, record.attempt })
      local none, err = job:wait(1)
      assert.same({ nil, "PENDING", true, { state = "working" } }, { none, err.code, err.retryable, err.details })
      gate()
      assert.equal(job.id, job:wait().data)
      assert.equal(job.id, job:wait(0).data)
      assert.equal("completed", (job:state()))
    end)
  end)

  it("ends with the error of its handler", function()
    operations.run(function()
      local job = assert(registry:start("a.raise"))
      local none, err = job:wait()
      assert.is_nil(none)
      assert.matches("broken", err.message)
      assert.equal("failed", (job:state()))
    end)
  end)

  it("is not started where its call would be refused", function()
    operations.run(function()
      for code, call in pairs({ OPERATION_NOT_FOUND = { "a.none" }, VALIDATION_ERROR = { "a.double", { n = "x" } } }) do
        local job, err = registry:start(call[1], call[2])
        assert.same({ nil, code }, { job, err.code })
      end
      assert.same({}, registry:jobs())
    end)
  end)

  it("is cancelled once, and its waits end", function()
    operations.run(function()
      gate = nil
      local job = assert(registry:start("a.wait"))
      eventually(function()
        return gate
      end)
      job:cancel("no longer wanted")
      job:cancel()
      local none, err = job:wait()
      assert.same({ nil, "ABORTED: no longer wanted", "cancelled" }, { none, tostring(err), (job:state()) })
      gate()
      operations.sleep(0)
      assert.equal("cancelled", (job:state()))
      local done = assert(registry:start("a.double", { n = 2 }))
      assert.equal(4, done:wait().data)
      done:cancel()
      assert.equal("completed", (done:state()))
      local unbegun = assert(registry:start("a.double", { n = 2 }))
      unbegun:cancel()
      assert.equal("ABORTED", select(2, unbegun:wait()).code)
    end)
  end)

  it("continues when a task that waits for it is cancelled", function()
    operations.run(function()
      gate = nil
      local job = assert(registry:start("a.wait"))
      local waiting = operations.spawn(function()
        return job:wait()
      end)
      eventually(function()
        return gate
      end)
      waiting:cancel()
      assert.equal("ABORTED", select(2, waiting:wait()).code)
      gate()
      assert.equal(job.id, job:wait().data)
    end)
  end)

  it("asks by the functions of its context; without them its questions are declined", function()
    operations.run(function()
      assert.equal("decline", assert(registry:start("a.ask")):wait().data)
      local job = assert(registry:start("a.ask", {}, { elicit = function()
        return "accept"
      end }))
      assert.equal("accept", job:wait().data)
    end)
  end)

  it("of a handler has its caller's identity, and not its deadline", function()
    operations.run(function()
      local made = assert(registry:execute("a.start", {}, { identity = { id = "ada", scopes = {} }, timeout = 10000 }))
      local job = registry:jobs()[1]
      assert.equal(made.data.id, job.id)
      assert.same({ who = "ada" }, job:wait().data)
    end)
  end)

  it("is listed while it runs, and for some time after", function()
    operations.run(function()
      local running = assert(registry:start("a.wait"))
      for i = 1, 150 do
        assert(registry:start("a.double", { n = i })):wait()
      end
      local list = registry:jobs()
      assert.equal(101, #list)
      assert.equal(300, list[100]:wait().data)
      assert.equal(running, list[101])
      assert.matches("^job %x+%-.* of a%.wait: working$", tostring(running))
      running:cancel()
    end)
  end)
end)
