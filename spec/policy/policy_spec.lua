local operations = require("operations")

local function echo(input)
  return input
end

local ada = { id = "ada", scopes = {} }

describe("a policy", function()
  local asked, answer, logged

  -- A registry with operations of one namespace: { name = fields }.
  local function registry_of(policy, list)
    local registry = operations.registry({ policy = policy, log = function(_, message)
      logged[#logged + 1] = message
    end })
    for _, fields in ipairs(list) do
      fields.namespace, fields.handler = fields.namespace or "tasks", fields.handler or echo
      assert(registry:register(fields))
    end
    return registry
  end

  local function asking(rules, options)
    options = options or {}
    options.ask = function(call)
      asked[#asked + 1] = call
      return answer[1], answer[2]
    end
    return assert(operations.policy(rules, options))
  end

  before_each(function()
    asked, answer, logged = {}, { true }, {}
  end)

  it("lets calls run that no rule fits", function()
    local registry = registry_of({ { match = "other.*", action = "block" } }, { { name = "list" } })
    assert.same({ a = 1 }, registry:execute("tasks.list", { a = 1 }).data)
  end)

  it("blocks with the name of the rule and its reason", function()
    local registry = registry_of({ { match = "drop*", action = "block", name = "keep data", reason = "audited" } },
      { { name = "drop" } })
    local envelope, err = registry:execute("tasks.drop")
    assert.is_nil(envelope)
    assert.equal("ACCESS_DENIED: the policy blocks tasks.drop (keep data): audited", tostring(err))
    assert.same({ { operationId = "tasks.drop", rule = "keep data", reason = "audited" }, false, false },
      { err.details, err.mayHaveRun, err.retryable })
  end)

  it("takes the most restrictive rule, whatever its place", function()
    for _, order in ipairs({ { "allow", "ask", "block" }, { "block", "ask", "allow" }, { "ask", "block", "allow" } }) do
      local rules = {}
      for i, action in ipairs(order) do
        rules[i] = { match = "tasks.*", action = action, name = action }
      end
      local _, err = registry_of(asking(rules), { { name = "add" } }):execute("tasks.add")
      assert.equal("block", err.details.rule)
    end
    assert.equal(0, #asked)
  end)

  it("compares `when` with the input that the handler would get", function()
    local registry = registry_of({ { match = "tasks.add", action = "block",
      when = { required = { "force" }, properties = { force = { const = true } } } } },
      { { name = "add", inputSchema = { type = "object", properties = { force = { default = true } } } } })
    assert.is_nil((registry:execute("tasks.add", {})))
    assert.is_nil((registry:execute("tasks.add", { force = true })))
    assert.is_table(registry:execute("tasks.add", { force = false }))
  end)

  it("compares `identity` with the caller, null without one", function()
    local registry = registry_of({ { action = "block", name = "strangers", identity = { type = "null" } },
      { action = "block", name = "guests", identity = { type = "object", required = { "guest" } } } },
      { { name = "add" } })
    assert.equal("strangers", select(2, registry:execute("tasks.add")).details.rule)
    local _, err = registry:execute("tasks.add", {}, { identity = { id = "g", guest = true } })
    assert.equal("guests", err.details.rule)
    assert.is_table(registry:execute("tasks.add", {}, { identity = ada }))
  end)

  it("asks with the operation, the whole input, the rule and its reason", function()
    local registry = registry_of(asking({ { match = "add", action = "ask", name = "writes", reason = "look" } }),
      { { name = "add" } })
    assert.is_table(registry:execute("tasks.add", { a = 1 }, { identity = ada }))
    local call = asked[1]
    assert.same({ "tasks.add", { a = 1 }, ada, "writes", "look" },
      { call.operationId, call.input, call.identity, call.rule, call.reason })
    answer = { false, "not today" }
    local _, err = registry:execute("tasks.add", { a = 1 }, { identity = ada })
    assert.equal("ACCESS_DENIED: the call was not approved: not today", tostring(err))
    assert.equal("writes", err.details.rule)
  end)

  it("fails at once with APPROVAL_REQUIRED where no person can be asked", function()
    local registry = registry_of({ { action = "ask", name = "writes" } }, { { name = "add" } })
    local _, err = registry:execute("tasks.add")
    assert.equal("APPROVAL_REQUIRED: tasks.add needs an approval (writes), and no person can be asked", tostring(err))
  end)

  it("asks the user of a calling client: an answer, a refusal, and a client without forms", function()
    local registry = registry_of({ { match = "add", action = "ask", name = "writes" } }, { { name = "add" } })
    local prompts, given = {}, nil
    local function call(context)
      local envelope, err = registry:execute("tasks.add", { a = 1 }, context)
      return envelope and "ran" or err.code
    end
    local function elicit(prompt, schema)
      prompts[#prompts + 1] = { prompt, schema.properties.answer.enum[2] }
      return given and "accept" or "decline", given
    end
    assert.equal("ACCESS_DENIED", call({ elicit = elicit }))
    given = { answer = "Yes, once" }
    assert.equal("ran", call({ elicit = elicit }))
    assert.same({ 'tasks.add: {"a":1} (writes)', "Yes, once" }, prompts[1])
    local keys = {}
    local function ask(requests)
      local key, request = next(requests)
      keys[#keys + 1] = key
      assert.equal("elicitation/create", request.method)
      if given then
        return { [key] = { action = "accept", content = given } }, {}
      end
      return {}, { [key] = operations.error("CAPABILITY_MISSING", "no forms") }
    end
    given = { answer = "Yes, always" }
    assert.equal("ran", call({ ask = ask })) -- of callers without an identity nothing is remembered
    given = nil
    assert.equal("APPROVAL_REQUIRED", call({ ask = ask }))
    assert.equal(keys[1], keys[2]) -- the same question, in all rounds of a call
  end)

  it("does not ask about calls that access control or the schema refuses", function()
    local registry = registry_of(asking({ { action = "ask" } }), {
      { name = "add", inputSchema = { type = "object", required = { "a" } } },
      { name = "own", accessControl = { requiredScopes = { "x" } } },
    })
    assert.equal("VALIDATION_ERROR", select(2, registry:execute("tasks.add", {})).code)
    assert.equal("ACCESS_DENIED", select(2, registry:execute("tasks.own", {})).code)
    assert.equal(0, #asked)
  end)

  it("remembers an approval for one identity, and no more than its rule allows", function()
    answer = { true, "always" }
    local registry = registry_of(asking({ { match = "add", action = "ask" },
      { match = "send", action = "ask", remember = "arguments" },
      { match = "pay", action = "ask", remember = "once" } }),
      { { name = "add" }, { name = "send" }, { name = "pay" } })
    local function calls(name, input, identity)
      local before = #asked
      assert(registry:execute("tasks." .. name, input, { identity = identity }))
      return #asked - before
    end
    local one, two = { a = 1 }, { a = 2 }
    assert.same({ 1, 0, 0, 1 }, { calls("add", one, ada), calls("add", one, ada), calls("add", two, ada),
      calls("add", one, { id = "bob" }) })
    assert.same({ 1, 0, 1 }, { calls("send", one, ada), calls("send", one, ada), calls("send", two, ada) })
    assert.same({ 1, 1 }, { calls("pay", {}, ada), calls("pay", {}, ada) })
  end)

  it("forgets an approval when the operation's schema changes", function()
    answer = { true, "always" }
    local registry = registry_of(asking({ { action = "ask" } }), { { name = "add" } })
    assert(registry:execute("tasks.add"))
    assert(registry:execute("tasks.add"))
    assert.equal(1, #asked)
    assert(registry:register({ namespace = "tasks", name = "add", handler = echo, inputSchema = { type = "object" } },
      { replace = true }))
    assert(registry:execute("tasks.add"))
    assert.equal(2, #asked)
  end)

  it("holds for nested calls: blocks always, asks where the rule says so", function()
    local function through(name)
      return function(_, context)
        return context.env.tasks[name]({})
      end
    end
    local registry = registry_of(asking({ { match = "drop", action = "block" }, { match = "add", action = "ask" },
      { match = "pay", action = "ask", nested = true } }), { { name = "drop" }, { name = "add" }, { name = "pay" },
      { name = "outer_drop", handler = through("drop") }, { name = "outer_add", handler = through("add") },
      { name = "outer_pay", handler = through("pay") } })
    assert.equal("ACCESS_DENIED", select(2, registry:execute("tasks.outer_drop")).code)
    assert.is_table(registry:execute("tasks.outer_add"))
    assert.equal(0, #asked)
    assert.is_table(registry:execute("tasks.outer_pay"))
    assert.equal("tasks.pay", asked[1].operationId)
  end)

  it("asks again about calls of a handler after it has ended, which are not trusted", function()
    local kept
    local registry = registry_of(asking({ { match = "add", action = "ask" } }), { { name = "add" },
      { name = "outer", handler = function(_, context)
        kept = context.env
        return 1
      end } })
    assert(registry:execute("tasks.outer"))
    assert.is_table(kept.tasks.add({}))
    assert.equal(1, #asked)
  end)

  it("hides from an identity what is blocked for it whatever the input is", function()
    local registry = registry_of({ { match = "drop", action = "block" },
      { match = "pay", action = "block", identity = { type = "null" } },
      { match = "add", action = "block", when = { required = { "force" } } }, { match = "send", action = "ask" } },
      { { name = "drop" }, { name = "pay" }, { name = "add" }, { name = "send" } })
    local function seen(identity)
      local found = {}
      for _, spec in ipairs(registry:specs()) do
        found[#found + 1] = registry:visible(spec, identity) .. " " .. registry:visible("tasks." .. spec.name, identity)
      end
      return found
    end
    assert.same({ "hidden hidden", "hidden hidden", "yes yes", "yes yes" }, seen(nil))
    assert.same({ "hidden hidden", "yes yes", "yes yes", "yes yes" }, seen(ada))
  end)

  it("warns of a rule that fits no operation, and again when the catalogue changes", function()
    local registry = registry_of({ { match = "task.*", action = "block", name = "all" },
      { match = "tasks.ad", action = "ask" }, { match = "tasks.add", action = "allow" } }, { { name = "add" } })
    assert(registry:execute("tasks.add"))
    assert(registry:execute("tasks.add"))
    assert.same({ 'policy: all fits no operation: "task.*" (did you mean tasks.*?)',
      'policy: rule 2 fits no operation: "tasks.ad" (did you mean tasks.add?)' }, logged)
    assert(registry:register({ namespace = "task", name = "ad", handler = echo }))
    assert.is_nil((registry:execute("task.ad")))
    assert.equal('policy: rule 2 fits no operation: "tasks.ad" (did you mean task.ad, tasks.add?)', logged[3])
    assert.equal(3, #logged)
  end)

  it("knows operations that are registered, replaced or removed later", function()
    local registry = registry_of({ { type = "mutation", action = "block" } }, { { name = "get", type = "query" } })
    assert.is_table(registry:execute("tasks.get"))
    assert(registry:register({ namespace = "tasks", name = "get", handler = echo }, { replace = true }))
    assert.is_nil((registry:execute("tasks.get")))
    registry:unregister("tasks.get")
    assert.equal("OPERATION_NOT_FOUND", select(2, registry:execute("tasks.get")).code)
  end)

  it("ends the question with the call's deadline", function()
    local registry = registry_of(assert(operations.policy({ { action = "ask" } }, { ask = function()
      operations.sleep(60)
      return true
    end })), { { name = "add" } })
    local _, err = registry:execute("tasks.add", {}, { timeout = 20 })
    assert.same({ "TIMEOUT", false }, { err.code, err.mayHaveRun })
  end)

  it("refuses a call when its question fails, and answers that it does not know", function()
    for _, given in ipairs({ { nil }, { 1 }, { "yes" }, { true, "for ever" } }) do
      answer = given
      local _, err = registry_of(asking({ { action = "ask" } }), { { name = "add" } }):execute("tasks.add")
      assert.equal("ACCESS_DENIED", err.code)
    end
    local failing = assert(operations.policy({ { action = "ask" } }, { ask = function()
      error("no window")
    end }))
    local _, err = registry_of(failing, { { name = "add" } }):execute("tasks.add")
    assert.truthy(tostring(err):find("ACCESS_DENIED: the call was not approved: `confirm` failed: .*no window"))
  end)

  it("with a flaw raises where the registry is made, by the path", function()
    local ok, message = pcall(function()
      local _ = operations.registry({ policy = { { action = "aks" } } })
    end)
    assert.is_false(ok)
    assert.truthy(message:find("spec/policy/policy_spec.lua:%d+: bad option 'policy' to 'registry' %(/0/action: "))
  end)

  it("knows a transformed operation by the id that callers see, and by that of its source", function()
    local list = assert(operations.transform({ { namespace = "github", name = "issues_delete", handler = echo } },
      { ["github.issues_delete"] = { namespace = "tracker", name = "drop" } }))
    for _, pattern in ipairs({ "tracker.*", "drop", "github.*", "*_delete" }) do
      local registry = operations.registry({ policy = { { match = pattern, action = "block" } } })
      assert(registry:register(list[1]))
      assert.equal("ACCESS_DENIED", select(2, registry:execute("tracker.drop")).code)
    end
  end)

  it("explains what happens to a call, and why", function()
    local policy = assert(operations.policy({ { match = "*", type = "mutation", action = "ask", name = "writes" },
      { match = "tasks.drop", action = "block", when = { required = { "all" } }, name = "all", reason = "r" } }))
    local facts = { id = "tasks.drop", name = "drop", type = "mutation", destructive = true }
    assert.same({ action = "ask", rule = "writes", depends = true }, policy:explain(facts))
    assert.same({ action = "block", rule = "all", reason = "r" }, policy:explain(facts, nil, { all = true }))
    assert.same({ action = "ask", rule = "writes" }, policy:explain(facts, nil, {}))
    assert.same({ action = "allow" }, policy:explain({ id = "a.b", name = "b", type = "query", destructive = false }))
  end)
end)
