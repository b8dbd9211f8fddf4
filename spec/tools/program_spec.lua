local operations = require("operations")

local T = operations.type

describe("programs that a model writes as a tool call", function()
  local registry, added

  before_each(function()
    registry, added = operations.registry(), {}
    assert(registry:register_all({
      { namespace = "tasks", name = "add", inputSchema = T.object({ title = T.string({ minLength = 1 }) }),
        handler = function(input)
          table.insert(added, input.title)
          return { id = #added }
        end },
      { namespace = "tasks", name = "list", type = "query", handler = function()
        return added
      end },
      { namespace = "tasks", name = "who", type = "query", handler = function(_, context)
        return { id = context.identity and context.identity.id, parent = context.parentRequestId ~= nil,
          note = context.metadata and context.metadata.note }
      end },
      { namespace = "tasks", name = "broken", type = "query", handler = function()
        error("the disk is full")
      end },
      { namespace = "tasks", name = "watch", type = "subscription", handler = function()
        for i = 1, 3 do
          coroutine.yield(i)
        end
      end },
      { namespace = "tasks", name = "secret", accessControl = { requiredScopes = { "admin" } }, handler = print },
    }))
  end)

  local function tools_with(options)
    options = options or {}
    options.format, options.code = options.format or "anthropic", options.code == nil and true or options.code
    return assert(operations.to_tools(registry, options))
  end

  local function run(tools, input, context)
    local _, results = tools:run({ role = "assistant", content = {
      { type = "tool_use", id = "1", name = "run_lua",
        input = type(input) == "string" and { code = input } or input } } }, context)
    return results[1].content.text, results[1]
  end

  it("come with search and describe, in every format", function()
    for _, format in ipairs({ "openai", "openai-responses", "anthropic", "gemini" }) do
      for _, strict in ipairs({ false, true }) do
        local names = {}
        local definitions = tools_with({ format = format, strict = strict }).definitions
        for i, given in ipairs(definitions[1].functionDeclarations or definitions) do
          names[i] = (given["function"] or given).name
        end
        assert.same({ "search_operations", "describe_operation", "run_lua" }, names)
      end
    end
  end)

  it("return their value, with what they printed", function()
    local tools = tools_with()
    assert.equal('{"n":[1,2]}', run(tools, "return { n = { 1, 2 } }"))
    assert.equal("3\nIt printed:\nhello", run(tools, 'print("hello") return 1 + 2'))
    assert.equal("(no result)", run(tools, ""))
  end)

  it("call operations with the context of the run", function()
    local tools = tools_with({ identity = { id = "ada", scopes = {} } })
    assert.equal('[{"id":1},["tea"],[1,2],{"id":"ada","note":7,"parent":true}]', run(tools,
      [[return { call("tasks.add", { title = "tea" }), call("tasks_list"), stream("tasks.watch", {}, 2),
        call("tasks.who") }]], { metadata = { note = 7 } }))
  end)

  it("get failures as other calls do", function()
    local text, result = run(tools_with(), [[local _, a = call("tasks.secret") local _, b = call("tasks.broken")
      local _, c = call("tasks.add", { title = "" }) return { a.code, b.code, c.code, c.details[1].path }]])
    assert.equal('["OPERATION_NOT_FOUND","EXECUTION_ERROR","VALIDATION_ERROR","/title"]', text)
    assert.is_true(result.ok)
  end)

  it("tell where they failed, and what they did before", function()
    local text, result = run(tools_with(), 'call("tasks.add", { title = "tea" })\nerror("no milk")')
    assert.is_false(result.ok)
    assert.equal("EXECUTION_ERROR", result.error.code)
    assert.matches("^EXECUTION_ERROR: line 2: no milk", text)
    assert.matches("%- call tasks%.add: ok", text)
  end)

  it("ask for an approval of each mutation, one at a time", function()
    local asked, most, now = {}, 0, 0
    local tools = tools_with({ confirm = function(call)
      now = now + 1
      most = math.max(most, now)
      operations.sleep(0.001)
      now = now - 1
      table.insert(asked, call.operationId .. " " .. call.input.title)
      if call.input.title == "no" then
        return false, "not that one"
      end
      return true
    end })
    local text = run(tools, [[local made, errs = map({ "a", "no", "c", "" }, function(title)
      return call("tasks.add", { title = title }) end)
      call("tasks.list") return { errs[2].code, errs[2].message, errs[4].code }]])
    assert.equal('["ACCESS_DENIED","the call was not approved: not that one","VALIDATION_ERROR"]', text)
    table.sort(asked)
    assert.same({ "tasks.add a", "tasks.add c", "tasks.add no" }, asked)
    assert.equal(1, most)
    assert.equal(2, #added)
  end)

  it("have no mutations where they are not allowed, and only say them in a rehearsal", function()
    assert.equal('["OPERATION_NOT_FOUND"]', run(tools_with({ code = { mutations = false } }),
      'return { (select(2, call("tasks.add", { title = "x" })).code) }'))
    assert.equal('{"dryRun":true,"id":"tasks.add","input":{"title":"x"}}', run(tools_with(),
      { code = 'return call("tasks.add", { title = "x" })', dry_run = true }))
    assert.same({}, added)
  end)

  it("end with the task that runs them", function()
    registry:register({ namespace = "tasks", name = "slow", handler = function()
      operations.sleep(60)
    end })
    local tools, text = tools_with(), nil
    operations.run(function()
      local work = operations.spawn(function()
        text = run(tools, 'call("tasks.slow") call("tasks.add", { title = "late" })')
      end)
      operations.sleep(0.05) -- waits for the process
      work:cancel()
      pcall(work.wait, work)
    end)
    assert.matches("^ABORTED", text)
    assert.same({}, added)
  end)

  it("are recorded", function()
    local lines = {}
    registry = operations.registry({ middleware = { operations.middleware.audit({ write = function(line)
      lines[#lines + 1] = operations.json.decode(line)
    end }) } })
    registry:register({ namespace = "a", name = "b", type = "query", handler = function()
      return 1
    end })
    run(tools_with(), 'return call("a.b")')
    assert.same({ "a.b", "run_lua" }, { lines[1].operation, lines[2].operation })
    assert.equal(lines[2].id, lines[1].parent)
    assert.same({ "a.b", "ok" }, { lines[2].calls[1].operation, lines[2].calls[1].outcome })
  end)

  it("refuse unknown options", function()
    assert.has_error(function()
      tools_with({ code = { max_cals = 3 } })
    end)
  end)
end)
