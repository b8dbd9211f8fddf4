local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local operations = require("operations")
local redis = require("spec.support.redis")

local SECRET = "sixteen bytes or more"

describe("operations jobs", function()
  local server, worker

  setup(function()
    server = redis.start()
  end)

  teardown(function()
    server.stop()
  end)

  local function start_worker(...)
    local serving = false
    local words = { command.interpreter(), "lua/operations/cli/main.lua", "worker", "--redis", server.url, "--reliable",
      "--lua", "examples/jobs/report.lua", ... }
    words.env = command.environment()
    words.env.JOBS_SECRET = SECRET
    function words.on_stderr(line)
      serving = serving or line:find("serving 1 operation", 1, true) ~= nil
    end
    worker = assert(operations.process.spawn(words))
    operations.run(eventually, function()
      return serving
    end)
  end

  local function stop_worker()
    os.execute(("kill -KILL %d"):format(worker.pid))
    worker:wait()
  end

  local function connect(options)
    options.mode = "reliable"
    return operations.call_map(assert(operations.transports.redis(server.url, options)), { log = function() end })
  end

  local function run(script)
    return command.run(("export JOBS_SECRET='%s'; url=%s\n%s"):format(SECRET, server.url, script))
  end

  it("lists, shows and drops what waits, is delayed or runs", function()
    start_worker("--prefix", "listed", "--max-requests", "1")
    operations.run(function()
      local map = connect({ prefix = "listed" })
      assert(map:submit("report.write", { pages = 1000 }, { requestId = "one" }))
      eventually(function()
        return map:job("one").attempt == 1
      end)
      assert(map:submit("report.write", { pages = 2 }, { requestId = "two" }))
      assert(map:submit("report.write", { pages = 3 }, { requestId = "three", delay = 1e7 }))
      local listed = run("operations jobs --redis $url --prefix listed")
      assert.equal("", listed.err)
      assert.matches("^state +id +operation +attempt +time +worker\n", listed.out)
      assert.matches("\nrunning +one +report%.write +1 +%d+%-%d+%-%d+T[%d:]+Z +%x+", listed.out)
      assert.matches("\nwaiting +two +report%.write +0 +%d", listed.out)
      assert.matches("\ndelayed +three +report%.write +0 +%d", listed.out)
      local waiting = json.decode(run(
        "operations jobs list report.write --state waiting --json --redis $url --prefix listed").out)
      assert.same({ 1, "two", { pages = 2 } }, { #waiting, waiting[1].id, waiting[1].input })
      local seen = json.decode(run("operations jobs show one --redis $url --prefix listed").out)
      assert.same({ "one", "running", 1, 1000 }, { seen.id, seen.state, seen.attempt, seen.input.pages })
      for _, id in ipairs({ "three", "two", "one" }) do -- while "one" runs, the others wait
        assert.equal(0, run(("operations jobs drop %s --redis $url --prefix listed"):format(id)).code)
        assert.equal("ABORTED: dropped by operations jobs", tostring(select(2, map:outcome(id))))
      end
      assert.equal("", run("operations jobs --redis $url --prefix listed").out)
      local ended = json.decode(run("operations jobs show one --redis $url --prefix listed").out)
      assert.same({ "cancelled", "ABORTED" }, { ended.state, ended.error.code })
      assert.equal(0, run("operations jobs drop one --redis $url --prefix listed").code)
      assert.equal("OPERATION_NOT_FOUND", select(2, map:job("one")).code)
      map:close()
    end)
    stop_worker()
  end)

  it("repeats and drops dead ones, with a secret", function()
    local own = " --redis $url --prefix dead --secret env:JOBS_SECRET"
    start_worker("--prefix", "dead", "--secret", "env:JOBS_SECRET", "--lease", "300", "--attempts", "1")
    operations.run(function()
      local map = connect({ prefix = "dead", secret = SECRET })
      for _, id in ipairs({ "one", "two" }) do
        assert(map:submit("report.write", { pages = 1000 }, { requestId = id }))
        eventually(function()
          return map:job(id).attempt == 1
        end)
      end
      stop_worker()
      start_worker("--prefix", "dead", "--secret", "env:JOBS_SECRET", "--lease", "300", "--attempts", "1")
      eventually(function()
        return map:job("one").ended and map:job("two").ended
      end)
      assert.matches("\ndead +one .*\ndead +two ", "\n" .. run("operations jobs" .. own).out)
      local shown = json.decode(run("operations jobs show one" .. own).out)
      assert.same({ "dead", "POISON", { pages = 1000 } }, { shown.state, shown.error.code, shown.input })
      local dropped = run("operations jobs drop two" .. own)
      assert.same({ 0, "operations: 1 dead job\n" }, { dropped.code, dropped.err })
      local again = run("operations jobs repeat report.write" .. own)
      assert.same({ 0, "operations: 1 dead job\n" }, { again.code, again.err })
      eventually(function()
        return map:job("one").attempt == 2
      end)
      local running = run("operations jobs repeat one" .. own)
      assert.same({ 5, "operations: VALIDATION_ERROR: job 'one' is running: only dead ones are repeated\n" },
        { running.code, running.err })
      map:close()
    end)
    stop_worker()
  end)

  it("has an example, whose second run finds the job of the first", function()
    start_worker("--verbose")
    for _ = 1, 2 do
      local result = run("lua examples/jobs/submit.lua $url 2 0.01")
      assert.equal("Redis has the job report-of-2-pages\n2 pages\n", result.out)
    end
    stop_worker()
  end)

  it("has an example of a worker that ends its job before it leaves", function()
    local words = { command.interpreter(), "examples/jobs/worker.lua", server.url, env = command.environment() }
    operations.run(function()
      worker = assert(operations.process.spawn(words))
      assert.equal("serving", worker:read_line())
      local map = connect({})
      assert(map:submit("report.write", { pages = 10, seconds = 0.02 }, { requestId = "leaving" }))
      eventually(function()
        return map:job("leaving").attempt == 1
      end)
      os.execute(("kill -TERM %d"):format(worker.pid))
      worker:wait()
      assert.same({ attempt = 1, pages = 10 }, assert(map:outcome("leaving")).data)
      map:close()
    end)
  end)

  it("has an example whose jobs are all done, though it is stopped while it receives them", function()
    local COUNT = 90
    start_worker("--prefix", "ops")
    local accepted = {}
    operations.run(function()
      local receiver, port
      local function start_receiver(at)
        receiver = assert(operations.process.spawn({ command.interpreter(), "examples/jobs/webhook.lua", server.url,
          at or "0", env = command.environment() }))
        port = assert(receiver:read_line():match("^port (%d+)$"))
      end
      start_receiver()
      -- A sender of webhooks: sends each again until it gets 202.
      local function deliver(i)
        local id = "order-" .. i
        local answer
        repeat
          answer = operations.http.request({ method = "POST", url = "http://127.0.0.1:" .. port .. "/hooks/report",
            json = { id = id, pages = 1, seconds = 0.005 } })
          if not answer then
            operations.sleep(0.02)
          end
        until answer and answer.status == 202
        accepted[#accepted + 1] = id
        if i % 30 == 0 then
          os.execute(("kill -TERM %d"):format(receiver.pid))
          receiver:wait()
          start_receiver(port)
        end
        return true
      end
      local numbers = {}
      for i = 1, COUNT do
        numbers[i] = i
      end
      assert(operations.map(numbers, deliver, { limit = 8 }))
      os.execute(("kill -TERM %d"):format(receiver.pid))
      receiver:wait()
      local map = connect({})
      for i = 1, COUNT do
        assert.equal(1, assert(map:outcome("order-" .. i, 30000)).data.pages)
      end
      map:close()
    end)
    assert.equal(COUNT, #accepted)
    stop_worker()
  end)

  it("says what is wrong", function()
    for line, message in pairs({
      ["jobs"] = "jobs: expected --redis URL",
      ["jobs list --redis redis://x --limit 0"] = false,
      ["jobs none --redis redis://x"] = "jobs: expected list, show, repeat or drop, got \"none\"",
      ["jobs --redis redis://x --state x"] = "jobs: --state: waiting, delayed, running or dead expected, got \"x\"",
      ["jobs show --redis redis://x"] = "jobs: show: expected the ID of a job",
      ["jobs --redis redis://x --secret literal"] = "jobs: --secret: env:NAME, file:PATH or cmd:COMMAND expected",
      ["jobs --redis redis://x --secret env:JOBS_SHORT"] = "jobs: --secret: at least 16 bytes expected",
      ["worker --redis redis://x --lease 10"] = "--lease: only with --reliable",
      ["worker --redis redis://x --reliable --attempts 0"] = "--attempts: a whole number from 1 on expected",
    }) do
      local result = command.run("export JOBS_SHORT=short; operations " .. line)
      if message then
        assert.same({ 2, "operations: " .. message .. "\n" }, { result.code, result.err })
      end
    end
    assert.equal(13, command.run("operations jobs --redis redis://127.0.0.1:1").code)
    for _, words in ipairs({ "show none", "repeat none", "drop none", "repeat a.b", "drop a.b" }) do
      assert.equal(3, run(("operations jobs %s --redis $url"):format(words)).code)
    end
  end)
end)
