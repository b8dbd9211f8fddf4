--- query, json, form, multipart, auth, unix_socket and netrc of requests; operations.url; operations.secret.
local dkjson = require("dkjson")
local command = require("spec.support.command")
local errors = require("operations.base.error")
local operations = require("operations")
local test_server = require("spec.support.server")

local http = operations.http

local function write(text, path)
  path = path or os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

describe("a request", function()
  local server = test_server.around(setup, teardown, { tls = true })

  local function echo(options, path)
    options.url = server.url .. (path or "/echo")
    return dkjson.decode(assert(http.request(options)).body)
  end

  it("has a query: encoded, in one order, beside that of its URL", function()
    local seen = echo({ query = { b = "x y&=/", a = 1, c = { "p", "q" }, d = true, e = operations.null } },
      "/echo?z=1#here")
    assert.equal("/echo?z=1&a=1&b=x%20y%26%3D%2F&c=p&c=q&d=true", seen.uri)
    assert.equal("/echo", echo({ query = {} }).uri)
    assert.error_matches(function()
      echo({ query = { a = print } })
    end, 'bad value of "a"')
  end)

  it("has a body of JSON or of a form, which make it a POST", function()
    local seen = echo({ json = { a = operations.array({}) } })
    assert.same({ "POST", '{"a":[]}', "application/json" }, { seen.method, seen.body, seen.headers["content-type"] })
    seen = echo({ json = false, method = "PUT", headers = { ["content-type"] = "application/merge-patch+json" } })
    assert.same({ "PUT", "false", "application/merge-patch+json" }, { seen.method, seen.body,
      seen.headers["content-type"] })
    seen = echo({ form = { grant_type = "a b", scope = { "x", "y" } } })
    assert.same({ "POST", "grant_type=a%20b&scope=x&scope=y", "application/x-www-form-urlencoded" },
      { seen.method, seen.body, seen.headers["content-type"] })
    assert.error_matches(function()
      echo({ json = 1, body = "2" })
    end, "there is another body")
  end)

  it("has a multipart body of texts and files, which are read as they are sent", function()
    local path = write(("x"):rep(200000))
    local seen = echo({ multipart = { { name = 'a"b', value = "1" }, { name = "n", value = 2, type = "text/plain" },
      { name = "file", file = path, filename = "data.bin" } } })
    local boundary = seen.headers["content-type"]:match("^multipart/form%-data; boundary=(%x[%x-]+)$")
    assert.equal(#seen.body, tonumber(seen.headers["content-length"]))
    local expected = ("--B\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n"
      .. "--B\r\nContent-Disposition: form-data; name=\"n\"\r\nContent-Type: text/plain\r\n\r\n2\r\n"
      .. "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"data.bin\"\r\n"
      .. "Content-Type: application/octet-stream\r\n\r\n"):gsub("B", boundary) .. ("x"):rep(200000)
      .. "\r\n--" .. boundary .. "--\r\n"
    assert.equal(expected, seen.body)
    os.remove(path)
    local answer, err = http.request({ url = server.url, multipart = { { name = "f", file = path } } })
    assert.is_nil(answer)
    assert.equal("body", err.details.kind)
    assert.matches("No such file", err.message)
  end)

  it("shows basic and bearer credentials, which functions may give", function()
    local basic = { type = "basic", username = "u", password = "p" }
    assert.equal("Basic dTpw", echo({ auth = basic }).headers.authorization)
    local token = operations.secret("file:" .. write("t0ken\n"))
    assert.equal("Bearer t0ken", echo({ auth = { type = "bearer", token = token } }).headers.authorization)
    for _, auth in ipairs({ { type = "magic" }, "token", { type = "bearer" } }) do
      assert.error_matches(function()
        echo({ auth = auth })
      end, "bad option 'auth'")
    end
  end)

  it("is signed by a function that sees all of it", function()
    local seen = echo({ json = { 1 }, query = { a = 1 }, auth = function(request)
      request.headers["X-Signature"] = operations.crypto.hex(operations.crypto.hmac("key", request.body))
      assert(request.url:find("?a=1", 1, true))
    end })
    assert.equal(operations.crypto.hex(operations.crypto.hmac("key", "[1]")), seen.headers["x-signature"])
  end)

  it("answers a server that asks for Digest, also with a body and for a stream", function()
    local auth = { type = "digest", username = "Mufasa", password = "Circle of Life" }
    local answer = assert(http.request({ url = server.url .. "/digest/a?b=c", auth = auth }))
    assert.same({ 200, "welcome " }, { answer.status, answer.body })
    answer = assert(http.request({ url = server.url .. "/digest", auth = auth, method = "POST", body = "text" }))
    assert.same({ 200, "welcome text" }, { answer.status, answer.body })
    local stream = assert(http.open({ url = server.url .. "/digest", auth = auth }))
    assert.same({ 200, "welcome " }, { stream.status, stream:read() })
    auth.password = "wrong"
    answer = assert(http.request({ url = server.url .. "/digest", auth = auth }))
    assert.same({ 401, "who are you?" }, { answer.status, answer.body })
    assert.equal("/echo", dkjson.decode(assert(http.request({ url = server.url .. "/echo", auth = auth })).body).uri)
  end)

  it("takes credentials from a file like ~/.netrc where it is asked to", function()
    local path = write("machine 127.0.0.1 login me password secret\nmachine other.test login x password y\n")
    assert.equal("Basic bWU6c2VjcmV0", echo({ netrc = path }).headers.authorization)
    assert.is_nil(echo({ netrc = false }).headers.authorization)
    assert.is_nil(echo({}).headers.authorization)
    os.remove(path)
  end)

  it("goes to a Unix socket", function()
    local path = os.tmpname()
    os.remove(path)
    operations.run(function()
      local registry = operations.registry()
      registry:register({ namespace = "d", name = "ping", type = "query", handler = function() return "pong" end })
      local api = assert(operations.to_http(registry))
      local listener = assert(api:listen({ path = path }))
      local answer = assert(http.request({ url = "http://localhost/d/ping", unix_socket = path }))
      assert.same({ 200, '"pong"' }, { answer.status, answer.body })
      local imported = operations.registry()
      imported:register_all(assert(operations.from_openapi.url("http://localhost/openapi.json", {
        namespace = "own", unix_socket = path, trust_extension = true })))
      assert.equal("pong", assert(imported:execute("own.ping", {})).data)
      listener:close()
    end)
    local _, err = http.request({ url = "http://localhost/", unix_socket = path })
    assert.equal("connect", err.details.kind)
  end)

  it("trusts the certificates that SSL_CERT_FILE names", function()
    local script = ("SSL_CERT_FILE=%%s lua -e 'local http = require([[operations]]).http "
      .. "local answer, err = http.request({ url = [[%s/echo]] }) print(answer and answer.status or err.details.kind)'")
      :format(server.tls)
    assert.equal("200\n", command.run(script:format(server.ca_file)).out)
    assert.equal("tls\n", command.run(script:format("''")).out)
  end)
end)

describe("http.sigv4", function()
  -- The signature of the test suite of AWS ("get-vanilla", "get-vanilla-query-order-key-case").
  local function signed(path, options)
    local fake_host = require("spec.support.fake_host")
    local hosts = require("operations.hosts")
    hosts.use(fake_host.new(1440938160000)) -- 2015-08-30T12:36:00Z
    local sign = http.sigv4({ access_key = "AKIDEXAMPLE", secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      region = "us-east-1", service = "service" })
    local request = { url = "https://example.amazonaws.com" .. path, headers = {}, method = options and options.method,
      body = options and options.body }
    sign(request)
    hosts.use("plain")
    return request.headers.Authorization:match("Signature=(%x+)$"), request
  end

  it("signs as the test suite of AWS says", function()
    local signature, request = signed("/")
    assert.equal("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", signature)
    assert.equal("20150830T123600Z", request.headers["X-Amz-Date"])
    assert.equal("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
      (signed("/?Param2=value2&Param1=value1")))
    assert.equal("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
      (signed("/", { method = "POST" })))
  end)

  it("names what it lacks", function()
    assert.error_matches(function()
      http.sigv4({ access_key = "a", secret_key = "b", region = "c" })
    end, "'service'")
  end)
end)

describe("operations.url", function()
  it("encodes, parses and resolves", function()
    local url = operations.url
    assert.equal("a%20b%2Fc", url.encode("a b/c"))
    assert.equal("a b/c+d", url.decode("a%20b%2Fc+d"))
    assert.equal("https://a.test/x/z?q", url.resolve("https://a.test/x/y", "z?q"))
    assert.is_nil(url.resolve("/x", "y"))
    local parsed = url.parse("HTTPS://me@A.test:8443/p?q#f")
    assert.same({ "https", "me", "a.test", "8443", "/p", "q", "f" }, { parsed.scheme, parsed.userinfo, parsed.host,
      parsed.port, parsed.path, parsed.query, parsed.fragment })
    assert.equal("a=1&b=x%26y", url.query({ b = "x&y", a = 1 }))
  end)
end)

describe("operations.secret", function()
  it("reads a reference when it is first needed, and raises where it cannot", function()
    local path = write("one\n")
    local read = operations.secret("file:" .. path)
    assert.equal("one", read())
    os.remove(path)
    assert.equal("one", read())
    assert.equal("two", operations.secret("cmd:echo two")())
    assert.equal("plain:text", operations.secret("plain:text")())
    local ok, err = pcall(operations.secret("env:NO_SUCH_VARIABLE"))
    assert.is_false(ok)
    assert.is_true(errors.is_error(err))
    assert.matches("NO_SUCH_VARIABLE", err.message)
  end)
end)
