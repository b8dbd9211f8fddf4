local certificates = require("spec.support.certificates")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local handshakes = require("spec.support.handshakes")
local http_peer = require("spec.support.http_peer")
local inside = require("spec.support.inside")
local limits = require("operations.base.limits")
local listener = require("operations.server.listener")
local operations = require("operations")
local stream = require("operations.net.stream")

local path, options = certificates.path, certificates.options

-- Runs `fn(server, log)` with a listener whose handler tells how its client is connected; `log` has every message.
local function with(given, fn)
  local log, seen = {}, {}
  given.log = function(level, message)
    log[#log + 1] = level .. ": " .. message
  end
  http_peer.with(given.handler or function(request)
    seen[#seen + 1] = request.peer.tls
    return { status = 200, body = request.body or "" }
  end, { tls = given.tls, log = given.log, head_timeout = given.head_timeout, host = given.host,
    max_connections = given.max_connections, path = given.path }, function(server)
    server.url = server.port and "https://localhost:" .. server.port .. "/"
    fn(server, log, seen)
  end)
end

-- A conversation with a server by `openssl s_client`: each step waits for a text, then types a line.
local function converse(server, version, steps)
  local child = assert(operations.process.spawn({ "sh", "-c",
    ("exec openssl s_client %s -connect localhost:%d 2>&1"):format(version, server.port) }))
  local said = ""
  for _, step in ipairs(steps) do
    while not said:find(step[1], 1, true) do
      said = said .. assert(child:read(), "it does not say " .. step[1])
    end
    if step[2] then
      child:write(step[2] .. "\n")
    end
  end
  child:stop({ close = 0 })
  return said
end

-- What a program says, on both pipes.
local function run(...)
  local child = assert(operations.process.spawn({ "sh", "-c", "exec 2>&1; " .. (...):format(select(2, ...)) }))
  local pieces = {}
  for piece in function() return child:read() end do
    pieces[#pieces + 1] = piece
  end
  child:wait()
  return table.concat(pieces)
end

local function request(server, more)
  local given = { url = server.url, ca_file = path("ca.pem") }
  for name, value in pairs(more or {}) do
    given[name] = value
  end
  return operations.http.request(given)
end

-- What `openssl s_client` says when the server has answered one request.
local function exchange(server, words)
  return run("printf 'GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | "
    .. "timeout 20 openssl s_client -ign_eof -connect localhost:%d -CAfile %s %s", server.port, path("ca.pem"), words)
end

-- A connection without TLS.
local function raw(server)
  return http_peer.connect(server.port)
end

-- The first bytes that a client sends, and whatever it would send then is not.
local function first_flight()
  local bytes, held
  local trap = assert(stream.listen("127.0.0.1", 0, function(accepted)
    held = accepted
    accepted:each_chunk(function(piece)
      bytes = bytes or piece
      accepted:close()
    end)
  end))
  operations.http.request({ url = "https://localhost:" .. trap.port, ca_file = path("ca.pem") })
  trap:close()
  return held and bytes
end

describe("a listener with TLS", function()
  teardown(certificates.remove)

  it("serves curl and our own client, which check its certificate", function()
    with({ tls = options("localhost") }, function(server, _, seen)
      assert.equal("hello", request(server, { method = "POST", body = "hello" }).body)
      assert.same({ "TLSv1.3", "localhost" }, { seen[1].protocol, seen[1].server_name })
      assert.is_nil(seen[1].subject)
      assert.equal("hello", run("curl -sS --cacert %s --data hello %s", path("ca.pem"), server.url))
      assert.matches("^curl: %(60%)", run("curl -sS %s", server.url))
    end)
  end)

  it("takes and sends messages of many records, in both directions", function()
    local large = ("0123456789abcdef"):rep(300000)
    with({ tls = options("localhost"), handler = function(request_)
      local pieces = {}
      for piece in request_.body do
        pieces[#pieces + 1] = piece
      end
      return { status = 200, body = table.concat(pieces) }
    end }, function(server)
      assert.is_true(large == request(server, { method = "POST", body = large, max_body = 1e8 }).body)
    end)
  end)

  it("serves Node and Unix sockets", function()
    local file = os.tmpname()
    os.remove(file)
    with({ tls = options("localhost"), path = file }, function()
      assert.equal("hello", run("curl -sS --cacert %s --data hello --unix-socket %s https://localhost/", path("ca.pem"),
        file))
    end)
    if os.execute("command -v node >/dev/null 2>&1") then
      with({ tls = options("localhost") }, function(server)
        assert.equal("hello", run([[NODE_EXTRA_CA_CERTS=%s node -e '
          const request = require("https").request("%s", { method: "POST" }, (answer) => answer.pipe(process.stdout))
          request.end("hello")']], path("ca.pem"), server.url))
      end)
    end
  end)

  it("speaks TLS 1.2 and 1.3, nothing older, with forward secrecy only", function()
    with({ tls = options("localhost", { certificates = nil }) }, function(server, log)
      assert.matches("Protocol version: TLSv1.3", exchange(server, "-brief -tls1_3"), 1, true)
      assert.matches("Protocol version: TLSv1.2", exchange(server, "-brief -tls1_2"), 1, true)
      assert.matches("Protocol  : TLSv1.2", exchange(server, "-tls1_2"), 1, true)
      assert.same({}, log)
      assert.matches("alert protocol version", exchange(server, "-brief -tls1_1 -cipher ALL:@SECLEVEL=0"), 1, true)
      assert.matches("handshake failure", exchange(server, "-brief -tls1_2 -cipher AES128-GCM-SHA256"), 1, true)
      assert.matches("handshake failure", exchange(server, "-brief -tls1_2 -cipher ECDHE-ECDSA-AES128-SHA"), 1, true)
      assert.same({ "debug: TLS with 127.0.0.1: unsupported protocol", "debug: TLS with 127.0.0.1: no shared cipher",
        "debug: TLS with 127.0.0.1: no shared cipher" }, log)
    end)
  end)

  it("renegotiates nothing and compresses nothing", function()
    with({ tls = options("localhost") }, function(server)
      local said = converse(server, "-tls1_2", { { "Extended master", "R" }, { "no renegotiation" } })
      assert.matches("Compression: NONE", said, 1, true)
    end)
  end)

  it("changes keys when the client asks for that", function()
    with({ tls = options("localhost") }, function(server, log)
      converse(server, "-tls1_3", { { "Verify return code", "K" },
        { "KEYUPDATE", "GET / HTTP/1.1\r\nHost: localhost\r\n\r" }, { "HTTP/1.1 200 OK" } })
      assert.same({}, log)
    end)
  end)

  it("speaks HTTP/1.1 to clients that offer it, and nothing to others", function()
    with({ tls = options("localhost") }, function(server)
      assert.matches("ALPN protocol: http/1.1", exchange(server, "-alpn h2,http/1.1"), 1, true)
      assert.matches("no application protocol", exchange(server, "-alpn h2"), 1, true)
      assert.matches("No ALPN negotiated", exchange(server, ""), 1, true)
    end)
  end)

  it("has the certificate of the name that is asked for, of the kind that the client takes", function()
    with({ tls = { certificates = { options("localhost"), options("example"), options("rsa") } } }, function(server)
      local function subject(words)
        return exchange(server, words):match("subject=CN = ([^\n]*)")
      end
      assert.equal("localhost", subject("-servername localhost"))
      assert.equal("example.test", subject("-servername example.test"))
      assert.equal("example.test", subject("-servername a.example.test"))
      assert.equal("localhost", subject("-servername elsewhere.test"))
      assert.equal("localhost", subject("-servername rsa -tls1_2")) -- a subject is no name
      assert.equal("localhost", subject("-noservername"))
      assert.equal("rsa", subject("-servername localhost -tls1_2 -cipher aRSA"))
    end)
  end)

  it("resumes sessions, also after a reload", function()
    with({ tls = options("localhost") }, function(server, _, seen)
      local file = os.tmpname()
      for _, version in ipairs({ "-tls1_3", "-tls1_2" }) do
        assert.matches("\nNew, TLSv1", exchange(server, version .. " -sess_out " .. file))
        assert.matches("\nReused, TLSv1", exchange(server, version .. " -sess_in " .. file))
        assert(server:reload())
        assert.matches("\nReused, TLSv1", exchange(server, version .. " -sess_in " .. file))
      end
      os.remove(file)
      assert.same({ false, true, true, false, true, true }, { seen[1].resumed, seen[2].resumed, seen[3].resumed,
        seen[4].resumed, seen[5].resumed, seen[6].resumed })
    end)
  end)

  it("changes the keys of tickets when their time is over", function()
    with({ tls = options("localhost") }, function(server, _, seen)
      local file, session = os.tmpname(), limits.tls_session
      finally(function() limits.tls_session = session end)
      for _, version in ipairs({ "-tls1_3", "-tls1_2" }) do
        limits.tls_session = session
        exchange(server, version .. " -sess_out " .. file)
        assert.matches("\nReused, TLSv1", exchange(server, version .. " -sess_in " .. file))
        limits.tls_session = 1
        assert.matches("\nNew, TLSv1", exchange(server, version .. " -sess_in " .. file))
      end
      os.remove(file)
      assert.equal(6, #seen)
    end)
  end)

  it("does not hold the others while handshakes are slow, and ends those that take too long", function()
    with({ tls = options("localhost", { handshake_timeout = 1000 }) }, function(server, log)
      local hello, slow = first_flight(), {}
      for i = 1, 20 do
        slow[i] = raw(server):send(hello:sub(1, 10 * i))
      end
      assert.equal(200, request(server).status)
      for _, one in ipairs(slow) do
        one:rest()
      end
      assert.equal(20, #log)
      assert.equal("debug: TLS with 127.0.0.1: the handshake took too long", log[20])
      eventually(function()
        return server.connections == 1 -- that of the request is kept
      end)
    end)
  end)

  it("answers a client that speaks HTTP without TLS, and logs it once at level debug", function()
    with({ tls = options("localhost") }, function(server, log)
      local answer = raw(server):send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):rest()
      assert.matches("^HTTP/1.1 400 Bad Request\r\n.*\r\nConnection: close\r\n.*use https", answer)
      assert.same({ "debug: TLS with 127.0.0.1: the client speaks HTTP without TLS" }, log)
      assert.equal("", raw(server):send("SSH-2.0-OpenSSH_9.2\r\n"):rest())
      assert.equal(2, #log)
      assert.equal(200, request(server).status)
    end)
  end)

  it("stands clients that leave in the middle of a handshake", function()
    with({ tls = options("localhost") }, function(server, log)
      local hello = first_flight()
      for _, length in ipairs({ 0, 1, 5, 100, #hello }) do
        local one = raw(server):send(hello:sub(1, length))
        operations.sleep(0.02)
        one:close()
      end
      eventually(function()
        return server.connections == 0
      end)
      assert.equal(5, #log)
      for _, line in ipairs(log) do
        assert.matches("TLS with .*: the client left before the end of the handshake", line)
      end
    end)
  end)

  it("holds nothing of 90 handshakes of which a third broke off", function()
    local told = handshakes.run(90)
    assert.equal(60, told.served)
    assert.equal(30, told.failed)
    assert.equal(0, told.connections)
    assert.is_true(told.descriptors <= 0)
  end)

  it("tells an end from a connection that was cut off", function()
    local ends, held = {}, {} -- luacheck: ignore 241
    local security = assert(require("operations.net.tls").security(options("localhost")))
    operations.run(function()
      local opened = assert(stream.listen("127.0.0.1", 0, function(accepted)
        local all = ""
        held[accepted] = true -- else it is closed
        accepted:each_chunk(function(bytes, err)
          all = all .. (bytes or "")
          if all == "cut" then
            assert(io.open(path("got"), "w")):close()
          end
          if not bytes then
            ends[#ends + 1] = { all, err and err.details.kind, err and err.message }
            accepted:finish()
          end
        end)
      end, { security = security }))
      -- s_client says that it ends, unless it is killed
      run("printf whole | timeout 20 openssl s_client -quiet -no_ign_eof -connect localhost:%d", opened.port)
      eventually(function()
        return #ends == 1
      end)
      run("{ printf cut; until [ -e %s ]; do sleep 0.05; done; kill -9 $(cat %s); } | { sh -c 'echo $$ >%s; exec "
        .. "openssl s_client -quiet -connect localhost:%d'; rm %s; }", path("got"), path("pid"), path("pid"),
        opened.port, path("pid"))
      eventually(function()
        return #ends == 2
      end)
      opened:close()
    end)
    assert.same({ "whole" }, ends[1])
    assert.same({ "cut", "tls", "the connection was cut off without close_notify" }, ends[2])
  end)

  it("says that it ends, so that the client knows that it has all of an answer", function()
    with({ tls = options("localhost"), handler = function(request_)
      local sent
      return { status = 200, body = function()
        if request_.target == "/broken" and sent then
          error("oops")
        end
        local piece = not sent and "piece" or nil
        sent = true
        return piece
      end }
    end }, function(server)
      assert.equal("piece", run("curl -sS --http1.0 --cacert %s %s", path("ca.pem"), server.url))
      local get = "printf 'GET %s HTTP/1.0\\r\\n\\r\\n' | timeout 20 openssl s_client -quiet -connect localhost:%d"
      local whole, broken = run(get, "/", server.port), run(get, "/broken", server.port)
      assert.matches("\r\n\r\npiece", whole)
      assert.is_nil(whole:find("unexpected eof", 1, true))
      assert.matches("\r\n\r\npiece.*unexpected eof while reading", broken)
    end)
  end)

  it("closes the connection that is idle for the longest when there are too many", function()
    with({ tls = options("localhost"), max_connections = 1 }, function(server)
      assert.equal(200, request(server).status)
      assert.equal("ok", run("curl -sS --cacert %s --data ok %s", path("ca.pem"), server.url))
    end)
  end)
end)

describe("a listener with TLS that asks for certificates", function()
  teardown(certificates.remove)

  local function as(name)
    return { cert_file = path(name .. ".pem"), key_file = path(name .. ".key") }
  end

  it("gives handlers the identity of the client", function()
    with({ tls = options("localhost", { client_ca = path("ca.pem") }) }, function(server, _, seen)
      assert.equal(200, assert(request(server, as("ada"))).status)
      local fingerprint = command.run("openssl x509 -noout -fingerprint -sha256 -in " .. path("ada.pem")).out
      assert.equal("CN=ada,O=Löve\\, Lace", seen[1].subject)
      assert.equal(fingerprint:match("=([%x:]+)"):gsub(":", ""):lower(), seen[1].fingerprint)
    end)
  end)

  it("refuses those without one, of another authority, and expired ones", function()
    with({ tls = options("localhost", { client_ca = path("ca.pem") }) }, function(server, log, seen)
      for _, case in ipairs({ { {}, "peer did not return a certificate" },
        { as("stranger"), "certificate verify failed: unable to get local issuer certificate" },
        { as("late"), "certificate verify failed: certificate has expired" } }) do
        assert.is_nil((request(server, case[1])))
        assert.equal("debug: TLS with 127.0.0.1: " .. case[2], table.remove(log))
      end
      assert.same({}, seen)
    end)
  end)

  it("serves those without one where that is optional", function()
    with({ tls = options("localhost", { client_ca = path("ca.pem"), client_certificate = "optional" }) },
      function(server, _, seen)
        assert.equal(200, assert(request(server)).status)
        assert.equal(200, assert(request(server, as("ada"))).status)
        assert.is_nil(request(server, as("stranger")))
        assert.is_nil(seen[1].subject)
        assert.matches("^CN=ada", seen[2].subject)
        assert.equal(2, #seen)
      end)
  end)

  it("knows the client of a session that is resumed, and resumes none of other authorities", function()
    local own = certificates.path("own.pem")
    command.run(("cp %s %s"):format(path("ca.pem"), own))
    with({ tls = options("localhost", { client_ca = own }) }, function(server, _, seen)
      local file = os.tmpname()
      local words = (" -cert %s -key %s"):format(path("ada.pem"), path("ada.key"))
      exchange(server, words .. " -sess_out " .. file)
      exchange(server, words .. " -sess_in " .. file)
      assert.is_true(seen[2].resumed)
      assert.equal(seen[1].fingerprint, seen[2].fingerprint)
      command.run(("cp %s %s"):format(path("other.pem"), own))
      assert(server:reload())
      exchange(server, words .. " -sess_in " .. file)
      os.remove(file)
      assert.equal(2, #seen)
    end)
  end)
end)

describe("reload of a listener with TLS", function()
  teardown(certificates.remove)

  local function copy(from)
    local copied = command.run(("cd %s && cp %s.pem own.pem && cp %s.key own.key"):format(certificates.directory(),
      from, from))
    assert.equal(0, copied.code)
  end

  it("has new connections use the new certificate while the others continue", function()
    copy("localhost")
    local released = false
    with({ tls = options("own"), handler = function()
      while not released do
        operations.sleep(0.005)
      end
      return { status = 200, body = "ended" }
    end }, function(server)
      local waiting = operations.spawn(request, server)
      operations.sleep(0.1)
      copy("rsa")
      assert(server:reload())
      local pem = run("openssl s_client -connect localhost:%d </dev/null", server.port)
      assert.matches("subject=CN = rsa", pem, 1, true)
      released = true
      assert.equal("ended", waiting:wait().body)
    end)
  end)

  it("keeps its certificates when a file is wrong, and names the file", function()
    copy("localhost")
    with({ tls = options("own") }, function(server)
      command.run(("cp %s %s"):format(path("rsa.pem"), path("own.pem")))
      local ok, err = server:reload()
      assert.is_nil(ok)
      assert.equal("VALIDATION_ERROR", err.code)
      assert.equal(("the key %s (for the certificate %s): it is not the key of the certificate"):format(path("own.key"),
        path("own.pem")), err.message)
      assert.equal(200, request(server).status)
    end)
  end)

  it("does nothing without TLS", function()
    http_peer.with(function() end, {}, function(server)
      assert.is_true(server:reload())
    end)
  end)
end)

describe("the options of TLS", function()
  teardown(certificates.remove)

  local function refusal(tls)
    local opened, err = listener.listen({ tls = tls }, function() end)
    assert.is_nil(opened)
    assert.equal("VALIDATION_ERROR", err.code)
    return err.message
  end

  it("name a file that cannot be read or used, and why", function()
    local cert, key = path("localhost.pem"), path("localhost.key")
    assert.equal("the certificate /nowhere.pem: cannot be read: No such file or directory",
      refusal({ cert = "/nowhere.pem", key = key }))
    assert.equal("the key /tmp: cannot be read: Is a directory", refusal({ cert = cert, key = "/tmp" }))
    assert.equal(("the certificate %s: no certificate in PEM is in it"):format(key), refusal({ cert = key, key = key }))
    assert.equal(("the key %s (for the certificate %s): no private key in PEM is in it"):format(cert, cert),
      refusal({ cert = cert, key = cert }))
    assert.equal(("the key %s (for the certificate %s): the key needs a password"):format(path("locked.key"), cert),
      refusal({ cert = cert, key = path("locked.key") }))
    assert.equal(("the key %s (for the certificate %s): it is not the key of the certificate"):format(
      path("example.key"), path("rsa.pem")), refusal({ certificates = { options("localhost"), { cert = path("rsa.pem"),
      key = path("example.key") } } }))
    assert.equal(("client_ca %s: no certificate in PEM is in it"):format(key), refusal(options("localhost",
      { client_ca = key })))
  end)

  it("take a key that has a password", function()
    with({ tls = { cert = path("localhost.pem"), key = path("locked.key"), key_password = "secret" } }, function(server)
      assert.equal(200, request(server).status)
    end)
  end)

  it("may name a certificate that has expired: it is warned of", function()
    with({ tls = options("expired") }, function(server, log)
      assert.same({ ("warn: the certificate %s has expired"):format(path("expired.pem")) }, log)
      assert.equal("tls", select(2, request(server)).details.kind)
    end)
  end)

  it("are checked", function()
    for _, wrong in ipairs({
      { {}, "`tls.cert` and `tls.key` expected" }, { { cert = "a" }, "`tls.cert` and `tls.key` expected" },
      { { cert = 1, key = "b" }, "bad option 'cert' to 'listen' %(string expected, got number%)" },
      { { cert = "a", key = "b", certificate = "c" },
        "bad option 'certificate' to 'listen' %(unknown; did you mean certificates%?%)" },
      { { certificates = {} }, "none is in it" }, { { certificates = { "a" } }, "`tls.cert` and `tls.key` expected" },
      { { certificates = { { cert = "a", key = "b" } }, key = "b" }, "not both" },
      { { cert = "a", key = "b", client_certificate = "optional" }, "with `client_ca`" },
      { { cert = "a", key = "b", client_ca = "c", client_certificate = "maybe" }, "\"required\" or \"optional\"" },
    }) do
      local ok, message = pcall(listener.listen, { tls = wrong[1] }, function() end)
      assert.is_false(ok)
      assert.matches(wrong[2], message)
    end
  end)

  it("need the C module, whose absence names the package", function()
    local loaded, preload = package.loaded["operations.tls"], package.preload["operations.tls"]
    package.loaded["operations.tls"] = nil
    package.preload["operations.tls"] = function()
      error("module 'operations.tls' not found")
    end
    local opened, err = listener.listen({ tls = options("localhost") }, function() end)
    package.loaded["operations.tls"], package.preload["operations.tls"] = loaded, preload
    assert.is_nil(opened)
    assert.equal("UNAVAILABLE", err.code)
    assert.matches("TLS needs OpenSSL 3: install its headers %(Debian: libssl%-dev%)", err.message)
  end)
end)

describe("TLS in Neovim", function()
  teardown(certificates.remove)

  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  it("serves clients elsewhere, while a handshake hangs", function()
    operations.run(function()
      local program = assert(operations.process.spawn({ "nvim", "-u", "NONE", "-i", "NONE", "-n", "--headless",
        "-c", "luafile spec/support/http_api_main.lua", env = { LUA_PATH = package.path,
          LUA_CPATH = command.directory() .. "/build/luajit/?.so;;", TLS_CERT = path("localhost.pem"),
          TLS_KEY = path("localhost.key") } }))
      local port = assert(program:read_line()):match("port (%d+)")
      local hanging = http_peer.connect(tonumber(port)):send("\22\3\1\2\0\1")
      for _ = 1, 3 do
        local answer = assert(request({ url = "https://localhost:" .. port .. "/api/healthz" }))
        assert.equal(200, answer.status)
      end
      assert.is_nil(hanging.ended)
      hanging:close()
      program:stop({ close = 0 })
    end)
  end)
end)
