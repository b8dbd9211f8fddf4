local errors = require("operations.base.error")
local eventually = require("spec.support.eventually")
local incoming = require("operations.mcp.client.incoming")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local operations = require("operations")
local support = require("spec.support.mcp")

describe("what a server sends as a request", function()
  local client

  after_each(function()
    client:close()
  end)

  -- Invalid requests, and why; false: it cannot be answered.
  local none = {
    ['{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}'] = "params are not an object",
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}'] = "neither a string nor an integer",
    ['{"id":"c","method":"ping"}'] = "JSON-RPC 2.0", ['{"jsonrpc":"1.0","id":4,"method":"ping"}'] = "JSON-RPC 2.0",
    ['{"jsonrpc":"2.0","id":"e","method":5}'] = "method is not a string",
    ['{"jsonrpc":"2.0","id":"f","method":null,"params":{}}'] = "method is not a string",
    ['{"jsonrpc":"2.0","id":null,"method":"ping","params":[1]}'] = false,
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}'] = false, ['{"jsonrpc":"2.0","id":true,"method":"ping"}'] = false,
    ['{"jsonrpc":"2.0","method":"ping","params":[1]}'] = false, ['{"method":5}'] = false,
    ['{"jsonrpc":"2.0","id":"l","method":null,"result":{}}'] = false,
    ['{"jsonrpc":"2.0","id":"m","method":null,"error":{"code":1,"message":"m"}}'] = false,
  }

  for _, era in ipairs({ "legacy", "modern" }) do
    it("is answered with what is wrong with it, where requests are answered: " .. era, function()
      client = support.connect(era)
      local known = 0
      for text, problem in pairs(none) do
        assert(client:call("say_raw", { text = text .. '\n{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}' }))
        local answers = support.heard(client, nil)
        if era == "legacy" and problem then
          known = known + 1
          assert.equal(operations.json.decode(text).id, answers[known].id)
          assert.equal(-32600, answers[known].error.code)
          assert.matches(problem, answers[known].error.message, 1, true)
        end
        assert.equal(known, #answers)
      end
    end)
  end
end)

describe("the capabilities of a client", function()
  local function of(config)
    return json.encode(incoming.capabilities(config), { sort_keys = true })
  end

  local function answer() end

  it("are those of its functions", function()
    for text, config in pairs({
      ["{}"] = {}, ['{"roots":{"listChanged":true}}'] = { roots = {} }, ['{"sampling":{}}'] = { sampling = answer },
      ['{"elicitation":{"form":{}}}'] = { elicitation = answer },
      ['{"elicitation":{"url":{}}}'] = { elicitation = { url = answer } },
      ['{"elicitation":{"form":{},"url":{}}}'] = { elicitation = { form = answer, url = answer } },
      ['{"elicitation":{"form":{},"url":{}},"sampling":{}}'] = { questions = "caller" },
      ['{"elicitation":{"url":{}},"sampling":{}}'] = { questions = "caller", elicitation = { url = answer } },
    }) do
      assert.equal(text, of(config))
    end
  end)

  it("are as they are given, beside those", function()
    local given = { roots = { a = 1 }, sampling = { b = 1 }, elicitation = { c = 1 }, experimental = { d = 1 } }
    assert.equal('{"elicitation":{"c":1},"experimental":{"d":1},"roots":{"a":1},"sampling":{"b":1}}',
      of({ capabilities = given, roots = {}, sampling = answer, elicitation = answer, questions = "caller" }))
    assert.equal('{"roots":{"a":1},"sampling":{}}', of({ capabilities = { roots = { a = 1 } }, sampling = answer }))
  end)

  it("have tasks among their extensions in the modern era", function()
    local own = { extensions = { x = { a = 1 }, ["io.modelcontextprotocol/tasks"] = { b = 1 } } }
    for text, given in pairs({ ['{"extensions":{"io.modelcontextprotocol/tasks":{}}}'] = {},
      ['{"extensions":{"io.modelcontextprotocol/tasks":{}},"sampling":1}'] = { sampling = 1, extensions = 7 },
      ['{"extensions":{"io.modelcontextprotocol/tasks":{"b":1},"x":{"a":1}}}'] = own }) do
      assert.equal(text, json.encode(incoming.extended(given), { sort_keys = true }))
    end
  end)
end)

