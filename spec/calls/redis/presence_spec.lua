--- The processes that share a Redis, as one of them sees them, on a clock that stands still.
local core = require("operations.core")
local fake_host = require("spec.support.fake_host")
local hosts = require("operations.hosts")
local limits = require("operations.base.limits")
local operations = require("operations")
local presences = require("operations.calls.redis.presence")
local signatures = require("operations.calls.redis.signature")

describe("the presence of a process on Redis", function()
  local now, host, lost, sent_on, presence = core.now, nil, nil, nil, nil

  before_each(function()
    host, lost, sent_on = fake_host.new(), {}, {}
    core.now = host.now
    hosts.use(host)
    presence = presences.new("spec", signatures.new())
    presence:begin({ connected = true, post = function() end }, {
      deliver = function(_, payload)
        lost[#lost + 1] = payload.code .. (payload.mayHaveRun and "" or " (not run)")
      end,
    }, { unbegun = function(payload, failure)
      sent_on[payload.requestId] = failure
    end })
    presence:hear({ node = "other", version = 1, offers = { "a.b" } })
    presence.nodes:assign({ requestId = "request", operationId = "a.b" }, presence:find("a.b"))
  end)

  after_each(function()
    presence:leave()
    core.now = now
    hosts.use("plain")
  end)

  it("ends when its messages stop", function()
    for _ = 1, 20 do
      host.advance(limits.presence)
      presence:hear({ node = "other", version = 1 })
    end
    assert.same({}, lost)
    host.advance(5 * limits.presence)
    assert.same({ "WORKER_LOST" }, lost)
  end)

  it("ends with its running requests; those that it did not begin are sent elsewhere", function()
    presence.nodes:assign({ requestId = "running", operationId = "a.b" }, presence:find("a.b"))
    presence:hear({ node = "other", gone = true, running = { "running" } })
    assert.same({ request = { requestId = "request", code = "WORKER_LOST", retryable = true, mayHaveRun = false,
      message = "the process that served it has left" } }, sent_on)
    assert.same({ "WORKER_LOST" }, lost)
  end)

  it("ends with all requests when it does not list the running ones", function()
    presence:hear({ node = "other", gone = true })
    assert.same({}, sent_on)
    assert.same({ "WORKER_LOST" }, lost)
  end)

  it("does not end because we are held up ourselves", function()
    core.now = function()
      return host.now() + 100 * limits.presence
    end
    host.advance(limits.presence)
    assert.same({}, lost)
    presence:hear({ node = "other", version = 1 })
    host.advance(limits.presence)
    assert.same({}, lost)
  end)
end)

describe("the presence messages of processes on Redis", function()
  local now, host, said, delivered, offers = core.now, nil, nil, nil, nil
  local presence, link, changed, released

  local function news()
    local all = said
    said = {}
    return all
  end

  before_each(function()
    host, said, delivered, offers, changed, released = fake_host.new(), {}, {}, { "b.b", "a.a" }, {}, 0
    core.now = host.now
    hosts.use(host)
    presence = presences.new("spec", signatures.new())
    link = { connected = true, post = function(_, done, command, channel, text)
      if command == "PUBLISH" then
        assert.equal("spec:nodes", channel)
        local message = operations.json.decode(text)
        assert.equal(presence.id, message.node)
        message.node = nil
        said[#said + 1] = message
      else
        said[#said + 1] = { command, channel, text, done = done }
      end
    end }
    presence:begin(link, {
      offers = function()
        return { offers[1], offers[2] }
      end,
      deliver = function(name, payload)
        delivered[#delivered + 1] = { name, payload }
      end,
    }, { changed = function(offered)
      changed[#changed + 1] = offered
    end, released = function()
      released = released + 1
    end })
  end)

  after_each(function()
    presence:leave()
    core.now = now
    hosts.use("plain")
  end)

  it("is the whole list at first, and then the changes", function()
    assert.same({ { version = 1, offers = { "a.a", "b.b" } }, { ask = true } }, news())
    assert.same({ { ["a.a"] = true, ["b.b"] = true } }, changed)
    assert.equal(changed[1], presence.offered)
    presence:hello()
    assert.same({ { version = 1 } }, news())
    offers = { "c.c" }
    presence:hello()
    assert.same({ { version = 2, offers = { "c.c" } } }, news())
    assert.same({ ["c.c"] = true }, changed[2])
    presence:hello(true)
    assert.same({ { version = 2, offers = { "c.c" } } }, news())
    offers = {}
    presence:hello()
    assert.same({ { version = 3, offers = {} } }, news())
    assert.equal(3, #changed)
    presence:announce()
    assert.same({ { version = 3, offers = {} }, { ask = true } }, news())
  end)

  it("is said again and again, while it is connected", function()
    news()
    host.advance(limits.presence)
    assert.same({ { version = 1 } }, news())
    link.connected = false
    host.advance(5 * limits.presence)
    presence:hello(true)
    assert.same({}, news())
    link.connected = true
    host.advance(limits.presence)
    assert.same({ { version = 1 } }, news())
    presence:leave()
    assert.same({ { gone = true, running = {} } }, news())
    host.advance(10 * limits.presence)
    assert.same({}, news())
  end)

  it("is asked for where it is not known, with the id of the process that asks", function()
    news()
    presence:hear({ node = "x", version = 2 })
    assert.same({ { ask = true } }, news())
    presence:hear({ node = "x", version = 2, offers = { "x.x", 1, "y.y" } })
    presence:hear({ node = "x", version = 2 })
    presence:hear({ node = "x" })
    assert.same({}, news())
    assert.same({ "x.x", "y.y" }, presence.nodes:offered())
    presence:hear({ node = "x", version = 3 })
    assert.same({ { ask = true } }, news())
    presence:hear({ node = "x", ask = true })
    assert.same({ { version = 1, offers = { "a.a", "b.b" } } }, news())
    presence:hear({ node = presence.id, ask = true })
    presence:hear({ ask = true })
    presence:hear({ node = 1, ask = true })
    assert.same({}, news())
    presence:forget()
    assert.same({}, presence.nodes:offered())
  end)

  it("is now and then that there is a signature, to a process that did not sign", function()
    host.advance(limits.discovery)
    news()
    presence:show_signature()
    presence:show_signature()
    assert.same({ { version = 1 } }, news())
    host.advance(limits.discovery / 5 - 1)
    presence:show_signature()
    assert.same({}, news())
    host.advance(1)
    presence:show_signature()
    assert.same({ { version = 1 } }, news())
  end)

  it("is withdrawn when they leave, with all its keys", function()
    presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    local node = presence.nodes:pick("x.x")
    local mine = { requestId = "mine" }
    presence.nodes:assign(mine, node)
    node.serving.its = true
    assert.same({ "its" }, presence.nodes:serving())
    presence:hear({ node = "x", gone = true, running = { "mine" } })
    assert.same({
      { "call.error", { requestId = "mine", code = "WORKER_LOST", message = "the process that served it has left",
        retryable = true, mayHaveRun = true } },
      { "call.aborted", { requestId = "its", reason = "the caller is gone" } },
    }, delivered)
    assert.equal(1, released)
    presence:hear({ node = "unknown", gone = true })
    assert.equal(2, released)
    assert.is_nil(presence.nodes:pick("x.x"))
    assert.same({}, presence.nodes:serving())
    presence:leave()
    assert.same({ gone = true, running = {} }, said[#said])
  end)

  it("is missed of those that are no more subscribed, where something depends on it", function()
    presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    local node = presence.nodes:pick("x.x")
    host.advance(limits.presence)
    news()
    node.serving.its = true
    host.advance(limits.presence / 2)
    local asked = news()
    assert.same({ "PUBSUB", "NUMSUB", "spec:node:x", done = asked[1].done }, asked[1])
    assert.equal(1, #asked)
    asked[1].done(nil)
    asked[1].done({ "spec:node:x", 1 })
    assert.same({}, delivered)
    asked[1].done({ "spec:node:x", 0 })
    asked[1].done({ "spec:node:x", 0 })
    assert.same({ { "call.aborted", { requestId = "its", reason = "the caller is gone" } } }, delivered)
  end)

  it("is missed of those that say nothing three times", function()
    presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    presence.nodes:assign({ requestId = "mine" }, presence.nodes:pick("x.x"))
    host.advance(3 * limits.presence)
    assert.same({}, delivered)
    host.advance(limits.presence)
    assert.same({ { "call.error", { requestId = "mine", code = "WORKER_LOST", retryable = true, mayHaveRun = true,
      message = "the process that served it has become silent" } } }, delivered)
    assert.is_nil(presence.nodes.by_id.x)
  end)

  it("is waited for by a call, which asks meanwhile", function()
    news()
    host.timer(limits.discovery / 5 + 10, function()
      presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    end)
    local begun = core.now()
    assert.equal("x", presence:find("x.x").id)
    assert.equal(limits.discovery / 5 + 10, core.now() - begun)
    assert.same({ { ask = true }, { ask = true } }, news())

    begun = core.now()
    assert.is_nil(presence:find("y.y"))
    assert.equal(limits.discovery, core.now() - begun)
    assert.equal(5, #news())

    begun = core.now()
    local found, err = presence:find("y.y", begun + 10)
    assert.is_nil(found)
    assert.same({ "TIMEOUT", "no process that serves 'y.y' was found before the deadline", false },
      { err.code, err.message, err.mayHaveRun })
    assert.equal(10, core.now() - begun)
    assert.same({ nil, nil }, { presence:find("y.y", core.now() + limits.discovery + 1) })
  end)

  it("is asked for once by all that seek it, which look again when it is new, or a moment later", function()
    news()
    local looked = 0
    local function again()
      looked = looked + 1
    end
    for _ = 1, 10 do
      presence:seek(again)
    end
    local leave = presence:seek(error)
    leave()
    assert.same({ { ask = true } }, news())
    presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    assert.equal(10, looked)
    presence:seek(again)
    presence:hear({ node = "x", version = 1, offers = { "x.x" } })
    presence:hear({ node = "y", version = 1 })
    assert.equal(10, looked)
    assert.same({ { ask = true } }, news()) -- of y
    host.advance(limits.discovery / 5)
    assert.equal(11, looked)
    presence:seek(again)
    assert.same({ { ask = true } }, news())
  end)

  it("is not sought by a process that leaves", function()
    local found, err
    host.timer(10, function()
      presence:leave()
    end)
    local begun = core.now()
    found, err = presence:find("x.x")
    assert.same({ nil, nil }, { found, err })
    assert.equal(10, core.now() - begun)
    local looked = 0
    presence:seek(function()
      looked = looked + 1
    end)
    host.advance(10 * limits.discovery)
    assert.equal(0, looked)
    assert.equal(0, host.timers)
  end)
end)

describe("the nodes on Redis", function()
  local nodes

  before_each(function()
    nodes = presences.nodes()
  end)

  local function picked(operation, times)
    local ids = {}
    for _ = 1, times do
      ids[nodes:pick(operation).id] = true
    end
    return ids
  end

  it("serve what they say; only another version than the known one is a change", function()
    local x, changed = nodes:hear("x", 1, { "b", "a", 3 })
    assert.same({ true, "x", 1, { a = true, b = true } }, { changed, x.id, x.version, x.offers })
    assert.same({ x, false }, { nodes:hear("x", 1) })
    assert.same({ x, true }, { nodes:hear("x", 2) })
    assert.same({ a = true, b = true }, x.offers) -- until it tells them
    assert.same({ x, true }, { nodes:hear("x", 2, { "c" }) })
    assert.same({ x, false }, { nodes:hear("x") })
    nodes:hear("y", 1, { "a", "c" })
    assert.same({ "a", "c" }, nodes:offered())
    assert.same({ -1, {} }, { nodes:hear("z").version, nodes:hear("z").offers })
    assert.equal(-1, nodes:hear("z", nil, { "a" }).version)
  end)

  it("have not been silent when they are heard", function()
    nodes:hear("x", 1).silence = 3
    assert.equal(0, nodes:hear("x").silence)
  end)

  it("get a call where they serve it, the less loaded of two", function()
    local x = nodes:hear("x", 1, { "a", "b" })
    nodes:hear("y", 1, { "a" })
    assert.equal("x", nodes:pick("b").id)
    assert.is_nil(nodes:pick("c"))
    assert.same({ x = true, y = true }, picked("a", 100))
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "1" }, x)
    assert.equal(1, x.load)
    assert.same({ y = true }, picked("a", 50))
    nodes:hear("z", 1, { "a" })
    assert.same({ y = true, z = true }, picked("a", 300))
  end)

  it("run a request until it is released", function()
    local x = nodes:hear("x", 1, { "a" })
    nodes:assign({ requestId = "1" }, x)
    assert.equal(x, nodes:of("1"))
    assert.same({ requestId = "1" }, nodes:release("1"))
    assert.same({ nil, nil }, { nodes:of("1"), nodes:release("1") })
    assert.same({ 0, {} }, { x.load, x.requests })
  end)

  it("tell a subscription from another call", function()
    local x = nodes:hear("x", 1, { "a" })
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "2", credit = 0 }, x)
    assert.same({ false, true, false }, { nodes:streams("1"), nodes:streams("2"), nodes:streams("3") })
  end)

  it("leave their requests and ours when they are forgotten", function()
    local x, y = nodes:hear("x", 1, { "a" }), nodes:hear("y", 1, { "a" })
    nodes:assign({ requestId = "2" }, x)
    nodes:assign({ requestId = "1" }, x)
    nodes:assign({ requestId = "3" }, y)
    x.serving = { ["5"] = true, ["4"] = true }
    y.serving["6"] = true
    local all = nodes:serving()
    table.sort(all)
    assert.same({ "4", "5", "6" }, all)
    local ours, its = nodes:forget(x)
    assert.same({ { { requestId = "1" }, { requestId = "2" } }, { "4", "5" } }, { ours, its })
    assert.same({ nil, y, { "6" } }, { nodes.by_id.x, nodes:of("3"), nodes:serving() })
    assert.is_nil(nodes:of("1"))
  end)
end)
