local command = require("spec.support.command")
local core = require("operations.core")
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local task = require("operations.task")
local usage = require("spec.support.usage")

describe("task", function()
  local host, logged, on_error

  before_each(function()
    host = fake_host.new()
    task.use_host(host)
    logged, on_error = {}, task.on_error
    task.on_error = function(raised, traceback)
      logged[#logged + 1] = { raised = raised, traceback = traceback }
    end
  end)

  after_each(function()
    task.on_error = on_error
    task.use_host("plain")
  end)

  describe("run", function()
    it("returns all that the function returns, nils included", function()
      assert.same({ n = 4, 1, nil, 3, nil }, require("operations.base.compat").pack(task.run(function(...)
        return ...
      end, 1, nil, 3, nil)))
    end)

    it("raises the error of the function, unchanged", function()
      local raised = {}
      local ok, got = pcall(task.run, function()
        error(raised)
      end)
      assert.is_false(ok)
      assert.equal(raised, got)
    end)

    it("ends only when the tasks spawned inside have ended", function()
      local ended = false
      task.run(function()
        task.spawn(function()
          task.spawn(function()
            task.sleep(1)
            ended = true
          end)
        end)
      end)
      assert.is_true(ended)
    end)

    it("works inside a task, as a child of it", function()
      assert.equal(7, task.run(function()
        return task.run(function()
          task.sleep(1)
          return 7
        end)
      end))
    end)

    it("says so when nothing can wake a waiting task", function()
      assert.error_matches(function()
        task.run(function()
          task.await(function() end)
        end)
      end, "deadlock")
    end)

    it("refuses anything but a function, naming the argument", function()
      assert.error_matches(function()
        task.run("x")
      end, "bad argument #1 to 'run' %(function expected, got string%)")
    end)

    it("refuses methods of anything but a task", function()
      local one = task.spawn(function() end)
      for _, name in ipairs({ "wait", "cancel" }) do
        assert.error_matches(function()
          one[name]({})
        end, ("calling '%s' on bad self %%(task expected, got table%%)"):format(name))
      end
    end)

    it("fails where a value is yielded outside of a task", function()
      local ok, err = pcall(task.run, function()
        coroutine.yield("lost")
        return "done"
      end)
      assert.is_false(ok)
      assert.equal("EXECUTION_ERROR", err.code)
      assert.matches("coroutine.yield in a task", err.message, 1, true)
    end)

    it("continues where the error of such a yield is caught, and keeps the program's hook", function()
      local seen = {}
      local function hook() end
      local before, mask, count = debug.gethook()
      local result = task.run(function()
        debug.sethook(hook, "", 1000000)
        for i = 1, 100 do -- LuaJIT would compile it
          local _, err = pcall(function()
            coroutine.yield(i)
          end)
          seen[err.code] = (seen[err.code] or 0) + 1
        end
        local kept = debug.gethook() == hook
        debug.sethook(before, mask, count)
        return kept
      end)
      assert.is_true(result)
      assert.same({ EXECUTION_ERROR = 100 }, seen)
    end)

    it("ends where a value is yielded, and the program has no library debug", function()
      assert.same({ out = "false\ttrue\nfalse\tfalse\n", err = "", code = 0 }, command.run([[lua -e '
        debug = nil
        local operations = require("operations")
        for _, fn in ipairs({ function() coroutine.yield() end, function() error("other") end }) do
          local ok, raised = pcall(operations.run, fn)
          print(ok, tostring(raised):find("coroutine.yield in a task", 1, true) ~= nil)
        end
      ']]))
    end)
  end)

  -- Equal to everything that may be compared with it.
  local function obliging()
    return setmetatable({}, { __eq = function() return true end })
  end

  it("passes on values that are equal to everything: values that tasks return and generators yield", function()
    local value = obliging()
    assert.is_true(rawequal(value, (task.run(function() return value end))))
    task.run(function()
      local co = coroutine.create(function() coroutine.yield(value) end)
      assert.is_true(rawequal(value, (select(2, task.resume(co)))))
    end)
    local child
    task.run(function()
      child = task.spawn(function()
        pcall(task.sleep, 1)
        error(value)
      end)
      task.sleep(0)
      child:cancel()
    end)
    assert.is_true(rawequal(value, select(2, child:wait()).details.raw))
  end)

  it("waits inside of functions that a C function calls, too, and no other wait ends with that one", function()
    local function slow(a, b)
      task.sleep(0.01)
      return a < b
    end
    local list, order, before = { 3, 1, 2 }, {}, host.now()
    task.run(function()
      task.spawn(function()
        task.sleep(0.005)
        order[#order + 1] = "other"
      end)
      table.sort(list, slow)
      order[#order + 1] = "sorted"
      task.sleep(1)
    end)
    assert.same({ 1, 2, 3 }, list)
    assert.same({ "other", "sorted" }, order)
    assert.is_true(host.now() - before >= 1010)
    assert.equal(0, host.timers)
  end)

  it("is cancelled inside of a function that a C function calls", function()
    local failure
    task.run(function()
      local child = task.spawn(function()
        string.gsub("x", "x", function()
          failure = select(2, pcall(task.sleep, 10))
        end)
      end)
      task.spawn(function()
        task.sleep(1)
        child:cancel()
      end)
      child:wait()
    end)
    assert.equal("ABORTED", failure.code)
    assert.equal(0, host.timers)
  end)

  describe("begin", function()
    it("runs a function at once, and on when it has waited, apart from its caller", function()
      local seen = {}
      task.run(function()
        local caller = task.current()
        string.gsub("x", "x", function() -- as a finalizer may be called
          task.begin(function(a)
            assert.are_not.equal(caller, task.current())
            seen[#seen + 1] = a
            task.sleep(1)
            seen[#seen + 1] = "waited"
          end, "begun")
        end)
        assert.equal(caller, task.current())
        assert.same({ "begun" }, seen)
        task.sleep(2)
      end)
      assert.same({ "begun", "waited" }, seen)
    end)

    it("waits for its end where nothing else does", function()
      local seen = {}
      task.begin(function()
        task.sleep(1)
        seen[#seen + 1] = "waited"
      end)
      assert.same({ "waited" }, seen)
    end)

    it("reports the error of the function", function()
      task.begin(error, "oops")
      usage.collect()
      assert.equal("oops", logged[1].raised)
    end)
  end)

  describe("spawn", function()
    it("runs tasks in the order they became ready", function()
      local order = {}
      task.run(function()
        for i = 1, 3 do
          task.spawn(function()
            order[#order + 1] = i
            task.sleep(0)
            order[#order + 1] = i + 10
          end)
        end
        order[#order + 1] = 0
      end)
      assert.same({ 0, 1, 2, 3, 11, 12, 13 }, order)
    end)

    it("starts a task outside of any, which runs when the script waits", function()
      local spawned = task.spawn(function(a)
        task.sleep(2)
        return a
      end, "a")
      assert.equal("a", spawned:wait())
    end)

    it("keeps a task whose handle was dropped", function()
      local ended = false
      task.spawn(function()
        task.sleep(1)
        ended = true
      end)
      usage.collect()
      task.sleep(2)
      assert.is_true(ended)
    end)
  end)

  describe("detach", function()
    it("starts a task that outlives its starter, and its starter's deadline", function()
      local detached, seen
      task.run(function()
        task.deadline(core.now() + 5)
        detached = task.detach(function(value)
          task.sleep(0.02)
          seen = value
          return task.current() == detached
        end, 7)
      end)
      assert.is_nil(seen)
      assert.is_true(detached:wait())
      assert.equal(7, seen)
    end)

    it("starts a task that is not cancelled with its starter", function()
      local detached
      task.spawn(function()
        detached = task.detach(function()
          task.sleep(0.01)
          return "done"
        end)
        task.current():cancel()
        task.sleep(1)
      end):wait()
      assert.equal("done", detached:wait())
    end)
  end)

  describe("wait", function()
    it("gives the error object of a task that failed", function()
      local value, err = task.spawn(function()
        error(errors.new("NO_LUCK", "none today"))
      end):wait()
      assert.is_nil(value)
      assert.equal("NO_LUCK", err.code)
    end)

    it("makes an error object of whatever else was raised", function()
      local _, err = task.spawn(function()
        error("plain text", 0)
      end):wait()
      assert.equal("EXECUTION_ERROR: plain text", tostring(err))
      _, err = task.spawn(function()
        error(nil)
      end):wait()
      assert.equal("UNKNOWN_ERROR: nil", tostring(err))
      assert.equal("UNKNOWN_ERROR: nil", tostring(select(2, pcall(task.run, error))))
      local failure = setmetatable({}, { __tostring = function() error("not printable") end })
      _, err = task.spawn(function()
        error(failure)
      end):wait()
      assert.equal(failure, err.details.raw)
    end)

    it("gives every waiter the results, at once and later", function()
      task.run(function()
        local one = task.spawn(function()
          task.sleep(1)
          return 1, 2
        end)
        local seen = 0
        for _ = 1, 3 do
          task.spawn(function()
            local a, b = one:wait()
            seen = seen + a + b
          end)
        end
        task.sleep(5)
        assert.equal(9, seen)
        assert.equal(1, (one:wait()))
      end)
    end)

    it("refuses to wait for the task it runs in", function()
      assert.error_matches(function()
        task.run(function()
          local outer = task.current()
          task.run(function()
            outer:wait()
          end)
        end)
      end, "cannot wait for itself")
    end)

    it("leaves the awaited task alone when it is cancelled", function()
      task.run(function()
        local worker = task.spawn(function()
          task.sleep(5)
          return "worked"
        end)
        local waiter = task.spawn(function()
          worker:wait()
        end)
        task.sleep(1)
        waiter:cancel()
        assert.equal("ABORTED", select(2, waiter:wait()).code)
        assert.equal("worked", worker:wait())
      end)
    end)
  end)

  describe("sleep", function()
    it("lasts as long as it says, to the millisecond", function()
      local before = host.now()
      task.sleep(0.25)
      assert.equal(250, host.now() - before)
    end)

    it("may last longer than 24.8 days", function()
      local before = host.now()
      task.sleep(40 * 86400)
      assert.equal(40 * 86400 * 1000, host.now() - before)
    end)

    it("refuses anything but a number of seconds", function()
      assert.error_matches(function()
        task.sleep("1")
      end, "number of seconds expected")
      assert.error_matches(function()
        task.sleep(0 / 0)
      end, "number of seconds expected")
    end)
  end)

  describe("cancel", function()
    it("cancels the innermost wait exactly once and raises ABORTED there", function()
      local calls, caught = 0, nil
      task.run(function()
        local child = task.spawn(function()
          local ok, raised = pcall(task.await, function()
            return function()
              calls = calls + 1
            end
          end)
          caught = not ok and raised
        end)
        task.sleep(1)
        child:cancel("enough")
        child:cancel("again")
        child:wait()
      end)
      assert.equal(1, calls)
      assert.equal("ABORTED: enough", tostring(caught))
    end)

    it("reaches the end of a long chain of tasks, each spawned by the one before", function()
      local left, ended = 12000, 0
      local function chain()
        left = left - 1
        if left > 0 then
          task.spawn(chain)
        else
          task.sleep(3600)
        end
        ended = ended + 1
      end
      local first = task.spawn(chain)
      task.run(function()
        while left > 0 do
          task.sleep(0)
        end
        first:cancel("enough")
        local _, err = first:wait()
        assert.is_nil(err)
      end)
      assert.equal(11999, ended)
    end)

    it("raises ABORTED again in a task that caught it and waits again", function()
      local second
      local child
      task.run(function()
        child = task.spawn(function()
          pcall(task.sleep, 10)
          assert.is_true(task.cancelled())
          local _, raised = pcall(task.sleep, 10)
          second = raised
          return "cleaned up"
        end)
        task.sleep(1)
        child:cancel()
        assert.equal("cleaned up", child:wait())
      end)
      assert.equal("ABORTED", second.code)
    end)

    it("reaches children and their children", function()
      local seen = {}
      task.run(function()
        local child = task.spawn(function()
          task.spawn(function()
            local _, raised = pcall(task.sleep, 10)
            seen[#seen + 1] = raised.code
          end)
          local _, raised = pcall(task.sleep, 10)
          seen[#seen + 1] = raised.code
        end)
        task.sleep(1)
        child:cancel()
      end)
      assert.same({ "ABORTED", "ABORTED" }, seen)
      assert.equal(2000, host.now())
    end)

    it("never starts a task that was cancelled before it ran", function()
      local ran = false
      local child = task.spawn(function()
        ran = true
      end)
      child:cancel()
      assert.equal("ABORTED", select(2, child:wait()).code)
      assert.is_false(ran)
    end)

    it("keeps the results of a task that has ended", function()
      local child = task.spawn(function()
        return 1
      end)
      child:wait()
      child:cancel()
      assert.equal(1, child:wait())
    end)

    it("stops the timers of its waits", function()
      task.run(function()
        local child = task.spawn(task.sleep, 10)
        task.sleep(1)
        child:cancel()
        child:wait()
        assert.equal(0, host.timers)
      end)
    end)

    it("reports an error in the function that cancels a wait, and continues", function()
      task.run(function()
        local child = task.spawn(function()
          task.await(function()
            return function()
              error("cleanup broke")
            end
          end)
        end)
        task.sleep(1)
        child:cancel()
        assert.equal("ABORTED", select(2, child:wait()).code)
      end)
      assert.equal(1, #logged)
      assert.matches("cleanup broke", logged[1].raised)
    end)

    it("reaches a task that cancels itself at its next wait", function()
      local _, err = task.spawn(function()
        task.current():cancel("by myself")
        task.sleep(1)
      end):wait()
      assert.equal("ABORTED: by myself", tostring(err))
    end)
  end)

  describe("a failing parent", function()
    it("takes its children with it", function()
      local child_saw
      local ok = pcall(task.run, function()
        task.spawn(function()
          local _, raised = pcall(task.sleep, 60)
          child_saw = raised.code
        end)
        task.sleep(1)
        error("parent")
      end)
      assert.is_false(ok)
      assert.equal("ABORTED", child_saw)
      assert.equal(2000, host.now())
    end)
  end)

  describe("all", function()
    it("gives the first result of each, in order", function()
      local results = task.all({
        function()
          task.sleep(2)
          return "slow", "unused"
        end,
        function()
          return "fast"
        end,
      })
      assert.same({ "slow", "fast" }, results)
    end)

    it("is an empty list for an empty list", function()
      assert.same({}, task.all({}))
    end)

    it("cancels the others at the first failure and waits for their end", function()
      local cleaned = false
      local results, err = task.all({
        function()
          local ok = pcall(task.sleep, 60)
          cleaned = not ok
        end,
        function()
          task.sleep(1)
          error("first", 0)
        end,
      })
      assert.is_nil(results)
      assert.equal("first", err.message)
      assert.is_true(cleaned)
      assert.equal(2000, host.now())
    end)

    it("counts nil and an error object as failure", function()
      local _, err = task.all({
        function()
          return nil, errors.new("NOPE", "no")
        end,
      })
      assert.equal("NOPE", err.code)
    end)

    it("refuses an element that is no function, naming its place", function()
      assert.error_matches(function()
        task.all({ print, 5 })
      end, "function expected at %[2%], got number")
    end)
  end)

  describe("deadline", function()
    it("ends a wait with TIMEOUT and calls it off", function()
      local cancelled = 0
      local _, err = task.spawn(function()
        task.deadline(host.now() + 500)
        task.await(function()
          return function()
            cancelled = cancelled + 1
          end
        end)
      end):wait()
      assert.equal("TIMEOUT", err.code)
      assert.equal(1500, host.now())
      assert.equal(1, cancelled)
    end)

    it("returns the one before, and nil takes it away", function()
      task.run(function()
        assert.is_nil(task.deadline(5000))
        assert.equal(5000, task.deadline(nil))
        assert.is_nil(task.deadline(nil))
        task.sleep(10)
      end)
    end)

    it("holds for tasks spawned under it", function()
      local _, err = task.spawn(function()
        task.deadline(host.now() + 100)
        local child = task.spawn(task.sleep, 10)
        task.deadline(nil)
        return child:wait()
      end):wait()
      assert.equal("TIMEOUT", err.code)
    end)

    it("of a task holds inside its generators; a generator's own does not leak out", function()
      task.run(function()
        local generator = coroutine.create(function()
          task.deadline(host.now() + 100)
          task.sleep(1)
        end)
        local ok, raised = task.resume(generator)
        assert.is_false(ok)
        assert.equal("TIMEOUT", raised.code)
        task.sleep(1)
        task.deadline(host.now() + 50)
        ok, raised = task.resume(coroutine.create(task.sleep), 1)
        assert.is_false(ok)
        assert.equal("TIMEOUT", raised.code)
      end)
    end)

    it("is a number", function()
      assert.error_matches(function()
        task.deadline(0 / 0)
      end, "bad argument #1 to 'deadline' %(number expected, got NaN%)")
    end)

    it("that has passed lets nothing wait, and counts as cancelled", function()
      task.run(function()
        task.deadline(host.now() - 1)
        assert.is_true(task.cancelled())
        local armed = false
        local ok, raised = pcall(task.await, function(wake)
          armed = true
          wake()
        end)
        assert.is_false(ok)
        assert.equal("TIMEOUT", raised.code)
        assert.is_false(armed)
      end)
    end)

    it("does not disturb a wait that ends in time", function()
      task.run(function()
        task.deadline(host.now() + 2000)
        task.sleep(1)
        assert.equal(0, host.timers)
      end)
    end)
  end)

  describe("await", function()
    it("waits for callbacks of others, and calls them off with the task", function()
      local operations, answer, called_off = require("operations"), nil, 0
      local function ask(prompt, callback)
        answer = function(text)
          callback(prompt .. text)
        end
      end
      task.run(function()
        local function question()
          return operations.await(function(wake)
            ask("name: ", wake)
            return function()
              called_off = called_off + 1
            end
          end)
        end
        local first = task.spawn(question)
        task.sleep(1)
        answer("Ada")
        answer("Bob")
        assert.equal("name: Ada", first:wait())
        local second = task.spawn(question)
        task.sleep(1)
        second:cancel()
        assert.equal("ABORTED", select(2, second:wait()).code)
        answer("late")
        assert.equal(1, called_off)
      end)
      assert.error_matches(operations.await, "bad argument #1 to 'await' %(function expected, got nil%)")
    end)

    it("returns the arguments of wake, however many", function()
      assert.same({ n = 6, 1, nil, 3, nil, 5, nil }, require("operations.base.compat").pack(task.await(function(wake)
        wake(1, nil, 3, nil, 5, nil)
      end)))
      assert.equal(0, select("#", task.await(function(wake)
        wake()
      end)))
    end)

    it("takes only the first wake", function()
      assert.equal(1, task.await(function(wake)
        wake(1)
        wake(2)
      end))
    end)

    it("does not cancel the wait that resumed it", function()
      local cancelled = false
      task.run(function()
        task.await(function(wake)
          local stop = host.timer(10, wake)
          return function()
            cancelled = true
            stop()
          end
        end)
      end)
      assert.is_false(cancelled)
    end)

    it("works in a coroutine that user code made, inside a task and outside", function()
      local function values()
        return coroutine.wrap(function()
          for i = 1, 2 do
            task.sleep(1)
            coroutine.yield(i)
          end
        end)
      end
      local outside = values()
      assert.equal(1, outside())
      assert.equal(2, outside())
      task.run(function()
        local inside = values()
        assert.equal(1, inside())
        assert.equal(2, inside())
      end)
    end)
  end)

  describe("resume", function()
    local function counter()
      return coroutine.create(function(first)
        for i = first, first + 1 do
          task.sleep(1)
          local ok = pcall(coroutine.yield, i, "extra")
          assert(ok)
        end
        return "end"
      end)
    end

    it("passes the waits of a generator through to its task", function()
      local order = {}
      task.run(function()
        task.spawn(function()
          task.sleep(0.5)
          order[#order + 1] = "other"
        end)
        local co = counter()
        assert.same({ true, 1, "extra" }, { task.resume(co, 1) })
        order[#order + 1] = "generator"
        assert.same({ true, 2, "extra" }, { task.resume(co) })
        assert.same({ true, "end" }, { task.resume(co) })
        assert.is_false((task.resume(co)))
      end)
      assert.same({ "other", "generator" }, order)
    end)

    it("drives the loop outside of any task", function()
      local co = counter()
      assert.same({ true, 5, "extra" }, { task.resume(co, 5) })
      assert.same({ true, 6, "extra" }, { task.resume(co) })
    end)

    it("passes through generators inside generators", function()
      task.run(function()
        local inner = counter()
        local outer = coroutine.create(function()
          local _, value = task.resume(inner, 1)
          coroutine.yield(value)
          _, value = task.resume(inner)
          coroutine.yield(value)
        end)
        assert.same({ true, 1 }, { task.resume(outer) })
        assert.same({ true, 2 }, { task.resume(outer) })
      end)
    end)

    it("lets a generator be resumed by another task", function()
      local co = counter()
      task.run(function()
        task.resume(co, 1)
      end)
      task.run(function()
        local _, value = task.resume(co)
        assert.equal(2, value)
      end)
    end)

    it("brings the task's cancellation to the innermost generator", function()
      local seen
      task.run(function()
        local child = task.spawn(function()
          local inner = coroutine.create(function()
            local _, raised = pcall(task.sleep, 60)
            seen = raised.code
            error(raised, 0)
          end)
          local _, raised = task.resume(coroutine.create(function()
            error(select(2, task.resume(inner)), 0)
          end))
          error(raised, 0)
        end)
        task.sleep(1)
        child:cancel()
        assert.equal("ABORTED", select(2, child:wait()).code)
      end)
      assert.equal("ABORTED", seen)
    end)

    it("knows the task it runs in", function()
      task.run(function()
        local me = task.current()
        local _, inside = task.resume(coroutine.create(task.current))
        assert.equal(me, inside)
      end)
      assert.is_nil(task.current())
    end)
  end)

  describe("enclose", function()
    it("runs a function as a task in the caller's coroutine", function()
      task.run(function()
        local outer, co = task.current(), coroutine.running()
        assert.same({ 1, 2 }, { task.enclose(nil, function(inner, one, other)
          assert.equal(inner, task.current())
          assert.not_equal(outer, inner)
          assert.equal(co, coroutine.running())
          task.sleep(0)
          return one, other
        end, 1, 2) })
        assert.equal(outer, task.current())
      end)
    end)

    it("is cancelled without its caller", function()
      task.run(function()
        local inner, child
        task.spawn(function()
          task.sleep(0)
          inner:cancel("enough")
        end)
        local result, err = task.enclose(nil, function(self)
          inner = self
          child = task.spawn(task.sleep, 60)
          task.sleep(60)
        end)
        assert.is_nil(result)
        assert.equal("ABORTED: enough", tostring(err))
        assert.equal("ABORTED", select(2, child:wait()).code)
        task.sleep(0)
        assert.is_false(task.cancelled())
      end)
    end)

    it("is cancelled with its caller", function()
      local seen
      task.run(function()
        local outer = task.spawn(function()
          seen = select(2, task.enclose(nil, function()
            task.sleep(60)
          end))
          task.sleep(60)
        end)
        task.sleep(0)
        outer:cancel("over")
        assert.equal("ABORTED: over", tostring(select(2, outer:wait())))
      end)
      assert.is_truthy(seen)
    end)

    it("is told before it first waits", function()
      local told = {}
      task.enclose(nil, function(self)
        self:on_wait(function(subject, waiting)
          assert.equal(self, waiting)
          told[#told + 1] = subject
        end, "waits")
        told[#told + 1] = "runs"
        task.sleep(0)
        told[#told + 1] = "waited"
        task.sleep(0)
      end)
      assert.same({ "runs", "waits", "waited" }, told)
    end)

    it("may be cancelled by what is told", function()
      local raised
      task.run(function()
        task.enclose(nil, function(self)
          self:on_wait(function()
            self:cancel("over")
          end)
          raised = select(2, pcall(task.sleep, 600))
        end)
      end)
      assert.equal("ABORTED: over", tostring(raised))
    end)

    it("obeys its deadline or an earlier one of its caller, which gets its own back", function()
      task.run(function()
        local function sleep()
          task.sleep(600)
        end
        local near, far = hosts.current().now() + 5, hosts.current().now() + 600000
        assert.equal("TIMEOUT", select(2, task.enclose(near, sleep)).code)
        assert.is_nil(task.deadline(near))
        assert.equal("TIMEOUT", select(2, task.enclose(far, sleep)).code)
        assert.equal(near, task.deadline(far))
        assert.equal("TIMEOUT", select(2, task.enclose(near, sleep)).code)
        assert.equal(far, task.deadline(nil))
      end)
    end)

    it("ends when its children have ended, and works where there is no task", function()
      local ended = false
      assert.equal("x", task.enclose(nil, function()
        task.spawn(function()
          task.sleep(0)
          ended = true
        end)
        return "x"
      end))
      assert.is_true(ended)
      local result, err = task.enclose(nil, function()
        error("oops")
      end)
      assert.is_nil(result)
      assert.is_truthy(err)
    end)
  end)

  describe("interrupt", function()
    it("ends the wait of a generator that another task is waiting for", function()
      task.run(function()
        local cancelled = 0
        local co = coroutine.create(function()
          task.await(function()
            return function()
              cancelled = cancelled + 1
            end
          end)
        end)
        local reader = task.spawn(task.resume, co)
        task.sleep(1)
        assert.is_true(task.interrupt(co, "stop"))
        assert.is_false(task.interrupt(co, "stop"))
        assert.same({ false, "stop" }, { reader:wait() })
        assert.equal(1, cancelled)
      end)
    end)
  end)

  describe("within", function()
  local operations = require("operations")

  it("gives the results of a block that ends in time, and raises its errors", function()
    assert.same({ 1, 2 }, { operations.within(1000, function(a)
      operations.sleep(0.5)
      return a, 2
    end, 1) })
    assert.error_matches(function()
      operations.within(1000, error, "as it was")
    end, "as it was")
    assert.is_nil(task.deadline(nil))
  end)

  it("is TIMEOUT when the time is over, whatever the block makes of it", function()
    for _, block in ipairs({
      function()
        operations.sleep(2)
      end,
      function()
        pcall(operations.sleep, 2)
        return "a part"
      end,
      function()
        return operations.all({ function()
          operations.sleep(2)
        end })
      end,
    }) do
      local value, err = operations.within(1000, block)
      assert.same({ nil, "TIMEOUT", true }, { value, err.code, err.mayHaveRun })
    end
    operations.sleep(1) -- the deadline is gone
  end)

  it("does not move an earlier deadline around it", function()
    local value, err = operations.within(1000, function()
      return { pcall(operations.within, 5000, operations.sleep, 2) }
    end)
    assert.same({ nil, "TIMEOUT" }, { value, err.code })
  end)
end)

describe("shield", function()
  local operations = require("operations")

  it("lets the cleanup of a cancelled task wait, for its own time", function()
    local steps = {}
    task.run(function()
      local worker = task.spawn(function()
        local ok = pcall(operations.sleep, 10)
        steps[1] = ok
        steps[2] = pcall(operations.sleep, 1)
        steps[3] = operations.shield(5000, function(value)
          operations.sleep(1)
          return value
        end, "cleaned up")
        local _, err = pcall(operations.shield, 1000, operations.sleep, 2)
        steps[4] = err.code
      end)
      operations.sleep(1)
      worker:cancel()
    end)
    assert.same({ false, false, "cleaned up", "TIMEOUT" }, steps)
  end)

  it("reaches past the deadline of a block, and raises what its function raises", function()
    local ok, err = pcall(operations.within, 1000, function()
      pcall(operations.sleep, 2)
      operations.shield(1000, function()
        operations.sleep(0.5)
        error(operations.error("SEEN", "it has waited"))
      end)
    end)
    assert.same({ false, "SEEN" }, { ok, err.code })
  end)
end)

describe("the clocks", function()
  it("are the host's for deadlines, and one that never goes back", function()
    local operations = require("operations")
    assert.equal(require("operations.hosts").current().now(), operations.now())
    local first = operations.monotonic()
    for _ = 1, 1000 do
      local later = operations.monotonic()
      assert.is_true(later >= first)
      first = later
    end
  end)
end)

describe("an error of a task that is not awaited", function()
    it("is logged with its traceback when the parent ends", function()
      task.run(function()
        task.spawn(function()
          error("lost")
        end)
        task.sleep(1)
      end)
      assert.equal(1, #logged)
      assert.matches("lost", logged[1].raised)
      assert.matches("traceback", logged[1].traceback)
    end)

    it("is reported at the next tick, though the task is referenced, and once", function()
      local kept = task.spawn(function()
        error("kept")
      end)
      task.sleep(1)
      assert.equal(1, #logged)
      assert.matches("kept", logged[1].raised)
      assert.matches("kept", select(2, kept:wait()).message)
      task.sleep(1)
      assert.equal(1, #logged)
    end)

    it("is reported for a child while its parent continues", function()
      task.run(function()
        task.spawn(error, "lost", 0)
        task.sleep(1)
        assert.equal(1, #logged)
        task.sleep(1)
      end)
      assert.equal(1, #logged)
    end)

    it("is reported for a task that returned nil and an error object", function()
      local kept = task.spawn(function()
        task.sleep(1)
        return nil, errors.new("NOT_FOUND", "no such thing")
      end)
      task.sleep(2)
      assert.equal(1, #logged)
      assert.equal("NOT_FOUND", logged[1].raised.code)
      assert.equal("NOT_FOUND: no such thing", logged[1].traceback)
      assert.equal("NOT_FOUND", select(2, kept:wait()).code)
    end)

    it("is reported when the waiter has given up before", function()
      local child = task.spawn(function()
        task.sleep(10)
        error("late", 0)
      end)
      task.run(function()
        task.deadline(host.now() + 5)
        assert.equal("TIMEOUT", select(2, pcall(child.wait, child)).code)
      end)
      task.sleep(20)
      assert.equal(1, #logged)
      assert.equal("late", logged[1].raised)
    end)

    it("is told in the order in which tasks failed", function()
      for i = 1, 3 do
        task.spawn(error, i, 0)
      end
      task.sleep(1)
      assert.same({ 1, 2, 3 }, { logged[1].raised, logged[2].raised, logged[3].raised })
    end)

    it("is told when a plain program ends without another tick", function()
      local result = command.run([[lua -e '
        local operations = require("operations")
        local parent = operations.spawn(function() return 1 end)
        kept = operations.spawn(function() error("at the end", 0) end)
        assert(parent:wait() == 1)
      ']])
      assert.equal(0, result.code)
      assert.matches("^operations: error: at the end\nstack traceback:", result.err)
    end)

    it("goes to the function that a program gives to operations.on_error", function()
      local operations, got = require("operations"), nil
      local previous = operations.on_error(function(failure, traceback)
        got = { failure, traceback:match("^[^\n]*") }
      end)
      operations.spawn(error, "lost", 0)
      operations.sleep(1)
      assert.is_function(operations.on_error(previous))
      assert.same({ "lost", "lost" }, got)
      assert.same({}, logged)
      assert.error_matches(operations.on_error, "bad argument #1 to 'on_error' %(function expected, got nil%)")
    end)

    it("stops no task when the log fails", function()
      task.on_error = function()
        error("no log")
      end
      local stderr, said = io.stderr, {}
      io.stderr = { write = function(_, ...) said[#said + 1] = table.concat({ ... }) end } -- luacheck: ignore 122
      local result = task.run(function()
        local child = task.spawn(function()
          task.spawn(error, "oops")
          return "fine"
        end)
        return child:wait()
      end)
      io.stderr = stderr -- luacheck: ignore 122
      assert.equal("fine", result)
      assert.equal(1, #said)
      assert.matches("on_error failed: .*no log.*oops", said[1])
    end)

    it("is not logged when another task asks in the same turn", function()
      local first = task.spawn(function() end)
      local second = task.spawn(function()
        error("asked for")
      end)
      first:wait()
      assert.matches("asked for", select(2, second:wait()).message)
      task.sleep(1)
      assert.same({}, logged)
    end)

    it("is not logged when the function returned the error of its cancellation", function()
      task.run(function()
        local child = task.spawn(function()
          return nil, select(2, pcall(task.sleep, 10))
        end)
        task.sleep(1)
        child:cancel()
      end)
      task.sleep(1)
      assert.same({}, logged)
    end)

    it("is not reported for values that a detached task returns", function()
      task.detach(function()
        return nil, errors.new("BROKEN", "for nobody")
      end)
      task.sleep(1)
      assert.same({}, logged)
    end)

    it("is not logged when the task was cancelled", function()
      task.run(function()
        local child = task.spawn(task.sleep, 10)
        task.sleep(1)
        child:cancel()
      end)
      usage.collect()
      assert.same({}, logged)
    end)
  end)

  it("refuses a host that lacks a function, naming it", function()
    assert.error_matches(function()
      task.use_host({ now = print, timer = print })
    end, "function expected in field 'block'")
    assert.equal(host, hosts.current())
  end)
end)
