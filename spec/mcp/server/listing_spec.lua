local core = require("operations.core")
local listing = require("operations.mcp.server.listing")

local function call(providers, params, options)
  return { method = "things/list", params = params or {}, server = { providers = providers, options = options or {} } }
end

local function provider(...)
  local items = { ... }
  return { things = function()
    return items
  end, read = function(_, _, name)
    for _, item in ipairs(items) do
      if item.name == name then
        return item
      end
    end
  end, has = function(_, kind)
    return kind == "prompts" and items[1] ~= nil
  end }
end

describe("the lists of several providers", function()
  it("are one, the first of each name", function()
    local a, b, c = { name = "a" }, { name = "b" }, { name = "a", other = true }
    assert.same({ a, b }, listing.all(call({ provider(a), {}, provider(c, b) }), "things", "name"))
    assert.same({}, listing.all(call({}), "things", "name"))
  end)

  it("are asked one after the other for one thing", function()
    local a, b = { name = "a" }, { name = "b" }
    local both = call({ {}, provider(a), provider(b) })
    assert.equal(b, (listing.first(both, "read", "b")))
    assert.is_nil((listing.first(both, "read", "c")))
    local failing = { read = function()
      return nil, { code = 1 }
    end }
    assert.equal(a, (listing.first(call({ failing, provider(a) }), "read", "a")))
    assert.same({ nil, { code = 1 } }, { listing.first(call({ failing, provider(a) }), "read", "b") })
  end)

  it("can have a kind where one of them can, or where clients of other servers may", function()
    assert.is_true(listing.has(call({ provider(), provider({ name = "a" }) }).server, "prompts"))
    assert.is_false(listing.has(call({ provider() }).server, "prompts"))
    assert.is_false(listing.has(call({ provider({ name = "a" }) }).server, "resources"))
    assert.is_true(listing.has(call({}, {}, { clients = {} }).server, "resources"))
  end)
end)

describe("a page of a list", function()
  local list = {}
  for i = 1, 2500 do
    list[i] = { name = i }
  end

  local function page(cursor, items)
    local result, failure = listing.paged(call({}, { cursor = cursor }), items or list, "things")
    return result and { #result.things, result.things[1] and result.things[1].name, result.nextCursor } or failure
  end

  it("has 1,000 items, and the cursor of the next one", function()
    assert.same({ 1000, 1, "1001" }, page())
    assert.same({ 1000, 1, "1001" }, page(core.null))
    assert.same({ 1000, 1001, "2001" }, page("1001"))
    assert.same({ 500, 2001 }, page("2001"))
    assert.same({ 1, 2500 }, page("2500"))
  end)

  it("is the last one where nothing follows", function()
    local exact = {}
    for i = 1, 1000 do
      exact[i] = list[i]
    end
    assert.same({ 1000, 1 }, page(nil, exact))
    exact[1001] = list[1001]
    assert.same({ 1000, 1, "1001" }, page(nil, exact))
    assert.same({ 0 }, page(nil, {}))
  end)

  it("is refused for a cursor that was not given", function()
    for _, cursor in ipairs({ "1", "0", "2501", "x", "-2", "2.5", " 2", 2, true, "0000000002" }) do
      assert.same({ code = -32602, message = "things/list: there is no such cursor" }, page(cursor))
    end
    assert.same({ 1000, 2, "1002" }, page("000000002"))
  end)
end)
