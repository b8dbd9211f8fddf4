local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local members = require("operations.base.members")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local streams = require("operations.net.stream")

local function quiet() end

local function connect(url, mode, options)
  local given = members.merged({ mode = mode }, options)
  local transport, err = operations.transports.redis(url, given)
  return transport and operations.call_map(transport, { log = quiet }), err
end

-- Calls and subscribes through a Redis, and gives whatever went wrong.
-- Jobs in each of their states.
local function use_jobs(map)
  assert(map:submit("a.echo", { x = 2 }, { requestId = "now", owner = "me", owner_limit = 10 }))
  assert(map:submit("a.echo", { x = 3 }, { requestId = "soon", delay = 1 }))
  assert(map:submit("a.echo", { x = 4 }, { requestId = "never", delay = 1e9 }))
  assert.same({ x = 2 }, assert(map:outcome("now", 20000)).data)
  assert.same({ x = 3 }, assert(map:outcome("soon", 20000)).data)
  assert.equal(1, #assert(map:jobs()))
  assert(map:cancel("never"))
  for _, id in ipairs({ "now", "soon", "never" }) do
    assert(map:forget(id))
  end
end

local function use(url, mode, options)
  local registry = operations.registry({ log = quiet })
  registry:register_all({
    { namespace = "a", name = "echo", handler = function(input)
      return input
    end },
    { namespace = "a", name = "count", type = "subscription", handler = function()
      coroutine.yield(1)
      coroutine.yield(2)
    end },
  })
  local served, map = assert(connect(url, mode, options)), assert(connect(url, mode, options))
  operations.call_handler(registry, served)
  if mode == "reliable" then
    use_jobs(map)
  end
  assert.same({ x = 1 }, assert(map:call("a.echo", { x = 1 })).data)
  assert.equal("TIMEOUT", select(2, map:call("a.echo", {}, { deadline = 1 })).code)
  local n = 0
  for envelope in assert(map:subscribe("a.count")) do
    n = n + 1
    assert.equal(n, envelope.data)
  end
  assert.equal(2, n)
  map:close()
  served:close()
end

-- Asks Redis one thing after the other; the last answer.
local function ask(port, ...)
  local reader, replies, commands = resp.reader(), {}, { ... }
  local stream = assert(streams.connect("127.0.0.1", port))
  stream:each_chunk(function(bytes)
    for _, reply in ipairs(bytes and reader:feed(bytes) or {}) do
      replies[#replies + 1] = reply
    end
  end)
  for _, words in ipairs(commands) do
    local list = {}
    for word in words:gmatch("%S+") do
      list[#list + 1] = word
    end
    stream:offer(resp.command((unpack or table.unpack)(list))) -- luacheck: ignore 113 143
  end
  eventually(function()
    return #replies == #commands
  end)
  stream:close()
  return replies[#replies]
end

local function with_server(settings, fn)
  operations.run(function()
    local server = redis.start(nil, nil, settings)
    local ok, raised = pcall(fn, server)
    server.stop()
    if not ok then
      error(raised, 0)
    end
  end)
end

-- What a user of Redis must be allowed, as its page says it.
local page = assert(io.open("doc/calls.md"))
local SETUSER = page:read("*a"):match("\nACL SETUSER app .-\n```"):gsub("`", "")
page:close()

for _, mode in ipairs({ "fast", "reliable" }) do
  describe("Redis, " .. mode .. ", with a server", function()
    it("that asks for a password", function()
      with_server("--requirepass 'pa:ss@word'", function(server)
        use(server.url:gsub("//", "//:pa%%3Ass%%40word@"), mode)
        use(server.url, mode, { password = "pa:ss@word" })
        local _, err = connect(server.url, mode)
        assert.equal("ACCESS_DENIED", err.code)
        _, err = connect(server.url, mode, { password = "wrong" })
        assert.equal("ACCESS_DENIED", err.code)
        assert.is_nil(tostring(err):find("wrong", 1, true))
      end)
    end)

    it("refuses messages that are too long when they are sent and when they are taken", function()
      with_server("", function(server)
        local registry = operations.registry({ log = quiet })
        registry:register({ namespace = "a", name = "double", handler = function(input)
          return input.text .. input.text
        end })
        local served = assert(connect(server.url, mode, { max_message = 2000 }))
        operations.call_handler(registry, served)
        local map, bold = assert(connect(server.url, mode, { max_message = 2000 })), assert(connect(server.url, mode))
        local function text(n)
          return { text = ("x"):rep(n) }
        end
        local err = select(2, map:call("a.double", text(2000)))
        assert.equal("VALIDATION_ERROR", err.code)
        assert.matches("a message of %d+ bytes is longer than max_message, 2000", err.message)
        err = select(2, map:call("a.double", text(1500)))
        assert.equal("EXECUTION_ERROR", err.code)
        assert.matches("max_message", err.message)
        err = select(2, bold:call("a.double", text(20000), { timeout = 500 }))
        assert.equal(mode == "fast" and "TIMEOUT" or "VALIDATION_ERROR", err.code)
        assert.equal(mode == "fast" and 1 or 0, served:counted().refused)
        assert.equal("xx", assert(map:call("a.double", text(1))).data)
        map:close()
        bold:close()
        served:close()
      end)
    end)

    it("whose user may do no more than it needs", function()
      with_server("", function(server)
        assert.equal("OK", ask(server.port, SETUSER))
        ask(server.port, "ACL SETUSER default off")
        local options = { user = "app", password = "secret" }
        use(server.url, mode, options)
        use(server.url:gsub("//", "//app:secret@"), mode)
        assert.equal(1, ask(server.port, "AUTH app secret", "XADD ops:{ops}:dead:a.b * n 1 i some f caller p {}",
          "SADD ops:{ops}:dead a.b"))
        local transport = assert(operations.transports.redis(server.url, options))
        assert.equal("some", assert(transport:dead_letters())[1].requestId)
        assert.equal(1, assert(transport:revive_dead_letters("a.b")))
        assert.equal(0, assert(transport:drop_dead_letters("a.b")))
        transport:close()
        options.prefix = "other"
        local _, err = connect(server.url, mode, options)
        assert.equal("ACCESS_DENIED", err.code)
        assert.matches("NOPERM", tostring(err))
      end)
    end)
  end)
end

it("a cluster of Redis is used in both modes: the keys of every script share a slot", function()
  local file = os.tmpname()
  local settings = ("--cluster-enabled yes --cluster-port %d --cluster-config-file %s"):format(free_port(),
    file:match("[^/]+$"))
  with_server(settings .. " --dir " .. file:match("^.*/"), function(server)
    ask(server.port, "CLUSTER ADDSLOTSRANGE 0 16383")
    eventually(function() -- Redis begins two seconds after its start
      return ask(server.port, "CLUSTER INFO"):find("cluster_state:ok", 1, true)
    end)
    for _, mode in ipairs({ "fast", "reliable" }) do
      use(server.url, mode)
      use(server.url, mode, { prefix = "{odd}:prefix" })
    end
  end)
  os.remove(file)
end)

-- A certificate for 127.0.0.1 and who signed it; `kind` tells two apart.
local function make_certificates(directory)
  local status = os.execute(([[cd %s && exec >/dev/null 2>&1
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
    openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr
    printf 'subjectAltName=IP:127.0.0.1' >names
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem]])
    :format(directory))
  assert(status == true or status == 0, "openssl fails")
end

describe("Redis over TLS", function()
  local directory, server, url

  setup(function()
    directory = os.tmpname()
    os.remove(directory)
    os.execute("mkdir " .. directory)
    make_certificates(directory)
    local port = free_port()
    server = redis.start(nil, nil, (("--tls-port %d --tls-cert-file DIR/server.pem --tls-key-file DIR/server.key "
      .. "--tls-ca-cert-file DIR/ca.pem --tls-auth-clients optional"):format(port):gsub("DIR", directory)))
    url = "rediss://127.0.0.1:" .. port
  end)

  teardown(function()
    server.stop()
    os.execute("rm -r " .. directory)
  end)

  for _, mode in ipairs({ "fast", "reliable" }) do
    it("is used, " .. mode, function()
      operations.run(use, url, mode, { ca_file = directory .. "/ca.pem" })
    end)
  end

  it("is refused when no trusted authority signed its certificate", function()
    operations.run(function()
      local _, err = connect(url, "fast")
      assert.same({ "TRANSPORT_LOST", "tls" }, { err.code, err.details.kind })
    end)
  end)

  it("shows a certificate of ours", function()
    operations.run(function()
      ask(server.port, "CONFIG SET tls-auth-clients yes")
      local options = { ca_file = directory .. "/ca.pem" }
      assert.is_nil((connect(url, "fast", options)))
      options.cert_file, options.key_file = directory .. "/server.pem", directory .. "/server.key"
      use(url, "fast", options)
      ask(server.port, "CONFIG SET tls-auth-clients optional") -- as it was
    end)
  end)
end)
