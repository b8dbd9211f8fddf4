-- Servers over stdio that behave badly (spec/support/mcp/hostile.lua): every call ends, and no other one is hurt.
local eventually = require("spec.support.eventually")
local is_running = require("spec.support.running")
local operations = require("operations")
local support = require("spec.support.mcp")

local MIB = 1024 * 1024

local function config(mode, more)
  local made = support.config("legacy", more)
  made.args = { "spec/support/mcp/hostile.lua", mode }
  return made
end

local function connect(mode, more)
  return assert(operations.from_mcp.connect("hostile", config(mode, more)))
end

local function text_of(envelope, err)
  return assert(envelope, err).data[1].text
end

-- Bytes of memory that the process has had at most since it was asked last.
local function peak()
  local text = assert(io.open("/proc/self/status")):read("*a")
  local reset = assert(io.open("/proc/self/clear_refs", "w"))
  reset:write("5")
  reset:close()
  return tonumber(text:match("VmHWM:%s*(%d+)")) * 1024
end

-- Waits until a process is gone.
local function is_gone(pid)
  return eventually(function()
    return not is_running(pid)
  end)
end

describe("a hostile MCP server over stdio", function()
  local client, logged, lines

  lazy_setup(function()
    logged, lines = {}, 0
    client = connect("banner", { timeout = 20000, on_stderr = function()
      lines = lines + 1
    end, log = function(level, text, details)
      logged[#logged + 1] = ("%s %s %s"):format(level, text, details)
    end })
  end)

  lazy_teardown(function()
    client:close()
  end)

  after_each(function()
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
  end)

  it("may greet before it speaks the protocol: that is logged", function()
    local all = table.concat(logged, "\n")
    assert.matches("debug hostile: no JSON", all, 1, true)
    assert.matches('{"level":30,"msg":"starting"}', all, 1, true)
  end)

  it("may log to its stdout, also about the pending call", function()
    assert.equal("logged", text_of(client:call("logging")))
    local small = connect("none", { max_message = MIB })
    assert.equal("logged", text_of(small:call("logging")))
    small:close()
  end)

  it("may log much to its stdout: the client's log stays short", function()
    local before, noise = #logged, client._session.noise
    assert.equal("chatted", text_of(client:call("chatting")))
    assert.equal(40001, client._session.noise - noise)
    assert.is_true(#logged - before < 200)
  end)

  it("may write byte by byte, or much at once", function()
    assert.equal("slow", text_of(client:call("bytewise")))
    assert.equal("together", text_of(client:call("coalesced")))
  end)

  it("may answer with 8 MiB on a line", function()
    assert.equal(8 * MIB, #text_of(client:call("large")))
  end)

  it("may complain at length", function()
    lines = 0
    assert.equal("said", text_of(client:call("complaining")))
    assert.is_true(lines > 0)
  end)

  it("has its NULs kept", function()
    assert.equal("a\0b", assert(client:call("nul")).data)
  end)

  it("has its numbers kept, as text where the runtime has no such number", function()
    local numbers = assert(client:call("numbers")).data
    assert.equal("[9007199254740993]", operations.json.encode({ numbers[1] }))
    assert.equal("18446744073709551616", numbers[2])
    assert.equal("-1e400", numbers[3])
    assert.equal(0, numbers[4])
  end)

  it("is warned of for numbers that no runtime has, in the messages that it sends", function()
    local before = #logged
    assert.same({ a = "1e400", b = "\239\191\189" }, assert(client:call("infinite")).data)
    local warnings = table.concat(logged, "\n", before + 1)
    assert.matches("warn hostile: a number is out of range and was read as text: JSON, line 1, column %d", warnings)
    assert.is_true(#logged - before < 200)
  end)

  for tool, message in pairs({
    deep = "nested deeper", coded = "code is not an integer",
    uncountable = "code is not an integer", versionless = "JSON-RPC 2.0",
  }) do
    it("fails the one call that it answers so: " .. tool, function()
      local _, err = client:call(tool)
      assert.equal("malformed", err.details.kind)
      assert.matches(message, err.message, 1, true)
    end)
  end

  it("may ask under the id of our own request, and by unknown methods", function()
    local answer = assert(client:call("colliding")).data
    assert.same({}, answer.result)
    answer = assert(client:call("asking")).data
    assert.equal("q", answer.id)
    assert.equal(-32601, answer.error.code)
  end)

  it("may flood with progress of an abandoned call, and continue after its answer", function()
    local told = 0
    assert.equal("over", text_of(client:call("flooding", {}, { on_progress = function()
      told = told + 1
    end })))
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
    assert.equal(0, told)
  end)

  it("may answer a call whose caller has gone", function()
    local _, err = client:call("late", {}, { timeout = 50 })
    assert.equal("TIMEOUT", err.code)
  end)

  it("may answer in reverse", function()
    assert.same({ "a", "b", "c" }, assert(operations.map({ "a", "b", "c" }, function(text)
      return text_of(client:call("reversed", { message = text }))
    end)))
  end)

  it("may write while it is written to, more than any pipe holds", function()
    local text = ("y"):rep(2 * MIB)
    local sizes = assert(operations.map({ 1, 2, 3, 4 }, function()
      return #text_of(client:call("echo", { message = text }))
    end))
    assert.same({ #text, #text, #text, #text }, sizes)
  end)
end)

describe("a hostile MCP server's list over stdio", function()
  local function names_of(client)
    local names = {}
    for i, definition in ipairs(client.operations) do
      names[i] = definition.name
    end
    return table.concat(names, " ")
  end

  it("loses none of its tools over those that are wrong", function()
    local client = connect("bad_tools")
    assert.equal("echo schemaless nothing foreign dangling remote wrong last", names_of(client))
    local problems = {}
    for _, problem in ipairs(client.problems) do
      problems[#problems + 1] = problem.name
      if problem.name == "echo" then
        assert.equal("the name is already used: this tool cannot be called", problem.message)
      end
    end
    table.sort(problems)
    assert.same({ "dangling", "echo", "foreign", "nothing", "remote", "schemaless", "tools/list[4]", "tools/list[5]",
      "tools/list[6]", "wrong" }, problems)
    local registry = operations.registry({ on_warning = function() end })
    assert(client:register(registry))
    assert.equal("hi", text_of(registry:execute("hostile.echo", { message = "hi" })))
    client:close()
  end)

  for mode, names in pairs({ empty_cursor = "echo second", null_cursor = "echo" }) do
    it("is read to its end: " .. mode, function()
      local client = connect(mode)
      assert.equal(names, names_of(client))
      client:close()
    end)
  end

  it("promises what a result does not keep: a warning", function()
    local client, warnings = connect("typed"), {}
    local registry = operations.registry({ on_warning = function(warning)
      warnings[#warnings + 1] = warning.issues[1].message
    end })
    assert(client:register(registry))
    assert.equal("a\0b", assert(registry:execute("hostile.nul")).data)
    assert.matches("expected object", warnings[1])
    client:close()
  end)
end)

describe("a hostile MCP server's handshake over stdio", function()
  it("may begin with other messages", function()
    local logs = {}
    local client = connect("early", { on_log = function(entry)
      logs[#logs + 1] = entry.data
    end })
    assert.same({ "before" }, logs)
    client:close()
  end)

  it("may be old, not unheard of", function()
    local client = connect("old")
    assert.equal("2024-11-05", client.version)
    client:close()
    local _, err = operations.from_mcp.connect("hostile", config("ancient"))
    assert.matches("1999-01-01", err.message, 1, true)
  end)

  it("may come late: after the question for its era was given up", function()
    local client = connect("late", { era = "auto", probe_timeout = 50, connect_timeout = 60000 })
    assert.equal("2025-11-25", client.version)
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
    client:close()
  end)

  it("may never come", function()
    local client, err = operations.from_mcp.connect("hostile",
      config("silent", { probe_timeout = 50, connect_timeout = 50 }))
    assert.is_nil(client)
    assert.equal("TIMEOUT", err.code)
  end)
end)

describe("the bad end of an MCP server over stdio", function()
  -- A server whose stdin and stdout a shell handles; %s stands for it.
  local function connect_through(script, on_stderr)
    local through = config("none", { restart = false, stop = { close = 20, term = 2000 }, on_stderr = on_stderr })
    through.args = { "-c", (script:format(through.command .. " " .. through.args[1])) }
    through.command = "sh"
    return assert(operations.from_mcp.connect("hostile", through))
  end

  it("may be an endless line, which costs one call and little memory", function()
    local client = connect("none", { max_message = MIB, timeout = 60000 })
    collectgarbage()
    local garbage = collectgarbage("count") * 1024 -- at most what is in use, and as much again
    peak()
    local before = peak()
    local _, err = client:call("endless")
    assert.equal("size", err.details.kind)
    local allowed = (os.getenv("LD_PRELOAD") and 512 or 24) * MIB -- a sanitizer keeps what is freed
    assert.is_true(peak() - before < allowed + garbage)
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
    client:close()
  end)

  for tool, how in pairs({ half = "ended", wrapper = "ended" }) do
    it("fails pending calls at once: " .. tool, function()
      local client = connect("none", { restart = false })
      local _, err = client:call(tool)
      assert.equal("closed", err.details.kind)
      assert.matches(how, err.message, 1, true)
      assert.equal(tostring(err), tostring(select(2, client:call("echo", { message = "x" }))))
      client:close()
      if tool == "wrapper" then
        assert.is_true(is_gone(err.details.stderr:match("%d+")))
      end
    end)
  end

  it("may be silence, which fails pending calls at once", function()
    local client = connect_through("exec 3>&1 4<&0 >/dev/null; %s <&4 3>&- 4<&- | sed -u 4q >&3 4<&- & exec 3>&-; wait")
    local _, err = client:call("mute")
    assert.equal("closed", err.details.kind)
    assert.matches("closed its stdout", err.message, 1, true)
    client:close()
  end)

  it("may be deafness, which the next call meets at once", function()
    local is_deaf = false
    local client = connect_through("pipe=$(mktemp -u); mkfifo $pipe; (%s; exec sleep 60) <$pipe & "
      .. "sed -u 5q >$pipe; exec </dev/null; rm $pipe; echo deaf >&2; wait", function(line)
      is_deaf = is_deaf or line == "deaf"
    end)
    assert.equal("last", text_of(client:call("echo", { message = "last" })))
    eventually(function()
      return is_deaf
    end)
    local _, err = client:call("echo", { message = "x" })
    assert.equal("closed", err.details.kind)
    assert.matches("closed its stdin", err.message, 1, true)
    client:close()
  end)

  it("comes to one that will not end", function()
    local pid
    local stubborn = config("none", { stop = { close = 20, term = 20 }, on_stderr = function(line)
      pid = pid or line
    end })
    local line = ("trap '' TERM; echo $$ >&2; %s %s; sleep 60"):format(stubborn.command, stubborn.args[1])
    stubborn.command, stubborn.args = "sh", { "-c", line }
    local client = assert(operations.from_mcp.connect("hostile", stubborn))
    assert.equal("well", text_of(client:call("echo", { message = "well" })))
    client:close()
    assert.is_true(is_gone(pid))
  end)
end)
