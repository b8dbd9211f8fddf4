--- What middleware does, whichever host it runs in, on a clock that jumps.
local jumping_clock = require("spec.support.jumping_clock")
local operations = require("operations")

local names = { "layer", "timeout", "retry", "concurrency", "breaker", "rate_limit", "cache", "confirm", "log", "trace",
  "metrics" }

---@param busted table  its functions, which only spec files see
return function(busted)
  local kit, clock = { log = {} }, nil
  for name, value in pairs(busted) do
    kit[name] = value
  end

  --- A test that runs in a task, on a clock of its own.
  function kit.it(name, fn)
    busted.it(name, function()
      clock = jumping_clock.start()
      kit.clock = clock
      local ok, raised = pcall(operations.run, fn)
      clock.stop()
      if not ok then
        error(raised, 0)
      end
    end)
  end

  --- A registry with one operation, "spec.NAME"; `definition` may be its handler.
  ---@return fun(input: any?, context: table?): any, any  calls it: its data, or nil and the error
  function kit.operation(middleware, definition)
    definition = type(definition) == "function" and { handler = definition } or definition
    kit.log = {}
    local registry = operations.registry({ middleware = middleware, log = function(level, message)
      kit.log[#kit.log + 1] = level .. ": " .. message
    end })
    local given = { namespace = "spec", name = "call", type = "query" }
    for name, value in pairs(definition) do
      given[name] = value
    end
    assert(registry:register(given))
    local id = given.namespace .. "." .. given.name
    return function(input, context)
      local envelope, err = registry:execute(id, input, context)
      return envelope and envelope.data, err
    end, registry
  end

  --- A handler that gives these answers in turn, the last again and again: values, or error objects that it returns.
  --- Counts its calls at `.calls`.
  function kit.answers(...)
    local list, self = { ... }, { calls = 0, times = {} }
    function self.handler()
      self.calls = self.calls + 1
      self.times[self.calls] = clock.now
      local answer = list[math.min(self.calls, #list)]
      if operations.is_error(answer) then
        return nil, answer
      end
      return answer
    end
    return self
  end

  --- An error with what is known about trying again.
  function kit.failure(code, retryable, may_have_run, retry_after)
    local err = operations.error(code, "it failed")
    err.retryable, err.mayHaveRun, err.retryAfter = retryable, may_have_run, retry_after
    return err
  end

  --- The first results of functions that run side by side; nil and the error's code where one failed.
  function kit.side_by_side(count, fn)
    local tasks, results = {}, {}
    for i = 1, count do
      tasks[i] = operations.spawn(function()
        local value, err = fn(i)
        return { value = value, code = err and err.code, err = err }
      end)
    end
    for i = 1, count do
      results[i] = assert(tasks[i]:wait())
    end
    return results
  end

  for _, name in ipairs(names) do
    busted.describe("middleware." .. name, function()
      require("spec.middleware.cases." .. name)(kit)
    end)
  end
end
