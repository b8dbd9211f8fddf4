-- Operations of a server of this library that answers calls before they are done; time passes in jumps.
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local operations = require("operations")

describe("an operation of a server that runs it as a job", function()
  local host, registry, server, options, heard, spoil

  before_each(function()
    host = fake_host.new(1000)
    host.monotonic = host.now
    hosts.use(host)
    registry, options, heard, spoil = operations.registry({ log = function() end }), { log = function() end }, {}, nil
  end)

  after_each(function()
    operations.run(server.close, server)
    hosts.use("plain")
  end)

  local function register(name, handler, more)
    local definition = { namespace = "r", name = name, handler = handler, _meta = { task = "optional" },
      inputSchema = { type = "object" } }
    for key, value in pairs(more or {}) do
      definition[key] = value
    end
    assert(registry:register(definition))
  end

  -- An HTTP client without a network: its requests go to the server.
  local http = {}

  function http.request(asked)
    local path = asked.url:match("^https?://[^/]+(.*)$")
    local headers = { host = "localhost" }
    for name, value in pairs(asked.headers or {}) do
      headers[name:lower()] = value
    end
    heard[#heard + 1] = asked.method .. " " .. path:gsub("%x+%-[%x-]+", "ID")
    local refused = spoil and spoil(asked)
    if refused then
      return nil, refused
    end
    local answer = server:handle({ method = asked.method, target = path, headers = headers,
      body = asked.body or "" })
    answer.url = asked.url
    return answer
  end

  -- The operations of the server's document in a registry of their own.
  local function imported()
    server = assert(operations.to_http(registry, options))
    local list = assert(operations.from_openapi.document(server:openapi(), { base_url = "http://localhost/",
      http = http, trust_extension = true }))
    local other = operations.registry({ log = function() end })
    assert(other:register_all(list))
    return other, list
  end

  it("is followed to its result, and tells its progress", function()
    register("slow", function(input, context)
      for page = 1, 3 do
        operations.sleep(10)
        context.progress(page, 3, "page")
      end
      return { got = input.x }
    end)
    operations.run(function()
      local other = imported()
      local seen = {}
      local envelope = assert(other:execute("r.slow", { x = 7 }, { on_progress = function(done, total, message)
        seen[#seen + 1] = ("%d/%d %s"):format(done, total, message)
      end }))
      assert.same({ got = 7 }, envelope.data)
      assert.equal(200, envelope.meta.statusCode)
      assert.same({ "1/3 page", "2/3 page" }, { seen[1], seen[2] })
      assert.same({ "POST /r/slow", "GET /jobs/ID", "GET /jobs/ID/result" }, { heard[1], heard[2], heard[#heard] })
    end)
  end)

  it("that is quick has its result at once", function()
    register("quick", function() return 1 end)
    operations.run(function()
      assert.equal(1, assert(imported():execute("r.quick", {})).data)
      assert.same({ "POST /r/quick" }, heard)
    end)
  end)

  it("fails as the call would have, and is cancelled with its caller", function()
    local outcome
    register("fails", function()
      operations.sleep(20)
      return nil, operations.error("GONE", "it is gone", { a = 1 })
    end, { errorSchemas = { { code = "GONE", statusCode = 410, schema = { type = "object" } } } })
    register("slow", function(_, context)
      pcall(operations.sleep, 100)
      outcome = context:cancelled()
    end)
    operations.run(function()
      local other = imported()
      local _, err = other:execute("r.fails", {})
      assert.same({ "GONE", "it is gone", { a = 1 } }, { err.code, err.message, err.details })
      _, err = other:execute("r.slow", {}, { timeout = 15000 })
      assert.equal("TIMEOUT", err.code)
      operations.sleep(1)
      assert.is_true(outcome)
      assert.equal("DELETE /jobs/ID", heard[#heard])
      outcome = nil
      local calling = operations.spawn(other.execute, other, "r.slow", {})
      operations.sleep(12)
      calling:cancel("enough")
      operations.sleep(1)
      assert.is_true(outcome)
    end)
  end)

  it("is left running by a caller that detaches, and taken up again", function()
    local runs = 0
    register("slow", function()
      runs = runs + 1
      operations.sleep(20)
      return { done = true }
    end)
    register("plain", function() return 1 end, { _meta = {} })
    operations.run(function()
      local other = imported()
      local _, err = other:execute("r.slow", {}, { detach = true })
      assert.equal("DETACHED", err.code)
      assert.matches("^http://localhost/jobs/[%x-]+$", err.details.task)
      assert.equal(1, #heard)
      local place = err.details.task
      assert.equal("TIMEOUT", select(2, other:resume("r.slow", place, { timeout = 5000 })).code)
      assert.same({ done = true }, assert(other:resume("r.slow", place)).data)
      assert.equal(1, runs)
      assert.equal("OPERATION_NOT_FOUND", select(2, other:resume("r.slow", "http://localhost/jobs/x")).code)
      for _, elsewhere in ipairs({ "http://evil.example/jobs/1", "http://localhost:81/x", "\0",
        "http://a@localhost/" }) do
        assert.equal("the place of the job is not a URL of the API",
          select(2, other:resume("r.slow", elsewhere)).message)
      end
      assert.equal("r.plain starts no tasks of another server", select(2, other:resume("r.plain", place)).message)
      assert.equal("OPERATION_NOT_FOUND", select(2, other:resume("r.none", place)).code)
    end)
  end)

  it("is cancelled once, and not after its end: its result stays", function()
    register("slow", function()
      operations.sleep(20)
      return 7
    end)
    operations.run(function()
      local other = imported()
      local function begin()
        return select(2, other:execute("r.slow", {}, { detach = true })).details.task
      end
      local cancelled, done = begin(), begin()
      for _ = 1, 3 do
        assert.is_true(other:cancel_task("r.slow", cancelled))
      end
      assert.equal("ABORTED", select(2, other:resume("r.slow", cancelled)).code)
      operations.sleep(21)
      for _ = 1, 3 do
        assert.is_true(other:cancel_task("r.slow", done))
      end
      assert.equal(7, assert(other:resume("r.slow", done)).data)
    end)
  end)

  it("survives losses of the connection", function()
    register("slow", function()
      operations.sleep(20)
      return { done = true }
    end)
    local losses = 3
    operations.run(function()
      local other = imported()
      function spoil(asked)
        if asked.method == "GET" and losses > 0 then
          losses = losses - 1
          local err = errors.new("EXECUTION_ERROR", "lost", { kind = "connect" })
          err.retryable = true
          return err
        end
      end
      assert.same({ done = true }, assert(other:execute("r.slow", {})).data)
      losses = math.huge
      local _, err = other:execute("r.slow", {})
      assert.same({ "lost", true }, { err.message, err.mayHaveRun })
    end)
  end)

  it("fails where the state of the job is invalid", function()
    register("slow", function()
      operations.sleep(20)
    end)
    operations.run(function()
      local other = imported()
      for _, body in ipairs({ "", "{", "7", "{}", '{"state":7}', '{"state":"lost"}' }) do
        local handle = server.handle
        function server:handle(request)
          local answer = handle(self, request)
          answer.body = request.method == "GET" and body or answer.body
          answer.headers["retry-after"] = "nan"
          return answer
        end
        local _, err = other:execute("r.slow", {})
        assert.same({ "the state of the job is unreadable", "job", true }, { err.message, err.details.kind,
          err.mayHaveRun })
        server.handle = nil
      end
    end)
  end)

  it("is the same operation again, from the server's document", function()
    register("slow", function() return 1 end, { _meta = { task = "required" },
      outputSchema = { type = "integer" } })
    operations.run(function()
      local _, list = imported()
      assert.equal(1, #list)
      assert.equal("required", list[1]._meta.task)
      local document = server:openapi()
      local made = document.paths["/r/slow"].post
      assert.equal("#/components/schemas/Job", made.responses["202"].content["application/json"].schema["$ref"])
      assert.equal("required", made["x-operation"].task)
      assert.is_table(document.paths["/jobs/{id}"].delete)
      options.tasks = false
      server = assert(operations.to_http(registry, options))
      document = server:openapi()
      assert.is_nil(document.paths["/r/slow"].post.responses["202"])
      assert.is_nil(document.paths["/jobs/{id}"])
    end)
  end)
end)
