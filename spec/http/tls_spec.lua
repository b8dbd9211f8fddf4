local cjson = require("cjson")
local command = require("spec.support.command")
local http = require("operations.http")
local task = require("operations.task")
local test_server = require("spec.support.server")

describe("over TLS", function()
  local server

  setup(function()
    server = test_server.start({ tls = true })
  end)

  teardown(function()
    server:stop()
  end)

  local function get(options)
    options.url = options.url or server.tls .. "/echo"
    return http.request(options)
  end

  it("an authority that is not the system's must be named", function()
    local _, err = get({})
    assert.equal("tls", err.details.kind)
    assert.equal(200, assert(get({ ca_file = server.ca_file })).status)
    _, err = get({}) -- the connection from before is not used for it
    assert.equal("tls", err.details.kind)
  end)

  it("the name must be the certificate's", function()
    local _, err = get({ url = (server.tls .. "/echo"):gsub("localhost", "127.0.0.1"), ca_file = server.ca_file })
    assert.equal("tls", err.details.kind)
  end)

  it("a file that holds no certificates is refused", function()
    for _, path in ipairs({ "/nowhere.pem", server.directory .. "/nginx.conf" }) do
      local _, err = get({ ca_file = path })
      assert.equal("tls", err.details.kind)
    end
  end)

  it("HTTP/2 is spoken, one connection for many requests", function()
    local connections = {}
    task.run(function()
      for i = 1, 20 do
        task.spawn(function()
          local seen = cjson.decode(assert(get({ ca_file = server.ca_file, url = server.tls .. "/echo/" .. i })).body)
          assert.equal("HTTP/2.0", seen.protocol)
          connections[seen.connection] = true
        end)
      end
    end)
    assert.is_truthy(next(connections))
    assert.is_nil(next(connections, (next(connections))))
  end)

  it("bodies in pieces go both ways with HTTP/2", function()
    local turn = 0
    local response = assert(get({
      ca_file = server.ca_file, method = "POST", timeout = 10000,
      body = function()
        turn = turn + 1
        return turn < 4 and ("x"):rep(10000) or nil
      end,
    }))
    assert.equal(30000, #cjson.decode(response.body).body)
  end)

  it("a plain port is no TLS", function()
    local _, err = get({ url = server.url:gsub("http:", "https:") .. "/echo", ca_file = server.ca_file })
    assert.equal("tls", err.details.kind)
  end)
end)

describe("a proxy", function()
  local server

  setup(function()
    server = test_server.start()
  end)

  teardown(function()
    server:stop()
  end)

  -- What a program of its own sees, whose environment names the server as proxy.
  local function through(options, variables)
    local program = ([[
      local response, err = require("operations.http").request(%s)
      io.write(response and response.body or err.details.kind)
    ]]):format(options)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(program)
    file:close()
    local result = command.run(("export http_proxy='%s' %s; lua %s"):format(server.url, variables or "", path))
    os.remove(path)
    return result.out
  end

  it("of the environment is used", function()
    local seen = cjson.decode(through('{ url = "http://nowhere.invalid/echo?x=1" }'))
    assert.equal("nowhere.invalid", seen.headers.host)
    assert.equal("/echo?x=1", seen.uri)
  end)

  it("of the environment is not used for what no_proxy names, nor when told not to", function()
    assert.equal("dns", through('{ url = "http://nowhere.invalid/echo" }', "no_proxy=nowhere.invalid"))
    assert.equal("dns", through('{ url = "http://nowhere.invalid/echo", proxy = false }'))
  end)

  it("may be named in the call", function()
    local response = assert(http.request({ url = "http://nowhere.invalid/echo", proxy = server.url }))
    assert.equal("nowhere.invalid", cjson.decode(response.body).headers.host)
    local _, err = http.request({ url = "http://h/", proxy = "http://127.0.0.1:" .. test_server.free_port() })
    assert.equal("connect", err.details.kind)
  end)
end)
