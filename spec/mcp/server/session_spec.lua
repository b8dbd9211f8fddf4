local identities = require("spec.support.identities")
local operations = require("operations")
local sessions = require("operations.mcp.server.session")

describe("the sessions of an MCP server", function()
  local server

  before_each(function()
    local registry = operations.registry({ log = function() end })
    server = operations.to_mcp(registry, { max_sessions = 2, session_ttl = 60000, log = function() end })
  end)

  after_each(function()
    server:close()
  end)

  -- A call that runs for a session; the reasons for which it is cancelled.
  local function call_of(session)
    local reasons = {}
    session.peer.running.id = { cancel = function(_, reason)
      reasons[#reasons + 1] = reason
      session.peer.running.id = nil
    end }
    return reasons
  end

  it("end in the order of their last use, idle ones only", function()
    local all = sessions.none(server)
    local first, second = all:open("a"), all:open("a")
    assert.equal(first, all:find(first.id, "a"))
    local third = all:open("a")
    assert.is_nil(all:find(second.id, "a"))
    local reasons = call_of(first)
    local fourth = all:open("a")
    assert.equal(first, all:find(first.id, "a"))
    assert.is_nil(all:find(third.id, "a"))
    call_of(fourth)
    assert.is_nil(all:open("a"))
    assert.same({ 2, {} }, { all.count, reasons })
  end)

  it("that were ended stay ended when a call of theirs ends, and use no place", function()
    local all = sessions.none(server)
    local first, second = all:open("a"), all:open("a")
    all:remove(first, "the client has ended it")
    all:touch(first)
    assert.equal(1, all.count)
    local third = all:open("a")
    assert.equal(second, all:find(second.id, "a"))
    assert.equal(third, all:find(third.id, "a"))
    local fourth = all:open("a")
    assert.same({ fourth, third }, { all:find(fourth.id, "a"), all:find(third.id, "a") })
    assert.same({ nil, 2 }, { all:find(second.id, "a"), all.count })
  end)

  it("of a caller that opens too many end its own oldest, never another's", function()
    server.options.max_sessions, server.options.max_identity_sessions = 6, 3
    local all = sessions.none(server)
    local ada = { all:open("a"), all:open("a") }
    local bob = {}
    for i = 1, 50 do
      bob[i] = all:open("b")
    end
    assert.same({ 5, 2, 3 }, { all.count, all.counts.a, all.counts.b })
    assert.equal(bob[50], all:find(bob[50].id, "b"))
    for _, session in ipairs(ada) do
      assert.equal(session, all:find(session.id, "a"))
    end
    local carl = { all:open("c"), all:open("c") } -- six, then one of bob's ends
    assert.same({ 6, 2, 2, 2 }, { all.count, all.counts.a, all.counts.b, all.counts.c })
    assert.equal(carl[1], all:find(carl[1].id, "c"))
  end)

  it("keep ended streams up to a number of bytes by session, owner and server", function()
    server.options.max_sessions, server.options.session_bytes = 10, 3000
    server.options.identity_bytes, server.options.kept_bytes = 5000, 8000
    local all = sessions.none(server)
    local function ended(session)
      local stream = session:stream()
      stream:put(("x"):rep(980))
      session:finish(stream)
      return stream.name .. "_0"
    end
    local one, two, other = all:open("a"), all:open("a"), all:open("b")
    local last = ended(other)
    local first = ended(one)
    assert.truthy(one:find(first))
    for _ = 1, 20 do
      ended(one)
    end
    assert.is_nil(one:find(first))
    assert.is_true(all.kept_of.a <= 3000)
    for _ = 1, 20 do
      ended(two)
    end
    assert.is_true(all.kept_of.a <= 5000)
    for i = 1, 5 do
      local each = all:open("c" .. i % 2)
      for _ = 1, 3 do
        ended(each)
      end
    end
    assert.is_true(all.kept <= 8000)
    assert.truthy(other:find(last))
    for _, session in pairs(all.all) do
      all:remove(session, "ends")
    end
    assert.same({ 0, {}, {}, 0 }, { all.kept, all.kept_of, all.counts, all.count })
  end)

  it("belong to one identity, whatever makes it another one", function()
    local request, seen = { headers = { authorization = "Bearer x" } }, {}
    for _, identity in ipairs(identities.different) do
      local credential = sessions.credential(request, identity)
      assert.is_nil(seen[credential])
      seen[credential] = true
    end
    assert.equal(sessions.credential(request, identities.same[1]),
      sessions.credential({ headers = { authorization = "Bearer y" } }, identities.same[2]))
    for _, nobody in ipairs({ false, { scopes = {} } }) do -- identified by their credentials
      assert.not_equal(sessions.credential(request, nobody or nil),
        sessions.credential({ headers = { authorization = "Bearer y" } }, nobody or nil))
    end
  end)

  it("that listen to no stream get no notifications", function()
    local one = sessions.none(server):open("a")
    one:tell({ jsonrpc = "2.0", method = "notifications/tools/list_changed" })
    assert.is_nil(one.general)
  end)

  it("are busy while a stream of theirs is read", function()
    local all = sessions.none(server)
    local one = all:open("a")
    assert.is_false(one:is_busy())
    local stream = one:stream()
    assert.is_false(one:is_busy())
    stream:body(0)
    assert.is_true(one:is_busy())
    stream:close()
    assert.is_false(one:is_busy())
  end)

  it("tell what runs for them why it is cancelled", function()
    local all = sessions.none(server)
    local one = all:open("a")
    local reasons = call_of(one)
    all:remove(one, "the reason")
    all:remove(one, "another")
    assert.same({ 0, { "the reason" } }, { all.count, reasons })
  end)

  it("are found by their credential, as long as they are used", function()
    local all = sessions.none(server)
    local one = all:open("a")
    assert.is_nil(all:find(one.id, "b"))
    assert.is_nil(all:find("other", "a"))
    one.used = one.used - 50000
    assert.equal(one, all:find(one.id, "a"))
    one.used = one.used - 50000
    assert.equal(one, all:find(one.id, "a"))
    one.used = one.used - 70000
    call_of(one)
    assert.equal(one, all:find(one.id, "a"))
    one.peer.running.id = nil
    one.used = one.used - 70000
    assert.is_nil(all:find(one.id, "a"))
    assert.equal(0, all.count)
  end)
end)
