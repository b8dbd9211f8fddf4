local every_operation = require("spec.support.every_operation")
local operations = require("operations")
local random_schema = require("spec.support.random_schema")
local round_trip = require("spec.support.round_trip")

local json = operations.json

local identity = { id = "me", scopes = { "r", "y" }, resources = { ["doc:1"] = { "read" } } }

describe("a document of a registry, read again", function()
  local trip

  before_each(function()
    trip = round_trip.of(every_operation(), { authorize = function()
      return identity
    end })
  end)

  after_each(function()
    trip:close()
  end)

  for _, version in ipairs({ "3.1", "3.2" }) do
    it("gives the same operations and the same bytes, " .. version, function()
      local registry = trip:read(version)
      assert.same(0, #trip.report, json.encode(trip.report))
      trip:compare_specs(registry)
      local again = assert(operations.to_http(registry, trip.options))
      assert.is_true(trip:text(trip.server, version) == trip:text(again, version))
    end)
  end

  it("answers as the registry does, to inputs that fit and to inputs that do not", function()
    local registry = trip:read("3.1")
    local calls = trip:compare_calls(registry, random_schema.generator(7), 60)
    assert.is_true(calls.all >= 1000, calls.all)
    assert.is_true(calls.succeeded > calls.all / 5 and calls.failed > calls.all / 10,
      ("%d of %d succeeded"):format(calls.succeeded, calls.all))
  end)

  it("gives streams their events, ids, failures and ends", function()
    local registry = trip:read("3.1")
    for n = 1, 4 do
      assert.same(trip:events(trip.registry, "count.up", { n = n }), trip:events(registry, "count.up", { n = n }))
    end
    local resumed = trip:events(registry, "count.up", { n = 4 }, { lastEventId = "2" })
    assert.same({ { i = 3 }, { i = 4 } }, resumed.data)
    assert.same({ "3", "4" }, resumed.ids)
  end)

  it("calls with equal data without x-operation", function()
    local document = json.decode(trip:text(trip.server, "3.1"))
    for _, item in pairs(document.paths) do
      for _, operation in pairs(item) do
        operation["x-operation"] = nil
      end
    end
    local registry = operations.registry()
    assert(registry:register_all(assert(operations.from_openapi.document(document, { base_url = trip.url,
      namespace = "bare" }))))
    for _, case in ipairs({
      { "text_flat", { word = "a b", exact = true, list = { 1, 2.5 } }, { n = 3 } },
      { "text_open", { body = { a = 1 } } }, { "any_thing", {} }, { "tree_other", { body = { name = "n" } } },
      { "path_get", { id = "x/y", q = "ä" } }, { "path_put", { id = 7, body = { body = { 1 } } }, { id = 7 } },
    }) do
      local expected = {}
      for _, part in ipairs({ case[2].body and not case[3] and case[2].body or case[2], case[3] or {} }) do
        for key, value in pairs(part) do
          expected[key] = value
        end
      end
      if case[1] == "path_put" then
        expected.body = { 1 }
      end
      local envelope = assert(registry:execute("bare." .. case[1], case[2]))
      assert.same({ got = expected }, envelope.data)
    end
    assert.same({ { i = 1 }, { i = 2 } }, trip:events(registry, "bare.count_up", { n = 2 }).data)
  end)
end)
