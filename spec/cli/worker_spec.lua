local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local operations = require("operations")
local redis = require("spec.support.redis")

describe("operations worker", function()
  local server, told

  setup(function()
    server = redis.start()
  end)

  teardown(function()
    server.stop()
  end)

  local function start_worker(mode, says, ...)
    local serving = false
    told = {}
    local words = { command.interpreter(), "lua/operations/cli/main.lua", "worker", "--redis", server.url, mode,
      "--lua", "examples/definitions", ... }
    words.env = command.environment()
    function words.on_stderr(line)
      told[#told + 1] = line
      serving = serving or line:find(says or "serving 3 operations", 1, true) ~= nil
    end
    local worker = assert(operations.process.spawn(words))
    operations.run(function()
      eventually(function()
        return serving
      end)
    end)
    return worker
  end

  -- Runs a script with a worker beside it, which is interrupted in the end unless the script has done so.
  local function with_worker(script, mode, ...)
    local worker = start_worker(mode or "--verbose", ...)
    local result = command.run(("url=%s worker=%d\n%s"):format(server.url, worker.pid, script))
    if not script:find("kill", 1, true) then
      os.execute(("kill -INT %d"):format(worker.pid))
    end
    result.worker = worker:wait()
    return result
  end

  it("serves its operations to call, watch, list and describe", function()
    local result = with_worker([[
      operations list --redis $url
      operations describe demo.greet --redis $url | head -1
      operations call demo.greet name=Ada --redis $url
      operations watch demo.countdown from=2 pause=0 --redis $url]])
    assert.matches("demo%.greet +query +Greet somebody", result.out)
    assert.matches("\ndemo.greet  query  1.0.0\n", result.out, 1, true)
    assert.matches("\n\"Hello, Ada!\"\n{\"left\":2}\n{\"left\":1}\n", result.out, 1, true)
  end)

  it("believes the identities in requests only with --vouches", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('return { namespace = "a", name = "b", accessControl = { requiredScopes = { "x" } }, '
      .. 'handler = function(_, context) return context.identity.id end }')
    file:close()
    local script = [[operations call a.b --identity '{"id":"ann","scopes":["x"]}' --redis $url]]
    for _, mode in ipairs({ "--verbose", "--reliable" }) do
      local more = mode == "--reliable" and " --reliable" or ""
      local refused = with_worker(script .. more, mode, "serving 4", "--lua", path)
      assert.same({ "", 3 }, { refused.out, refused.code }) -- it is not even listed
      assert.equal('"ann"\n', with_worker(script .. more, mode, "serving 4", "--lua", path, "--vouches").out)
    end
    os.remove(path)
  end)

  it("changes its operations as --transform says, and blocks mutations with --read-only", function()
    local path = os.tmpname()
    local changes = path .. ".lua"
    local file = assert(io.open(changes, "w"))
    file:write('return { ["demo.greet"] = { name = "welcome", fix = { name = "Ada" } } }')
    file:close()
    file = assert(io.open(path, "w"))
    file:write('return { namespace = "a", name = "change", handler = function() return "changed" end }')
    file:close()
    local script = "operations call demo.welcome --redis $url; operations call a.change --redis $url"
    assert.equal('"Hello, Ada!"\n"changed"\n',
      with_worker(script, "--transform=" .. changes, "serving 4", "--lua", path).out)
    local blocked = with_worker(script, "--read-only", "serving 3 of 4", "--lua", path, "--transform", changes)
    assert.equal('"Hello, Ada!"\n', blocked.out)
    assert.matches("OPERATION_NOT_FOUND: no operation 'a.change'", blocked.err, 1, true)
    assert.equal("operations: serving 3 of 4 operations", told[1])
    os.remove(path)
    os.remove(changes)
  end)

  it("says on stderr why a handler failed", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('return { namespace = "a", name = "b", handler = function() return nil + 1 end }')
    file:close()
    local result = with_worker("operations call a.b --redis $url", "--max-requests=8", "serving 4", "--lua", path)
    os.remove(path)
    assert.equal(8, result.code)
    assert.same({ "operations: serving 4 operations", ("operations: error: a.b: %s:1: attempt to perform arithmetic "
      .. "on a nil value"):format(path) }, { told[1], told[2] })
    assert.equal("EXECUTION_ERROR", operations.json.decode(told[3]).code)
  end)

  it("logs a line for each call, unless it is to be quiet", function()
    local script = [[
      operations call demo.greet name=Ada --redis $url
      operations watch demo.countdown from=1 pause=0 --redis $url
      operations call demo.greet '{"name":1}' --redis $url]]
    local function lines(...)
      with_worker(script, "--reliable", "health: ", "--health", "0", ...)
      local found = {}
      for _, line in ipairs(told) do
        local entry = operations.json.decode(line)
        found[#found + 1] = entry and ("%s %s"):format(entry.operation, entry.code)
          or line:match("^%d%d:%d%d:%d%d (.*) %d+ ms$")
      end
      return found
    end
    assert.same({ "demo.greet nil", "demo.countdown nil" }, lines())
    assert.same({ "demo.greet", "demo.countdown" }, lines("--log-format", "text"))
    assert.same({}, lines("--quiet"))
  end)

  it("says when Redis is lost and back, to people and to supervisors, and shows figures", function()
    local port = free_port()
    local other = redis.start()
    local usual = server
    server = other
    local worker = start_worker("--verbose", nil, "--health", tostring(port))
    server = usual
    local function status(path)
      local answer = operations.http.request({ url = ("http://127.0.0.1:%d%s"):format(port, path) })
      return answer and answer.status, answer and answer.body
    end
    local function says(text)
      return table.concat(told, "\n"):find(text, 1, true) ~= nil
    end
    operations.run(function()
      assert.equal(200, (status("/readyz")))
      command.run(("operations call demo.greet name=Ada --redis %s"):format(other.url))
      assert.matches('operations_calls_total{operation="demo.greet",code="OK"} 1\n', select(2, status("/metrics")), 1,
        true)
      other.stop()
      eventually(function() return says("Redis is lost: TRANSPORT_LOST") and status("/readyz") == 503 end)
      assert.equal(200, (status("/healthz")))
      other = redis.start(other.port)
      eventually(function() return says("Redis is back") and status("/readyz") == 200 end)
    end)
    os.execute(("kill -INT %d"):format(worker.pid))
    worker:wait()
    other.stop()
    assert.equal(2, command.run("operations worker --redis redis://x --lua examples/definitions --health x").code)
  end)

  it("answers what a file describes without a handler", function()
    local result = with_worker([[
      file=$(mktemp)
      echo "return { namespace = 'demo', name = 'greet' }" >$file
      operations call demo.greet name=Ada --lua $file --redis $url
      rm $file]])
    assert.equal('"Hello, Ada!"\n', result.out)
  end)

  it("serves reliably, too", function()
    local result = with_worker([[
      operations call demo.greet name=Ada --redis $url --reliable
      operations watch demo.countdown from=1 pause=0 --redis $url --reliable
      redis-cli -u $url exists 'ops:{ops}:q:demo.greet']], "--reliable")
    assert.equal("\"Hello, Ada!\"\n{\"left\":1}\n{\"left\":0}\n1\n", result.out)
  end)

  it("says how many of its operations it serves, and how it would serve the rest (C4)", function()
    local result = with_worker("operations list --redis $url", nil,
      "serving 3 of 7 operations; --expose 'tasks.*' serves more", "--openapi", "examples/tasks.openapi.json")
    assert.not_matches("tasks.list", result.out, 1, true)
    result = with_worker("operations list --redis $url", nil, "serving 5 of 7 operations",
      "--openapi", "examples/tasks.openapi.json", "--expose", "tasks.*t")
    assert.matches("tasks.list", result.out, 1, true)
    assert.not_matches("tasks.create", result.out, 1, true)
  end)

  it("lets what runs end when it is interrupted", function()
    local result = with_worker([[
      seen=$(mktemp); operations watch demo.countdown from=3 pause=0.5 --redis $url >$seen & watching=$!
      until grep -q left $seen; do sleep 0.05; done
      kill -INT $worker; wait $watching; code=$?; cat $seen; rm $seen; echo "watch $code"]])
    assert.matches("{\"left\":3}\n{\"left\":2}\n{\"left\":1}\n", result.out, 1, true)
    assert.matches("\nwatch 0\n", result.out, 1, true)
    assert.same({ signal = 2 }, result.worker)
  end)

  it("validates at the caller, and names unknown operations", function()
    local result = with_worker([[
      operations call demo.greet name= --redis $url; echo "invalid $?"
      operations call demo.nothing --redis $url; echo "nothing $?"]])
    assert.matches("invalid 5\nnothing 3\n", result.out, 1, true)
    assert.matches("/name", result.err, 1, true)
  end)

  it("says what is wrong with how it is called", function()
    assert.equal(2, command.run("operations worker --lua examples/definitions").code)
    assert.equal(2, command.run("operations worker --redis redis://127.0.0.1:1").code)
    local result = command.run("operations worker --lua examples/definitions --redis redis://127.0.0.1:1")
    assert.equal(13, result.code)
    assert.matches("TRANSPORT_LOST", result.err)
    result = command.run("operations worker --lua examples/definitions --redis http://127.0.0.1")
    assert.equal(12, result.code)
    assert.equal(13, command.run("operations list --redis redis://127.0.0.1:1").code)
    assert.equal(13, command.run("operations list --websocket ws://127.0.0.1:1").code)
  end)
end)
