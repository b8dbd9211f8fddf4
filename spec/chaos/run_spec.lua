local run = require("spec.chaos.run")

-- A short run: some seconds of what `make chaos` does for a minute.
local function short(fields)
  fields.seconds, fields.seed = fields.seconds or 3, os.time() % 1000000
  fields.calls, fields.subscriptions = fields.calls or 900, 12
  return run(fields)
end

local function kinds_of(faults)
  local seen = {}
  for _, fault in ipairs(faults) do
    seen[fault.kind] = true
  end
  return seen
end

describe("chaos", function()
  it("over Redis, at most once, ends every request once and runs none twice", function()
    local faults, told, directory = short({ mode = "fast" })
    assert.same({}, faults, directory)
    for _, deed in ipairs({ "workers killed", "Redis restarts", "workers stopped for a while" }) do
      assert.is_true(told.faults[deed] >= 1)
    end
    assert.equal(900, told.submitted)
  end)

  it("shows that Pub/Sub does not do what must be done at least once", function()
    local faults, _, directory = short({ mode = "fast", claimed = "reliable", seconds = 2, calls = 2400 })
    assert.same({ lost = true }, kinds_of(faults))
    os.execute(("rm -r '%s'"):format(directory))
  end)
end)
