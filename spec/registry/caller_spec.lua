local operations = require("operations")

describe("what a handler may tell and ask its caller", function()
  local function run(handler, context)
    local registry = operations.registry({ log = function() end })
    registry:register({ namespace = "a", name = "b", type = "mutation", handler = handler })
    return assert(registry:execute("a.b", {}, context)).data
  end

  it("is nothing where the caller cannot show or answer it", function()
    assert.same({ "decline", "CAPABILITY_MISSING", "CAPABILITY_MISSING", "CAPABILITY_MISSING" },
      run(function(_, context)
        context.progress(1, 2, "half")
        context.hang_up(5)
        local action, content = context.elicit("Who?")
        assert.is_nil(content)
        local _, sampled = context.sample({})
        local _, rooted = context.roots()
        local answers, failures = context.ask({ x = { method = "roots/list" } })
        assert.is_nil(next(answers))
        for _, err in ipairs({ sampled, rooted, failures.x }) do
          assert.same({ false, "the caller cannot be asked" }, { err.retryable, err.message })
        end
        return { action, sampled.code, rooted.code, failures.x.code }
      end))
  end)

  it("goes to whoever called, from calls within the call, too, progress aside", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "inner", type = "mutation", handler = function(_, context)
      context.progress(1)
      return context.elicit("Who?")
    end })
    registry:register({ namespace = "a", name = "outer", type = "mutation", handler = function(_, context)
      context.progress(2)
      return assert(context.env.a.inner({})).data
    end })
    local told = {}
    assert.equal("accept", assert(registry:execute("a.outer", {}, {
      progress = function(done)
        told[#told + 1] = done
      end,
      elicit = function(text)
        return text == "Who?" and "accept"
      end,
    })).data)
    assert.same({ 2 }, told)
  end)

  it("is given as functions", function()
    assert.has_error(function()
      run(function(_, context)
        return context.progress
      end, { progress = 7 })
    end)
  end)
end)
