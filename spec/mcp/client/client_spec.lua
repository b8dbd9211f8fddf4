local definitions = require("operations.mcp.client.definitions")
local eventually = require("spec.support.eventually")
local is_running = require("spec.support.running")
local operations = require("operations")
local support = require("spec.support.mcp")
local task = require("operations.task")

describe("a client of an MCP server", function()
  local client

  after_each(function()
    client:close()
  end)

  local form = { type = "object", required = { "name" }, properties = {
    name = { type = "string", default = "Ada" }, age = { type = "integer" } } }

  it("sends and gets integers of 64 bits as they are", function()
    client = support.connect("modern")
    local text = "[-9223372036854775808,-9007199254740993,9007199254740993,18446744073709551615]"
    local value = operations.json.decode(text)
    assert.equal(text, operations.json.encode(assert(client:call("value", { value = value })).data))
  end)

  it("answers what the server asks while a call is pending", function()
    client = support.connect("legacy", {
      roots = { "file:///one", { uri = "file:///two", name = "Two" } },
      sampling = function(params)
        operations.sleep(0.01)
        return { role = "assistant", model = "m", content = { type = "text", text = params.messages[1] } }
      end,
      elicitation = function(params)
        assert.equal("Who?", params.message)
        return { action = "accept", content = { age = 36 } }
      end,
    })
    local asked = support.heard(client, "initialize")[1].params.capabilities
    assert.same({ roots = { listChanged = true }, sampling = {}, elicitation = { form = {} } }, asked)
    local function result(tool, params)
      return assert(client:call(tool, { params = params })).data.result
    end
    assert.same({}, result("ask_ping"))
    assert.same({ { uri = "file:///one" }, { uri = "file:///two", name = "Two" } }, result("ask_roots").roots)
    assert.equal("hi", result("ask_model", { messages = { "hi" } }).content.text)
    assert.same({ action = "accept", content = { name = "Ada", age = 36 } },
      result("ask_user", { message = "Who?", requestedSchema = form }))
  end)

  it("passes on that a user declines, gives up, or accepts without a word", function()
    local given
    client = support.connect("legacy", { elicitation = function()
      return given
    end })
    local function answer()
      local params = { message = "?", requestedSchema = { type = "object" } }
      return assert(client:call("ask_user", { params = params })).data.result
    end
    for _, action in ipairs({ "decline", "cancel" }) do
      given = { action = action }
      assert.same({ action = action }, answer())
      given = { action = action, content = { age = "old" } }
      assert.same({ action = action }, answer())
    end
    given = { action = "accept" }
    assert.same({ action = "accept", content = {} }, answer())
  end)

  it("refuses requests without a function for them, and reports what the function raises", function()
    client = support.connect("legacy", { sampling = function()
      error("no model here")
    end, elicitation = function()
      return { action = "accept", content = { age = "old" } }
    end })
    local function failure(tool, params)
      return assert(client:call(tool, { params = params or {} })).data.error
    end
    assert.equal(-32601, failure("ask_roots").code)
    assert.matches("no model here", failure("ask_model").message)
    local wrong = failure("ask_user", { message = "?", requestedSchema = form })
    assert.equal(-32602, wrong.code)
    assert.matches("/age", wrong.message)
  end)

  it("answers something, whatever its functions give", function()
    local given
    local function give()
      return given
    end
    client = support.connect("legacy", { sampling = give, elicitation = give })
    for _, value in ipairs({ { content = "\255" }, { content = print }, { content = 0 / 0 }, "text", true }) do
      given = value
      assert.equal(-32603, assert(client:call("ask_model", { params = {} })).data.error.code)
    end
    for _, value in ipairs({ "accept", true, {}, { action = 5 }, { action = "agree" },
      { action = "accept", content = "x" } }) do
      given = value
      local failure = assert(client:call("ask_user", { params = { message = "?", requestedSchema = form } })).data.error
      assert.equal(-32603, failure.code)
      assert.matches("^elicitation: the program", failure.message)
    end
  end)

  it("is not hurt by functions that raise", function()
    local function raise()
      error("a fault of the program")
    end
    local told, on_error = 0, task.on_error
    client = support.connect("legacy", { on_progress = raise, log = function()
      told = told + 1
      raise()
    end })
    task.on_error = function() end
    assert.equal("done", assert(client:call("steps", { count = 2 })).data[1].text)
    assert.equal("done", assert(client:call("steps", { count = 2 }, { on_progress = raise })).data[1].text)
    client:call("say_raw", { text = "no JSON" }, { timeout = 50 })
    assert.equal("hi", assert(client:call("echo", { message = "hi" })).data[1].text)
    task.on_error = on_error
    assert.is_true(told >= 2)
    assert.equal(0, client._session._link.pending:count())
  end)

  it("closes what it began to connect to when a function of the configuration raises", function()
    local pid
    local ok, raised = pcall(support.connect, "legacy", { include = function()
      error("a fault of the program")
    end, on_stderr = function(line)
      pid = pid or line
    end, server = { "pid=stderr" } })
    assert.is_false(ok)
    assert.matches("a fault of the program", tostring(raised))
    eventually(function()
      return pid and not is_running(pid)
    end)
    client = support.connect("legacy")
  end)

  it("answers from the loop, however long the program's function takes", function()
    local release
    client = support.connect("legacy", { sampling = function()
      operations.sleep(0.05)
      release = true
      return { role = "assistant", model = "m", content = { type = "text", text = "late" } }
    end })
    local slow = operations.spawn(function()
      return assert(client:call("ask_model", { params = {} }))
    end)
    assert.equal("late", assert(slow:wait()).data.result.content.text)
    assert.is_true(release)
  end)

  it("gives input in rounds, the server's state byte for byte", function()
    client = support.connect("modern", { elicitation = function(params)
      return { action = "accept", content = { name = params.message } }
    end, roots = { "file:///x" } })
    local state = "\0é=;\"\\ "
    local answer = assert(client:call("input", { state = state, requests = {
      a = { method = "elicitation/create", params = { message = "one" } }, b = { method = "roots/list" },
    } })).data
    assert.equal(state, answer.state)
    assert.equal("one", answer.answers.a.content.name)
    assert.same({ { uri = "file:///x" } }, answer.answers.b.roots)
    local calls = support.heard(client, "tools/call")
    assert.not_equal(calls[1].id, calls[2].id)
    assert.is_nil(calls[1].params.inputResponses)
    assert.same(calls[1].params.arguments, calls[2].params.arguments)
    answer = assert(client:call("input", { requests = { b = { method = "roots/list" } } })).data
    assert.is_nil(answer.state)
  end)

  it("does not go round for ever", function()
    client = support.connect("modern")
    local _, err = client:call("value", { value = 1 })
    assert.is_nil(err)
    _, err = client:call("input", { requests = { a = { method = "roots/list" } } })
    assert.equal("MCP_-32601", err.code)
    assert.equal("input", err.details.kind)
  end)

  it("passes progress to the caller, and each report restarts the timeout", function()
    client = support.connect("legacy")
    local seen = {}
    local envelope = assert(client:call("steps", { count = 8, pause = 0.2 }, { timeout = 1200, on_progress = function(p)
      seen[#seen + 1] = p.progress .. "/" .. p.total .. p.message
    end }))
    assert.equal("done", envelope.data[1].text)
    assert.equal("8/8at", seen[#seen])
    assert.is_nil(support.heard(client, "tools/call")[2].params._meta)
  end)

  it("adds its fields to the _meta of a request's params", function()
    for _, era in ipairs({ "modern", "legacy" }) do
      client = support.connect(era)
      local params = { name = "echo", arguments = { message = "x" }, _meta = { mine = 1, traceparent = "its own" } }
      assert(client:request("tools/call", params, { meta = { more = 2 } }))
      local meta = support.heard(client, "tools/call")[1].params._meta
      assert.same({ 1, 2, "its own" }, { meta.mine, meta.more, meta.traceparent })
      assert.equal(era == "modern" and "2026-07-28" or nil, meta["io.modelcontextprotocol/protocolVersion"])
      assert.same({ mine = 1, traceparent = "its own" }, params._meta)
      client:close()
    end
  end)

  it("hears progress through the context of a call, too", function()
    client = support.connect("legacy")
    local registry, seen = operations.registry(), 0
    assert(client:register(registry))
    assert(registry:execute("spec.steps", { count = 3 }, { on_progress = function(done)
      seen = done
    end }))
    assert.equal(3, seen)
  end)

  for _, era in ipairs({ "legacy", "modern" }) do
    it("completes arguments, and hears what the server logs: " .. era, function()
      local logged
      client = support.connect(era, { on_log = function(entry)
        logged = entry.data
      end })
      assert.same({ { "a-completed" }, false }, { client:complete("greet", "who", "a") })
      assert.same({ "b-completed" }, (client:complete("memo://{name}", "name", "b", { other = "c" })))
      local asked = support.heard(client, "completion/complete")
      assert.same({ type = "ref/prompt", name = "greet" }, asked[1].params.ref)
      assert.same({ type = "ref/resource", uri = "memo://{name}" }, asked[2].params.ref)
      assert.same({ arguments = { other = "c" } }, asked[2].params.context)
      assert(client:set_log_level("info"))
      assert(client:call("say", { data = { 1 } }))
      assert.same({ 1 }, logged)
      local calls = support.heard(client, "tools/call")
      local level = calls[#calls].params._meta and calls[#calls].params._meta["io.modelcontextprotocol/logLevel"]
      assert.equal(era == "modern" and "info" or nil, level)
    end)
  end

  it("follows resources", function()
    client = support.connect("legacy")
    local changed
    assert(client:subscribe("memo://a", function(uri)
      changed = uri
    end))
    eventually(function()
      return changed == "memo://a"
    end)
    assert(client:unsubscribe("memo://a"))
    assert(client:ping())
    assert.equal(1, #support.heard(client, "resources/unsubscribe"))
  end)

  it("tells the server of other roots", function()
    client = support.connect("legacy", { roots = { "file:///one" } })
    assert(client:set_roots({ "file:///two" }))
    assert.equal(1, #support.heard(client, "notifications/roots/list_changed"))
    assert.equal("file:///two", assert(client:call("ask_roots")).data.result.roots[1].uri)
  end)

  it("leaves what the program has registered itself, whatever the server's list becomes", function()
    client = support.connect("legacy")
    local registry = operations.registry()
    assert(registry:register({ namespace = "spec", name = "mine", handler = function()
      return "the program's"
    end }))
    assert(client:register(registry))
    local function tool(description)
      return { namespace = "spec", name = "mine", description = description, handler = function()
        return "the server's"
      end, _meta = { source = "mcp", server = "spec" } }
    end
    local other = tool()
    other.name = "other"
    for _, difference in ipairs({
      { added = { tool(), other }, removed = {}, changed = {} },
      { added = {}, removed = {}, changed = { tool("new") } },
      { added = {}, removed = { tool("new") }, changed = {} },
    }) do
      definitions.apply(registry, difference)
      assert.equal("the program's", assert(registry:execute("spec.mine")).data)
      assert.equal("the server's", assert(registry:execute("spec.other")).data)
    end
    assert(definitions.apply(registry, { added = {}, removed = {}, changed = { other } }))
    assert(definitions.apply(registry, { added = {}, removed = { other }, changed = {} }))
    assert.is_nil(registry:get("spec.other"))
  end)

  it("keeps a registry in step with the server's list", function()
    client = support.connect("legacy")
    local registry, heard = operations.registry(), {}
    assert(client:register(registry))
    client:on_notification(function(method)
      heard[#heard + 1] = method
    end)
    assert.is_nil(registry:get("spec.sprout"))
    assert(registry:execute("spec.grow", { name = "sprout" }))
    eventually(function()
      return registry:get("spec.sprout") ~= nil
    end)
    assert.equal("new", assert(registry:execute("spec.sprout")).data[1].text)
    assert.same({ "notifications/tools/list_changed" }, heard)
  end)

  it("lists again what changed while it was listed", function()
    client = support.connect("legacy")
    assert(client:call("grow_midway", { name = "sprout" }))
    assert(client:refresh())
    eventually(function()
      for _, definition in ipairs(client.operations) do
        if definition.name == "sprout" then
          return true
        end
      end
    end)
  end)

  it("lists no tools again because resources or prompts are others", function()
    client = support.connect("legacy")
    for _, what in ipairs({ "resources", "prompts" }) do
      assert(client:call("say_raw", { text = ('{"jsonrpc":"2.0","method":"notifications/%s/list_changed"}'):format(what)
        .. '\n{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}' }))
    end
    assert(client:ping())
    assert(client:ping())
    assert.equal(1, #support.heard(client, "tools/list"))
  end)

  it("lists seldom for a server that says after every list that it has changed", function()
    client = support.connect("legacy", { server = { "restless=yes" } })
    for _ = 1, 100 do
      assert(client:call("echo", { message = "hi" }))
    end
    assert.is_true(#support.heard(client, "tools/list") < 20) -- each a pause twice as long after the one before
  end)

  it("reads lists page by page, and not for ever", function()
    client = support.connect("legacy", { server = { "tools=5" } })
    local pages = support.heard(client, "tools/list")
    assert.is_true(#pages > 5)
    assert.equal("more", assert(client:call("more5")).data[1].text)
    client:close()
    local told
    client = support.connect("legacy", { server = { "tools=5", "cursor=loop" }, log = function(_, text)
      told = told or text:find("repeats itself", 1, true)
    end })
    assert.is_truthy(told)
  end)

  it("waits for tools that are tasks", function()
    client = support.connect("legacy")
    assert.equal(3, assert(client:call("research", { goal = "completed" })).data.polls)
    local _, err = client:call("research", { goal = "cancelled" })
    assert.equal("cancelled", err.details.status)
    assert.equal(1, assert(client:call("research", { goal = "completed", poll = "soon", polls = 1 })).data.polls)
    assert.equal(client._session.longest, support.heard(client, "tools/call")[1].params.task.ttl)
  end)

  local function called_off()
    local found = 0
    for _, cancelled in ipairs(assert(client:call("cancelled")).data) do
      found = found + (cancelled.task == "t1" and 1 or 0)
    end
    return found
  end

  -- How a task ends that is never done and, once it is there, is waited for 50 ms.
  local function wait_in_vain()
    local session = client._session
    local longest = session.longest
    function session.request(self, method, ...)
      local value, err = getmetatable(self).request(self, method, ...)
      if method == "tools/call" then
        self.longest = 50
      end
      return value, err
    end
    local _, err = client:call("research", { goal = "working" })
    session.request, session.longest = nil, longest
    return err
  end

  it("hears the progress of a task for as long as it lives", function()
    client = support.connect("legacy")
    local seen = {}
    local function see(progress)
      seen[#seen + 1] = progress.progress
    end
    assert(client:call("research", { goal = "completed" }, { on_progress = see, meta = { mine = 1 } }))
    assert.same({ 1, 2, 3 }, seen)
    assert.equal(1, support.heard(client, "tools/call")[1].params._meta.mine)
    assert.is_nil(next(client._session._incoming.reports))
    assert(client:call("research", { goal = "completed" }))
    assert.equal(3, #seen)
  end)

  it("cancels tasks whose callers no longer wait", function()
    client = support.connect("legacy")
    local registry = operations.registry()
    assert(client:register(registry))
    for _, goal in ipairs({ "working", "input_required" }) do
      local already = called_off()
      eventually(function() -- once the time is enough for the task to be there
        local _, err = registry:execute("spec.research", { goal = goal }, { timeout = 150 })
        assert.equal("TIMEOUT", err.code)
        return called_off() > already
      end)
    end
    local before, already = #support.heard(client, "tasks/get"), called_off()
    local waiting = operations.spawn(function()
      return client:call("research", { goal = "working" })
    end)
    eventually(function()
      return #support.heard(client, "tasks/get") > before
    end)
    waiting:cancel()
    eventually(function()
      return called_off() > already
    end)
  end)

  it("waits for a task that is never done no longer than for any request", function()
    client = support.connect("legacy")
    local err = wait_in_vain()
    assert.equal("TIMEOUT", err.code)
    assert.matches("the server's task was not done in time", err.message)
    eventually(function()
      return called_off() == 1
    end)
  end)

  it("cancels no task that is over, and none of a server without cancellation", function()
    client = support.connect("legacy")
    assert.equal("cancelled", select(2, client:call("research", { goal = "cancelled" })).details.status)
    assert(client:ping())
    assert.equal(0, called_off())
    client:close()
    client = support.connect("legacy", { server = { "tasks=kept" } })
    assert.equal("TIMEOUT", wait_in_vain().code)
    assert(client:ping())
    assert.equal(0, called_off())
  end)

  it("makes no task where the server has not said that calls may be some", function()
    for _, option in ipairs({ "tasks=no", "tasks=others" }) do
      client = support.connect("legacy", { server = { option } })
      assert.equal("no task", assert(client:call("research", { goal = "completed" })).data[1].text)
      client:close()
    end
  end)

  it("takes the server's time to wait for what never comes as legacy", function()
    client = support.connect("legacy", { server = { "silent=server/discover" }, probe_timeout = 50 })
    assert.equal("2025-11-25", client.version)
    client:close()
    client = support.connect("legacy", { server = { "exit=server/discover" } })
    assert.equal("2025-11-25", client.version)
  end)

  it("reaches a server of the modern era that only refuses the handshake", function()
    client = support.connect("modern", { server = { "discover=no" } })
    assert.equal("2026-07-28", client.version)
    assert.equal("tools/list", assert(client:call("heard")).data[3].method)
  end)

  it("speaks each era that is asked for, and remembers what a server spoke", function()
    client = support.connect("dual")
    assert.equal("2026-07-28", client.version)
    client:close()
    client = support.connect("dual", { era = "legacy" })
    assert.equal("2025-11-25", client.version)
    client:close()
    client = support.connect("dual", { version = "2025-06-18" })
    assert.equal("2025-06-18", client.version)
    client:close()
    client = support.connect("dual", { version = "2026-07-28" })
    assert.equal("tools/list", assert(client:call("heard")).data[1].method)
    client:close()
    local config = support.config("legacy")
    operations.from_mcp.connect("spec", config):close()
    client = assert(operations.from_mcp.connect("spec", config))
    assert.equal("initialize", assert(client:call("heard")).data[1].method)
  end)

  it("takes over of the tools what the configuration asks for", function()
    client = support.connect("legacy", {
      include = { "echo", "add" }, exclude = function(tool)
        return tool.name == "add"
      end, namespace = "mine", accessControl = { requiredScopes = { "use" } },
    })
    local ids = {}
    for _, definition in ipairs(client.operations) do
      ids[#ids + 1] = definition._meta.tool and definition.namespace .. "." .. definition.name
    end
    assert.same({ "mine.echo" }, ids)
    assert.is_true(client.operations[1]._meta.exposed)
    local registry = operations.registry()
    assert(client:register(registry))
    assert.equal("ACCESS_DENIED", select(2, registry:execute("mine.echo", { message = "x" })).code)
  end)

  it("takes the content where nothing is structured, unless results that do not fit are to fail", function()
    client = support.connect("legacy")
    assert.equal("only text", assert(client:call("unstructured")).data[1].text)
    client:close()
    client = support.connect("legacy", { on_mismatch = "fail" })
    local block = { type = "text", text = "no schema" }
    assert.equal("no schema", assert(client:call("speak", { blocks = { block } })).data[1].text)
    local _, err = client:call("unstructured")
    assert.equal("OUTPUT_INVALID", err.code)
    assert.matches("without structuredContent: only text", err.message, 1, true)
    assert.equal("", err.details[1].path)
    assert.is_true(assert(client:call("fail")).meta.isError)
  end)

  it("gives its definitions what the configuration says of results", function()
    client = support.connect("legacy", { on_mismatch = "fail", normalize = "off" })
    for _, definition in ipairs(client.operations) do
      assert.same({ "fail", "off" }, { definition.on_mismatch, definition.normalize })
    end
  end)

  it("reads a single text block as JSON where that was asked for", function()
    client = support.connect("legacy", { text = "json" })
    local function data_of(text, more)
      return assert(client:call("speak", { blocks = { { type = "text", text = text }, more } })).data
    end
    for text, data in pairs({ ['{"a":[1,2.5]}'] = { a = { 1, 2.5 } }, ["[]"] = {}, [" 7\n"] = 7, ["false"] = false,
      ["null"] = operations.null, ['"x"'] = "x" }) do
      assert.same(data, data_of(text))
    end
    for _, text in ipairs({ "", "{", "{} {}", "hello", "'x'" }) do
      assert.same({ { type = "text", text = text } }, data_of(text))
    end
    assert.equal(2, #data_of("1", { type = "text", text = "2" }))
    local envelope = assert(client:call("speak", { blocks = { { type = "text", text = "1" } } }))
    assert.same({ 1, "1" }, { envelope.data, envelope.meta.content[1].text })
    assert.is_nil(envelope.meta.structuredContent)
    assert.equal("1", assert(client:call("fail", { why = "1" })).data[1].text)
    assert.equal(3, assert(client:call("add", { a = 1, b = 2 })).data.sum)
  end)

  it("reads no text as JSON that does not fit the tool's outputSchema", function()
    client = support.connect("legacy", { text = "json", on_mismatch = "fail" })
    local function total(text)
      return client:call("total", { text = text })
    end
    assert.equal(3, assert(total('{"sum":3}')).data.sum)
    for _, text in ipairs({ '{"sum":"3"}', "3", "three" }) do
      assert.equal("OUTPUT_INVALID", select(2, total(text)).code)
    end
  end)

  it("has a tool's own failure fail the call where that was asked for", function()
    client = support.connect("legacy", { is_error = "fail" })
    local registry = operations.registry()
    assert(client:register(registry))
    for _, answer in ipairs({ { client:call("fail", { why = "because" }) },
      { registry:execute("spec.fail", { why = "because" }) } }) do
      local envelope, err = answer[1], answer[2]
      assert.is_nil(envelope)
      assert.equal("EXECUTION_ERROR: fail failed: because", tostring(err))
      assert.equal("tool", err.details.kind)
      assert.equal("fail", err.details.tool)
      assert.same({ { type = "text", text = "because" } }, err.details.content)
    end
    assert.equal("hi", assert(client:call("echo", { message = "hi" })).data[1].text)
  end)

  it("takes a structuredContent of null as none, from a server whose revision knows only objects", function()
    for era, is_known in pairs({ legacy = false, modern = true }) do
      client = support.connect(era)
      local envelope = assert(client:call("value", { value = operations.null }))
      if is_known then
        assert.equal(operations.null, envelope.data)
        assert.equal(operations.null, envelope.meta.structuredContent)
      else
        assert.equal("", envelope.data[1].text)
        assert.is_nil(envelope.meta.structuredContent)
      end
      client:close()
    end
  end)
end)

describe("a configuration", function()
  for message, config in pairs({
    ["either command or url"] = {}, ["either command or url "] = { command = "x", url = "http://x" },
    ["'comand' to 'from_mcp' (unknown; did you mean command?)"] = { comand = "x" },
    ["'args' to 'from_mcp' (table expected, got string)"] = { command = "x", args = "y" },
    ["no \"new\""] = { command = "x", era = "new" }, ["unknown revision"] = { command = "x", version = "1999-01-01" },
    ["http or https URL expected, got \"ftp://x\""] = { url = "ftp://a:secret@x" },
    ["no \"yaml\""] = { command = "x", text = "yaml" }, ["no \"raise\""] = { command = "x", is_error = "raise" },
    ["no \"off\""] = { command = "x", on_mismatch = "off" }, ["'output' to"] = { command = "x", output = "warn" },
    ["above 0"] = { command = "x", timeout = 0 },
    ["config.auth: "] = { url = "http://x", auth = { nope = 1 } },
  }) do
    it("that is wrong raises: " .. message, function()
      local ok, raised = pcall(operations.from_mcp.connect, "x", config)
      assert.is_false(ok)
      assert.matches(message:match("^(.-) *$"), raised, 1, true)
    end)
  end
end)
