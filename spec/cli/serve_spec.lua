-- The real program: real sockets, real signals.
local certificates = require("spec.support.certificates")
local compat = require("operations.base.compat")
local command = require("spec.support.command")
local json = require("operations.base.json")
local listener = require("operations.server.listener")
local operations = require("operations")
local serve = require("spec.support.serve")
local test_server = require("spec.support.server")
local tokens = require("spec.support.tokens")

local definitions = [[
  local operations = require("operations")
  local T = operations.type
  return {
    { namespace = "t", name = "echo", type = "query", inputSchema = T.object({ text = T.string() }),
      handler = function(input, context)
        return { text = input.text, identity = context.identity and context.identity.id or "none" }
      end },
    { namespace = "t", name = "secret", accessControl = { requiredScopes = { "a", "b" } },
      handler = function() return "told" end },
    { namespace = "t", name = "either", accessControl = { requiredScopesAny = { "c", "d" } },
      handler = function() return "told" end },
    { namespace = "t", name = "sleep", type = "query", inputSchema = T.object({ seconds = T.number() }),
      handler = function(input)
        io.stderr:write("begun\n")
        operations.sleep(input.seconds)
        return "slept"
      end },
    { namespace = "t", name = "ticks", type = "subscription",
      handler = function()
        for i = 1, 1000 do
          coroutine.yield(i)
          operations.sleep(0.02)
        end
      end },
  }
]]

local directory, api

local function write(name, text)
  local file = assert(io.open(directory .. "/" .. name, "w"))
  file:write(text)
  file:close()
  return directory .. "/" .. name
end

local function local_definitions(...)
  return serve.start({ "--lua", write("definitions.lua", definitions), ... })
end

-- Runs the program to its end.
local function fails(words)
  local result = command.run("operations serve " .. words)
  assert.equal("", result.out)
  return result
end

setup(function()
  directory = os.tmpname()
  os.remove(directory)
  assert(os.execute("mkdir " .. directory))
end)

teardown(function()
  certificates.remove()
  os.execute("rm -rf " .. directory)
end)

after_each(serve.stop)

local function within(fn)
  return function()
    operations.run(fn)
  end
end

