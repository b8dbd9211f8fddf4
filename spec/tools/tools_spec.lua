local answers = require("spec.support.answers")
local operations = require("operations")

local json = operations.json

local function registry_of(definitions)
  local registry = operations.registry({ on_warning = function() end })
  assert(registry:register_all(definitions))
  return registry
end

local title = { type = "object", required = { "title" }, properties = { title = { type = "string", minLength = 1 },
  due = { type = "string" } }, additionalProperties = false }

local function sample(more)
  local added = {}
  local definitions = {
    { namespace = "tasks", name = "add", description = "Adds a task", inputSchema = title, handler = function(input)
      added[#added + 1] = input
      return { id = #added, title = input.title, due = input.due }
    end },
    { namespace = "tasks", name = "list", type = "query", handler = function()
      return added
    end },
    { namespace = "tasks", name = "fail", type = "query",
      errorSchemas = { { code = "GONE", description = "It is gone", schema = { type = "object" } } },
      handler = function()
        return nil, operations.error("GONE", "no such task", { id = 7 })
      end },
    { namespace = "tasks", name = "secret", type = "query", accessControl = { requiredScopes = { "root" } },
      handler = function()
        return "hidden"
      end },
    { namespace = "tasks", name = "inner", _meta = { exposed = false }, handler = function() end },
    { namespace = "tasks", name = "watch", type = "subscription", handler = function(_, context)
      for i = 1, 100 do
        context.emit(i)
      end
    end },
  }
  for _, definition in ipairs(more or {}) do
    definitions[#definitions + 1] = definition
  end
  return registry_of(definitions), added
end

local function to_tools(registry, format, options)
  local given = { format = format }
  for key, value in pairs(options or {}) do
    given[key] = value
  end
  return assert(operations.to_tools(registry, given))
end

-- What the model is told, whichever the format: the text and whether it is an error.
local function told(format, messages, i)
  if format == "openai" then
    local message = messages[1 + i]
    return message.content, nil, message.tool_call_id
  elseif format == "openai-responses" then
    local message = messages[#messages - (messages.count - i)]
    return message.output, nil, message.call_id
  elseif format == "anthropic" then
    local block = messages[2].content[i]
    return block.content, block.is_error == true, block.tool_use_id
  end
  local response = messages[2].parts[i].functionResponse
  return response.response, response.response.error ~= nil, response.id
end

local function names_in(definitions)
  local names = {}
  for i, tool in ipairs(definitions[1] and definitions[1].functionDeclarations or definitions) do
    names[i] = (tool["function"] or tool).name
  end
  return names
end

for _, format in ipairs(answers.formats) do
  describe("tools for " .. format, function()
    local function run(tools, calls, context)
      local messages, results = tools:run(answers.calling(format, calls), context)
      messages.count = #results
      return messages, results
    end

    it("are what may be seen and called", function()
      local registry = sample()
      local tools = to_tools(registry, format)
      assert.same({ "tasks_add", "tasks_list", "tasks_fail" }, names_in(tools.definitions))
      assert.equal("tasks.add", tools:id_of("tasks_add"))
      assert.equal("tasks_add", tools:name_of("tasks.add"))
      for _, name in ipairs({ "tasks_secret", "tasks_inner", "tasks_watch", "nothing" }) do
        assert.is_nil(tools:id_of(name))
      end
      assert.is_nil(tools:name_of("tasks.secret"))
      local identity = { id = "ann", scopes = { "root" } }
      assert.same({ "tasks_add", "tasks_list", "tasks_fail", "tasks_secret" },
        names_in(to_tools(registry, format, { identity = identity }).definitions))
      assert.same({ "tasks_list", "tasks_fail" },
        names_in(to_tools(registry, format, { filter = { type = "query" } }).definitions))
    end)

    it("say how many operations are not exposed", function()
      local said = {}
      local function log(level, message)
        said[#said + 1] = level .. " " .. message:match("^to_tools: [^:]*")
      end
      local registry = registry_of({ { namespace = "a", name = "b", _meta = { exposed = false } },
        { namespace = "a", name = "c", _meta = { exposed = false } } })
      local tools = to_tools(registry, format, { log = log })
      assert.same({}, tools.definitions)
      assert.same({ "warn to_tools: 2 operations are not exposed" }, said)
      assert(registry:register({ namespace = "a", name = "d" }))
      assert.equal(2, #said + #tools.definitions)
      registry:unregister("a.c")
      assert.equal(1, #tools.definitions)
      assert.same({ "info to_tools: 1 operation is not exposed" }, { said[2] })
    end)

    it("follow the registry", function()
      local registry = sample()
      local tools = to_tools(registry, format)
      assert.equal(3, #names_in(tools.definitions))
      assert.equal(tools.definitions, tools.definitions)
      assert(registry:register({ namespace = "x", name = "y", handler = function() end }))
      assert.same("x_y", names_in(tools.definitions)[4])
      assert.equal("x.y", tools:id_of("x_y"))
    end)

    for _, strict in ipairs({ true, false }) do
      it("run the calls of an answer, in order" .. (strict and ", strictly" or ""), function()
        local registry, added = sample()
        local tools = to_tools(registry, format, { strict = strict })
        local arguments = { title = "one", due = strict and format:find("openai") and operations.null or nil }
        local calls = { { id = "a", name = "tasks_add", arguments = arguments },
          { id = "b", name = "tasks_add", arguments = { title = "two", due = "today" } },
          { id = "c", name = "tasks_list", arguments = operations.object({}) } }
        local messages, results = run(tools, calls)
        assert.equal(3, #results)
        assert.same({ { title = "one" }, { title = "two", due = "today" } }, added)
        assert.same({ id = 1, title = "one" }, results[1].envelope.data)
        for i, id in ipairs({ "a", "b", "c" }) do
          assert.is_true(results[i].ok)
          assert.equal(id, results[i].id)
          assert.equal(id, (select(3, told(format, messages, i))))
        end
        local text = told(format, messages, 2)
        local expected = { id = 2, title = "two", due = "today" }
        assert.same(format == "gemini" and { output = expected } or expected,
          type(text) == "string" and json.decode(text) or text)
      end)
    end

    it("answer every bad call, and raise nothing", function()
      local registry, added = sample()
      local tools = to_tools(registry, format)
      local long = ("x"):rep(100000) .. "\n"
      local calls = {
        { id = "1", name = "nothing", arguments = {} },
        { id = "2", name = long, arguments = {} },
        { id = "3", name = "tasks_add", arguments = { title = 1 } },
        { id = "4", name = "tasks_add", arguments = { title = "" } },
        { id = "5", name = "tasks_inner", arguments = {} },
        { id = "6", name = "tasks_secret", arguments = {} },
        { id = "7", name = "tasks_add", arguments = { title = "ok" } },
        { id = "7", name = "tasks_add", arguments = { title = "twice" } },
        { id = "8", name = "tasks_fail", arguments = operations.object({}) },
        { id = "9", name = "tasks_add", arguments = operations.array({ 1 }) },
      }
      local messages, results = run(tools, calls)
      local codes = {}
      for i, result in ipairs(results) do
        codes[i] = result.error and result.error.code or "ok"
        local _, is_error = told(format, messages, i)
        if is_error ~= nil then
          assert.equal(codes[i] ~= "ok", is_error)
        end
      end
      assert.same({ "OPERATION_NOT_FOUND", "OPERATION_NOT_FOUND", "VALIDATION_ERROR", "VALIDATION_ERROR",
        "OPERATION_NOT_FOUND", "OPERATION_NOT_FOUND", "ok", "VALIDATION_ERROR", "GONE", "VALIDATION_ERROR" }, codes)
      assert.equal(1, #added)
      assert.equal('OPERATION_NOT_FOUND: there is no tool "nothing"', results[1].content.text)
      assert.is_true(#results[2].content.text < 300)
      assert.equal("VALIDATION_ERROR: the arguments do not fit; correct them and call again:\n"
        .. "- /title: expected string, got 1", results[3].content.text)
      assert.equal('VALIDATION_ERROR: the id "7" repeats that of an earlier call, so this call is not made',
        results[8].content.text)
      assert.equal('GONE: no such task\n{"id":7}', results[9].content.text)
    end)

    it("answer a thousand calls at once, some at a time", function()
      local running, most = 0, 0
      local registry = registry_of({ { namespace = "a", name = "wait", type = "query", handler = function(input)
        running = running + 1
        most = math.max(most, running)
        operations.sleep(0)
        running = running - 1
        return input.n
      end } })
      local tools = to_tools(registry, format, { parallel = 7 })
      local calls = {}
      for i = 1, 1000 do
        calls[i] = { id = "c" .. i, name = "a_wait", arguments = { n = i } }
      end
      local _, results = operations.run(run, tools, calls)
      assert.equal(1000, #results)
      for i, result in ipairs(results) do
        assert.equal(i, result.envelope.data)
      end
      assert.equal(7, most)
    end)

    it("answer what a cancelled run leaves with ABORTED", function()
      local latest
      local registry = registry_of({ { namespace = "a", name = "wait", type = "query", handler = function(input)
        latest = input.n
        operations.sleep(input.n == 1 and 0 or 60)
        return input.n
      end } })
      local tools, kept = to_tools(registry, format, { parallel = 2 }), nil
      operations.run(function()
        local task = operations.spawn(function()
          local calls = {}
          for i = 1, 5 do
            calls[i] = { id = "c" .. i, name = "a_wait", arguments = { n = i } }
          end
          kept = { run(tools, calls) }
        end)
        while latest ~= 3 do -- which begins when the first has ended
          operations.sleep(0.001)
        end
        task:cancel("enough")
        pcall(task.wait, task)
      end)
      local codes = {}
      for i, result in ipairs(kept[2]) do
        codes[i] = result.error and result.error.code or "ok"
      end
      assert.same({ "ok", "ABORTED", "ABORTED", "ABORTED", "ABORTED" }, codes)
      local _, results = run(tools, { { id = "1", name = "a_wait", arguments = { n = 1 } } },
        { cancelled = function() return true end })
      assert.equal("ABORTED: the call was not made: the run was cancelled", results[1].content.text)
      assert.is_false(results[1].error.mayHaveRun)
    end)

    it("ask before everything but queries, and remember", function()
      local registry, added = sample()
      local asked, answer, scope = {}, true, "arguments"
      local tools = to_tools(registry, format, { approvals = operations.approvals(), confirm = function(call)
        asked[#asked + 1] = call
        return answer, scope
      end })
      local function add(text)
        return run(tools, { { id = "1", name = "tasks_list", arguments = operations.object({}) },
          { id = "2", name = "tasks_add", arguments = { title = text } } }, { identity = { id = "ann", scopes = {} } })
      end
      add("a")
      assert.equal(1, #asked)
      assert.equal("tasks.add", asked[1].operationId)
      assert.same({ title = "a" }, asked[1].input)
      assert.equal("ann", asked[1].identity.id)
      add("a")
      assert.equal(1, #asked)
      answer, scope = false, "too many"
      local messages, results = add("b")
      assert.equal(2, #asked)
      assert.equal(2, #added)
      assert.equal("ACCESS_DENIED: the call was not approved: too many", results[2].content.text)
      assert.is_true(results[1].ok)
      assert.is_not_nil(told(format, messages, 2))
    end)

    it("remember for themselves what is approved always, where no memory is given", function()
      local registry, added = sample()
      local asked = 0
      local tools = to_tools(registry, format, { confirm = function()
        asked = asked + 1
        return true, "always"
      end })
      for _, text in ipairs({ "a", "b" }) do
        run(tools, { { id = text, name = "tasks_add", arguments = { title = text } } })
      end
      assert.equal(2, #added)
      assert.equal(1, asked)
    end)

    it("ask about what will run: not about what the schema refuses, defaults filled in", function()
      local asked, ran = {}, nil
      local registry = registry_of({ { namespace = "a", name = "b", inputSchema = { type = "object",
        properties = { n = { type = "integer" }, unit = { type = "string", default = "s" } }, required = { "n" } },
        handler = function(input)
          ran = input
        end } })
      local tools = to_tools(registry, format, { confirm = function(call)
        asked[#asked + 1] = call.input
        return true
      end })
      local _, results = run(tools, { { id = "1", name = "a_b", arguments = { n = "x" } },
        { id = "2", name = "a_b", arguments = { n = 1 } } })
      assert.equal("VALIDATION_ERROR", results[1].error.code)
      assert.same({ { n = 1, unit = "s" } }, asked)
      assert.same({ n = 1, unit = "s" }, ran)
      _, results = run(tools, { { id = "1", name = "a_b", arguments = { n = 1 } } }, { deadline = "soon" })
      assert.is_false(results[1].ok)
      assert.equal(1, #asked)
    end)

    it("read a streamed answer, however it is cut", function()
      local tools = to_tools(sample(), format)
      local calls = { { id = "a", name = "tasks_add", arguments = { title = "g\195\188n", due = "now" } },
        { id = "b", name = "tasks_list", arguments = operations.object({}) } }
      local whole = answers.calling(format, calls)
      local stream = table.concat(answers.events(format, whole))
      for _, size in ipairs({ 1, 7, #stream }) do
        local pieces = {}
        for from = 1, #stream, size do
          pieces[#pieces + 1] = stream:sub(from, from + size - 1)
        end
        local response = assert(tools:stream(pieces))
        local read = tools:calls(response)
        assert.same({ title = "g\195\188n", due = "now" }, read[1].input)
        assert.equal("a", read[1].id)
        assert.equal("tasks.list", read[2].operationId)
        assert.equal(2, #read)
        assert.same((to_tools(sample(), format):run(whole)), (to_tools(sample(), format):run(response)))
      end
    end)

    it("tell of a stream's events, and of one that ends early", function()
      local tools = to_tools(sample(), format)
      local events = answers.events(format, answers.saying(format, "Hello, world"))
      local count = 0
      local response = assert(tools:stream(events, function()
        count = count + 1
      end))
      assert.equal(#events, count)
      local messages, results = tools:run(response)
      assert.same({}, results)
      assert.matches("Hello, world", json.encode(messages))
      table.remove(events)
      events[#events] = format == "openai" and events[#events] or nil
      if format == "openai" then
        table.remove(events)
      end
      local early, err = tools:stream(events)
      assert.is_nil(early)
      assert.equal("TRANSPORT_LOST: the model's stream ended before the answer was whole", tostring(err))
    end)

    it("fail with a stream that fails", function()
      local tools = to_tools(sample(), format)
      local response, err = tools:stream({
        'event: error\ndata: {"type":"error","error":{"message":"overloaded"}}\n\n' })
      assert.is_nil(response)
      assert.equal("TRANSPORT_LOST: the model's stream failed: overloaded", tostring(err))
      response, err = tools:stream(function()
        return nil, operations.error("UNAVAILABLE", "gone")
      end)
      assert.is_nil(response)
      assert.equal("UNAVAILABLE: gone", tostring(err))
      response, err = tools:stream(function()
        error("boom", 0)
      end)
      assert.is_nil(response)
      assert.equal("EXECUTION_ERROR: boom", tostring(err))
    end)

    it("ignore invalid answers", function()
      local tools = to_tools(sample(), format)
      for _, response in ipairs({ 1, "x", {}, { choices = 1 }, { choices = { 1 } }, { output = { 1, {} } },
        { content = "x" }, { content = { 1 } }, { candidates = { {} } }, { choices = { { message = {
          tool_calls = { 1 } } } } } }) do
        local messages, results = tools:run(response)
        assert.equal("table", type(messages))
        assert.equal("table", type(results))
      end
      assert.same({}, tools:calls(nil))
    end)

    it("show images where the vendor takes them", function()
      local png = "\137PNG"
      local schema = { type = "object", properties = { name = { type = "string" },
        image = { type = "string", contentMediaType = "image/png" } } }
      local registry = registry_of({ { namespace = "a", name = "draw", type = "query", outputSchema = schema,
        normalize = "off", handler = function()
          return { name = "x", image = png }
        end } })
      local tools = to_tools(registry, format)
      local messages, results = run(tools, { { id = "1", name = "a_draw", arguments = operations.object({}) } })
      assert.same({ name = "x", image = "[image image/png, 6 B]" }, json.decode(results[1].content.text))
      local data = operations.base64.encode(png)
      if format == "openai" then
        assert.equal("string", type(messages[2].content))
      elseif format == "openai-responses" then
        assert.same({ type = "input_image", detail = "auto", image_url = "data:image/png;base64," .. data },
          messages[3].output[2])
      elseif format == "anthropic" then
        assert.same({ type = "image", source = { type = "base64", media_type = "image/png", data = data } },
          messages[2].content[1].content[2])
      else
        assert.same({ { inlineData = { mimeType = "image/png", data = data } } },
          messages[2].parts[1].functionResponse.parts)
      end
    end)

    it("cut results that are too long", function()
      local registry = registry_of({ { namespace = "a", name = "b", type = "query", handler = function()
        return ("\195\188"):rep(100)
      end } })
      local tools = to_tools(registry, format, { max_result = 50 })
      local _, results = run(tools, { { id = "1", name = "a_b", arguments = operations.object({}) } })
      assert.equal('"' .. ("\195\188"):rep(24) .. "\n[cut: 49 of 202 bytes]", results[1].content.text)
    end)

    it("find, describe and call many by three", function()
      local registry, added = sample()
      local tools = to_tools(registry, format, { search = true, strict = true, pinned = { "tasks.list" } })
      assert.same({ "tasks_list", "search_operations", "describe_operation", "call_operation" },
        names_in(tools.definitions))
      local _, results = run(tools, {
        { id = "1", name = "search_operations", arguments = { query = "add a task" } },
        { id = "2", name = "describe_operation", arguments = { name = "tasks_add" } },
        { id = "3", name = "call_operation", arguments = { name = "tasks_add", arguments = '{"title":"x"}' } },
        { id = "4", name = "call_operation", arguments = { name = "tasks_inner", arguments = "{}" } },
        { id = "5", name = "call_operation", arguments = { name = "tasks_add", arguments = { title = "" } } },
        { id = "6", name = "search_operations", arguments = { query = "secret inner watch" } } })
      local found = json.decode(results[1].content.text)
      assert.same({ "tasks_add", 3 }, { found.operations[1].name, found.total })
      assert.matches("^tasks_add%(input: { .*title: string }%): ", found.operations[1].signature)
      assert.same(title.required, json.decode(results[2].content.text).inputSchema.required)
      assert.same({ { title = "x" } }, added)
      assert.equal("OPERATION_NOT_FOUND", results[4].error.code)
      assert.equal("VALIDATION_ERROR", results[5].error.code)
      assert.same({ operations = {}, total = 0, hint = "namespaces: tasks" }, json.decode(results[6].content.text))
    end)

    it("find ten when no limit is given", function()
      local definitions = {}
      for i = 1, 12 do
        definitions[i] = { namespace = "tasks", name = "add" .. i, description = "Adds a task", handler = print }
      end
      local tools = to_tools(registry_of(definitions), format, { search = true })
      local _, results = run(tools, { { id = "1", name = "search_operations", arguments = { query = "task" } },
        { id = "2", name = "search_operations", arguments = { query = "task", limit = 6 } } })
      assert.same({ 10, 6 }, { #json.decode(results[1].content.text).operations,
        #json.decode(results[2].content.text).operations })
    end)

    it("answer calls of other tools than the three with an error", function()
      for _, strict in ipairs({ false, true }) do
        local registry = registry_of({ { namespace = "a", name = "b", handler = function()
          error("not to be called")
        end } })
        local tools = to_tools(registry, format, { search = true, strict = strict })
        local function answer_to(name, arguments)
          local _, results = run(tools, { { id = "1", name = name, arguments = operations.object(arguments) } })
          assert.is_false(results[1].ok)
          return results[1].error.code .. " " .. results[1].content.text:match("[^\n]*$")
        end
        assert.matches("VALIDATION_ERROR .*/name: required", answer_to("describe_operation", {}))
        assert.matches("VALIDATION_ERROR .*/name: expected string", answer_to("describe_operation", { name = 7 }))
        assert.matches('OPERATION_NOT_FOUND .*there is no tool "x"', answer_to("describe_operation", { name = "x" }))
        assert.matches("VALIDATION_ERROR .*/query: required", answer_to("search_operations", {}))
        assert.matches("VALIDATION_ERROR .*/limit: .*at most 100",
          answer_to("search_operations", { query = "x", limit = 101 }))
        assert.matches("VALIDATION_ERROR .*/name: required", answer_to("call_operation", {}))
        assert.matches('OPERATION_NOT_FOUND .*there is no tool "x"', answer_to("call_operation", { name = "x" }))
        assert.matches("VALIDATION_ERROR .*JSON", answer_to("call_operation", { name = "a_b", arguments = '{"n":' }))
        assert.matches("VALIDATION_ERROR .*object", answer_to("call_operation", { name = "a_b", arguments = "7" }))
      end
    end)

    it("give the first events of subscriptions, where they are tools", function()
      local tools = to_tools(sample(), format, { subscriptions = 3 })
      local _, results = run(tools, { { id = "1", name = "tasks_watch", arguments = operations.object({}) } })
      assert.equal("[1,2,3]", results[1].content.text)
    end)
  end)
end

describe("tools", function()
  it("report broken JSON of arguments that are texts", function()
    for _, format in ipairs({ "openai", "openai-responses" }) do
      local tools = to_tools(sample(), format)
      local calls = tools:calls(answers.calling(format, { { id = "1", name = "tasks_add", arguments = '{"title": ' },
        { id = "2", name = "tasks_list", arguments = "" }, { id = "3", name = "tasks_list", arguments = "7" } }))
      assert.equal("VALIDATION_ERROR", calls[1].error.code)
      assert.matches("^the arguments are not JSON: ", calls[1].error.message)
      assert.equal("tasks.add", calls[1].operationId)
      assert.is_nil(calls[2].error)
      assert.matches("JSON object", calls[3].error.message)
    end
  end)

  it("keep what Anthropic streams as broken JSON from running", function()
    local tools = to_tools(sample(), "anthropic")
    local events = answers.events("anthropic", answers.calling("anthropic", { { id = "1", name = "tasks_add",
      arguments = '{"title": "x' } }))
    local messages, results = tools:run(assert(tools:stream(events)))
    assert.equal("VALIDATION_ERROR", results[1].error.code)
    assert.equal("{}", json.encode(messages[1].content[2].input))
    assert.is_nil(json.encode(messages):find("_broken"))
  end)

  it("keep Gemini's content as it is, and answer by name where there is no id", function()
    local tools = to_tools(sample(), "gemini")
    local answer = answers.calling("gemini", { { name = "tasks_list", arguments = operations.object({}) } })
    local messages = tools:run(answer)
    assert.equal(answer.candidates[1].content, messages[1])
    assert.equal("tasks_list", messages[2].parts[1].functionResponse.name)
    assert.is_nil(messages[2].parts[1].functionResponse.id)
  end)

  it("keep the items of a response, reasoning too", function()
    local answer = answers.calling("openai-responses", { { id = "1", name = "tasks_list", arguments = "{}" } })
    local messages = to_tools(sample(), "openai-responses"):run(answer)
    assert.equal("reasoning", messages[1].type)
    assert.equal("function_call", messages[2].type)
    assert.equal("function_call_output", messages[3].type)
  end)

  it("keep an OpenAI message that has a text, calls or both, and none that has neither", function()
    local tools = to_tools(sample(), "openai")
    local function messages(message)
      return (tools:run({ choices = { { message = message } } }))
    end
    local call = { id = "1", type = "function", ["function"] = { name = "tasks_list", arguments = "{}" } }
    for _, message in ipairs({ { content = "x" }, { tool_calls = { call } },
      { content = "x", tool_calls = { call } } }) do
      local kept = messages(message)
      assert.same({ "assistant", message.content, message.tool_calls },
        { kept[1].role, kept[1].content, kept[1].tool_calls })
      assert.equal(message.tool_calls and 2 or 1, #kept)
    end
    assert.same({}, messages({ refusal = "no" }))
    local kept = messages({ content = "x", role = "user", annotations = {}, function_call = {}, parsed = {},
      audio = { id = "a", data = "b" } })[1]
    assert.same({ role = "assistant", content = "x", audio = { id = "a" } }, kept)
  end)

  it("do not make a call that the schema of its tool refuses", function()
    local ran = false
    local registry = registry_of({ { namespace = "a", name = "b", inputSchema = { type = "array",
      items = { type = "integer" } }, handler = function(input)
        ran = input
        return #input
      end } })
    local tools = to_tools(registry, "openai", { strict = true })
    local _, results = tools:run(answers.calling("openai", {
      { id = "1", name = "a_b", arguments = { input = { "x" } } },
      { id = "2", name = "a_b", arguments = { input = { 1, 2 } } } }))
    assert.matches("/0: expected integer", results[1].content.text)
    assert.same({ 1, 2 }, ran)
    assert.equal("2", results[2].content.text)
  end)

  it("have the names that specs ask for; collisions are reported when they are made", function()
    local registry = registry_of({ { namespace = "a", name = "b", _meta = { tool = { name = "find" } },
      handler = function() end } })
    assert.same({ "find" }, names_in(to_tools(registry, "openai").definitions))
    assert(registry:register({ namespace = "a", name = "c", _meta = { tool = { name = "find" } },
      handler = function() end }))
    local tools, err = operations.to_tools(registry, { format = "openai" })
    assert.is_nil(tools)
    assert.equal('VALIDATION_ERROR: a.b: another tool has the name "find"', tostring(err))
  end)

  it("take content of MCP servers as it is meant", function()
    local registry = registry_of({ { namespace = "m", name = "x", type = "query", handler = function()
      return operations.mcp_envelope(nil, { isError = true, content = { { type = "text", text = "no" },
        { type = "image", mimeType = "image/png", data = "AAAA" }, { type = "audio", mimeType = "audio/wav",
          data = ("A"):rep(4096) }, { type = "resource_link", name = "log", uri = "file:///log" } } })
    end } })
    local messages, results = to_tools(registry, "anthropic"):run(answers.calling("anthropic", { { id = "1",
      name = "m_x", arguments = operations.object({}) } }))
    assert.equal("no\n[image image/png, 3 B]\n[audio audio/wav, 3 KB]\n[log](file:///log)", results[1].content.text)
    assert.is_false(results[1].ok)
    assert.is_true(messages[2].content[1].is_error)
    assert.equal("image/png", messages[2].content[1].content[2].source.media_type)
  end)

  it("are described by their operation's description, else its title", function()
    local registry = registry_of({
      { namespace = "a", name = "both", title = "T", description = "D", handler = function() end },
      { namespace = "a", name = "title", title = "T", handler = function() end },
      { namespace = "a", name = "empty", title = "T", description = "", handler = function() end },
      { namespace = "a", name = "none", handler = function() end },
    })
    local descriptions = {}
    for _, tool in ipairs(to_tools(registry, "openai").definitions) do
      descriptions[tool["function"].name] = tool["function"].description or false
    end
    assert.same({ a_both = "D", a_title = "T", a_empty = "T", a_none = false }, descriptions)
  end)

  it("tell of names that collide later, and make a tool again only when the registry has changed", function()
    local logged = {}
    local registry = registry_of({ { namespace = "a", name = "b", _meta = { tool = { name = "find" } },
      handler = function() end } })
    local tools = to_tools(registry, "openai", { log = function(level, text)
      logged[#logged + 1] = level .. " " .. text
    end })
    assert.equal(tools:_tool("a.b"), tools:_tool("a.b"))
    assert.is_nil(tools:_tool("a.none"))
    assert.same({}, logged)
    assert(registry:register({ namespace = "a", name = "c", _meta = { tool = { name = "find" } },
      handler = function() end }))
    assert.equal(2, #tools.definitions)
    assert.matches("^warn name of a tool: .*find", logged[1])
  end)

  it("give of a subscription what came before it ended or failed", function()
    local function result(handler, count)
      local registry = registry_of({ { namespace = "a", name = "s", type = "subscription", handler = handler } })
      local tools = to_tools(registry, "openai", { subscriptions = count })
      return select(2, tools:run(answers.calling("openai", { { id = "1", name = "a_s", arguments = "{}" } })))[1]
    end
    assert.equal("[1,null]", result(function(_, context)
      context.emit(1)
      context.emit(nil)
    end, 5).content.text)
    assert.equal("[1]", result(function(_, context)
      context.emit(1)
      error(operations.error("GONE", "no more"))
    end, 5).content.text)
    assert.equal("[]", result(function() end, 1).content.text)
    local failed = result(function()
      error(operations.error("GONE", "no more"))
    end, 1)
    assert.same({ false, "GONE" }, { failed.ok, failed.error.code })
  end)

  it("say why a subscription was refused", function()
    local registry = registry_of({ { namespace = "a", name = "s", type = "subscription", handler = function() end,
      inputSchema = { type = "object", properties = { n = { type = "integer" } } } } })
    local tools = to_tools(registry, "openai", { subscriptions = 2 })
    local refused = select(2, tools:run(answers.calling("openai", { { id = "1", name = "a_s",
      arguments = '{"n":"many"}' } })))[1]
    assert.same({ false, "VALIDATION_ERROR" }, { refused.ok, refused.error.code })
    assert.matches("/n: ", refused.content.text, 1, true)
  end)

  it("close a subscription that has given as much as they take", function()
    local closed = 0
    local registry = registry_of({ { namespace = "a", name = "s", type = "subscription", handler = function(_, context)
      context.defer(function()
        closed = closed + 1
      end)
      while true do
        context.emit(1)
      end
    end } })
    local tools = to_tools(registry, "openai", { subscriptions = 2 })
    tools:run(answers.calling("openai", { { id = "1", name = "a_s", arguments = "{}" } }))
    assert.equal(1, closed)
  end)

  it("say what they were misused with", function()
    local registry = sample()
    assert.error_matches(function()
      operations.to_tools(registry, { format = "x" })
    end, "bad option 'format' to 'to_tools' %(.*got x%)")
    assert.error_matches(function()
      operations.to_tools(registry, { format = "openai", parallel = 0 })
    end, "bad option 'parallel' to 'to_tools' %(an integer from 1 expected%)")
    assert.error_matches(function()
      operations.to_tools(registry, { format = "openai", more = 1 })
    end, "bad option 'more' to 'to_tools' %(unknown%)")
    assert.error_matches(function()
      operations.to_tools({}, { format = "openai" })
    end, "bad argument #1 to 'to_tools' %(registry expected, got table%)")
  end)
end)
