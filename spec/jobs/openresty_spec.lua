-- Jobs of a server in several workers of nginx: any worker answers for a job in Redis; without Redis there are none.
local inside = require("spec.support.inside")
local operations = require("operations")
local redis = require("spec.support.redis")
local test_server = require("spec.support.server")

describe("jobs in several workers of OpenResty", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local store = redis.around(setup, teardown)
  local plain, shared

  setup(function()
    plain = test_server.start({ app = true, workers = 4 })
    shared = test_server.start({ app = true, workers = 4, init = ("SPEC_REDIS = %q"):format(store.url) })
  end)

  teardown(function()
    plain:stop()
    shared:stop()
  end)

  -- Each request comes over a connection of its own, so that any worker may take it.
  local function send(server, method, path, headers, body)
    local all = { ["content-type"] = "application/json", connection = "close" }
    for name, value in pairs(headers or {}) do
      all[name] = value
    end
    local answer = assert(operations.http.request({ url = server.url .. path, method = method, headers = all,
      body = body and operations.json.encode(body) }))
    return answer.status, answer.body ~= "" and operations.json.decode(answer.body) or nil, answer.headers
  end

  local async = { prefer = "respond-async" }

  it("are in Redis, and any worker answers for them", function()
    for pages = 1, 6 do
      local status, state, headers = send(shared, "POST", "/long/report/write", async, { pages = pages })
      assert.same({ 202, "/long/jobs/" .. state.id }, { status, headers.location })
      for _ = 1, 4 do
        local seen, why = send(shared, "GET", headers.location)
        assert.equal(200, seen, why and operations.json.encode(why))
      end
      status, state = send(shared, "GET", headers.location, { prefer = "wait=30" })
      assert.same({ 200, "completed", { pages = pages } }, { status, state.state, state.result })
      assert.equal(200, (send(shared, "GET", headers.location .. "/result")))
      assert.equal(204, (send(shared, "DELETE", headers.location)))
      assert.equal(404, (send(shared, "GET", headers.location)))
    end
  end)

  it("are tasks of MCP clients, which are followed over all workers", function()
    operations.run(function()
      local client = assert(operations.from_mcp.connect("office", { url = shared.url .. "/long/mcp" }))
      assert.same({ pages = 3 }, assert(client:call("report_write", { pages = 3 })).data)
      local _, err = client:call("report_write", { pages = 100000 }, { detach = true })
      local task = client:task(err.details.task)
      assert.is_true(task:cancel())
      assert.equal("cancelled", assert(task:state()).status)
      client:close()
    end)
  end)

  it("are refused in words without Redis; calls that need none run without", function()
    local status, state = send(plain, "POST", "/long/report/write", async, { pages = 1 })
    assert.same({ 200, { pages = 1 } }, { status, state })
    status, state = send(plain, "POST", "/long/report/needed", async, { pages = 1 })
    assert.same({ 503, "UNAVAILABLE" }, { status, state.code })
    operations.run(function()
      local client = assert(operations.from_mcp.connect("office", { url = plain.url .. "/long/mcp" }))
      assert.same({ pages = 1 }, assert(client:call("report_write", { pages = 1 })).data)
      local _, err = client:call("report_needed", { pages = 1 })
      assert.matches("jobs in memory need a server of one process", err.message)
      client:close()
    end)
  end)
end)
