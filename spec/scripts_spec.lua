--- The scripts of examples/scripts, run against a server of their own (spec/support/jobs_server.lua).
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local crypto = operations.crypto

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

describe("the script", function()
  local server, url, directory

  setup(function()
    server = command.start("spec/support/jobs_server.lua")
    url = assert(server:read_line())
    local pipe = io.popen("mktemp -d")
    directory = pipe:read("*l")
    pipe:close()
  end)

  teardown(function()
    server:stop({ close = 2000 })
    os.execute("rm -r " .. directory)
  end)

  local function run(name, words, before)
    return command.run(("%s lua examples/scripts/%s.lua %s"):format(before or "", name, words or ""))
  end

  -- Starts a script; ends it by TERM once it has printed a line; returns all lines and the end.
  local function ended_by_term(words, on_line)
    words.env = command.environment()
    words.env.WEBHOOK_SECRET = "s"
    local child = assert(operations.process.spawn(words))
    local lines = { assert(child:read_line()) }
    on_line(lines[1])
    os.execute("kill -TERM " .. child.pid)
    for line in child:lines() do
      lines[#lines + 1] = line
    end
    return lines, child:wait()
  end

  it("sync copies all pages to a file", function()
    local path = directory .. "/items.json"
    local result = run("sync", url .. " " .. path)
    assert.same({ "10 items\n", "", 0 }, { result.out, result.err, result.code })
    local items = operations.json.decode(read(path))
    assert.same({ 10, 1, "item 10" }, { #items, items[1].id, items[10].name })
  end)

  it("health tells by its exit code that a server is not well", function()
    local result = run("health", url .. "/healthz http://127.0.0.1:1/")
    assert.matches("^ok  \t" .. url:gsub("%p", "%%%0") .. "/healthz\t200 in %d+ ms\n", result.out)
    assert.matches("\nFAIL\thttp://127.0.0.1:1/\tconnect\n$", result.out)
    assert.equal(1, result.code)
    assert.equal(0, run("health", url .. "/healthz").code)
  end)

  it("transfer downloads a file in pieces, with its checksum", function()
    local path, size = directory .. "/big", 64 * 65536 * 4
    local result = run("transfer", ("'%s/shop/file?size=%d' %s"):format(url, size, path))
    assert.equal("", result.err)
    local digest = crypto.hex(crypto.sha256(("0123456789abcdef"):rep(size / 16)))
    assert.equal(("%d bytes\t%s\n"):format(size, digest), result.out)
    assert.equal(size, #read(path))
    assert.not_equal(0, run("transfer", url .. "/none " .. path .. "2").code)
  end)

  it("webhook takes signed orders only, and does what it accepted before it ends", function()
    local lines, how = ended_by_term({ command.interpreter(), "examples/scripts/webhook.lua", "0" }, function(line)
      local function post(signature)
        return assert(operations.http.request({ url = ("http://127.0.0.1:%s/hooks/order"):format(line:match("%d+")),
          json = { id = 7 }, headers = { ["X-Signature"] = "sha256=" .. signature } })).status
      end
      assert.equal(202, post(crypto.hex(crypto.hmac("s", '{"id":7}'))))
      assert.equal(401, post(crypto.hex(crypto.hmac("other", '{"id":7}'))))
    end)
    assert.same({ "order 7 done", "stopped by SIGTERM" }, { lines[2], lines[3] })
    assert.same({ code = 143 }, how)
  end)

  it("follow resumes where the previous start ended", function()
    local words = ("%s %s/position 2"):format(url, directory)
    assert.equal("order 1\norder 2\n", run("follow", words).out)
    assert.equal("order 3\norder 4\n", run("follow", words).out)
    assert.equal("4\n", read(directory .. "/position"))
  end)

  it("test passes, without a network", function()
    local result = run("test")
    assert.same({ "passed\n", "" }, { result.out, result.err })
  end)

  it("debug shows exchanges, calls and what is wrong with an input", function()
    local result = run("debug", url, "OPERATIONS_LOG=http,calls")
    assert.equal('shop.sometimes  query  1.0.0\nat last\nVALIDATION_ERROR\n/size\texpected integer, got "many"\n',
      result.out)
    assert.matches("GET " .. url .. "/shop/sometimes: attempt 2 in", result.err, 1, true)
    assert.matches('"operation":"shop.sometimes"', result.err, 1, true)
  end)

  it("secrets signs requests", function()
    local result = run("secrets", url .. "/healthz", "KEY=k")
    assert.equal("bearer\t200\nsigned\t200\nsigv4\t200\ntoken\tcron\n", result.out)
    assert.matches("the environment has no KEY", run("secrets", url .. "/healthz", "unset KEY;").err, 1, true)
  end)

  it("commands runs programs as operations, also for MCP clients", function()
    local result = run("commands")
    assert.equal("2 lines\nexamples/scripts/commands.lua\n1\n2\nVALIDATION_ERROR\t/directory\n", result.out)
    local tools = assert(operations.from_mcp.connect("own", { command = command.interpreter(),
      args = { "examples/scripts/commands.lua", "--mcp" }, env = command.environment() }))
    local registry = operations.registry()
    registry:register_all(tools.operations)
    assert.matches("2", registry:execute("own.text_count", { text = "a\nb\n" }).data)
    tools:close()
  end)

  it("schedule runs again and again, once on a machine, until TERM", function()
    local lock = directory .. "/lock"
    local words = { command.interpreter(), "examples/scripts/schedule.lua", lock, "0.05" }
    local lines, how = ended_by_term(words, function()
      local second = run("schedule", lock .. " 0.05")
      assert.same({ "another instance runs\n", 1 }, { second.err, second.code })
    end)
    assert.equal("run 1", lines[1])
    assert.equal("stopped by SIGTERM", lines[#lines])
    assert.same({ code = 143 }, how)
    eventually(function()
      return io.open(lock) == nil
    end)
  end)

  with_yaml("config says all that is wrong, and fills in defaults", function()
    local path = directory .. "/config.yaml"
    local function with(text)
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      return run("config", path)
    end
    assert.equal('{\n  level = "info",\n  server = { host = "a", port = 8080 },\n  targets = { "http://x/" }\n}\n',
      with('server: {host: a}\ntargets: ["http://x/"]\n').out)
    local result = with("server: {host: a, port: 0}\ntargets: []\n")
    assert.equal(2, result.code)
    assert.equal(path .. ": /server/port: expected a number of at least 1, got 0\n" .. path
      .. ": /targets: expected at least 1 item, got 0\n", result.err)
    assert.matches("YAML: ", with("a: [").err, 1, true)
  end)

  it("prompt shows values and survives errors", function()
    local result = command.run("lua examples/scripts/prompt.lua " .. url,
      'shop_items{cursor=9}.items[1]\nx = 3\nx + 1\nerror("no", 0)\n1+\n')
    assert.equal("", result.err)
    assert.matches('^registry of 5 operations\n{ id = 9, name = "item 9" }\nnil\n4\nno\nprompt:1: unexpected symbol',
      result.out)
  end)
end)
