local exchange = require("operations.cli.exchange")

local function request(more)
  local message = { method = "POST", url = "https://a.example/x?key=s3cret&n=1", credentials = { "X-Key", "X-Plain" },
    query_credentials = { "key" }, headers = { ["X-Key"] = "hidden1", ["X-Plain"] = "seen",
      Authorization = "Basic aGk6eA==", ["Content-Type"] = "application/json" }, body = '{"copy":"hidden1"}' }
  for name, value in pairs(more or {}) do
    message[name] = value
  end
  return message
end

local plain = { ["x-plain"] = true }

describe("a request that is shown", function()
  it("has the texts of the input, where these are given, also in headers that may be credentials", function()
    local message = request({ headers = { Cookie = "a=1; sid=s3cret; b=x%20y", ["X-Token"] = "mine" } })
    assert.same({ { "Cookie", "a=1; sid=***; b=x%20y", true }, { "X-Token", "mine", false } },
      exchange.shown(message, {}, { ["1"] = true, ["x y"] = true, mine = true }).headers)
    assert.same({ { "Cookie", "***", true }, { "X-Token", "***", true } }, exchange.shown(message, {}).headers)
  end)

  it("has no credentials, wherever they appear", function()
    assert.equal([[
POST https://a.example/x?key=***&n=1
Authorization: ***
Content-Type: application/json
X-Key: ***
X-Plain: seen

{"copy":"***"}
]], exchange.text(exchange.shown(request(), plain), ""))
  end)

  it("hides a credential of the query, and one that the user did not call plain, in all texts", function()
    assert.equal([[
POST https://a.example/x?a=1&key=***&***=%20
X-Copy: it is ***
X-Key: ***
X-Plain: seen

s3cr and ***
]], exchange.text(exchange.shown(request({ url = "https://a.example/x?a=1&key=s3cret&s3cret=%20",
      headers = { ["X-Key"] = "hidden1", ["X-Plain"] = "seen", ["X-Copy"] = "it is s3cret" },
      body = "s3cr and s3cret" }), { ["X-PLAIN"] = true }), ""))
  end)

  it("tells the size of a body that is no text, or is not there", function()
    local function last(more)
      return exchange.text(exchange.shown(request(more), plain), "> "):match("\n>\n(.*)\n$")
    end
    assert.equal("(3 bytes)", last({ body = "\0\1\2" }))
    assert.equal("(1.0 GB)", last({ body = { read = print }, body_size = 1e9 }))
    assert.equal("(a body of unknown size)", last({ body = { read = print } }))
    assert.equal("(70.0 kB)", last({ body = ("x"):rep(70000) }))
  end)
end)

describe("a request that is not sent", function()
  it("is kept, and no authorization server is asked", function()
    local self = exchange.new({ hold = true })
    self.armed = true
    local answer, err = self.client.open(request())
    assert.same({ nil, "ABORTED" }, { answer, err.code })
    assert.equal("POST", self.held.method)
    local token = self.client.request({ url = "http://127.0.0.1:1/token", method = "POST" })
    assert.equal(200, token.status)
  end)

  it("is refused where it would not be sent", function()
    local self = exchange.new({ hold = true })
    self.armed = true
    local answer, err = self.client.request(request({ method = "A B" }))
    assert.same({ nil, "request" }, { answer, err.details.kind })
    assert.is_nil(self.held)
  end)
end)

describe("the messages of an MCP server", function()
  local command = require("spec.support.command")

  local function told(code)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('local exchange = require("operations.cli.exchange")\n', code)
    file:close()
    local result = command.run("lua " .. path)
    os.remove(path)
    return result.err
  end

  it("are shown from the call on, where that is asked for", function()
    assert.equal('> {"b":1}\n< {"a":2,"b":1}\n< (70.0 kB)\n', told([[
      local self = exchange.new({ show = true })
      local listen = self.listener
      listen("out", "before")
      self.armed = true
      listen("out", '{"b":1}')
      listen("in", { b = 1, a = 2 })
      listen("in", ("x"):rep(70000))
    ]]))
    assert.equal("< " .. ("x"):rep(65536) .. "\n", told([[
      local self = exchange.new({ show = true })
      self.armed = true
      self.listener("in", ("x"):rep(65536))
    ]]))
    assert.is_nil(exchange.new({}).listener)
    assert.is_nil(exchange.new({ hold = true }).listener)
  end)
end)

describe("the size of an answer", function()
  it("is the length that its head announces, unless it is encoded", function()
    local self = exchange.new({})
    assert.is_nil(self:total())
    self.head = { headers = { ["content-length"] = "12" } }
    assert.equal(12, self:total())
    self.head = { headers = { ["content-length"] = "12", ["content-encoding"] = "gzip" } }
    assert.is_nil(self:total())
  end)
end)
