local operations = require("operations")

local show = operations.show

describe("operations.show", function()
  it("shows tables with their members, by name, and texts quoted", function()
    assert.equal('{ 1, "a\\n\\"b\\"", null, id = 2, ["x-y"] = true, ["end"] = false }',
      show({ 1, 'a\n"b"', operations.null, id = 2, ["x-y"] = true, ["end"] = false }):gsub(', %["end"%] = false(.*) }$',
        '%1, ["end"] = false }'))
    assert.same({ "{}", "{} (array)", "nil", "12", '"x"' }, { show({}), show(operations.array({})), show(nil), show(12),
      show("x") })
    local long = show({ text = ("x"):rep(40), other = ("y"):rep(40) })
    assert.equal('{\n  other = "' .. ("y"):rep(40) .. '",\n  text = "' .. ("x"):rep(40) .. '"\n}', long)
  end)

  it("ends at cycles, deep tables and long lists, and shows no control characters", function()
    local cycle = { name = "a" }
    cycle.self = cycle
    assert.equal('{ name = "a", self = { ... } }', show(cycle))
    local deep = {}
    for _ = 1, 50 do
      deep = { deep }
    end
    assert.matches("deeper", show(deep))
    local list = {}
    for i = 1, 150 do
      list[i] = i
    end
    assert.matches("... 50 more", show(list), 1, true)
    assert.is_nil(show("\27[2J"):find("\27", 1, true))
  end)

  it("shows errors, envelopes, registries and subscriptions", function()
    local registry = operations.registry()
    registry:register({ namespace = "a", name = "b", type = "subscription", handler = function() end })
    local events = registry:subscribe("a.b", {})
    assert.equal("registry of 1 operation", show(registry))
    assert.equal("subscription to a.b", show(events))
    events:close()
    assert.equal("subscription to a.b (ended)", tostring(events))
    assert.equal("BUSY: later", show(operations.error("BUSY", "later")))
    assert.equal('{\n  data = 1,\n  meta = { operationId = "a.b", source = "local", timestamp = 5 }\n}',
      (show(operations.local_envelope(1, "a.b")):gsub("timestamp = %d+", "timestamp = 5")))
    assert.matches("^a.b  subscription", operations.describe(registry:get_spec("a.b")))
  end)
end)
