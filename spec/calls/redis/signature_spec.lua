local command = require("spec.support.command")
local connections = require("spec.calls.connections")
local contract = require("spec.calls.contract")
local eventually = require("spec.support.eventually")
local forward_clock = require("spec.support.forward_clock")
local core = require("operations.core")
local json = require("operations.base.json")
local limits = require("operations.base.limits")
local operations = require("operations")
local redis = require("spec.support.redis")
local resp = require("operations.redis")
local signatures = require("operations.calls.redis.signature")
local streams = require("operations.net.stream")

local SECRET = "a secret that is shared"

local function quiet() end

describe("a signature", function()
  local TEXT = '{"type":"call.completed","from":"some"}'

  it("is the HMAC-SHA-256 of the place and the text, whatever the length of the secret", function()
    for _, secret in ipairs({ SECRET, ("long"):rep(40), "\1\2\3 bytes \4\5\6\7\8" }) do
      local sealed = signatures.new(secret):seal("a:place", TEXT)
      local body, signature = sealed:match('^(.*),"sig":"(%x+)"}$')
      assert.equal(TEXT, body .. "}")
      local key = secret:gsub(".", function(byte)
        return ("%02x"):format(byte:byte())
      end)
      local told = command.run(("printf 'a:place\\n%%s' '%s' | openssl dgst -sha256 -mac HMAC -macopt hexkey:%s")
        :format(body, key))
      assert.equal(told.out:match("(%x+)\n$"), signature)
    end
  end)

  it("fits nothing else", function()
    local one, other = signatures.new(SECRET), signatures.new(SECRET .. "!")
    local sealed = one:seal("place", TEXT)
    assert.is_true(one:fits("place", sealed))
    assert.is_false(other:fits("place", sealed))
    assert.is_false(one:fits("another", sealed))
    assert.is_false(one:fits("place", TEXT))
    assert.is_false(one:fits("place", ""))
    for i = 1, #sealed do
      local changed = sealed:sub(1, i - 1) .. string.char((sealed:byte(i) + 1) % 256) .. sealed:sub(i + 1)
      assert.is_false(one:fits("place", changed), i)
    end
  end)

  it("numbers the messages of channels, so that none is taken twice", function()
    local one, heard = signatures.new(SECRET), {}
    for i = 1, 3 do
      heard[i] = json.decode((one:seal("place", TEXT, true)))
    end
    assert.is_true(one:is_new(heard[1]))
    assert.is_true(one:is_new(heard[3]))
    assert.is_false(one:is_new(heard[2]))
    assert.is_false(one:is_new(heard[3]))
    assert.is_false(one:is_new({ from = "another" }))
    assert.is_true(one:is_new({ node = "another", n = 1, t = core.now() }))
    assert.is_false(one:is_new({ n = 1, t = core.now() }))
  end)

  it("has a time: messages of an ended process are refused by processes that never heard it", function()
    local now, real = core.now(), core.now
    local function at(ms, fn)
      core.now = function() return now + ms end
      local result = fn()
      core.now = real
      return result
    end
    local recorded = at(0, function() return json.decode((signatures.new(SECRET):seal("p", '{"node":"a"}', true))) end)
    local function is_new_at(ms, message)
      return at(ms, function() return signatures.new(SECRET):is_new(message or recorded) end)
    end
    assert.same({ true, true, false, false }, { is_new_at(0), is_new_at(limits.redis_age),
      is_new_at(limits.redis_age + 1), is_new_at(-limits.redis_age - 1) })
    for _, wrong in ipairs({ "now", 0 / 0, false }) do
      assert.is_false(is_new_at(0, { node = "a", n = 1, t = wrong or nil }))
    end
    local one = signatures.new(SECRET) -- a process that is known may have been held up
    assert.is_true(at(0, function() return one:is_new(recorded) end))
    assert.is_true(at(2 * limits.redis_age, function() return one:is_new({ node = "a", n = 2, t = now }) end))
    assert.is_false(at(9 * limits.redis_age, function() return one:is_new({ node = "a", n = 3, t = now }) end))
  end)

  it("may have its digits in capitals, and adds a limited number of bytes", function()
    local one = signatures.new(SECRET)
    local sealed = one:seal("place", TEXT, true)
    assert.is_true(one:fits("place", (sealed:gsub("%x+\"}$", string.upper))))
    assert.is_true(#sealed - #TEXT < signatures.most)
  end)

  it("is missing once another process has signed, where there is no secret", function()
    local unsigned, missing = signatures.new(), {}
    for i, sig in ipairs({ false, "a", false }) do
      unsigned:is_new({ sig = sig or nil })
      missing[i] = unsigned.missing
    end
    assert.same({ false, true, true }, missing)
  end)
end)

local server = redis.around(setup, teardown)

for _, mode in ipairs({ "fast", "reliable" }) do
  describe("a call map over Redis that signs, " .. mode, function()
    contract(it, function(...)
      return connections.redis(server.url, { mode = mode, secret = SECRET })(...)
    end, { unknown = "UNAVAILABLE", queued = mode == "reliable" })
  end)
end

-- Asks Redis for something.
local function ask(...)
  local stream, reader, reply = assert(streams.connect("127.0.0.1", server.port)), resp.reader(), nil
  stream:each_chunk(function(bytes)
    local replies = bytes and reader:feed(bytes)
    if replies and replies[1] ~= nil then
      reply = { replies[1] }
    end
  end)
  stream:offer(resp.command(...))
  eventually(function()
    return reply
  end)
  stream:close()
  return reply[1]
end

-- Hears what goes over channels, and keeps it.
local function eavesdrop()
  local stream, reader = assert(streams.connect("127.0.0.1", server.port)), resp.reader()
  local heard = { stream = stream }
  stream:each_chunk(function(bytes)
    for _, reply in ipairs(bytes and reader:feed(bytes) or {}) do
      heard[#heard + 1] = { kind = reply[1], channel = reply[3], text = reply[4] }
    end
  end)
  stream:offer(resp.command("PSUBSCRIBE", "*"))
  eventually(function()
    return heard[1]
  end)
  return heard
end

local function forge(id, data)
  return (assert(json.encode({ type = "call.responded", id = id, from = "forger",
    payload = { requestId = id, output = operations.local_envelope(data, "a.b") } })))
end

local function connect(prefix, mode, secret)
  local transport = assert(operations.transports.redis(server.url, { mode = mode, secret = secret, prefix = prefix }))
  return operations.call_map(transport, { log = quiet }), transport
end

local prefixes = 0

-- A worker that signs: what it ran.
local function serve(mode)
  prefixes = prefixes + 1
  local prefix, ran = "signed" .. prefixes, {}
  local served, transport = connect(prefix, mode, SECRET)
  local registry = operations.registry({ log = quiet })
  registry:register({ namespace = "a", name = "run", type = "mutation", handler = function(input, context)
    ran[#ran + 1] = context.requestId
    operations.sleep(input.seconds or 0)
    return "true"
  end })
  operations.call_handler(registry, served)
  return prefix, ran, served, transport
end

for _, mode in ipairs({ "fast", "reliable" }) do
  describe("processes that share a secret, " .. mode .. ",", function()
    it("take no answer of a process that does not know it", function()
      operations.run(function()
        local prefix, ran, served = serve(mode)
        local map, transport = connect(prefix, mode, SECRET)
        local call = operations.spawn(function()
          return map:call("a.run", { seconds = 0.3 }, { requestId = "known" })
        end)
        eventually(function()
          return ran[1]
        end)
        local worker = signatures.new("another secret, of 16 bytes")
        for _, text in ipairs({ forge("known", "forged"), worker:seal(prefix .. ":node:" .. transport.id,
          forge("known", "forged"), true) }) do
          assert.equal(1, ask("PUBLISH", prefix .. ":node:" .. transport.id, text))
        end
        assert.equal("true", assert(call:wait()).data)
        assert.equal(2, map:counted().refused)
        map:close()
        served:close()
      end)
    end)

    it("run a recorded request that is sent again only once", function()
      operations.run(function()
        local prefix, ran, served = serve(mode)
        local map = connect(prefix, mode, SECRET)
        local heard = eavesdrop()
        assert(map:call("a.run"))
        assert(map:call("services.list"))
        eventually(function()
          return map:pending_count() == 0
        end)
        local recorded = #heard
        assert.is_true(recorded > 2)
        local before = served:counted().refused + map:counted().refused + map:counted().late
        for i = 2, recorded do
          ask("PUBLISH", heard[i].channel, heard[i].text)
        end
        eventually(function()
          return served:counted().refused + map:counted().refused + map:counted().late > before
        end)
        assert(map:call("a.run"))
        assert.equal(2, #ran)
        heard.stream:close()
        map:close()
        served:close()
      end)
    end)

    it("refuse processes that do not sign, and say so", function()
      operations.run(forward_clock.with, function(clock)
        local prefix, ran, served = serve(mode)
        local map, bare = connect(prefix, mode, SECRET), connect(prefix, mode)
        assert(map:call("a.run"))
        local _, err = clock:pass(bare.call, bare, "a.run")
        if mode == "fast" then
          assert.equal("UNAVAILABLE", err.code)
          assert.matches("the option 'secret'", err.message)
        else
          assert.equal("ACCESS_DENIED", err.code)
          assert.matches("not signed with the secret", err.message)
        end
        assert.equal(1, #ran)
        bare:close()
        map:close()
        served:close()
      end)
    end)
  end)
end

describe("mode reliable with a secret", function()
  it("ignores a forged outcome, and runs no forged request", function()
    operations.run(function()
      local prefix, ran, served = serve("reliable")
      local keys = ("%s:{%s}:"):format(prefix, prefix)
      local map = connect(prefix, "reliable", SECRET)
      assert(map:call("a.run"))
      ask("SET", keys .. "r:named", forge("named", "forged"))
      local _, err = map:call("a.run", nil, { requestId = "named" })
      assert.equal("EXECUTION_ERROR", err.code)
      ask("XADD", keys .. "q:a.run", "*", "i", "forged", "f", "nobody", "p",
        '{"operationId":"a.run","requestId":"forged"}')
      local outcome = eventually(function()
        local record = ask("GET", keys .. "r:forged")
        return record and json.decode(record)
      end)
      assert.equal("ACCESS_DENIED", outcome.payload.code)
      assert.equal(1, #ran)
      map:close()
      served:close()
    end)
  end)

  it("has signed dead letters, which can be revived", function()
    operations.run(function()
      local prefix, ran, served, transport = serve("reliable")
      local keys = ("%s:{%s}:"):format(prefix, prefix)
      local sealed = signatures.new(SECRET):seal(keys .. "q:a.run",
        '{"operationId":"a.run","requestId":"dead","input":{}}')
      ask("XADD", keys .. "dead:a.run", "*", "n", "5", "i", "dead", "f", "nobody", "p", sealed)
      ask("SADD", keys .. "dead", "a.run")
      local letter = assert(transport:dead_letters())[1]
      assert.same({ operationId = "a.run", requestId = "dead", input = {} }, letter.payload)
      assert.equal(1, transport:revive_dead_letters(letter))
      eventually(function()
        return ran[1] == "dead"
      end)
      served:close()
    end)
  end)

  it("wants a secret of some length", function()
    local ok, message = pcall(operations.transports.redis, server.url, { secret = "short" })
    assert.is_false(ok)
    assert.matches("bad option 'secret' to 'redis' %(16 bytes or more expected%)", message)
  end)
end)