describe("operations serve", function()
  it("prints its URL and a random token, which is the identity 'token'", within(function()
    local served = local_definitions()
    local answer = served:get("/t/echo?text=hello")
    assert.same({ text = "hello", identity = "token" }, json.decode(answer.body))
    assert.equal(401, served:get("/t/echo?text=x", { headers = { Authorization = "Bearer wrong" } }).status)
    served.token = nil
    assert.equal(401, served:get("/t/echo?text=x").status)
    assert.equal(200, served:get("/healthz").status)
    assert.not_equal(served.url, local_definitions().url)
  end))

  it("has no line that a caller or a handler writes", within(function()
    local file = assert(io.open(directory .. "/fail.lua", "w"))
    file:write([[return { namespace = "f", name = "fail", type = "query",
      handler = function(input) error("failed: " .. input.text, 0) end }]])
    file:close()
    local served = serve.start({ "--lua", directory .. "/fail.lua" })
    served:get("/f/fail?text=x%0A%7B%22forged%22%3A1%7D%1B%5B8m%E2%80%AE")
    served:get("/f/other%0A%7B%22forged%22:1%7D")
    assert.matches("\n  | {\"forged\":1}", served:said("failed: x", true), 1, true)
    assert.equal(2, #served:log(2))
    local said = table.concat(served.lines, "\n")
    assert.is_nil(said:find("\27", 1, true))
    assert.is_nil(said:find("\226\128\174", 1, true))
  end))

  it("logs JSON to a pipe, lines for people where they are asked for, or JSON alone, or nothing", within(function()
    local served = local_definitions("--mcp-server")
    served:get("/t/echo?text=hush", { headers = { ["X-Request-Id"] = "r1" } })
    served:request("POST", "/mcp")
    local entries = served:log(2)
    assert.same({ "r1", "/t/echo", 200, "t.echo", "token" }, { entries[1].requestId, entries[1].path, entries[1].status,
      entries[1].operation, entries[1].identity })
    assert.same({ "/mcp", 415 }, { entries[2].path, entries[2].status })
    assert.matches("operations: serving 5", served:said("serving"), 1, true)
    served = local_definitions("--log-format", "text")
    served:get("/t/echo?text=hush")
    served:get("/nothing")
    assert.matches("\n%d%d:%d%d:%d%d GET /t/echo 200 %d+ ms t.echo token\n%d%d:%d%d:%d%d GET /nothing 404 "
      .. "OPERATION_NOT_FOUND %d+ ms token$", served:said("/nothing", true))
    served = local_definitions("--log-format", "json")
    served:get("/t/echo?text=hush")
    for _, entry in ipairs(served:log(3)) do
      assert.is_true(entry.time > 1e12)
    end
    assert.equal(#served.lines, #served:log(#served.lines))
    assert.matches('"level":"info","message":"serving 5', table.concat(served.lines, "\n"), 1, true)
    served = local_definitions("--log-format", "none")
    served:get("/t/echo?text=hush")
    served:signal("INT")
    assert.is_nil(served:said("ending", true):find("t.echo 2", 1, true))
    assert.matches("text, json or none expected, got xml", fails("--log-format xml --lua " .. directory).err, 1, true)
  end))

  it("counts calls for /metrics, limits their rate and time, and keeps answers by Idempotency-Key", within(function()
    local served = local_definitions("--metrics", "--rate", "3", "--timeout", "0.2", "--idempotency", "memory",
      "--scopes", "a,b")
    assert.equal(504, served:get("/t/sleep?seconds=5").status)
    local function pay(key)
      local answer = served:request("POST", "/t/secret", { json = operations.null,
        headers = { ["Idempotency-Key"] = key } })
      return answer.headers["idempotent-replayed"], answer.status
    end
    assert.same({ nil, "true" }, { (pay("k")), (pay("k")) })
    local statuses = {}
    for i = 1, 6 do
      statuses[i] = served:get("/t/echo?text=x").status
    end
    assert.equal(429, statuses[6])
    local text = served:get("/metrics").body
    assert.matches('operations_calls_total{operation="t.sleep",code="TIMEOUT"} 1\n', text, 1, true)
    assert.matches('operations_http_responses_total{part="http",status="429",class="4xx",code="RATE_LIMITED"}', text, 1,
      true)
    assert.equal(401, served:get("/metrics", { headers = { Authorization = "Bearer wrong" } }).status)
    assert.equal(404, local_definitions():get("/metrics").status)
    for words, message in pairs({ ["--rate 0"] = "--rate: expected a number from 0.001 on",
      ["--timeout x"] = "--timeout: expected a number",
      ["--idempotency disk"] = "--idempotency: memory or redis://" }) do
      assert.matches(message, fails(words .. " --lua " .. directory).err, 1, true)
    end
  end))

  it("accepts several tokens; HUP reads tokens, Lua files and documents again, and keeps the previous ones on errors",
    within(function()
      local token = write("token", "old\n")
      local function status(served, word)
        return served:get("/t/echo?text=x", { headers = { Authorization = "Bearer " .. word } }).status
      end
      local served = local_definitions("--token", "file:" .. token, "--token", "second")
      assert.same({ 200, 200, 401 }, { status(served, "old"), status(served, "second"), status(served, "new") })
      write("token", "new\n")
      write("definitions.lua", (definitions:gsub('"ticks"', '"tocks"')))
      served:signal("HUP")
      served:said("sources were read again", true)
      assert.same({ 401, 200, 200 }, { status(served, "old"), status(served, "second"), status(served, "new") })
      served.token = "new"
      local wrong = { headers = { Accept = "text/html" } }
      assert.same({ 404, 406 }, { served:get("/t/ticks", wrong).status, served:get("/t/tocks", wrong).status })
      write("definitions.lua", "return {")
      os.remove(token)
      served:signal("HUP")
      served:said("the old operations stay", true)
      assert.same({ 200, 200 }, { status(served, "new"), status(served, "second") })
    end))

  it("is not ready for some time before it ends, and answers until then", within(function()
    local served = local_definitions("--drain-delay", "60")
    assert.equal(200, served:get("/readyz").status)
    served:signal("TERM")
    served:said("/readyz answers 503", true)
    assert.same({ 503, 200 }, { served:get("/readyz").status, served:get("/t/echo?text=x").status })
    operations.sleep(0.3) -- two signals at once are one
    served:signal("TERM")
    served:said("ended at once", true)
  end))

  it("calls the hooks of files: start before they are served, stop at the end, and again at HUP", within(function()
    local notes = directory .. "/notes"
    local path = write("hooked.lua", ([[
      local function note(text)
        local file = assert(io.open(%q, "a")); file:write(text, "\n"); file:close()
      end
      local state
      return { start = function() require("operations").sleep(0); state = "ready"; note("start") end,
        stop = function() note("stop") end,
        { namespace = "h", name = "state", type = "query", handler = function() return state end } }]]):format(notes))
    local function noted()
      local file = assert(io.open(notes))
      local text = file:read("*a"):gsub("\n", " ")
      file:close()
      return text
    end
    local served = serve.start({ "--lua", path })
    assert.equal('"ready"', served:get("/h/state").body)
    served:signal("HUP")
    served:said("sources were read again", true)
    assert.same({ '"ready"', "start start stop " }, { served:get("/h/state").body, noted() })
    served:signal("INT")
    served.child:wait()
    assert.equal("start start stop stop ", noted())
    local result = fails("--lua " .. write("failing.lua", [[return { start = function() error("no database", 0) end,
      { namespace = "h", name = "x", handler = print } }]]))
    assert.same({ 12, true }, { result.code, result.err:find("failing.lua: start: no database", 1, true) ~= nil })
  end))

  it("prints the address of its page, which takes the token that it made", within(function()
    local served = local_definitions("--docs", "--prefix", "/api")
    assert.equal(served.url .. "/docs#token=" .. served.token, served.child:read_line())
    assert.equal(401, served:request("GET", "/t/echo", { headers = { Authorization = "" } }).status)
    assert.equal(200, served:request("GET", "/docs", { headers = { Authorization = "" } }).status)
    served = local_definitions("--docs", "--token", "mine")
    assert.equal(served.url .. "/docs", served.child:read_line())
    assert.equal(404, local_definitions():get("/docs").status)
  end))

  it("answers curl: queries, mutations and event streams", within(function()
    local served = local_definitions("--scopes", "a,b")
    local function curl(arguments)
      return command.run(("env -u LD_PRELOAD curl -s -H 'Authorization: Bearer %s' %s"):format(served.token,
        (arguments:gsub("@", served.url)))).out
    end
    assert.equal('"told"', curl("-X POST @/t/secret"))
    assert.equal("hello", json.decode(curl("-X QUERY -H 'Content-Type: application/json' -d '{\"text\":\"hello\"}' "
      .. "@/t/echo")).text)
    assert.matches("data: 1\n\ndata: 2\n\n", curl("-N --max-time 1 @/t/ticks"), 1, true)
  end))

  it("names the operations that need more than the token has, and how to give it", within(function()
    local served = local_definitions()
    local said = served:said("need", true)
    assert.matches("serving 5 operations\n", said, 1, true)
    assert.matches("2 of them need scopes that the token lacks (--scopes A,B gives it some): t.secret (a b), "
      .. "t.either (one of c d)", said, 1, true)
    assert.equal(403, served:request("POST", "/t/secret").status)

    served = local_definitions("--scopes", "a,b,c")
    assert.equal('"told"', served:request("POST", "/t/secret").body)
    assert.not_matches("need", served:said("serving"), 1, true)
  end))

  it("takes a token from the environment, a file or a command, and does not print it", within(function()
    local path = write("token", "from-file\r\n")
    for word, token in pairs({ ["env:SERVE_TOKEN"] = "from-env", ["file:" .. path] = "from-file",
      ["cmd:echo from-cmd"] = "from-cmd", ["from-word"] = "from-word" }) do
      local served = serve.start({ "--lua", write("definitions.lua", definitions), "--token", word },
        { SERVE_TOKEN = "from-env" })
      served.token = token
      assert.equal(200, served:get("/t/echo?text=x").status)
      served:signal("TERM")
      assert.is_nil(served.child:read_line())
    end
    local result = fails("--lua examples/definitions --token env:SERVE_NO_TOKEN")
    assert.equal(2, result.code)
    assert.matches("--token: the environment has no SERVE_NO_TOKEN", result.err, 1, true)
    assert.equal(2, fails("--lua examples/definitions --token file:" .. directory .. "/nothing").code)
    assert.equal(2, fails("--lua examples/definitions --token cmd:true").code)
    assert.equal(2, fails("--lua examples/definitions --token 'a b'").code)
    assert.equal(2, fails("--lua examples/definitions --token ''").code)
  end))

  it("serves all local clients with --no-auth, others only by a further option", within(function()
    local served = local_definitions("--no-auth")
    assert.equal("none", json.decode(served:get("/t/echo?text=x").body).identity)
    assert.matches("need scopes that everybody lacks (--token gives some)", served:said("need"), 1, true)

    -- --insecure is about certificates of upstreams.
    assert.equal(2, fails("--lua examples/definitions --host 0.0.0.0 --no-auth --insecure").code)
    local result = fails("--lua examples/definitions --host 0.0.0.0 --no-auth")
    assert.equal(2, result.code)
    assert.matches("--no-auth: everyone who reaches 0.0.0.0 could call everything; add --public if that is intended",
      result.err, 1, true)
    served = local_definitions("--no-auth", "--host", "0.0.0.0", "--public")
    served.url = served.url:gsub("0%.0%.0%.0", "127.0.0.1")
    assert.equal(200, served:get("/t/echo?text=x").status)
  end))

  it("warns that a token travels unencrypted to other machines", within(function()
    local served = local_definitions("--host", "0.0.0.0")
    assert.matches("0.0.0.0 unencrypted", served:said("unencrypted"), 1, true)
  end))

  it("serves by https, with the certificate that --tls-cert names, and reads it again at HUP", within(function()
    local cert, key = certificates.path("own.pem"), certificates.path("own.key")
    local function use(name)
      assert(os.execute(("cp %s %s && cp %s %s"):format(certificates.path(name .. ".pem"), cert,
        certificates.path(name .. ".key"), key)))
    end
    local function subject(url)
      return command.run(("openssl s_client -connect %s </dev/null 2>/dev/null"):format(url:match("//(.*)"))).out
        :match("subject=CN = ([^\n]*)")
    end
    use("localhost")
    local served = local_definitions("--tls-cert", cert, "--tls-key", key, "--mcp-server", "--docs", "--host",
      "0.0.0.0")
    assert.matches("^https://0%.0%.0%.0:%d+$", served.url)
    assert.equal(served.url .. "/docs#token=" .. served.token, served.child:read_line())
    assert.equal(served.url .. "/mcp", served.child:read_line())
    served.url, served.ca_file = served.url:gsub("0%.0%.0%.0", "127.0.0.1"), certificates.path("ca.pem")
    assert.equal("token", json.decode(served:get("/t/echo?text=x").body).identity)
    assert.is_truthy(served:request("POST", "/mcp", { json = { jsonrpc = "2.0", id = 1, method = "ping" } }))
    local sleeping = operations.spawn(function()
      return served:get("/t/sleep?seconds=2").body
    end)
    served:said("begun")
    use("rsa")
    served:signal("HUP")
    served:said("certificates were read again")
    assert.equal("rsa", subject(served.url))
    assert(os.execute("cp " .. certificates.path("localhost.key") .. " " .. key))
    served:signal("HUP")
    local said = served:said("the old ones stay")
    assert.matches(("the key %s (for the certificate %s): it is not the key of the certificate"):format(key, cert),
      said, 1, true)
    assert.not_matches("unencrypted", said)
    assert.equal("rsa", subject(served.url))
    assert.equal('"slept"', sleeping:wait())
  end))

  it("serves clients with a certificate of --tls-client-ca, which need no token with --no-auth", within(function()
    local path = certificates.path
    local words = { "--tls-cert", path("localhost.pem"), "--tls-key", path("localhost.key"), "--tls-client-ca",
      path("ca.pem") }
    local function status(served, client, token)
      local result = command.run(("curl -s --cacert %s %s %s -w '%%{http_code}' %s/t/echo?text=x"):format(
        path("ca.pem"), client and ("--cert %s --key %s"):format(path(client .. ".pem"), path(client .. ".key")) or "",
        token and "-H 'Authorization: Bearer " .. token .. "'" or "", served.url))
      return result.out:sub(-3), json.decode(result.out:sub(1, -4))
    end
    local served = local_definitions(compat.unpack(words))
    assert.equal("401", (status(served, "ada")))
    assert.equal("200", (status(served, "ada", served.token)))
    assert.equal("000", (status(served, nil, served.token)))
    words[#words + 1] = "--no-auth"
    served = local_definitions(compat.unpack(words))
    local code, answer = status(served, "ada")
    assert.same({ "200", "CN=ada,O=Löve\\, Lace" }, { code, answer.identity })
    for _, client in ipairs({ "stranger", "late", false }) do
      assert.equal("000", (status(served, client)))
    end
    assert.equal(1, #served:log(1)) -- the others did not get as far as a request
  end))

  it("names the file of a certificate that it cannot use", function()
    local cert = certificates.path("localhost.pem")
    for words, expected in pairs({
      ["--tls-cert x"] = { 2, "--tls-cert: --tls-key has to name the file of its key" },
      ["--tls-key x"] = { 2, "--tls-key: --tls-cert has to name the file of its certificate" },
      ["--allow-origin null"] = { 2, '--allow-origin: an origin such as https://app.example expected, got "null"' },
      ["--tls-client-ca x"] = { 2, "--tls-client-ca: certificates of clients need --tls-cert and --tls-key" },
      [("--tls-cert %s --tls-key %s --tls-client-ca /nowhere.pem"):format(cert, certificates.path("localhost.key"))] =
        { 5, "client_ca /nowhere.pem: cannot be read" },
      ["--no-auth --token env:X --tls-client-ca x"] = { 2, "is checked, so --token has no effect" },
      ["--tls-cert /nowhere.pem --tls-key x"] = { 5, "the certificate /nowhere.pem: cannot be read: No such file" },
      [("--tls-cert %s --tls-key %s"):format(cert, certificates.path("example.key"))] =
        { 5, ("example.key (for the certificate %s): it is not the key of the certificate"):format(cert) },
    }) do
      local result = fails("--lua examples/definitions --port 0 " .. words)
      assert.equal(expected[1], result.code)
      assert.matches(expected[2], result.err, 1, true)
    end
  end)

  it("answers to names and pages that --allow-host and --allow-origin give", within(function()
    local served = local_definitions("--allow-host", "api.example", "--allow-origin", "https://app.example")
    local path = "/t/echo?text=x"
    assert.equal(403, served:get(path, { headers = { Host = "other.example" } }).status)
    assert.equal(200, served:get(path, { headers = { Host = "api.example" } }).status)
    assert.equal(403, served:get(path, { headers = { Origin = "https://other.example" } }).status)
    assert.equal(200, served:get(path, { headers = { Origin = "https://app.example" } }).status)
  end))

  it("logs a line of JSON for each request, without its query", within(function()
    local served = local_definitions("--prefix", "/api/v1")
    served:get("/t/echo?text=secret")
    served:get("/nothing?text=secret")
    local entries = served:log(2)
    assert.same({ "/api/v1/t/echo", "GET", 200, "t.echo", "token", "127.0.0.1" }, { entries[1].path,
      entries[1].method, entries[1].status, entries[1].operation, entries[1].identity, entries[1].address })
    assert.same({ "/api/v1/nothing", 404, "OPERATION_NOT_FOUND" },
      { entries[2].path, entries[2].status, entries[2].code })
    assert.is_true(entries[1].bytes > 0 and entries[1].ms >= 0 and #entries[1].requestId == 36)
    assert.not_matches("secret", (served:said("nothing"):gsub("t%.secret", "")))
  end))

  it("logs the address that a proxy tells, when --trusted-proxy names the proxy", within(function()
    local served = local_definitions("--trusted-proxy", "unix:", "--trusted-proxy", "127.0.0.0/8")
    served:get("/t/echo?text=x", { headers = { ["X-Forwarded-For"] = "1.1.1.1, 192.0.2.7" } })
    assert.equal("192.0.2.7", served:log(1)[1].address)
  end))

  it("takes the tokens of an authorization server", within(function()
    local key = tokens.key("EdDSA", "one")
    local login = assert(listener.listen({ port = 0 }, function()
      return { status = 200, headers = {}, body = json.encode({ keys = { key.jwk } }) }
    end))
    local served = local_definitions("--issuer", "https://login.example", "--audience", "https://api.example", "--jwks",
      ("http://127.0.0.1:%d/keys"):format(login.port))
    assert.equal(401, served:get("/t/echo?text=x").status)
    served.token = key:token({ iss = "https://login.example", aud = "https://api.example", sub = "ada",
      exp = os.time() + 300, scope = "a b" })
    assert.equal("ada", json.decode(served:get("/t/echo?text=x").body).identity)
    assert.equal(200, served:request("POST", "/t/secret").status)
    assert.equal(403, served:request("POST", "/t/either").status)
    served.token = served.token .. "A"
    assert.equal(401, served:get("/t/echo?text=x").status)
    assert.equal(200, served:get("/.well-known/oauth-protected-resource").status)
    login:close()
    key:remove()
  end))

  it("takes the limits of requests", within(function()
    local served = local_definitions("--max-body", "20", "--max-requests", "1")
    assert.equal(413, served:request("POST", "/t/echo", { json = { text = ("x"):rep(20) } }).status)
    local sleeping = operations.spawn(function()
      return served:get("/t/sleep?seconds=0.5").status
    end)
    served:said("begun")
    assert.equal(503, served:get("/t/echo?text=x").status)
    assert.equal(200, sleeping:wait())
  end))

  it("says what is wrong with how it is called", function()
    assert.equal(2, fails("").code)
    assert.matches("nothing to look in", fails("").err, 1, true)
    for words, message in pairs({
      ["--port x"] = '--port: expected a number from 0 to 65535, got "x"', ["--port 65536"] = "--port: expected",
      ["--port 1.5"] = '--port: expected a whole number, got "1.5"', ["--grace -1"] = "--grace: expected a number",
      ["--max-body x"] = "--max-body: expected", ["--prefix api"] = "--prefix: expected a path such as /api",
      ["--host localhost.example"] = "--host: expected a numeric address",
      ["--trusted-proxy proxy.example"] = "--trusted-proxy: an address, a network such as 10.0.0.0/8 or",
      ["extra"] = 'no source "extra"; operations sources lists them',
      ["examples/hello.lua"] = 'no source "examples/hello.lua"; for the file, say --lua examples/hello.lua',
      ["examples/definitions"] = 'no source "examples/definitions"; for the directory, say --lua examples/definitions',
      ["examples/tasks.openapi.json"] = "for the file, say --openapi examples/tasks.openapi.json",
      ["--host 203.0.113.7 --port 0"] = "203.0.113.7:0: ",
      ["--no-auth --scopes a"] = "--no-auth: no token is checked",
      ["--issuer https://a.example"] = "--issuer and --audience belong together",
      ["--issuer https://a.example --audience b --token c"] = "--issuer: tokens and their scopes come from there",
      ["--issuer http://a.example --audience b"] = "--issuer: issuer: it is neither https nor on this machine",
      ["--issuer https://a.example --audience b --jwks x"] = "--issuer: jwks_uri: it is not an absolute URL",
    }) do
      local result = fails("--lua examples/definitions " .. words)
      assert.equal(2, result.code)
      assert.matches(message, result.err, 1, true)
    end
    assert.equal(12, fails("--lua examples/nothing").code)
    assert.equal(12, fails("--watch examples/nothing").code)
  end)

  it("follows an MCP server: one that ended is started again, and its state is shown", within(function()
    local program = command.interpreter() .. " spec/support/mcp_server/stdio.lua"
    local served = serve.start({ "--no-auth", "--mcp", program, "--namespace", "far", "--env-allow", "LUA_*",
      "--env-allow", "LD_*", "--expose", "far.demo_[av]*", "--expose", "far.demo_add", "--expose", "far.demo_fail" })
    local function add()
      return json.decode(served:request("POST", "/far/demo_add", { json = { a = 1, b = 2 } }).body).sum
    end
    assert.equal(3, add())
    assert.equal(404, served:request("POST", "/far/demo_value", { json = {} }).status) -- no pattern names it
    assert.equal("ready\nupstreams connected: 1\n", served:get("/readyz").body)
    command.run(("pkill -KILL -P %d"):format(served.child.pid))
    served:said("is lost")
    assert.equal(3, add())
    assert.equal("ready\nupstreams connected: 1\n", served:get("/readyz").body)
  end))

  it("serves before an MCP server is there, but does not begin with one that cannot start", within(function()
    local served = serve.start({ "--no-auth", "--mcp", "http://127.0.0.1:9/mcp", "--expose", "far.*" })
    assert.equal("ready\nupstreams retrying: 1\n", served:get("/readyz").body)
    assert.is_nil(served:said("serving 0 operations"):find("--expose far", 1, true)) -- its operations may follow
    local result = fails("--mcp /nonexistent/program")
    assert.equal(12, result.code)
    assert.matches("/nonexistent/program", result.err, 1, true)
  end))

  it("tells paths that cannot be, and what to do", function()
    local path = write("flaws.lua", [[
      return { { namespace = "docs", name = "search", handler = function() end },
        { namespace = "a", name = "b", _meta = { http = { path = "/x" } }, handler = function() end },
        { namespace = "a", name = "c", _meta = { http = { path = "/x" } }, handler = function() end } }]])
    local result = fails("--lua " .. path)
    assert.equal(5, result.code)
    assert.matches("docs.search: the path /docs/search belongs to the server", result.err, 1, true)
    assert.matches("a.c: the path /x is that of a.b already", result.err, 1, true)
    assert.matches("_meta.http.path in Lua, --namespace NAME behind --openapi or --mcp", result.err, 1, true)
  end)

  it("tells a port that is taken", within(function()
    local served = local_definitions()
    local port = served.url:match("%d+$")
    local result = fails("--lua examples/definitions --port " .. port)
    assert.equal(2, result.code)
    assert.equal(("operations: serve: 127.0.0.1:%s is in use: give another --port (0: any free one)\n"):format(port),
      result.err)
  end))

  it("explains itself", function()
    local text = command.run("operations help serve").out
    assert.matches("operations serve [SOURCE...]", text, 1, true)
    for _, name in ipairs({ "--port", "--token", "--no-auth", "--expose", "--watch", "--prefix", "--public" }) do
      assert.matches("\n  " .. name, text, 1, true)
    end
    local commands = command.run("operations help").out
    assert.matches("\n  serve +serve operations as an HTTP API and an MCP server\n", commands)
  end)
end)

describe("operations serve, with operations of another server,", function()
  setup(function()
    api = test_server.start()
    write("api.json", json.encode({ openapi = "3.1.0", info = { title = "Other", version = "1" },
      servers = { { url = api.url } }, paths = {
        ["/echo"] = { get = { operationId = "echo", parameters = { { name = "q", ["in"] = "query" } },
          responses = { ["200"] = { content = { ["application/json"] = { schema = {} } } } } },
        post = { operationId = "send", requestBody = { content = { ["application/octet-stream"] = {} } },
          responses = { ["200"] = { content = { ["application/json"] = { schema = {} } } } } } },
        ["/bytes"] = { get = { operationId = "bytes", parameters = { { name = "size", ["in"] = "query" } },
          responses = { ["200"] = { content = { ["application/octet-stream"] = {} } } } } },
      } }))
  end)

  teardown(function()
    api:stop()
  end)

  it("serves those that --expose names, and says how to serve the rest", within(function()
    local document = directory .. "/api.json"
    local served = local_definitions("--openapi", document, "--namespace", "other")
    assert.matches("serving 5 of 8 operations; --expose 'other.*' serves more", served:said("serving"), 1, true)
    assert.equal(404, served:get("/other/echo?q=1").status)

    served = local_definitions("--openapi", document, "--namespace", "other", "--expose", "other.e*", "--expose", "x*")
    assert.matches("serving 6 of 8 operations", served:said("serving"), 1, true)
    assert.matches("--expose x*: no operation of a source is called so", served:said("called so", true), 1, true)
    assert.equal("1", json.decode(served:get("/other/echo?q=1").body).args.q)
    assert.equal(404, served:get("/other/bytes?size=1").status)
  end))

  it("sends no files of this machine that a caller names", within(function()
    local served = serve.start({ "--openapi", directory .. "/api.json", "--namespace", "other", "--expose", "*" })
    local answer = served:request("POST", "/other/send", { json = { body = { path = "/etc/hostname" } } })
    assert.equal(422, answer.status)
    answer = served:request("POST", "/other/send", { json = { body = "text" } })
    assert.equal("text", json.decode(answer.body).body)
  end))

  it("relays downloads to curl as they come", within(function()
    local served = serve.start({ "--openapi", directory .. "/api.json", "--namespace", "other", "--expose", "*" })
    local size = 100 * 1024 * 1024
    local download = "env -u LD_PRELOAD curl -s -H 'Authorization: Bearer %s' '%s/other/bytes?size=%d' | wc -c"
    local result = command.run(download:format(served.token, served.url, size))
    assert.equal(size, tonumber(result.out))
    for line in io.lines(("/proc/%d/status"):format(served.child.pid)) do
      local peak = line:match("^VmHWM:%s*(%d+)")
      if peak and not os.getenv("LD_PRELOAD") then
        assert.is_true(tonumber(peak) < 60 * 1024, peak .. " KiB")
      end
    end
  end))
end)

describe("operations serve, when it is to end,", function()
  for name, number in pairs({ TERM = 15, INT = 2 }) do
    it(("lets what runs end at %s, and says so"):format(name), within(function()
      local served = local_definitions()
      local sleeping = operations.spawn(function()
        return served:get("/t/sleep?seconds=0.7").body
      end)
      served:said("begun")
      served:signal(name)
      served:said("ending: what runs (1) has 5 s to end; Ctrl-C again ends at once", true)
      local refused = served:request("GET", "/t/echo?text=x")
      assert.is_true(refused == nil or refused.status == 503)
      assert.equal('"slept"', sleeping:wait())
      assert.same({ signal = number }, served.child:wait())
    end))
  end

  it("tells streams why they end", within(function()
    local served = local_definitions()
    local stream = assert(operations.http.open({ url = served.url .. "/t/ticks",
      headers = { Authorization = "Bearer " .. served.token } }))
    assert.matches("retry", stream:read(), 1, true)
    served:signal("TERM")
    local text = ""
    for piece in function() return (stream:read()) end do
      text = text .. piece
    end
    assert.matches('event: end\ndata: {"reason":"draining"}\n\n$', text)
    assert.same({ signal = 15 }, served.child:wait())
  end))

  it("ends what takes longer than --grace", within(function()
    local served = local_definitions("--grace", "0.2")
    local sleeping = operations.spawn(function()
      return served:request("GET", "/t/sleep?seconds=60")
    end)
    served:said("begun")
    served:signal("TERM")
    local answer = sleeping:wait()
    assert.is_true(answer == nil or answer.status == 503)
    assert.same({ signal = 15 }, served.child:wait())
  end))

  it("ends at once at the second INT", within(function()
    local served = local_definitions("--grace", "60")
    local sleeping = operations.spawn(function()
      return served:request("GET", "/t/sleep?seconds=60")
    end)
    served:said("begun")
    served:signal("INT")
    served:said("ending", true)
    operations.sleep(0.3) -- two signals at once are one
    served:signal("INT")
    served:said("ended at once", true)
    sleeping:wait()
    assert.same({ signal = 2 }, served.child:wait())
  end))
end)
