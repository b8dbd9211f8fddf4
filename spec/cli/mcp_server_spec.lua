local command = require("spec.support.command")
local compat = require("operations.base.compat")
local json = require("operations.base.json")
local library = require("operations")
local pipe = require("spec.support.mcp_server.pipe")
local streams = require("operations.net.stream")

local function written(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local function tool_names(server)
  local names = {}
  for i, tool in ipairs(server:request("tools/list").result.tools) do
    names[i] = tool.name
  end
  return names
end

-- The next notification of a list that changed: until the tools are there.
local function wait_for(server, method)
  local message = server:receive()
  while message.method ~= method do
    message = server:receive()
  end
end

describe("operations mcp", function()
  local server
  local paths = {}

  local function path_of(text)
    paths[#paths + 1] = written(text)
    return paths[#paths]
  end

  local definitions = [[return {
    { namespace = "sums", name = "add", type = "query", handler = function(input)
      print("aloud")
      return { sum = input.a + input.b }
    end },
    { namespace = "sums", name = "none", handler = function() return {} end },
    { namespace = "other", name = "secret", handler = function() return {} end,
      accessControl = { requiredScopes = { "admin" } } } }]]

  after_each(function()
    if server then
      server.child:abort()
    end
    for _, path in ipairs(paths) do
      os.remove(path)
    end
    server, paths = nil, {}
  end)

  it("offers Lua functions, of those that were asked for", function()
    local path = path_of(definitions)
    server = pipe.operations("mcp", "--lua", path, "--name", "mine")
    local begun = server:initialize().result
    assert.equal("mine", begun.serverInfo.name)
    assert.is_nil(begun.capabilities.resources)
    assert.same({ "sums_add", "sums_none" }, tool_names(server))
    assert.same({ sum = 3 }, server:call("sums_add", { a = 1, b = 2 }).result.structuredContent)
    server.child:abort()
    server = pipe.operations("mcp", "--lua", path, "--include", "sums.a*", "--include", "secret", "--scopes", "admin",
      "--resources")
    assert.is_table(server:initialize().result.capabilities.resources)
    assert.same({ "sums_add", "other_secret" }, tool_names(server))
    assert.equal("operation:sums.add", server:request("resources/list").result.resources[1].uri)
  end)

  it("names the tool of an operation that is called by its id, where the caller sees it", function()
    server = pipe.operations("mcp", "--lua", path_of(definitions))
    server:initialize()
    assert.equal("unknown tool: sums.add (did you mean sums_add?)", server:call("sums.add", {}).error.message)
    assert.equal("unknown tool: other.secret", server:call("other.secret", {}).error.message)
  end)

  it("says on stderr why a tool failed, also where the client does not learn it", function()
    local path = path_of([[return { namespace = "a", name = "b", handler = function() return nil + 1 end }]])
    local result = command.run(([[printf '%s\n%s\n' | operations mcp --lua %s]]):format(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
      .. '"clientInfo":{"name":"s","version":"1"}}}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a_b"}}', path))
    assert.matches("the operation failed", result.out, 1, true)
    assert.equal("operations: error: a.b: EXECUTION_ERROR: " .. path .. ":1: attempt to perform arithmetic on a nil "
      .. "value\n", result.err)
  end)

  it("passes on why an API refuses the input, but with --upstream-errors none", function()
    local listener = assert(streams.listen("127.0.0.1", 0, function(stream)
      local body = '{"error":{"field":"name","reason":"too_short"}}'
      stream:offer("HTTP/1.1 422 Unprocessable Content\r\nContent-Type: application/json\r\nContent-Length: " .. #body
        .. "\r\n\r\n" .. body)
      stream:finish()
    end))
    local path = path_of(json.encode({ openapi = "3.1.0", info = { title = "Shop", version = "1" },
      servers = { { url = "http://127.0.0.1:" .. listener.port } }, paths = { ["/a"] = { get = { operationId = "a",
        responses = { ["200"] = { description = "d" } } } } } }))
    for rule, expected in pairs({ client = '"reason":"too_short"', none = "422 Unprocessable Content$" }) do
      server = pipe.operations("mcp", "--openapi", path, "--namespace", "s", "--upstream-errors", rule)
      server:initialize()
      assert.matches(expected, server:call("s_a", {}).result.content[1].text)
      server.child:abort()
    end
    listener:close()
    for _, name in ipairs({ "mcp", "serve", "worker --redis redis://127.0.0.1:1" }) do
      assert.matches('--upstream-errors: expected client, all or none, got "some"',
        command.run("operations " .. name .. " --upstream-errors some").err, 1, true)
    end
  end)

  it("passes on the errors of an MCP server unchanged, but with --upstream-errors none", function()
    local path = path_of(json.encode({ mcpServers = { far = { command = command.interpreter(),
      args = { "spec/support/mcp/server.lua", "dual" }, env = command.environment() } } }))
    local function refused(rule)
      server = pipe.operations("mcp", "--mcp-config", path, "--upstream-errors", rule)
      server:initialize()
      wait_for(server, "notifications/tools/list_changed")
      return server:call("far_refuse", {})
    end
    assert.same({ code = -32602, message = "not like this", data = { hint = "no" } }, refused("client").error)
    server.child:abort()
    assert.equal("MCP_-32602: a server behind this one failed", refused("none").result.content[1].text)
  end)

  it("lists tools in the order of the document, in the same bytes each time", function()
    local properties = {}
    for i = 1, 40 do
      properties[i] = ('"p%d":{"type":"string","description":"d","minLength":%d}'):format(i, i)
    end
    local path = path_of(json.encode({ openapi = "3.1.0", info = { title = "Shop", version = "1" },
      servers = { { url = "http://127.0.0.1:1" } }, paths = { ["/a"] = { post = { operationId = "a", requestBody = {
        content = { ["application/json"] = { schema = json.decode('{"type":"object","properties":{'
          .. table.concat(properties, ",") .. "}}", { keep_order = true }) } } } } } } }, { keep_order = true }))
    local first
    for _ = 1, 3 do -- each process hashes names in its own way
      local result = command.run(([[printf '%s\n%s\n' | operations mcp --openapi %s --namespace s]]):format(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        .. '"clientInfo":{"name":"s","version":"1"}}}', '{"jsonrpc":"2.0","id":2,"method":"tools/list"}', path))
      local list = result.out:match('[^\n]*"tools":%[[^\n]*')
      first = first or list
      assert.equal(first, list)
    end
    assert.matches('"p1":{"description":"d","minLength":1,"type":"string"},"p2":', first, 1, true)
  end)

  it("offers an OpenAPI document, by the names that it uses", function()
    local path = path_of(json.encode({ openapi = "3.1.0", info = { title = "Shop", version = "1" },
      servers = { { url = "http://127.0.0.1:1" } }, paths = {
        ["/a"] = { get = { operationId = "issues/list" }, post = { operationId = "issues/create" } },
        ["/b"] = { get = { operationId = "pulls/list" } } } }))
    server = pipe.operations("mcp", "--openapi", path, "--namespace", "shop", "--include", "issues.*")
    server:initialize()
    assert.same({ "shop_issues_list", "shop_issues_create" }, tool_names(server))
  end)

  it("searches tools where that is asked for", function()
    server = pipe.operations("mcp", "--lua", path_of(definitions), "--search", "always")
    server:initialize()
    assert.same({ "search_operations", "describe_operation", "call_operation" }, tool_names(server))
  end)

  it("lets models write programs where that is asked for", function()
    server = pipe.operations("mcp", "--lua", path_of(definitions), "--code")
    server:initialize()
    assert.same({ "search_operations", "describe_operation", "run_lua" }, tool_names(server))
    assert.equal("3", server:call("run_lua", { code = "return 1 + 2" }).result.content[1].text)
  end)

  it("says at a terminal that it waits for a client", function()
    local result = command.run(("script -qec 'LD_PRELOAD=$SANITIZER %s lua/operations/cli/main.lua mcp --lua %s' "
      .. "/dev/null"):format(command.interpreter(), path_of(definitions)))
    assert.equal("operations: waiting for JSON-RPC on stdin: MCP clients start this command; Ctrl-D ends it\r\n",
      result.out)
    assert.equal(0, result.code)
  end)

  it("says what is wrong", function()
    local path = path_of(definitions)
    assert.equal(2, command.run("operations mcp").code)
    local result = command.run("operations mcp --lua " .. path .. " --search often")
    assert.equal(2, result.code)
    assert.matches("%-%-search: expected auto, always or never, got \"often\"", result.err)
    assert.equal(2, command.run("operations mcp --lua " .. path .. " more").code)
    assert.equal(12, command.run("operations mcp --mcp-config /nonexistent/mcp.json").code)
  end)

  it("ends with stdin, which may have ended before it serves", function()
    local run = "operations mcp --lua " .. path_of(definitions)
    local empty = path_of("")
    for _, line in ipairs({ "printf '' | " .. run, run .. " </dev/null", run .. " <" .. empty, run .. " <&-",
      "sleep 0.3 | " .. run }) do
      assert.same({ out = "", err = "", code = 0 }, command.run(line), line)
    end
    local ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}' -- a last line needs no end
    for _, line in ipairs({ "printf '" .. ping .. "' | " .. run, run .. " <" .. path_of(ping) }) do
      local result = command.run(line)
      assert.same({ jsonrpc = "2.0", id = 1, result = {} }, json.decode(result.out), line)
      assert.same({ "", 0 }, { result.err, result.code }, line)
    end
  end)

  it("serves what a directory with a broken file has, and ends with a code that tells it", function()
    local result = command.run(([[d=$(mktemp -d); cp %s $d/good.lua; echo 'return 7' >$d/bad.lua
      echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | operations mcp --lua $d 2>/dev/null; echo "code $?"
      rm $d/bad.lua; operations mcp --lua $d </dev/null; echo "code $?"; rm -r $d]]):format(path_of(definitions)))
    assert.matches('"result":%b{}.*\ncode 12\ncode 0\n$', result.out)
  end)

  it("offers of another server what was asked for, by the namespace that it was given", function()
    local words = { "env" }
    for name, value in pairs(command.environment()) do
      words[#words + 1] = ('%s="%s"'):format(name, value)
    end
    words[#words + 1] = command.interpreter() .. " spec/support/mcp_server/odd.lua"
    server = pipe.operations("mcp", "--mcp", table.concat(words, " "), "--namespace", "mine", "--include", "mine.*",
      "--lua", path_of(definitions))
    server:initialize()
    wait_for(server, "notifications/resources/list_changed")
    assert.same({ "mine_odd" }, tool_names(server))
  end)

  describe("before other servers", function()
    local config

    before_each(function()
      local env = command.environment()
      config = path_of(json.encode({ mcpServers = {
        odd = { command = command.interpreter(), args = { "spec/support/mcp_server/odd.lua" }, env = env },
        mute = { command = "sleep", args = { "30" } },
        broken = { command = "/nonexistent/program" } } }))
    end)

    local function start(...)
      server = pipe.operations("mcp", "--mcp-config", config, "--lua", path_of(definitions), ...)
    end

    it("answers at once with the tools it has where it does not wait, and announces later ones", function()
      start("--wait", "0")
      local capabilities = server:initialize().result.capabilities
      assert.same({ listChanged = true, subscribe = true }, capabilities.resources)
      assert.same({ listChanged = true }, capabilities.prompts)
      assert.equal("sums_add", tool_names(server)[1])
      wait_for(server, "notifications/resources/list_changed")
      assert.same({ "sums_add", "sums_none", "odd_odd" }, tool_names(server))
    end)

    -- A server that is there after its file.
    local function late_server()
      local flag = os.tmpname()
      os.remove(flag)
      paths[#paths + 1] = flag
      local script = ("while [ ! -e %s ]; do sleep 0.05; done; exec %s spec/support/mcp_server/odd.lua"):format(flag,
        command.interpreter())
      config = path_of(json.encode({ mcpServers = { odd = { command = "sh", args = { "-c", script },
        env = command.environment() } } }))
      return function()
        assert(io.open(flag, "w")):close()
      end
    end

    it("waits with the first list for servers that are connecting", function()
      local arrive = late_server()
      start()
      server:initialize()
      server:send({ id = "l", method = "tools/list" })
      arrive()
      local answer = server:receive()
      while answer.id ~= "l" do
        answer = server:receive()
      end
      assert.equal("odd_odd", answer.result.tools[3].name)
    end)

    it("waits with a call of a tool that is not there yet", function()
      local arrive = late_server()
      start()
      server:initialize()
      server:send({ id = "c", method = "tools/call", params = { name = "odd_odd", arguments = { kind = "plain" } } })
      arrive()
      local answer = server:receive()
      while answer.id ~= "c" do
        answer = server:receive()
      end
      assert.equal("plain", answer.result.content[1].text)
      assert.equal(-32602, server:request("tools/call", { name = "none" }).error.code)
    end)

    it("offers a remembered server's tools from the cache at once, which serving does not overwrite", function()
      local home = os.tmpname()
      os.remove(home)
      local words, env = { "env" }, command.environment()
      env.XDG_CONFIG_HOME, env.XDG_CACHE_HOME = home .. "/config", home .. "/cache"
      for name, value in pairs(env) do
        words[#words + 1] = ('%s="%s"'):format(name, value)
      end
      local prefix, flag = table.concat(words, " "), home .. ".flag"
      assert(io.open(flag, "w")):close()
      local script = home .. ".sh" -- a server that is there while the flag is
      local file = assert(io.open(script, "w"))
      file:write(("while [ ! -e %s ]; do sleep 0.05; done; exec %s %s spec/support/mcp_server/odd.lua\n"):format(flag,
        prefix, command.interpreter()))
      file:close()
      local operations = prefix .. " " .. command.interpreter() .. " lua/operations/cli/main.lua "
      assert.equal(0, command.run(operations .. ("add odd --mcp 'sh %s'"):format(script)).code)
      assert.matches("odd.odd", command.run(operations .. "list odd").out, 1, true)
      os.remove(flag)
      server = pipe.spawn("sh", "-c", operations .. "mcp odd --wait 0 --include 'odd.none*'")
      server:initialize()
      assert.same({}, tool_names(server))
      server.child:abort()
      server = pipe.spawn("sh", "-c", operations .. "mcp odd")
      server:initialize()
      server:send({ id = "l", method = "tools/list" })
      assert.equal("odd_odd", server:receive().result.tools[1].name)
      server:send({ id = "c", method = "tools/call", params = { name = "odd_odd", arguments = { kind = "plain" } } })
      assert(io.open(flag, "w")):close()
      local answer = server:receive()
      while answer.id ~= "c" do
        answer = server:receive()
      end
      assert.equal("plain", answer.result.content[1].text)
      server.child:abort()
      assert.matches("odd.odd", command.run(operations .. "list odd").out, 1, true)
      os.execute(("rm -rf %s %s %s"):format(home, flag, script))
    end)

    it("reads the credentials of a server, and tells when they are missing", function()
      local registry, seen = library.registry(), nil
      local guarded = library.to_mcp(registry, { authorize = function(request)
        seen = request.headers["x-key"]
        return request.token == "s3cret" and { id = "proxy", scopes = {} } or nil
      end })
      registry:register({ namespace = "far", name = "away", handler = function() end })
      local listener = assert(guarded:listen({ port = 0 }))
      local words = { "mcp", "--mcp", ("http://127.0.0.1:%d/mcp"):format(listener.port), "--namespace", "far",
        "--bearer", "file:" .. path_of("s3cret"), "--header", "X-Key: file:" .. path_of("k") }
      server = pipe.operations(compat.unpack(words))
      server:initialize()
      assert.same({ "far_far_away" }, tool_names(server))
      assert.equal("k", seen)
      server.child:abort()
      words[7] = "env:NOT_THERE_AT_ALL"
      server = pipe.operations(compat.unpack(words))
      server.child:wait()
      assert.matches("the environment has no NOT_THERE_AT_ALL", server.child:stderr(), 1, true)
      guarded:close()
    end)

    it("restarts a server that was killed, for the call that comes next", function()
      local pid_file = os.tmpname()
      paths[#paths + 1] = pid_file
      config = path_of(json.encode({ mcpServers = { odd = { command = "sh", args = { "-c",
        ("echo $$ >%s; exec %s spec/support/mcp_server/odd.lua"):format(pid_file, command.interpreter()) },
        env = command.environment() } } }))
      start()
      server:initialize()
      local function answer(id)
        server:send({ id = id, method = "tools/call", params = { name = "odd_odd", arguments = { kind = "plain" } } })
        local message = server:receive()
        while message.id ~= id do
          message = server:receive()
        end
        return message.result.content[1].text
      end
      assert.equal("plain", answer("a"))
      for i = 1, 3 do
        local file = assert(io.open(pid_file))
        os.execute("kill -9 " .. file:read("*l"))
        file:close()
        local text = answer("b" .. i) -- one that the dead server may have had fails, and says so
        if text ~= "plain" then
          assert.matches("ended by signal 9; the call may have run", text, 1, true)
          text = answer("c" .. i)
        end
        assert.equal("plain", text)
      end
    end)

    it("writes what happens to each server into a file", function()
      local path = os.tmpname()
      paths[#paths + 1] = path
      start("--wait", "0", "--log", path)
      server:initialize()
      wait_for(server, "notifications/resources/list_changed")
      local file = assert(io.open(path))
      local text = file:read("*a")
      file:close()
      assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ broken: lost: .*No such file", text)
      assert.matches("Z odd: connected\n", text)
    end)

    it("passes tools, results, progress, resources and prompts on as they are", function()
      start("--wait", "0")
      server:initialize()
      wait_for(server, "notifications/resources/list_changed")
      local tool = server:request("tools/list").result.tools[3]
      assert.same({ name = "odd_odd", title = "Odd", description = "Odd",
        inputSchema = { type = "object", properties = {} },
        _meta = { own = 1 }, annotations = { openWorldHint = true }, future = { level = 2 } }, tool)
      assert.same(json.decode('{"content":[{"type":"hologram","depth":3},{"type":"text"},{"type":"text","text":"x",'
        .. '"_meta":{"a":[]}}],"isError":false,"_meta":{"trace":null},"future":{"n":1}}'),
        server:call("odd_odd", { kind = "blocks" }).result)
      assert.same(json.decode('{"content":[{"type":"text","text":"no"}],"isError":true,'
        .. '"structuredContent":{"why":[]}}'), server:call("odd_odd", { kind = "failed" }).result)
      assert.same({ content = { { type = "text", text = "plain" } } },
        server:call("odd_odd", { kind = "plain" }).result)
      server:send({ id = "p", method = "tools/call", params = { name = "odd_odd", arguments = { kind = "plain" },
        _meta = { progressToken = "mine" } } })
      assert.same({ progressToken = "mine", progress = 1, total = 2, message = "half" }, server:receive().params)
      assert.equal("p", server:receive().id)
      assert.same({ { uri = "odd://a", name = "odd_a", future = 1 } },
        server:request("resources/list").result.resources)
      assert.same({ { uriTemplate = "odd://{x}", name = "odd_t" } },
        server:request("resources/templates/list").result.resourceTemplates)
      assert.same(json.decode('{"contents":[{"uri":"odd://a","text":"a","future":[]}],"future":2}'),
        server:request("resources/read", { uri = "odd://a" }).result)
      assert.equal(-32002, server:request("resources/read", { uri = "odd://none" }).error.code)
      assert.same({ { name = "odd_p", arguments = { { name = "x" } } } }, server:request("prompts/list").result.prompts)
      assert.equal(3, server:request("prompts/get", { name = "odd_p" }).result.future)
      assert.equal(-32602, server:request("prompts/get", { name = "p" }).error.code)
      server:send({ id = "s", method = "resources/subscribe", params = { uri = "odd://a" } })
      wait_for(server, "notifications/resources/updated")
    end)
  end)
end)
