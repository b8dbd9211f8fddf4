--- Submitted jobs per second over Redis, beside BullMQ (jobs_peer.mjs): one process submits and runs them, each with an
--- id of its own and an outcome that is kept for a day. Ours and theirs take turns; the figures are medians.
package.path = "./?.lua;" .. package.path
local command = require("spec.support.command")
local operations = require("operations")
local measure = require("spec.bench.measure")
local redis = require("spec.support.redis")

local ROUNDS = 5
local QUEUE = 100000 -- longer than any that comes up

local function ours(url)
  local registry, done, round = operations.registry(), 0, 0
  assert(registry:register({ namespace = "a", name = "echo", handler = function(input)
    done = done + 1
    return input
  end }))
  local options = { mode = "reliable", max_queue = QUEUE }
  local worker = operations.call_map(assert(operations.transports.redis(url, options)))
  operations.call_handler(registry, worker)
  local map = operations.call_map(assert(operations.transports.redis(url, options)))
  return function(submitters, jobs)
    local lanes, started = {}, operations.monotonic()
    round, done = round + 1, 0
    for first = 1, submitters do
      lanes[first] = function()
        for i = first, jobs, submitters do
          assert(map:submit("a.echo", { i = i }, { requestId = ("%d-%d"):format(round, i) }))
        end
        return true
      end
    end
    assert(operations.all(lanes))
    local submitted = operations.monotonic()
    while done < jobs do
      operations.sleep(0.002)
    end
    return jobs / (submitted - started) * 1000, jobs / (operations.monotonic() - started) * 1000
  end
end

local function theirs(peer)
  assert(peer:read_line() == "ready", "the peer does not start")
  return function(submitters, jobs)
    assert(peer:write(("%d %d\n"):format(submitters, jobs)))
    local submitted, done = peer:read_line():match("^(%S+) (%S+)$")
    return tonumber(submitted), tonumber(done)
  end
end

local server = redis.start()
operations.run(function()
  local peer = assert(operations.process.spawn({ "node", "spec/bench/jobs_peer.mjs", server.url,
    env = command.environment() }))
  local names, runs = { "operations", "BullMQ" }, { ours(server.url), theirs(peer) }
  for _, case in ipairs({ { 1, 1000 }, { 64, 10000 } }) do
    local submitters, jobs = case[1], case[2]
    local submitted, done = { {}, {} }, { {}, {} }
    for _ = 1, ROUNDS do
      for i, run in ipairs(runs) do
        local one, other = run(submitters, jobs)
        table.insert(submitted[i], one)
        table.insert(done[i], other)
      end
    end
    local first = measure.median(done[1])
    for i, name in ipairs(names) do
      print(("%2d at a time  %-10s %6.0f submitted/s %6.0f done/s   ours %5.2f times that"):format(submitters, name,
        measure.median(submitted[i]), measure.median(done[i]), first / measure.median(done[i])))
    end
  end
  os.execute("kill " .. peer.pid)
end)
server.stop()
