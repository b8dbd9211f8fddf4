local usage = require("spec.support.usage")

local collector = require("operations.http_server").collector

describe("a collector of a body", function()
  it("returns its bytes in one piece, and begins again", function()
    local body = collector(1000000)
    assert.equal("", body:take())
    for _ = 1, 2 do
      local parts = {}
      for i = 1, 300 do
        parts[i] = ("\0\255%d"):format(i):rep(i)
        assert.is_true(body:add(parts[i]))
        assert.is_true(body:add(""))
      end
      assert.equal(table.concat(parts), body:take())
      assert.equal("", body:take())
    end
  end)

  it("takes as many bytes as it may, and nothing of a piece that is too long", function()
    for _, max in ipairs({ 0, 1, 10, 4096 }) do
      local body = collector(max)
      assert.is_true(body:add(""))
      assert.is_false(body:add(("x"):rep(max + 1)))
      assert.is_true(body:add(("x"):rep(max)))
      assert.is_false(body:add("y"))
      assert.is_true(body:add(""))
      assert.equal(("x"):rep(max), body:take())
      assert.is_false(body:add(("x"):rep(max + 1)))
      assert.is_true(body:add(("x"):rep(max)))
    end
  end)

  it("takes no memory once all was taken, or it is collected", function()
    local body = collector(2 ^ 30)
    assert.is_true(usage.growth(function()
      body:add(("x"):rep(2 ^ 26))
      assert.equal(2 ^ 26, #body:take())
    end) < 2 ^ 14)
    assert.is_true(usage.growth(function()
      collector(2 ^ 30):add(("x"):rep(2 ^ 26))
    end) < 2 ^ 14)
    assert.equal("", body:take())
  end)

  it("may be dropped with its bytes", function()
    local body = collector(100)
    body:add("x")
    getmetatable(body).__gc(body)
    getmetatable(body).__gc(body)
    assert.equal("", body:take())
  end)

  it("refuses misuse", function()
    for _, max in ipairs({ -1, 0 / 0, 2 ^ 64, math.huge }) do
      assert.error_matches(function() collector(max) end, "number of bytes expected")
    end
    assert.is_userdata(collector(2 ^ 62))
    assert.error_matches(function() collector() end, "number expected")
    assert.error_matches(function() collector(1):add({}) end, "string expected")
    assert.error_matches(function() collector(1).add(io.stdout, "x") end, "operations.http_server.collector expected")
  end)
end)
