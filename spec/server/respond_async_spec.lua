-- Calls that a server of HTTP answers before they are done; time passes in jumps.
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local http_request = require("spec.support.http_request")
local operations = require("operations")
local respond_async = require("operations.server.respond_async")

local send, none = http_request.send, operations.object()

describe("a call of an HTTP server that may be a job", function()
  local host, registry, options, server, runs

  before_each(function()
    host = fake_host.new(1000)
    host.monotonic = host.now
    hosts.use(host)
    registry, options, server, runs = operations.registry({ log = function() end }), { log = function() end }, nil, 0
  end)

  after_each(function()
    if server then
      operations.run(server.close, server)
    end
    hosts.use("plain")
  end)

  local function register(name, task, handler, more)
    local definition = { namespace = "r", name = name, handler = handler, _meta = { task = task } }
    for key, value in pairs(more or {}) do
      definition[key] = value
    end
    assert(registry:register(definition))
  end

  local function slow(seconds)
    return function(input, context)
      runs = runs + 1
      context.progress(1, 4, "begun")
      operations.sleep(seconds)
      return { got = input.x }
    end
  end

  local function ask(method, path, headers, body)
    server = server or assert(operations.to_http(registry, options))
    return send(server, method, path, headers, body)
  end

  local async = { prefer = "respond-async" }

  it("is answered with its place, which tells its state and its result", function()
    register("slow", "optional", slow(5))
    operations.run(function()
      local begun = ask("POST", "/r/slow", async, { x = 7 })
      assert.same({ 202, "respond-async", "1", "Prefer", "working", "r.slow" }, { begun.status,
        begun.headers["preference-applied"], begun.headers["retry-after"], begun.headers.vary, begun.json.state,
        begun.json.operation })
      local place = begun.headers.location
      assert.equal("/jobs/" .. begun.json.id, place)
      operations.sleep(1)
      local state = ask("GET", place)
      assert.same({ 200, "1", "working", "begun", { done = 1, total = 4, message = "begun" } }, { state.status,
        state.headers["retry-after"], state.json.state, state.json.message, state.json.progress })
      local early = ask("GET", place .. "/result")
      assert.same({ 409, "PENDING" }, { early.status, early.json.code })
      operations.sleep(5)
      state = ask("GET", place)
      assert.same({ 200, "completed", { got = 7 }, "1970-01-01T00:00:01.000Z", "1970-01-01T01:00:01.000Z" },
        { state.status, state.json.state, state.json.result, state.json.created, state.json.expires })
      assert.is_nil(state.headers["retry-after"])
      local result = ask("GET", place .. "/result")
      assert.same({ 200, { got = 7 } }, { result.status, result.json })
      assert.equal(1, runs)
    end)
  end)

  it("is an ordinary call for a caller that does not ask, unless it has to be a job", function()
    register("slow", "optional", slow(1))
    register("needs", "required", slow(1))
    register("other", nil, slow(1))
    operations.run(function()
      assert.same({ 200, { got = 1 } }, { ask("POST", "/r/slow", nil, { x = 1 }).status,
        ask("POST", "/r/slow", nil, { x = 1 }).json })
      assert.equal(202, ask("POST", "/r/needs", nil, none).status)
      assert.equal(200, ask("POST", "/r/other", async, none).status)
    end)
  end)

  it("waits for so long as the caller prefers", function()
    register("slow", "optional", slow(5))
    operations.run(function()
      local done = ask("POST", "/r/slow", { prefer = "respond-async, wait=10" }, { x = 1 })
      assert.same({ 200, { got = 1 } }, { done.status, done.json })
      local begun = ask("POST", "/r/slow", { prefer = "wait=2, respond-async" }, none)
      assert.same({ 202, 8000 }, { begun.status, host.now() })
      assert.equal("working", ask("GET", begun.headers.location, { prefer = "wait=1" }).json.state)
      assert.equal("completed", ask("GET", begun.headers.location, { prefer = "wait=100" }).json.state)
      assert.equal(11000, host.now())
    end)
  end)

  it("reads preferences as RFC 7240 has them", function()
    for field, expected in pairs({ [""] = { false }, ["respond-async"] = { true }, ["Respond-Async; x=1"] = { true },
      ["wait=3"] = { false, 3000 }, ['respond-async, wait="4"'] = { true, 4000 }, ["wait=5,wait=6"] = { false, 5000 },
      ["wait=x, return=minimal"] = { false }, ["wait=-1"] = { false }, ["wait=1e9"] = { false },
      ["wait=99999999999999999999"] = { false, 60000 }, ["x-respond-async"] = { false } }) do
      assert.same(expected, { respond_async.preferences({ headers = { prefer = field } }) })
    end
  end)

  it("answers as the call would have, with its status, its error or its bytes", function()
    register("made", "optional", function()
      return operations.http_envelope({ id = 1 }, { statusCode = 201, headers = { location = "/things/1" } })
    end)
    register("fails", "optional", function()
      return nil, operations.error("GONE", "it is gone")
    end, { errorSchemas = { { code = "GONE", statusCode = 410 } } })
    register("bytes", "optional", function()
      return "\255\0"
    end, { outputSchema = { type = "string", contentMediaType = "image/png" } })
    register("strict", "optional", slow(1), { inputSchema = { type = "object", required = { "x" } } })
    operations.run(function()
      local function begin(name)
        local begun = ask("POST", "/r/" .. name, async, none)
        operations.sleep(0.01)
        return begun.headers.location, begun
      end
      local place = begin("made")
      local result = ask("GET", place .. "/result")
      assert.same({ 201, "/things/1", { id = 1 } }, { result.status, result.headers.location, result.json })
      place = begin("fails")
      local state = ask("GET", place).json
      assert.same({ "failed", "GONE", 410 }, { state.state, state.error.code, state.error.status })
      result = ask("GET", place .. "/result")
      assert.same({ 410, "it is gone" }, { result.status, result.json.detail })
      place = begin("bytes")
      assert.same({ "completed" }, { ask("GET", place).json.state, ask("GET", place).json.result })
      result = ask("GET", place .. "/result")
      assert.same({ "image/png", "\255\0" }, { result.headers["content-type"], result.text })
      local _, refused = begin("strict")
      assert.same({ 422, "VALIDATION_ERROR" }, { refused.status, refused.json.code })
    end)
  end)

  it("is cancelled by DELETE; a second one, or one after its end, forgets it", function()
    local outcome
    register("slow", "optional", function(_, context)
      outcome = { pcall(operations.sleep, 60), context:cancelled() }
      return {}
    end)
    register("quick", "optional", slow(0))
    operations.run(function()
      local place = ask("POST", "/r/slow", async, none).headers.location
      operations.sleep(1)
      local cancelled = ask("DELETE", place)
      assert.same({ 200, "cancelled", "the caller cancelled it", "ABORTED" }, { cancelled.status, cancelled.json.state,
        cancelled.json.message, cancelled.json.error.code })
      operations.sleep(0.01)
      assert.same({ false, true }, outcome)
      assert.equal("cancelled", ask("GET", place).json.state)
      assert.equal(204, ask("DELETE", place).status)
      for _, method in ipairs({ "DELETE", "GET" }) do
        assert.equal(404, ask(method, place).status)
      end
      place = ask("POST", "/r/quick", async, none).headers.location
      operations.sleep(0.01)
      assert.equal("completed", ask("GET", place).json.state)
      assert.equal(204, ask("DELETE", place).status)
    end)
  end)

  it("has its states as an event stream", function()
    register("slow", "optional", function(_, context)
      for page = 1, 2 do
        operations.sleep(1)
        context.progress(page, 2)
      end
      operations.sleep(1)
      return { done = true }
    end)
    operations.run(function()
      local place = ask("POST", "/r/slow", async, none).headers.location
      local events = ask("GET", place, { accept = "text/event-stream" })
      assert.equal("text/event-stream", events.headers["content-type"])
      local seen = {}
      for name, data in events.text:gmatch("event: (%l+)\ndata: ([^\n]*)\n") do
        local state = operations.json.decode(data)
        seen[#seen + 1] = name .. " " .. tostring(state.state) .. " " .. (state.progress and state.progress.done or 0)
      end
      assert.same({ "state working 0", "state working 1", "state working 2", "state completed 2", "end nil 0" }, seen)
    end)
  end)

  it("has streams that end with their readers, and are limited", function()
    options.max_identity_streams = 2
    register("slow", "optional", slow(60))
    operations.run(function()
      local place = ask("POST", "/r/slow", async, none).headers.location
      local leaves, bodies = {}, {}
      local function open()
        local response = server:handle({ method = "GET", target = place, body = "", left = function(fn)
          leaves[#leaves + 1] = fn
        end, headers = { host = "localhost", accept = "text/event-stream" } })
        bodies[#bodies + 1] = response.body
        return response.status
      end
      assert.same({ 200, 200, 503 }, { open(), open(), open() })
      assert.matches("^retry:", bodies[1]())
      assert.matches('"state":"working"', bodies[1]())
      local reading = operations.spawn(bodies[1])
      operations.sleep(0.01)
      for _, leave in ipairs(leaves) do
        leave()
      end
      reading:wait()
      assert.is_nil(bodies[1]())
      assert.is_nil(bodies[2]())
      assert.same({ 200, 0 }, { open(), server.running - 1 })
      leaves[#leaves]()
    end)
  end)

  it("belongs to the identity that started it", function()
    options.authorize = function(request)
      return request.token and { id = request.token, scopes = {} }
    end
    register("slow", "optional", slow(5), { accessControl = { requiredScopes = {} } })
    operations.run(function()
      local ann, bob = { authorization = "Bearer ann", prefer = "respond-async" }, { authorization = "Bearer bob" }
      local place = ask("POST", "/r/slow", ann, none).headers.location
      for _, path in ipairs({ place, place .. "/result", "/jobs/00000000-0000-0000-0000-000000000000",
        "/jobs/" .. ("0"):rep(36), place .. "/other" }) do
        for _, method in ipairs({ "GET", "HEAD", "DELETE" }) do
          local refused = ask(method, path, bob)
          assert.is_true(refused.status == 404 or refused.status == 405)
        end
      end
      assert.equal(401, ask("GET", place).status)
      assert.equal("working", ask("GET", place, ann).json.state)
      assert.same({ 204, "DELETE, GET, HEAD, OPTIONS" }, { ask("OPTIONS", place, ann).status,
        ask("OPTIONS", place, ann).headers.allow })
      for _, method in ipairs({ "POST", "ET", "DELETE, GET" }) do
        assert.equal(405, ask(method, place, ann, none).status)
      end
    end)
  end)

  it("has the facts of its request, and none of its header fields", function()
    options.metadata_headers = { "authorization", "x-secret" }
    local seen
    register("slow", "optional", function(_, context)
      seen = context.metadata
      return {}
    end)
    operations.run(function()
      ask("POST", "/r/slow", { authorization = "Bearer s3cret", ["x-secret"] = "s3cret", prefer = "respond-async" },
        none)
      operations.sleep(0.01)
      assert.same({ http = { method = "POST", path = "/r/slow", scheme = "http", host = "localhost" } }, seen)
    end)
  end)

  it("ends with its server", function()
    local outcome
    register("slow", "optional", function(_, context)
      pcall(operations.sleep, 60)
      outcome = context:cancelled()
    end)
    operations.run(function()
      for _, ending in ipairs({ "close", "drain" }) do
        outcome, server = nil, nil
        ask("POST", "/r/slow", async, none)
        operations.sleep(0.01)
        server[ending](server)
        operations.sleep(0.01)
        assert.is_true(outcome)
      end
    end)
  end)

  it("is refused where one caller has too many", function()
    options.tasks = { max_identity_jobs = 3 }
    register("slow", "optional", slow(5))
    operations.run(function()
      local statuses = {}
      for i = 1, 5 do
        local answer = ask("POST", "/r/slow", async, none)
        statuses[i] = answer.status .. " " .. (answer.json.code or "")
      end
      assert.same({ "202 ", "202 ", "202 ", "503 BUSY", "503 BUSY" }, statuses)
    end)
  end)

  it("keeps its path from operations, unless the server has no jobs", function()
    register("one", nil, slow(0), { _meta = { http = { path = "/jobs/{x}", method = "GET" } },
      inputSchema = { type = "object", properties = { x = { type = "string" } } } })
    assert.equal("r.one: the path /jobs/{x} belongs to the server's jobs; tasks = false leaves them out",
      select(2, operations.to_http(registry, options)).message)
    options.tasks = false
    register("slow", "optional", slow(1))
    register("needs", "required", slow(1))
    operations.run(function()
      local id = ("0"):rep(36)
      assert.same({ got = id }, ask("GET", "/jobs/" .. id).json)
      assert.equal(200, ask("POST", "/r/slow", async, none).status)
      local refused = ask("POST", "/r/needs", async, none)
      assert.same({ 503, "UNAVAILABLE" }, { refused.status, refused.json.code })
    end)
  end)

  it("is one job for one Idempotency-Key", function()
    options.idempotency = true
    register("slow", "optional", slow(1))
    operations.run(function()
      local keyed = { prefer = "respond-async", ["idempotency-key"] = '"k"' }
      local places = {}
      for i = 1, 3 do
        places[i] = ask("POST", "/r/slow", keyed, none).headers.location
      end
      assert.same({ places[1], places[1], places[1] }, places)
      operations.sleep(2)
      assert.equal(1, runs)
    end)
  end)
end)
