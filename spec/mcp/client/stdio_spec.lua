local eventually = require("spec.support.eventually")
local operations = require("operations")
local support = require("spec.support.mcp")

describe("an MCP server over stdio", function()
  local client, registry

  lazy_setup(function()
    client = support.connect("legacy")
    registry = operations.registry({ on_warning = function(warning)
      error(warning.issues[1].message)
    end })
    assert(client:register(registry))
  end)

  lazy_teardown(function()
    client:close()
  end)

  it("shakes hands before anything else", function()
    local heard = assert(client:call("heard")).data
    assert.equal("server/discover", heard[1].method)
    assert.equal("initialize", heard[2].method)
    assert.equal("2025-11-25", heard[2].params.protocolVersion)
    assert.equal("operations", heard[2].params.clientInfo.name)
    assert.same({}, heard[2].params.capabilities)
    assert.equal("notifications/initialized", heard[3].method)
    assert.is_nil(heard[3].id)
    assert.equal("tools/list", heard[4].method)
  end)

  it("gives its name and its protocol version", function()
    assert.equal("spec-server", client.server.name)
    assert.equal("Be kind", client.instructions)
    assert.equal("2025-11-25", client.version)
  end)

  it("becomes operations with the tools' own schemas and hints", function()
    local spec = registry:get_spec("spec.echo")
    assert.equal("query", spec.type)
    assert.equal("Echo", spec.title)
    assert.equal("Says it again", spec.description)
    assert.same({ "message" }, spec.inputSchema.required)
    assert.same({ origin = "spec" }, spec._meta._meta)
    assert.equal("echo", spec._meta.tool)
    assert.equal("spec", spec._meta.server)
    assert.is_false(spec._meta.exposed)
    assert.equal("mutation", registry:get_spec("spec.add").type)
  end)

  it("answers calls in MCP envelopes: the content when nothing is structured", function()
    local envelope = assert(registry:execute("spec.echo", { message = "hi" }))
    assert.same({ { type = "text", text = "hi" } }, envelope.data)
    assert.equal("mcp", envelope.meta.source)
    assert.is_false(envelope.meta.isError)
  end)

  it("answers with what is structured, whatever JSON it is", function()
    assert.equal(3, assert(registry:execute("spec.add", { a = 1, b = 2 })).data.sum)
    for _, value in ipairs({ false, 0, "", operations.array() }) do
      local envelope = assert(registry:execute("spec.value", { value = value }))
      assert.same(value, envelope.data)
      assert.same(value, envelope.meta.structuredContent)
    end
  end)

  it("sends empty tables as what the schema says", function()
    assert.equal('{"list":[],"map":{}}', assert(registry:execute("spec.raw", { list = {}, map = {} })).data[1].text)
  end)

  it("checks the input before the server sees it", function()
    local _, err = registry:execute("spec.echo", {})
    assert.equal("VALIDATION_ERROR", err.code)
    assert.equal("/message", err.details[1].path)
  end)

  it("tells a tool's failure in the envelope, and the protocol's as an error", function()
    local envelope = assert(registry:execute("spec.fail", { why = "because" }))
    assert.is_true(envelope.meta.isError)
    assert.equal("because", envelope.data[1].text)
    local _, err = registry:execute("spec.refuse")
    assert.equal("MCP_-32602", err.code)
    assert.matches("not like this", err.message)
    assert.same({ hint = "no" }, err.details.data)
    assert.equal(-32602, err.details.rpcCode)
    assert.same({ false, false }, { err.retryable, err.mayHaveRun })
  end)

  it("warns where structuredContent was promised, and the content is the data", function()
    local warned = {}
    local other = operations.registry({ on_warning = function(warning)
      warned[#warned + 1] = warning.operationId
    end })
    assert(client:register(other))
    assert.equal("only text", assert(other:execute("spec.unstructured")).data[1].text)
    assert.same({ "spec.unstructured" }, warned)
  end)

  it("keeps blocks of unknown kinds, as text too", function()
    local blocks = assert(registry:execute("spec.blocks")).data
    assert.equal("text", blocks[2].type)
    assert.equal('{"depth":3,"type":"hologram"}', blocks[2].text)
    assert.equal(3, blocks[2]._meta.raw.depth)
    assert.equal("image", blocks[3].type)
  end)

  it("offers its resources and prompts as operations", function()
    assert.equal("memo://a", assert(registry:execute("spec.resources.list")).data.resources[1].uri)
    local templates = assert(registry:execute("spec.resources.templates")).data.resourceTemplates
    assert.equal("memo://{name}", templates[1].uriTemplate)
    local read = assert(registry:execute("spec.resources.read", { uri = "memo://b" })).data
    assert.equal("the memo", read.contents[1].text)
    assert.equal("greet", assert(registry:execute("spec.prompts.list")).data.prompts[1].name)
    local prompt = assert(registry:execute("spec.prompts.get", { name = "greet", arguments = { who = "Ada" } })).data
    assert.equal("Hello Ada", prompt.messages[1].content.text)
  end)

  it("answers concurrent calls, each with its own answer", function()
    local texts = assert(operations.map({ "a", "b", "c", "d", "e" }, function(text)
      return assert(registry:execute("spec.echo", { message = text })).data[1].text
    end))
    assert.same({ "a", "b", "c", "d", "e" }, texts)
  end)

  it("is told when a call is given up, by time or by the task", function()
    local _, err = registry:execute("spec.never", {}, { timeout = 50 })
    assert.equal("TIMEOUT", err.code)
    local task = operations.spawn(function()
      return client:call("never")
    end)
    operations.sleep(0.01)
    task:cancel("enough")
    task:wait()
    local told = assert(client:call("cancelled")).data
    local asked = support.heard(client, "tools/call")
    local never = {}
    for _, request in ipairs(asked) do
      never[#never + 1] = request.params.name == "never" and request.id or nil
    end
    assert.equal(2, #told)
    assert.equal(never[1], told[1].requestId)
    assert.equal(never[2], told[2].requestId)
    assert.matches("enough", told[2].reason)
  end)

  it("gets the trace of the call", function()
    local trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert(registry:execute("spec.echo", { message = "traced" }, { traceparent = trace }))
    local calls = support.heard(client, "tools/call")
    assert.equal(trace, calls[#calls - 1].params._meta.traceparent)
  end)
end)

-- nginx takes the exit codes of all its children for itself.
local tells_codes = rawget(_G, "ngx") == nil

describe("an MCP server over stdio that says what makes no sense", function()
  local client

  -- What the tool `say_raw` writes is all that the call gets.
  local function say(text)
    return client:call("say_raw", { text = text })
  end

  lazy_setup(function()
    client = support.connect("legacy", { max_message = 100000 })
  end)

  lazy_teardown(function()
    client:close()
  end)

  for text, message in pairs({
    ['{"jsonrpc":"2.0","id":$id,"result":{},"error":{"code":1,"message":"x"}}'] = "both a result and an error",
    ['{"jsonrpc":"2.0","id":$id}'] = "neither a result nor an error",
    ['{"jsonrpc":"1.0","id":$id,"result":{"content":[]}}'] = "JSON-RPC 2.0",
    ['{"jsonrpc":"2.0","id":$id,"result":{"content":[}}'] = "malformed response: JSON",
    ['{"jsonrpc":"2.0","id":$id,"result":{"content":"x"}}'] = '/content: expected array or null, got "x"',
    ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}'] = "what?",
    ['{"jsonrpc":"2.0","id":$id,"result":{"content":[' .. ("["):rep(600) .. ("]"):rep(600) .. "]}}"] = "nested deeper",
    ['{"jsonrpc":"2.0","id":$id,"result":{"x":"' .. ("x"):rep(100000) .. '"}}'] = "more than the 100000 allowed",
  }) do
    it("has that call fail at once, and no other: " .. message, function()
      local envelope, err = say(text)
      assert.is_nil(envelope)
      assert.matches(message, err.message, 1, true)
      assert.equal("hi", assert(client:call("echo", { message = "hi" })).data[1].text)
    end)
  end

  for name, text in pairs({
    ["noise before it"] = "Welcome!\n{half\n\n[]\n7\n" .. '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}',
    ["an id as text"] = '{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}',
    ["a batch"] = '[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}]',
    ["another's answer"] = '{"jsonrpc":"2.0","id":77777,"result":{}}\n'
      .. '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}',
    ["nothing but what is structured"] = '{"jsonrpc":"2.0","id":$id,"result":{"structuredContent":[]}}',
    ["members that are null"] = '{"jsonrpc":"2.0","id":$id,"result":{"content":null,"isError":null,"_meta":null}}',
    ["its answer twice"] = ('{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}\n'):rep(2),
    ["progress of nothing"] = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5}}\n'
      .. '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}',
    ["carriage returns"] = '{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}\r\n\r',
    ["invalid UTF-8"] = '{"jsonrpc":"2.0","id":$id,"result":{"structuredContent":["$bad\\ud800"],"content":[]}}',
  }) do
    it("is understood with " .. name, function()
      local envelope = assert(say(text))
      local data, meta = envelope.data, envelope.meta
      assert.is_nil(meta._meta)
      assert.is_false(meta.isError)
      assert.same(name == "invalid UTF-8" and { "\239\191\189\239\191\189" } or {}, data)
    end)
  end
end)

describe("the end of an MCP server over stdio", function()
  it("fails pending calls at once, with its exit code and its last words on stderr", function()
    local client = support.connect("legacy", { restart = false })
    local failed, under_way
    local waiting = operations.spawn(function()
      failed = select(2, client:call("never", {}, { on_progress = function() under_way = true end }))
    end)
    eventually(function()
      return under_way
    end)
    local _, err = client:call("exit", { code = 7 })
    assert.equal("closed", err.details.kind)
    assert.equal(tells_codes and 7 or nil, err.details.code)
    assert.matches(tells_codes and "exit code 7: goodbye" or "ended: goodbye", err.message)
    waiting:wait()
    assert.equal(err, failed)
    assert.same({ false, true }, { err.retryable, err.mayHaveRun })
    local _, later = client:call("echo", { message = "x" })
    assert.equal(tostring(err), tostring(later))
    assert.same({ false, false }, { later.retryable, later.mayHaveRun })
    client:close()
  end)

  it("is undone by the next call", function()
    local client = support.connect("legacy")
    local _, err = client:call("exit")
    assert.same({ true, true }, { err.retryable, err.mayHaveRun })
    assert.equal("back", assert(client:call("echo", { message = "back" })).data[1].text)
    client:close()
  end)

  it("comes once for each call to one that ends over what each connection begins with", function()
    local asked = 0
    local client = support.connect("legacy", { restart = true, elicitation = function()
      asked = asked + 1
      operations.sleep(asked == 1 and 3600 or 0)
      return { action = "decline" }
    end })
    local waiting = operations.spawn(function()
      return client:call("ask_user", { params = { message = "?" } })
    end)
    eventually(function()
      return asked == 1
    end)
    os.execute("kill -9 " .. client._session._link._child.pid)
    assert.equal("closed", select(2, waiting:wait()).details.kind)
    assert.equal("decline", assert(client:call("ask_user", { params = { message = "?" } })).data.result.action)
    client:close()
  end)

  it("comes when the client is closed, which calls nothing any more", function()
    local client = support.connect("legacy")
    client:close()
    client:close()
    local _, err = client:call("echo", { message = "x" })
    assert.equal("ABORTED", err.code)
  end)

  for name, case in pairs({
    shell = { [[echo starting; echo "x: 1: y: not found"]], ":\n  starting\n  x: 1: y: not found" },
    Lua = { [[printf 'lua5.4: a.lua:1: boom\nstack traceback:\n\t[C]: in function \047error\047\n\t[C]: in ?\n']],
      ":\n  lua5.4: a.lua:1: boom\n  stack traceback:" },
    Node = { [[printf '/a.js:1\nthrow new Error("boom")\n^\n\nError: boom\n    at Object (/a.js:1:7) {\n']]
      .. [[; printf '  code: 1\n}\n'; printf '\nNode.js v20.1.0\n']],
      ':\n  /a.js:1\n  throw new Error("boom")\n  ^\n  Error: boom\n  }\n  Node.js v20.1.0' },
    Python = { [[printf 'Traceback (most recent call last):\n  File "a.py", line 1\n    boom()\nValueError: boom\n']],
      ":\n  Traceback (most recent call last):\n  ValueError: boom" },
    talkative = { [[for i in 1 2 3 4 5 6 7 8 9; do printf '%d%099d\n' $i 0; done; echo because]],
      ":" .. ("\n  %d" .. ("0"):rep(99)):rep(4):format(6, 7, 8, 9) .. "\n  because" },
    endless = { [[printf '%0900d\n' 0]], ": " .. ("0"):rep(500) }, indented = { "echo '  why'; echo", ":   why" },
  }) do
    it("tells the cause, without the places it came by: " .. name, function()
      local _, err = operations.from_mcp.connect("gone", { command = "sh", args = { "-c",
        "{ " .. case[1] .. "; } >&2; exit 1" } })
      local said = err.message:gsub("^sh: the server ended[^:]*", "")
      assert.equal(case[2], said)
    end)
  end

  it("before the handshake is the error of connect", function()
    local client, err = operations.from_mcp.connect("gone", { command = "sh", args = { "-c", "echo why >&2; exit 9" } })
    assert.is_nil(client)
    assert.equal(tells_codes and 9 or nil, err.details.code)
    assert.matches("why", err.message)
    client, err = operations.from_mcp.connect("gone", { command = "no-such-program" })
    assert.is_nil(client)
    assert.equal("command", err.details.kind)
    assert.same({ false, false }, { err.retryable, err.mayHaveRun })
    assert.is_nil(err.message:find("args", 1, true))
  end)

  it("names `args` where the command has blanks", function()
    local _, err = operations.from_mcp.connect("gone", { command = "npx -y server-files" })
    assert.equal("command", err.details.kind)
    assert.matches("its arguments are the list `args`", err.message, 1, true)
  end)

  it("has the last lines of stderr in the errors of requests that are not answered in time", function()
    local client, err = operations.from_mcp.connect("mute", { command = "sh", args = { "-c",
      "echo waiting for a token >&2; exec sleep 30" }, connect_timeout = 300, stop = { close = 1, term = 100 } })
    assert.is_nil(client)
    assert.equal("TIMEOUT", err.code)
    assert.matches("no answer in time: waiting for a token", err.message, 1, true)
  end)
end)
