local run = require("spec.calls.chaos.run")

-- A short run: some seconds of what `make chaos` does for a minute.
local function short(fields)
  fields.seconds, fields.seed = 2, os.time() % 1000000
  fields.calls, fields.subscriptions = fields.calls or 600, 12
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
  for _, case in ipairs({
    { "at most once, ends every request once and runs none twice", mode = "fast" },
    { "at least once, loses nothing and marks what may be a second run", mode = "reliable" },
    { "at least once, loses nothing where Redis itself forgets everything", mode = "reliable", forgetful = true },
  }) do
    it("over Redis, " .. case[1], function()
      local faults, told, directory = short({ mode = case.mode, forgetful = case.forgetful })
      assert.same({}, faults, directory)
      for _, deed in ipairs({ "workers killed", "Redis restarts", "workers stopped for a while" }) do
        assert.is_true(told.faults[deed] >= 1)
      end
      assert.equal(600, told.submitted)
    end)
  end

  it("over Redis ends each submitted job once, though workers and submitters are killed", function()
    local faults, told, directory = short({ mode = "reliable", jobs = 400 })
    assert.same({}, faults, directory)
    assert.is_true(told.faults["submitters killed"] >= 1)
    assert.equal(400, told.submitted)
  end)

  it("shows that Pub/Sub does not run every job at least once", function()
    local faults, _, directory = short({ mode = "fast", claimed = "reliable", calls = 2400 })
    local kinds = kinds_of(faults)
    kinds.idle = nil -- a slow machine may do fewer faults than a run should have
    assert.same({ lost = true }, kinds)
    os.execute(("rm -r '%s'"):format(directory))
  end)
end)
