--- Long lists that are cast a few items at a time, through an operation as the registry holds it: what comes of that is
--- what comes of casting the value at once.
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")
local schema = require("operations.schema")

local record = { type = "object", required = { "id" }, properties = {
  id = { type = "integer" }, name = { type = "string", default = "nobody" },
  tags = { type = "array", items = { type = "string" } }, url = { type = { "string", "null" } },
  kind = { oneOf = { { type = "object", required = { "a" }, properties = { a = { type = "integer" } } },
    { type = "object", required = { "b" }, properties = { b = { type = "string" } } } } },
} }
local list = { type = "array", items = record }

local function operation_of(output, mode, tells)
  return core.registry(mode, tells):operation({ namespace = "a", name = "b" }, nil, assert(schema.compile(output)))
end

local function envelope_of(data)
  return operations.http_envelope(data, { statusCode = 200 })
end

local function records(count, item)
  local items = {}
  for i = 1, count do
    items[i] = item(i)
  end
  return items
end

-- What a value becomes, and what it is warned of, as text.
local function finished(output, data, steps)
  local found, envelope = operation_of(output), envelope_of(data)
  local ahead, taken = found:ahead(envelope), 0
  assert.is_not_nil(ahead)
  while taken ~= steps do
    taken = taken + 1
    if not ahead:step() then
      break
    end
  end
  local answer, warning = found:finish(envelope, steps ~= 0 and ahead or nil)
  return json.encode({ answer.data, warning and warning.issues }, { sort_keys = true }), taken
end

local function same(output, data)
  local before = json.encode(data, { sort_keys = true })
  local expected = finished(output, data, 0)
  assert.equal(expected, (finished(output, data, 1)))
  assert.equal(expected, (finished(output, data)))
  assert.equal(before, json.encode(data, { sort_keys = true }))
  return expected
end

local function plain(i)
  return { id = i, name = "n" .. i, tags = { "x", "y" .. i % 7 }, url = json.null, extra = i }
end

