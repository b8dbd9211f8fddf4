local compat = require("operations.base.compat")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local pipe = require("spec.support.mcp_server.pipe")

describe("programs that clients of an MCP server write", function()
  local server

  local function start(...)
    server = pipe.run("code", ...)
    server:initialize()
  end

  after_each(function()
    if server then
      server.child:abort()
    end
    server = nil
  end)

  local function run(code, more)
    local arguments = more or {}
    arguments.code = code
    local answer = server:call("run_lua", arguments)
    return assert(answer.result, answer.error and answer.error.message)
  end

  -- The data of a program that succeeds.
  local function value(code, more)
    local result = run(code, more)
    assert.is_nil(result.isError, result.content[1].text)
    return assert(json.decode(result.content[1].text))
  end

  -- Sends a program, answers each question by `answer(params)`, and returns the result and all messages before it.
  local function asked(code, answer)
    server.last = server.last + 1
    server:send({ id = server.last, method = "tools/call", params = { name = "run_lua", arguments = { code = code },
      _meta = { progressToken = "t" } } })
    local messages = {}
    while true do
      local message = assert(server:receive())
      if not message.method then
        return message.result, messages
      end
      messages[#messages + 1] = message
      if message.method == "elicitation/create" then
        server:send({ id = message.id, result = answer(message.params) })
      end
    end
  end

  local function of(messages, method)
    local list = {}
    for _, message in ipairs(messages) do
      list[#list + 1] = message.method == method and message.params or nil
    end
    return list
  end

  -- An answer to a form: the word for each field, by its place.
  local function words(...)
    local given = { ... }
    return function(params)
      local content = {}
      for i, name in ipairs(params.requestedSchema.required) do
        content[name] = given[i] or given[1]
      end
      return { action = "accept", content = content }
    end
  end

  describe("in the list of tools", function()
    local function listed(...)
      start(...)
      local list = {}
      for i, tool in ipairs(server:request("tools/list").result.tools) do
        list[i], list[tool.name] = tool.name, tool
      end
      return list
    end

    it("are three, whatever else there is", function()
      local list = listed("extra=3")
      assert.same({ "search_operations", "describe_operation", "run_lua" }, { list[1], list[2], list[3], list[4] })
      assert.matches("Lua", list.run_lua.description)
    end)

    it("are destructive where a destructive operation is visible", function()
      assert.same({ readOnlyHint = false, destructiveHint = true, openWorldHint = true }, listed().run_lua.annotations)
    end)

    it("only read where mutations are not allowed", function()
      assert.same({ readOnlyHint = true, openWorldHint = true }, listed("mutations=false").run_lua.annotations)
    end)
  end)

  it("return a value, with what they printed beside it", function()
    start()
    local result = run('print("hello", 1) return { sum = 1 + 2 }')
    assert.same({ sum = 3 }, result.structuredContent)
    assert.same({ '{"sum":3}', "It printed:\nhello\t1" }, { result.content[1].text, result.content[2].text })
    assert.same({}, run("").content)
  end)

  it("call operations by id and by the name of a tool", function()
    start()
    assert.same({ 4, 4, "tea" }, value('local l = call("tasks.list") return { #l, #call("tasks_list"), l[1].title }'))
    assert.same({ 5 }, value('return { call("tasks.add", { title = "x" }).id }'))
    assert.is_true(value('return call("tasks.nothing") == null'))
  end)

  it("get failures as nil and an error", function()
    start()
    local function failure(code)
      return value("local data, err = " .. code
        .. " return { data == nil, err.code, err.message, err.details or null }")
    end
    local refused = failure('call("tasks.add", { title = "" })')
    assert.same({ true, "VALIDATION_ERROR" }, { refused[1], refused[2] })
    assert.equal("/title", refused[4][1].path)
    assert.same({ true, "EXECUTION_ERROR", "the operation failed", json.null }, failure('call("tasks.broken")'))
    assert.same({ true, "OPERATION_NOT_FOUND", 'unknown operation "tasks.ad" (did you mean tasks.add?)', json.null },
      failure('call("tasks.ad")'))
    assert.equal("VALIDATION_ERROR", failure('call("tasks.watch")')[2])
    assert.equal("VALIDATION_ERROR", failure('stream("tasks.list")')[2])
    assert.equal("OPERATION_NOT_FOUND", failure("call()")[2])
  end)

  it("know only what the caller may call", function()
    start()
    assert.same({ "OPERATION_NOT_FOUND", "OPERATION_NOT_FOUND" }, value([[local _, a = call("tasks.secret")
      local _, b = call("tasks.drop") return { a.code, b.code }]]))
    assert.same({ 0, 0 }, value('return { search("secret").total, search("drop").total }'))
    assert.is_true(server:call("describe_operation", { id = "tasks.secret" }).result.isError)
  end)

  it("search and describe as the tools do", function()
    start()
    local found = server:call("search_operations", { query = "remove" }).result.structuredContent
    assert.equal('call("tasks.remove", input: { id: integer }): any  -- errors: NOT_FOUND',
      found.operations[1].signature)
    assert.same(found, value('return search("remove")'))
    assert.same(server:call("describe_operation", { id = "tasks.add" }).result.structuredContent,
      value('return describe("tasks.add")'))
  end)

  it("read the first events of a subscription", function()
    start()
    assert.same({ { n = 1 }, { n = 2 } }, value('return stream("tasks.watch", {}, 2)'))
  end)

  it("call as the client's user, with its deadline, as parts of one request", function()
    start()
    local who = value('return { call("tasks.who"), call("tasks.who") }')
    assert.same({ id = "ada", parent = true, deadline = true }, who[1])
    local trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    local traced = server:call("run_lua", { code = 'return call("tasks.who")' }, { traceparent = trace })
    assert.equal(trace, traced.result.structuredContent.trace)
  end)

  it("have no mutations where they are not allowed", function()
    start("mutations=false")
    assert.same({ "OPERATION_NOT_FOUND", 4, 0 }, value([[local _, err = call("tasks.add", { title = "x" })
      return { err.code, #call("tasks.list"), search("removes").total }]]))
  end)

  it("only say what mutations would send in a rehearsal", function()
    start()
    assert.same({ { dryRun = true, id = "tasks.add", input = { title = "x" } }, "VALIDATION_ERROR", 4 },
      value([[local made = call("tasks.add", { title = "x" }) local _, err = call("tasks.add", {})
        return { made, err.code, #call("tasks.list") }]], { dry_run = true }))
    assert.same({ dryRun = true, id = "tasks.remove", input = { id = 1 } },
      value('return call("tasks.remove", { id = 1 })', { dry_run = true }))
    local refused = server:call("run_lua", { code = 'call("tasks.add", { title = "x" })', dryRun = true }).result
    assert.matches("dryRun: unknown property", refused.content[1].text)
    assert.equal(4, value('return #call("tasks.list")'))
  end)

  it("tell where and why they failed, and what they did before", function()
    start()
    local result = run('call("tasks.add", { title = "x" })\nprint("so far")\nlocal x\nreturn x.y')
    assert.is_true(result.isError)
    assert.matches("^EXECUTION_ERROR: line 4: attempt to index", result.content[1].text)
    assert.matches("\n%- call tasks%.add: ok %(%d+ ms%)\nIt printed:\nso far$", result.content[1].text)
    local meta = result._meta
    assert.equal("EXECUTION_ERROR", meta["operations/error"].code)
    assert.equal("tasks.add", meta["operations/program"].calls[1].operation)
    assert.matches("^NOT_FOUND: there is no task 9\n", asked('return call("tasks.remove", { id = 9 })',
      words("Yes, once")).content[1].text)
  end)

  it("refuse inputs that are no programs", function()
    start()
    for _, arguments in ipairs({ {}, { code = 1 }, { code = {} }, { code = "return 1", dry_run = "yes" } }) do
      assert.is_true(server:call("run_lua", arguments).result.isError)
    end
    assert.matches("^VALIDATION_ERROR: line 1:", run("return return").content[1].text)
    assert.is_true(run(("x"):rep(70000)).isError)
  end)

  it("report their calls, and the progress and logs of these", function()
    start()
    local _, messages = asked('call("tasks.list") call("tasks.slow") return 1')
    local steps = {}
    for i, params in ipairs(of(messages, "notifications/progress")) do
      steps[i] = params.progress .. " " .. params.message
    end
    assert.same({ "1 tasks.list: ok", "2 tasks.slow: 1/2 half", "3 tasks.slow: ok" }, steps)
    assert.same({ message = "slow", details = { n = 1 } }, of(messages, "notifications/message")[1].data)
  end)

  it("end with their request, and their calls with them", function()
    start()
    server.last = server.last + 1
    server:send({ id = server.last, method = "tools/call", params = { name = "run_lua", _meta = { progressToken = 1 },
      arguments = { code = 'call("tasks.slow", { seconds = 30 }) call("tasks.add", { title = "late" })' } } })
    assert.equal("notifications/progress", server:receive().method)
    server:send({ method = "notifications/cancelled", params = { requestId = server.last } })
    server:receive() -- the log message of the call
    assert.equal(4, value('return #call("tasks.list")'))
  end)

  it("end at the deadline of their request", function()
    start("timeout=100") -- waits for it
    assert.matches("^TIMEOUT: ", run('return call("tasks.slow", { seconds = 30 })').content[1].text)
  end)

  it("are refused where too many run, and none is lost of 1,000", function()
    start()
    for id = 1001, 2000 do
      server:send({ id = id, method = "tools/call", params = { name = "run_lua", arguments = { code = "return 7" } } })
    end
    local done, refused = 0, 0
    for _ = 1, 1000 do
      local text = server:receive().result.content[1].text
      done, refused = done + (text == "7" and 1 or 0), refused + (text:find("^BUSY: ") and 1 or 0)
    end
    assert.equal(1000, done + refused)
    assert.is_true(done >= 4)
    assert.is_true(refused > 0)
    assert.equal(3, value("return 3"))
  end)

  it("are recorded with their hash and their calls", function()
    local path = os.tmpname()
    start("audit=" .. path)
    run('call("tasks.list") return call("tasks.add", { title = "" })')
    local lines = {}
    for line in io.lines(path) do
      lines[#lines + 1] = json.decode(line)
    end
    os.remove(path)
    local whole = lines[#lines]
    assert.same({ "run_lua", "error", "VALIDATION_ERROR", "ada" },
      { whole.operation, whole.outcome, whole.code, whole.identity.id })
    assert.matches("^%x+$", whole.program)
    assert.equal(64, #whole.program)
    assert.same({ "tasks.list", "ok" }, { whole.calls[1].operation, whole.calls[1].outcome })
    assert.same({ "tasks.add", "VALIDATION_ERROR" }, { whole.calls[2].operation, whole.calls[2].outcome })
    assert.same({ "tasks.list", whole.id }, { lines[1].operation, lines[1].parent })
  end)

  local removing = [[
    local removed, errs = map({ 1, 2, 3 }, function(id) return call("tasks.remove", { id = id }) end)
    local codes = {}
    for i = 1, 3 do codes[i] = errs and errs[i] and errs[i].code or "ok" end
    return { codes, #call("tasks.list") }]]

  it("ask about each call by its own input, those of a map in one question", function()
    start()
    local result, messages = asked(removing, words("Yes, once", "No", "Yes, once"))
    local questions = of(messages, "elicitation/create")
    assert.equal(1, #questions)
    assert.matches('3 calls need an approval:\n1%. tasks%.remove: {"id":1}.*\n2%. .*{"id":2}.*\n3%. .*{"id":3}',
      questions[1].message)
    assert.same({ { "ok", "ACCESS_DENIED", "ok" }, 2 }, json.decode(result.content[1].text))
  end)

  it("make no call that is declined", function()
    start()
    for _, action in ipairs({ "decline", "cancel" }) do
      local result = asked(removing, function()
        return { action = action }
      end)
      assert.same({ { "ACCESS_DENIED", "ACCESS_DENIED", "ACCESS_DENIED" }, 4 }, json.decode(result.content[1].text))
    end
  end)

  it("remember an approval for as long as the answer says", function()
    start()
    local result, messages = asked('for id = 1, 3 do assert(call("tasks.remove", { id = id })) end return 1',
      words("Yes, always"))
    assert.is_nil(result.isError)
    assert.equal(1, #of(messages, "elicitation/create"))
  end)

  it("need an approval that a client without forms cannot give", function()
    server = pipe.run("code")
    server:initialize(nil, {})
    assert.equal("APPROVAL_REQUIRED", value('return { (select(2, call("tasks.remove", { id = 1 })).code) }')[1])
  end)

  it("pass on what handlers ask, each with its own question", function()
    start()
    local result, messages = asked('return map({ 1, 2 }, function() return call("tasks.name") end)', words("Ada"))
    assert.same({ { action = "accept", name = "Ada" }, { action = "accept", name = "Ada" } },
      json.decode(result.content[1].text))
    assert.equal(2, #of(messages, "elicitation/create"))
  end)

  describe("over HTTP", function()
    local operations = require("operations")
    local url

    local function post(code, name)
      return { url = url, method = "POST", json = { jsonrpc = "2.0", id = 1, method = "tools/call",
        params = { name = "run_lua", arguments = { code = code }, _meta = pipe.modern } }, headers = {
          authorization = "Bearer " .. (name or "ada"), accept = "application/json, text/event-stream",
          ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "run_lua" } }
    end

    local function text_of(code, name)
      local answer = assert(operations.http.request(post(code, name)))
      return json.decode(answer.body).result.content[1].text
    end

    -- Takes the only place of the user by a call that does not end.
    local function occupy()
      local occupant = operations.spawn(function()
        local text
        repeat
          local answer = operations.http.request(post('call("tasks.slow", { seconds = 60 })'))
          text = answer and answer.body or ""
        until not text:find("BUSY", 1, true)
      end)
      eventually(function()
        return text_of("return 1"):find("^BUSY")
      end)
      return occupant
    end

    before_each(function()
      server = pipe.run("code", "port=0", "authorize=true", "max_identity_programs=1")
      url = assert(server.child:read_line())
    end)

    it("call as the user of each request; each user has a share of the places", function()
      assert.equal('"ada"', text_of('return json.encode(call("tasks.who").id)'))
      local gone = occupy()
      assert.equal("bob", text_of('return call("tasks.who").id', "bob"))
      gone:cancel()
    end)

    it("have a share for an address where callers have no identity", function()
      server.child:abort()
      server = pipe.run("code", "port=0", "anonymous=true", "max_identity_programs=1")
      url = assert(server.child:read_line())
      occupy():cancel()
    end)

    it("end when their client leaves", function()
      local gone = occupy()
      gone:cancel()
      eventually(function()
        return text_of("return 1") == "1"
      end)
    end)
  end)

  it("end with their server, also while they wait", function()
    local operations = require("operations")
    local registry = operations.registry({ policy = { { action = "ask" } } })
    registry:register({ namespace = "a", name = "b", handler = print })
    local own = operations.to_mcp(registry, { code = { max_programs = 1 } })
    local function ask()
      local answer = own:handle({ method = "POST", target = "/mcp", headers = { host = "localhost",
        ["content-type"] = "application/json", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call",
        ["mcp-name"] = "run_lua" }, body = json.encode({ jsonrpc = "2.0", id = 1, method = "tools/call",
          params = { name = "run_lua", arguments = { code = 'call("a.b")' }, _meta = pipe.modern } }) })
      return json.decode(answer.body).result
    end
    operations.run(function()
      assert.equal("input_required", ask().resultType)
      assert.matches("^BUSY", ask().content[1].text)
      own:close()
    end)
    own = operations.to_mcp(registry, { code = { max_programs = 1 } })
    operations.run(function()
      eventually(function() -- its process has ended, too
        return ask().resultType == "input_required"
      end)
      own:close()
    end)
  end)

  describe("in the modern era", function()
    local function modern(params)
      params._meta = pipe.modern
      return server:request("tools/call", params).result
    end

    local function params_of(code)
      return { name = "run_lua", arguments = { code = code } }
    end

    -- The same request with answers to all questions of a result.
    local function answered(params, result, answer)
      params.inputResponses, params.requestState = {}, result.requestState
      for key, question in pairs(result.inputRequests) do
        params.inputResponses[key] = answer(question.params)
      end
      return params
    end

    it("wait for answers, and continue where they were", function()
      start()
      local params = params_of('call("tasks.add", { title = "x" }) ' .. removing)
      local first = modern(params)
      assert.equal("input_required", first.resultType)
      local last = first
      while last.resultType == "input_required" do -- one round, or more where the machine is busy
        last = modern(answered(params, last, function(form)
          local given = {}
          for id in form.message:gmatch('{"id":(%d)}') do
            given[#given + 1] = id == "2" and "No" or "Yes, once"
          end
          return words(compat.unpack(given))(form)
        end))
      end
      assert.equal("complete", last.resultType)
      assert.same({ { "ok", "ACCESS_DENIED", "ok" }, 3 }, last.structuredContent)
    end)

    it("ask several times", function()
      start()
      local params = params_of([[local a = call("tasks.name") local b = call("tasks.remove", { id = 1 })
        return { a, b, #call("tasks.list") }]])
      local result, rounds = modern(params), 0
      while result.resultType == "input_required" do
        result, rounds = modern(answered(params, result, words(rounds == 0 and "Ada" or "Yes, once"))), rounds + 1
      end
      assert.equal(2, rounds)
      assert.same({ { action = "accept", name = "Ada" }, { removed = 1 }, 3 }, result.structuredContent)
    end)

    it("ask again where an answer is invalid or absent", function()
      start()
      local params = params_of('return call("tasks.remove", { id = 1 })')
      local first = modern(params)
      params.requestState = first.requestState
      local second = modern(params)
      assert.same(first.inputRequests, second.inputRequests)
      local third = modern(answered(params, second, words("Perhaps")))
      assert.same(first.inputRequests, third.inputRequests)
      assert.same({ removed = 1 }, modern(answered(params, third, words("Yes, once"))).structuredContent)
    end)

    it("never run twice: a round of a program that has ended says what it did", function()
      start()
      local params = params_of('call("tasks.add", { title = "x" }) return call("tasks.remove", { id = 1 })')
      answered(params, modern(params), words("Yes, once"))
      modern(params)
      local again = modern(params)
      assert.is_true(again.isError)
      assert.matches("Calls that it made:\n%- tasks%.add: ok$", again.content[1].text)
      assert.is_true(again._meta["operations/error"].mayHaveRun)
    end)

    it("end when no answer comes", function()
      start("wait=1")
      local params = params_of('return call("tasks.remove", { id = 1 })')
      local first = modern(params)
      assert.equal("input_required", first.resultType)
      -- waits for the server's timer
      require("operations.task").sleep(0.2)
      assert.matches("the program has ended", modern(answered(params, first, words("Yes, once"))).content[1].text)
    end)

    it("continue with the last of two requests that bring the answers", function()
      start()
      local params = params_of([[call("tasks.remove", { id = 1 }) call("tasks.slow", { seconds = 0.5 })
        return #call("tasks.list")]])
      answered(params, modern(params), words("Yes, once"))
      params._meta = pipe.modern
      server:send({ id = 1001, method = "tools/call", params = params })
      server:send({ id = 1002, method = "tools/call", params = params })
      local texts = {}
      for _ = 1, 2 do
        local answer = server:receive()
        texts[answer.id] = answer.result.content[1].text
      end
      assert.equal("ABORTED: another request continues the program", texts[1001])
      assert.equal("3", texts[1002])
    end)

    it("keep a result that came between two rounds", function()
      start()
      local params = params_of([[map({ 1, 2 }, function(i)
        if i == 1 then return call("tasks.remove", { id = 1 }) end
        call("tasks.slow", { seconds = 0.05 }) error("enough")
      end)]])
      local first = modern(params)
      assert.equal("input_required", first.resultType)
      require("operations.task").sleep(0.2) -- waits for the end of the program
      assert.matches("^EXECUTION_ERROR: .*enough", modern(answered(params, first, words("Yes, once"))).content[1].text)
    end)

    it("belong to the program that was sent", function()
      start()
      local first = modern(params_of('return call("tasks.remove", { id = 1 })'))
      local other = answered(params_of('return call("tasks.remove", { id = 2 })'), first, words("Yes, once"))
      other._meta = pipe.modern
      assert.equal(-32602, server:request("tools/call", other).error.code)
    end)

    it("hold a place while they wait", function()
      start("max_identity_programs=2")
      local params = params_of('return call("tasks.remove", { id = 1 })')
      local first = modern(params)
      modern(params_of('return call("tasks.remove", { id = 2 })'))
      assert.matches("^BUSY: 2 programs are running for this identity", modern(params_of("return 1")).content[1].text)
      assert.same({ removed = 1 }, modern(answered(params, first, words("Yes, once"))).structuredContent)
      assert.equal("1", modern(params_of("return 1")).content[1].text)
    end)
  end)
end)
