local timestamp = require("operations.base.timestamp")

describe("a point in time", function()
  it("is a text in UTC, with milliseconds", function()
    assert.equal("1970-01-01T00:00:00.000Z", timestamp.of(0))
    assert.equal("2026-11-30T00:00:01.007Z", timestamp.of(1795996801007.9))
  end)
end)
