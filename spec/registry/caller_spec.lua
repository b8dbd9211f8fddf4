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

  it("goes to the caller, from calls within the call, too, progress aside", function()
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
      on_progress = function(done)
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
      end, { on_progress = 7 })
    end)
  end)

  it("gets progress by one function, whose failures do not reach the handler", function()
    local logged, told = {}, {}
    local registry = operations.registry({ log = function(_, message)
      logged[#logged + 1] = message
    end })
    registry:register({ namespace = "a", name = "copy", handler = function(_, context)
      context.progress(1, 2, "half")
      context.progress(2)
      return context.progress_wanted
    end })
    assert.is_true(assert(registry:execute("a.copy", {}, { on_progress = function(...)
      told[#told + 1] = { ... }
      if #told == 2 then
        error("no window")
      end
    end })).data)
    assert.same({ { 1, 2, "half" }, { 2 } }, told)
    assert.matches("on_progress: .*no window", logged[1])
    assert.is_false(assert(registry:execute("a.copy", {}, {})).data)
  end)

  it("gets an error for a field of the context that does not exist", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "b", handler = function() end })
    registry:register({ namespace = "a", name = "s", type = "subscription", handler = function() end })
    for _, method in ipairs({ "execute", "subscribe" }) do
      for _, field in ipairs({ "progress", "progress_wanted", "idenity", 1 }) do
        local id = method == "execute" and "a.b" or "a.s"
        local ok, raised = pcall(registry[method], registry, id, {}, { [field] = 1 })
        assert.is_false(ok)
        assert.matches(("bad argument 'context' (unknown field '%s'"):format(field), raised, 1, true)
        local wrapped = setmetatable({ [field] = 1 }, { __index = { timeout = 100 } })
        ok, raised = pcall(registry[method], registry, id, {}, wrapped)
        assert.is_false(ok)
        assert.matches(("unknown field '%s'"):format(field), raised, 1, true)
      end
    end
  end)

  it("is told the field that was meant", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "b", handler = function() end })
    local _, raised = pcall(registry.execute, registry, "a.b", {}, { idenity = { id = "ada", scopes = {} } })
    assert.matches("(unknown field 'idenity' (did you mean identity?))", raised, 1, true)
  end)

  it("can give the context of a handler, or a table that reads from it", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "who", handler = function(_, context)
      return context.identity.id
    end })
    registry:register({ namespace = "a", name = "b", handler = function(_, context)
      local own = setmetatable({ timeout = 1000 }, { __index = { identity = { id = "eve", scopes = {} } } })
      return { registry:execute("a.who", {}, context).data, registry:execute("a.who", {}, own).data }
    end })
    local envelope = assert(registry:execute("a.b", {}, { identity = { id = "ada", scopes = {} } }))
    assert.same({ "ada", "eve" }, envelope.data)
  end)

  it("can give exactly the fields that doc/registry.md names", function()
    local file = assert(io.open("doc/registry.md"))
    local section = file:read("*a"):match("\n### The context\n(.-)\n### ")
    file:close()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "b", handler = function() end })
    local given = section:match("^(.-)\nA handler gets")
    for field in given:gmatch("`([%a_]+)`") do
      if given:find("\n|[^|\n]*`" .. field .. "`[^|\n]*|") then
        local _, raised = pcall(registry.execute, registry, "a.b", {}, { [field] = false })
        assert.is_nil(tostring(raised):match("unknown field"), field)
      end
    end
  end)
end)