describe("what a program answers a server", function()
  local context = { requestId = 1 }

  -- The result as text; or the code and message of the failure.
  local function of(config, method, params)
    local result, failure = incoming.answer(config, method, params, context)
    return result and json.encode(result, { sort_keys = true }) or failure.code .. " " .. failure.message
  end

  it("is nothing where it has no function", function()
    assert.equal("{}", of({}, "ping"))
    for _, method in ipairs({ "roots/list", "sampling/createMessage", "elicitation/create", "other" }) do
      assert.equal("-32601 the client has no " .. method, of({}, method, {}))
    end
  end)

  it("is the list of its roots", function()
    assert.equal('{"roots":[]}', of({ roots = {} }, "roots/list"))
    local roots = { "file:///a", { uri = "file:///b", name = "B" } }
    for _, given in ipairs({ roots, function() return roots end }) do
      assert.equal('{"roots":[{"uri":"file:///a"},{"name":"B","uri":"file:///b"}]}',
        of({ roots = given }, "roots/list"))
    end
    assert.equal("-32603 none now", of({ roots = function()
      return nil, errors.new("UNAVAILABLE", "none now")
    end }, "roots/list"))
  end)

  it("is the object that its function returns", function()
    local seen
    for expected, given in pairs({
      ['{"a":1}'] = { { a = 1 } },
      ["-32603 sampling/createMessage: the program gave a string, not an object"] = { "x" },
      ["-32603 sampling/createMessage: the program gave a boolean, not an object"] = { false },
      ["-32603 sampling/createMessage was refused"] = {}, ["-32603 no"] = { nil, "no" },
      ["-32602 bad"] = { nil, errors.new("VALIDATION_ERROR", "bad") },
      ["-1 not now"] = { nil, errors.new("ABORTED", "not now") },
    }) do
      assert.equal(expected, of({ sampling = function(params, given_context)
        seen = { params, given_context }
        return given[1], given[2]
      end }, "sampling/createMessage", { p = 1 }))
      assert.same({ { p = 1 }, context }, seen)
    end
    assert.equal("-32603 boom", of({ sampling = function()
      error("boom", 0)
    end }, "sampling/createMessage", {}))
  end)

  it("does not tell the server where in the program an error was raised", function()
    for _, case in ipairs({
      { "-32603 no model", function() error("no model") end },
      { "-32603 no model", function() return nil, "a.lua:3: b.lua:4: no model\nstack traceback:\n\tc.lua:5: in f" end },
      { "-32602 no model", function()
        return nil, errors.new("VALIDATION_ERROR", "[string \"x\"]:1: no model")
      end },
      { "-32603 %s: the client failed", function() error(setmetatable({}, {}), 0) end },
    }) do
      for method, name in pairs({ ["sampling/createMessage"] = "sampling", ["elicitation/create"] = "elicitation",
        ["roots/list"] = "roots" }) do
        local lines = {}
        local config = { [name] = case[2], log = function(level, text)
          lines[#lines + 1] = level .. " " .. text
        end }
        assert.equal(case[1]:format(method), of(config, method, {}))
        assert.equal(1, #lines)
        assert.matches(("^error %s: the program's function failed: "):format((method:gsub("%p", "%%%0"))), lines[1])
      end
    end
    assert.equal("-32603 at 12:30: closed", of({ sampling = function()
      return nil, "at 12:30: closed"
    end }, "sampling/createMessage", {}))
  end)

  it("leads only to addresses that are safe to open", function()
    for address, problem in pairs({
      ["javascript:alert(1)"] = "it is not an absolute URL", ["file:///etc/passwd"] = "it is not an absolute URL",
      ["/login"] = "it is not an absolute URL", [""] = "it is not an absolute URL",
      ["http://a.test/"] = "it is neither https nor on this machine",
      ["ftp://localhost/"] = "it is neither https nor on this machine",
      ["https://bank.test@evil.test/"] = "it contains a user name or password",
      ["https://a.test/\27[2J"] = "it is not an absolute URL",
    }) do
      local asked = false
      local config = { elicitation = { url = function()
        asked = true
      end } }
      assert.equal("-32602 elicitation: the url is refused: " .. problem,
        of(config, "elicitation/create", { mode = "url", message = "m", url = address }))
      assert.equal("-32602 elicitation: the url is refused: " .. problem,
        of({ questions = "caller" }, "elicitation/create", { mode = "url", url = address }))
      assert.is_false(asked)
    end
    assert.equal("-32602 elicitation: the url is refused: it is not an absolute URL",
      of({ elicitation = { url = print } }, "elicitation/create", { mode = "url", url = 7 }))
    for _, address in ipairs({ "https://a.test/login#/start", "http://127.0.0.1:8000/", "http://localhost/x" }) do
      assert.equal('{"action":"accept"}', of({ elicitation = { url = function(params)
        assert.equal(address, params.url)
        return { action = "accept" }
      end } }, "elicitation/create", { mode = "url", url = address }))
    end
  end)

  it("is asked with an object, whatever the server sends", function()
    for _, params in ipairs({ 7, setmetatable({ 1 }, json.array_mt), json.null }) do
      assert.equal('{"n":0}', of({ sampling = function(given)
        assert.same({}, given)
        return { n = 0 }
      end }, "sampling/createMessage", params))
    end
  end)

  local function elicit(answered, params, config)
    return of(config or { elicitation = function()
      return answered
    end }, "elicitation/create", params or {})
  end

  it("is the user's choice", function()
    for _, action in ipairs({ "decline", "cancel" }) do
      assert.equal(('{"_meta":{"m":1},"action":"%s"}'):format(action),
        elicit({ action = action, content = { a = 1 }, _meta = { m = 1 } }))
    end
    assert.equal('{"_meta":{"m":1},"action":"accept","content":{"a":1}}',
      elicit({ action = "accept", content = { a = 1 }, _meta = { m = 1 } }))
    assert.equal('{"action":"accept","content":{}}', elicit({ action = "accept" }))
    for _, answered in ipairs({ 7, {}, { action = "maybe" } }) do
      assert.equal("-32603 elicitation: the program gave no action: accept, decline or cancel", elicit(answered))
    end
    assert.equal("-32603 elicitation: the program's content is not an object",
      elicit({ action = "accept", content = "x" }))
    assert.equal("-32603 elicitation/create was refused", elicit(nil))
    assert.equal("-32603 no form", elicit(nil, {}, { elicitation = function()
      return nil, "no form"
    end }))
  end)

  it("has the defaults of the form, and fits it", function()
    local form = { type = "object", required = { "n" }, properties = { n = { type = "integer" },
      unit = { type = "string", default = "s" }, flag = { type = "boolean", default = false } } }
    local function filled(content, schema)
      return elicit({ action = "accept", content = content }, { requestedSchema = schema or form })
    end
    assert.equal('{"action":"accept","content":{"flag":false,"n":1,"unit":"s"}}', filled({ n = 1 }))
    assert.equal('{"action":"accept","content":{"flag":true,"n":1,"unit":"m"}}',
      filled({ n = 1, unit = "m", flag = true }))
    assert.matches("^%-32602 elicitation: /n: expected integer", filled({ n = "x" }))
    assert.matches("^%-32602 elicitation: /n: required", filled({}))
    for _, schema in ipairs({ "x", { properties = 7 }, { properties = { a = 7 } }, { type = 7 } }) do
      assert.equal('{"action":"accept","content":{"n":1}}', filled({ n = 1 }, schema))
    end
  end)

  it("is by form, and by URL only where it has a function for that", function()
    local function accept()
      return { action = "accept", content = { a = 1 } }
    end
    local url, form = { mode = "url" }, { mode = "form" }
    assert.equal("-32602 elicitation by url is not supported", elicit(nil, url, { elicitation = accept }))
    assert.equal("-32602 elicitation by url is not supported", elicit(nil, url, { elicitation = { form = accept } }))
    assert.equal("-32602 elicitation by form is not supported", elicit(nil, {}, { elicitation = { url = accept } }))
    assert.equal('{"action":"accept"}', elicit(nil, url, { elicitation = { url = accept } }))
    for _, config in ipairs({ { elicitation = accept }, { elicitation = { form = accept } } }) do
      assert.equal('{"action":"accept","content":{"a":1}}', elicit(nil, form, config))
      assert.equal('{"action":"accept","content":{"a":1}}', elicit(nil, {}, config))
    end
  end)

  it("comes from the caller where no function answers, and none is asked if there is not exactly one", function()
    local config = { questions = "caller", sampling = function()
      return { own = true }
    end }
    context.client = { _askers = {} }
    assert.equal("-1 elicitation/create: there is not exactly one running call, so no caller can be asked",
      of(config, "elicitation/create", {}))
    assert.equal('{"own":true}', of(config, "sampling/createMessage", {}))
    assert.equal("-32601 the client has no roots/list", of(config, "roots/list", {}))
    context.client._askers[{ ask = function(_, asked)
      return { asked = { method = asked.asked.method } }, {}
    end }] = true
    assert.equal('{"method":"elicitation/create"}', of(config, "elicitation/create", {}))
    context.client._askers[{}] = true
    assert.matches("^%-1 ", of(config, "elicitation/create", {}))
    context.client._askers = { [{ ask = function()
      error("nobody is there", 0)
    end }] = true }
    assert.equal("-32603 nobody is there", of(config, "elicitation/create", {}))
  end)
end)

describe("requests of a server that run at once", function()
  local sent, received, link, answering, stopped, logged
  local client

  before_each(function()
    sent, logged, answering, stopped = {}, {}, {}, {}
    link = { send = function(_, value)
      sent[#sent + 1] = value
    end, progress = function() end }
    client = { _config = { log = function(level, text)
      logged[#logged + 1] = level .. " " .. text
    end, sampling = function(params)
      answering[#answering + 1] = params.n
      local slept, raised = pcall(operations.sleep, params.seconds or 60)
      if not slept then
        stopped[#stopped + 1] = params.n
        error(raised, 0)
      end
      return params.result or { n = params.n }
    end } }
    received = incoming.new(function(method, params)
      sent[#sent + 1] = { method, params }
    end)
  end)

  local function ask(id, params)
    received:request({ id = id, method = "sampling/createMessage", params = params }, link, client)
  end

  it("are as many as are allowed, each with an id of its own", function()
    operations.run(function()
      for i = 1, limits.mcp_server_requests do
        ask(i, { n = i })
      end
      assert.same({}, sent)
      ask("more", {})
      ask(1, {})
      for i, id in ipairs({ "more", 1 }) do
        assert.same({ jsonrpc = "2.0", id = id, error = { code = -32603, message = "too many requests at once" } },
          sent[i])
      end
      received:notification({ method = "notifications/cancelled", params = { requestId = 2 } }, link)
      ask(2, { n = "again", seconds = 0 })
      eventually(function() return sent[3] end)
      assert.same({ jsonrpc = "2.0", id = 2, result = { n = "again" } }, sent[3])
      received:close()
      ask("last", { n = "last", seconds = 0 })
      eventually(function() return sent[4] end)
      assert.equal(limits.mcp_server_requests - 1, #stopped) -- the one that was cancelled had not begun
      assert.equal("last", sent[4].id)
      assert.equal(4, #sent)
    end)
  end)

  it("are answered once, and not at all when the server cancels them", function()
    operations.run(function()
      ask("a", { n = 1, seconds = 0 })
      ask("b", { n = 2 })
      operations.sleep(0.01)
      assert.same({ 1, 2 }, answering)
      for _, params in ipairs({ { requestId = "b" }, { requestId = "b" }, { requestId = "none" }, {} }) do
        received:notification({ method = "notifications/cancelled", params = params }, link)
      end
      received:notification({ method = "notifications/cancelled" }, link)
      operations.sleep(0.01)
      assert.same({ 2 }, stopped)
      assert.equal(1, #sent)
      ask("a", { n = 3, seconds = 0 }) -- the id is free again
      operations.sleep(0.01)
      assert.equal(3, sent[2].result.n)
    end)
  end)

  it("fail where the answer is not JSON", function()
    operations.run(function()
      ask("a", { seconds = 0, result = { f = print } })
      operations.sleep(0.01)
      assert.same({ code = -32603, message = "sampling/createMessage: the answer is not JSON" }, sent[1].error)
      assert.matches("^error sampling/createMessage: the program's answer cannot be sent: ", logged[1])
    end)
  end)

  it("are distinguished from notifications; progress of a task is kept until it is read", function()
    received.reports.task = false
    for _, token in ipairs({ "known", "task", "other" }) do
      received:notification({ method = "notifications/progress", params = { progressToken = token } }, link)
    end
    assert.same({ task = { progressToken = "task" } }, received.reports)
    received:notification({ method = "notifications/x" }, link)
    assert.same({ { "notifications/x", {} } }, sent)
  end)
end)