describe("a list that is cast ahead", function()
  it("is equal to one that is cast at once", function()
    local text = same(list, records(1000, plain))
    assert.is_nil(text:find("extra", 1, true))
    assert.truthy(text:find('"id":1000', 1, true))
  end)

  it("takes more than one step when it is long", function()
    local data = records(30000, plain)
    local text, steps = finished(list, data)
    assert.is_true(steps > 2)
    assert.equal(finished(list, data, 0), text)
    assert.equal(text, (finished(list, data, 2)))
  end)

  it("gets its defaults and conversions", function()
    local text = same(list, records(300, function(i)
      return { id = tostring(i), tags = i % 2 == 0 and {} or nil }
    end))
    assert.truthy(text:find('"id":300,"name":"nobody","tags":[]', 1, true))
  end)

  it("has its branches chosen", function()
    same(list, records(300, function(i)
      return { id = i, kind = i % 2 == 0 and { a = tostring(i), c = 1 } or { b = "x", a = "y" } }
    end))
  end)

  it("keeps its misfits, which are warned of", function()
    local text = same(list, records(300, function(i)
      return { id = i % 100 == 0 and "none" or i }
    end))
    assert.truthy(text:find('"path":"/299/id"', 1, true))
    same(list, records(300, function(i)
      return i % 2 == 0 and { name = 5 } or i
    end))
  end)

  it("may have conforming items that a default would spoil", function()
    local spoiled = { type = "array", items = { type = "object", maxProperties = 1, properties = {
      a = { type = "integer" }, b = { type = "integer", default = 1 } } } }
    same(spoiled, records(300, function(i)
      return { a = i }
    end))
    same(spoiled, records(300, function(i)
      return i == 7 and { a = "no" } or { a = i }
    end))
  end)

  it("may hold values other than tables", function()
    same({ type = "array", items = { type = "integer" } }, records(5000, tostring))
    same({ type = "array", items = { type = "number", maximum = 10 } }, records(500, function(i)
      return i
    end))
  end)

  it("may be in objects, beside others, twice", function()
    local page = { type = "object", required = { "items" }, properties = {
      total = { type = "integer" }, items = list, others = list,
      inner = { type = "object", properties = { deep = { type = { "array", "null" }, items = record, minItems = 2,
        uniqueItems = true } } },
    } }
    local shared = records(200, plain)
    same(page, { total = "2", items = shared, others = shared, inner = { deep = records(100, plain), more = 1 } })
    same(page, { total = 2, items = records(70, plain), others = {}, inner = { deep = json.null } })
    same(page, { items = records(70, plain), inner = { deep = { shared[1], shared[1], shared[2],
      require("operations.base.compat").unpack(records(80, function() return shared[3] end)) } } })
  end)

  it("may be at a place with a tuple, too", function()
    local shared = records(70, function(i) return { id = i, name = i } end)
    local page = { type = "object", properties = { a = list, b = { type = "array", items = record,
      prefixItems = { { type = "object", properties = { id = { type = "string" } } } } } } }
    local text = same(page, { a = shared, b = shared })
    assert.truthy(text:find('"id":"1"', 1, true))
  end)

  it("may have changed before it is finished", function()
    local found, data = operation_of(list), records(30000, plain)
    local envelope = envelope_of(data)
    local ahead = found:ahead(envelope)
    assert.is_true(ahead:step())
    for i = #data, 51, -1 do
      data[i] = nil
    end
    while ahead:step() do -- luacheck: ignore 542
    end
    assert.equal(50, #found:finish(envelope, ahead).data)
    data = records(10, plain)
    assert.equal(10, #found:finish(envelope_of(data), ahead).data)
  end)

  it("stops at the limits of a check", function()
    local slow = { type = "array", items = { type = "string", pattern = "^(a|aa)+$" } }
    same(slow, records(100, function()
      return ("a"):rep(40) .. "!"
    end))
  end)

  it("takes no more steps in all than the value has at once", function()
    local item = { type = "string" }
    for _ = 1, 14 do
      item = { anyOf = { item, item } }
    end
    same({ type = "array", items = item }, records(400, tonumber))
  end)

  it("keeps the values of an integer of 64 bits", function()
    local value = json.decode("18446744073709551615")
    assert.truthy(same(list, records(100, function()
      return { id = value }
    end)):find("18446744073709551615", 1, true))
  end)
end)

describe("the items that were cast ahead", function()
  local numbered = { type = "object", properties = { id = { type = "integer" } } }
  local lists = { type = "array", items = numbered }

  local function texts(count)
    return records(count, function(i) return { id = tostring(i) } end)
  end

  -- Casts ahead, then changes all items of `given`. Returns the result, nil where nothing is cast ahead.
  local function taken(output, data, given)
    local found, envelope = operation_of(output), envelope_of(data)
    local ahead = found:ahead(envelope)
    if not ahead then
      return nil
    end
    while ahead:step() do -- luacheck: ignore 542
    end
    for _, items in ipairs(given) do
      for _, item in ipairs(items) do
        item.id = -1
      end
    end
    return found:finish(envelope, ahead).data
  end

  it("are those of the result, first and last", function()
    for _, count in ipairs({ 64, 65, 1000 }) do
      local items = texts(count)
      local result = taken(lists, items, { items })
      assert.same({ 1, 2, count }, { result[1].id, result[2].id, result[count].id })
      assert.equal(count, #result)
    end
    assert.is_nil(taken(lists, texts(63), {}))
  end)

  it("are found in up to four objects", function()
    local items = texts(64)
    local definition, data = lists, items
    for depth = 1, 4 do
      definition, data = { type = "object", properties = { a = definition, b = { type = "integer" } } }, { a = data }
      local result = taken(definition, data, {})
      for _ = 1, depth do
        result = result.a
      end
      assert.equal(64, result[64].id)
    end
    assert.is_nil(taken({ type = "object", properties = { a = definition } }, { a = data }, {}))
    local result = taken(definition, data, { items })
    assert.equal(1, result.a.a.a.a[1].id)
  end)

  it("are those of the first 16 lists", function()
    for _, case in ipairs({ { 1, 1 }, { 2, 2 }, { 16, 16 }, { 17, 16 } }) do
      local properties, data, given, count = {}, {}, {}, 0
      for i = 1, case[1] do
        given[i] = texts(64 + i)
        properties["p" .. i], data["p" .. i] = lists, given[i]
      end
      local result = taken({ type = "object", properties = properties }, data, given)
      for i = 1, case[1] do
        local items = result["p" .. i]
        assert.equal(64 + i, #items)
        count = count + (items[1].id == 1 and items[64 + i].id == 64 + i and 1 or 0)
      end
      assert.equal(case[2], count)
    end
  end)

  it("are not those of a list that was put in its place", function()
    local items, definition = texts(64), { type = "object", properties = { a = lists } }
    local found, envelope = operation_of(definition), envelope_of({ a = items })
    local ahead = found:ahead(envelope)
    while ahead:step() do -- luacheck: ignore 542
    end -- one step, unless the machine is busy
    local other = envelope_of({ a = records(64, function(i) return { id = tostring(-i) } end) })
    assert.equal(-64, found:finish(other, ahead).data.a[64].id)
    assert.equal(64, found:finish(envelope, ahead).data.a[64].id)
  end)

  it("are cast again where they had not conformed and have been mended", function()
    local items = records(100, function() return { id = "x" } end)
    local result = taken(lists, items, { items })
    assert.same({ -1, -1 }, { result[1].id, result[100].id })
  end)
end)

describe("nothing is cast ahead", function()
  local function none(output, data, mode, tells)
    assert.is_nil((operation_of(output, mode, tells):ahead(envelope_of(data))))
  end

  it("of short lists, and without any list", function()
    none(list, records(3, plain))
    none(list, "x")
    none({ type = "object", properties = { items = list } }, { items = { plain(1) } })
  end)

  it("where other schemas apply to the same value", function()
    none({ allOf = { list, { maxItems = 500 } } }, records(100, plain))
    none({ type = "array", prefixItems = { record }, items = record }, records(100, plain))
    none({ ["$dynamicAnchor"] = "x", type = "array", items = { ["$dynamicRef"] = "#x" } }, records(100, plain))
  end)

  it("where items are not looked at", function()
    none({ type = "array" }, records(100, plain))
    none({ type = "array", items = true }, records(100, plain))
    none(true, records(100, plain))
  end)

  it("where changes are reported, misfits replaced or nothing is cast", function()
    none(list, records(100, plain), "cast", true)
    none(list, records(100, plain), "force")
    none(list, records(100, plain), "off")
  end)
end)
