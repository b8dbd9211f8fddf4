--- OPERATIONS_LOG, and what errors of HTTP APIs say of their request.
local command = require("spec.support.command")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

describe("OPERATIONS_LOG", function()
  local running = server.around(setup, teardown, { tls = true })

  local function logged(what, script)
    return command.run(("OPERATIONS_LOG=%s lua -e 'local operations = require([[operations]]) local url = [[%s]] %s'")
      :format(what, running.url, script)).err
  end

  -- The lines, without what differs in each run.
  local function lines_of(text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = line:gsub(running.url:gsub("%p", "%%%0"), "URL"):gsub("(%d+%.%d+)([ ,)])", "N%2")
        :gsub("%d+ bytes", "N bytes")
    end
    return lines
  end

  it("shows exchanges with their phases, retries and failures of HTTP, without queries", function()
    assert.same({
      "operations: http: GET URL/status/503: 503 in N ms (name N, connect N, first byte N), N bytes",
      "operations: http: GET URL/status/503: attempt 2 in 1 ms",
      "operations: http: GET URL/status/503: 503 in N ms (same connection, first byte N), N bytes",
      "operations: http: GET http://127.0.0.1:1/: EXECUTION_ERROR: connect after N ms (name N)",
    }, lines_of(logged("http", "operations.http.request({ url = url .. [[/status/503?key=hidden]], "
      .. "retry = { attempts = 2, delay = 1 } }) operations.http.request({ url = [[http://127.0.0.1:1/]] })")))
  end)

  it("shows the phases of TLS, of an upload, and of an answer that does not come", function()
    local text = logged("http", ("operations.http.request({ url = [[%s/x]], ca_file = [[%s]] }) "
      .. "operations.http.request({ url = url .. [[/echo]], method = [[POST]], body = function() end }) "
      .. "operations.http.request({ url = url .. [[/slow?head=9]], timeout = 200 })"):format(running.tls,
      running.ca_file))
    local lines = lines_of(text)
    assert.matches("%(name N, connect N, TLS N, first byte N%)", lines[1])
    assert.matches("/echo: %d+ in N ms %(name N, connect N, first byte N%)", lines[2])
    assert.matches("/slow: TIMEOUT: timeout after N ms %(same connection", lines[3])
  end)

  it("shows that a stream is opened again, after which event", function()
    local text = logged("http", "local fake = operations.testing.http({ [ [[GET /events]] ] = { "
      .. "{ events = { { id = [[7]], data = { order = 1 } } }, lost = [[reset]] }, "
      .. "{ events = { { data = { order = 2 } } } } } }) "
      .. "local registry = operations.registry({ on_warning = function() end }) "
      .. "registry:register_all(assert(operations.from_openapi.file([[examples/tasks.openapi.json]], { "
      .. "namespace = [[t]], base_url = [[http://x.test]], http = fake, reconnect = { delay = 3, jitter = 0 } }))) "
      .. "local events = registry:subscribe([[t.watch]]) events:next() events:next() events:close()")
    assert.same({ "operations: http: GET http://x.test/events: opened again in 3 ms, after event 7" }, lines_of(text))
  end)

  it("says which of its words is unknown", function()
    assert.equal("operations: OPERATIONS_LOG has no 'htpp'; it has calls, http and mcp\n", logged("htpp", ""))
  end)

  it("shows calls, and nothing unless it is asked", function()
    local script = "local registry = operations.registry() registry:register({ namespace = [[a]], name = [[b]], "
      .. "handler = function() return 1 end }) registry:execute([[a.b]], {})"
    assert.matches('"operation":"a.b"', logged("http,calls", script))
    assert.equal("", logged("", script))
  end)

  it("is not needed to see which request an error is about", function()
    local registry = support.registry(support.one({}, { path = "/status/404" }), running.url, { retry = true })
    local _, err = registry:execute("api.op", {})
    assert.same({ "GET", running.url .. "/status/404", "api.op", 1 }, { err.details.method, err.details.url,
      err.details.operation, err.details.attempts })
    registry = support.registry(support.one({}, { path = "/status/503" }), running.url, { retry = { attempts = 3,
      delay = 1 } })
    _, err = registry:execute("api.op", {})
    assert.equal(3, err.details.attempts)
    assert.is_true(operations.is_error(err))
  end)
end)
