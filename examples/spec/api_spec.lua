-- A spec of one's own HTTP API, without a socket: `handle` takes a request and gives the answer. Run it with busted.
local operations = require("operations")

describe("the API of examples/definitions", function()
  local server

  before_each(function()
    local registry = operations.registry()
    assert(registry:register_all((assert(operations.scanner.scan("examples/definitions")))))
    server = assert(operations.to_http(registry, { authorize = function(request)
      return request.token == "secret" and { id = "ada", scopes = {} } or nil
    end }))
  end)

  local function send(method, target, token)
    return server:handle({ method = method, target = target, body = "",
      headers = { host = "localhost", authorization = token and "Bearer " .. token } })
  end

  it("greets a caller with the token", function()
    local answer = send("GET", "/demo/greet?name=Ada&times=2", "secret")
    assert.equal(200, answer.status)
    assert.equal("Hello, Ada! Hello, Ada!", operations.json.decode(answer.body))
    assert.equal(401, send("GET", "/demo/greet?name=Ada").status)
  end)

  it("names the parameter that is wrong", function()
    local problem = operations.json.decode(send("GET", "/demo/greet?name=Ada&times=9", "secret").body)
    assert.equal("VALIDATION_ERROR", problem.code)
    assert.equal("/times", problem.details[1].path)
  end)

  it("streams a countdown, and tells its end", function()
    operations.run(function()
      local text = ""
      for piece in send("GET", "/demo/countdown?from=1&pause=0", "secret").body do
        text = text .. piece
      end
      assert.matches('data: {"left":1}\n\ndata: {"left":0}\n\nevent: end\n', text, 1, true)
    end)
  end)
end)
