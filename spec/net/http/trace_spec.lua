--- OPERATIONS_LOG, and what errors of HTTP APIs say of their request.
local command = require("spec.support.command")
local operations = require("operations")
local server = require("spec.support.server")
local support = require("spec.support.openapi")

describe("OPERATIONS_LOG", function()
  local running = server.around(setup, teardown)

  local function logged(what, script)
    return command.run(("OPERATIONS_LOG=%s lua -e 'local operations = require([[operations]]) local url = [[%s]] %s'")
      :format(what, running.url, script)).err
  end

  it("shows exchanges, retries and failures of HTTP, without queries", function()
    local text = logged("http", "operations.http.request({ url = url .. [[/status/503?key=hidden]], "
      .. "retry = { attempts = 2, delay = 1 } }) operations.http.request({ url = [[http://127.0.0.1:1/]] })")
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = line:gsub("%d+%.%d+ ms", "N ms"):gsub(running.url:gsub("%p", "%%%0"), "URL")
        :gsub("%d+ bytes", "N bytes")
    end
    assert.same({
      "operations: http: GET URL/status/503: 503 in N ms, N bytes",
      "operations: http: GET URL/status/503: attempt 2 in 1 ms",
      "operations: http: GET URL/status/503: 503 in N ms, N bytes",
      "operations: http: GET http://127.0.0.1:1/: EXECUTION_ERROR: connect after N ms",
    }, lines)
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
