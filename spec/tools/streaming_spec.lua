local core = require("operations.core")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local streaming = require("operations.tools.streaming")

-- A vendor's format whose answer is the list of the values that came, until one says "end".
local listing = {}

function listing.stream()
  return { values = {} }
end

function listing.feed(state, value)
  if type(value) == "table" and value.fail then
    return value.fail
  end
  state.done = state.done or value == "end"
  state.values[#state.values + 1] = value
end

function listing.finish(state)
  return state.done and state.values or nil
end

local function assemble(source, on_event)
  return streaming.assemble(listing, source, on_event)
end

describe("a streamed answer", function()
  it("is read from texts of event streams, JSON where it is JSON", function()
    assert.same({ { a = 1 }, "x", core.null, "end" }, (assemble({ 'data: {"a":1}\n\nda', "ta: x\n\n", "data: null\n\n",
      'data: "end"\n\n' })))
  end)

  it("is read from a function until that returns nil", function()
    local pieces = { "data: 1\n\n", "data: end\n\n" }
    assert.same({ 1, "end" }, (assemble(function()
      return table.remove(pieces, 1)
    end)))
  end)

  it("is read from a subscription: the data of its envelopes, else the envelopes", function()
    local left = { { data = { event = "message", data = '{"a":1}' } }, { data = { event = "message", data = "end" } },
      { meta = {} } }
    local source = { next = function(self)
      assert.is_table(self)
      return table.remove(left, 1)
    end }
    assert.same({ { a = 1 }, "end", { meta = {} } }, (assemble(source)))
  end)

  it("fails as the subscription does", function()
    local response, err = assemble({ next = function()
      return nil, errors.new("UNAVAILABLE", "gone")
    end })
    assert.is_nil(response)
    assert.equal("UNAVAILABLE: gone", tostring(err))
  end)

  it("is read from a list that has a function named next beside", function()
    local list = setmetatable({ "data: end\n\n", next = print }, core.array_mt)
    assert.same({ "end" }, (assemble(list)))
  end)

  it("is read from events as a parser gives them, and from values as vendors send them", function()
    assert.same({ { b = 2 }, { data = "x", event = "e", type = "t" }, { data = "x" }, { event = "e" }, "end" },
      (assemble({ { event = "message", data = '{"b":2}' }, { data = "x", event = "e", type = "t" }, { data = "x" },
        { event = "e" }, { event = "message", data = "end" } })))
  end)

  it("takes the data of an event that is a value already", function()
    assert.same({ { c = 3 }, "end" }, (assemble({ { event = "m", data = { c = 3 } }, { event = "m", data = "end" } })))
  end)

  it("passes over pieces that are neither texts nor tables", function()
    assert.same({ "end" }, (assemble({ 7, true, "data: end\n\n" })))
  end)

  it("is nil where the source is nil", function()
    for _, source in ipairs({ 7, "data: end\n\n", true }) do
      local response, err = assemble(source)
      assert.is_nil(response)
      assert.equal("TRANSPORT_LOST: the model's stream ended before the answer was whole", tostring(err))
    end
    assert.is_nil((assemble(nil)))
  end)

  it("shows each value to the program as it comes", function()
    local seen = {}
    assemble({ "data: 1\n\ndata: 2\n\n", { event = "m", data = "end" } }, function(value)
      seen[#seen + 1] = value
    end)
    assert.same({ 1, 2, "end" }, seen)
  end)

  it("ends at the first value that says that the model failed", function()
    local response, err = assemble({ 'data: {"fail":"overloaded"}\n\ndata: "end"\n\n' })
    assert.is_nil(response)
    assert.equal("TRANSPORT_LOST: the model's stream failed: overloaded", tostring(err))
    response, err = assemble({ { fail = "full" }, "data: end\n\n" })
    assert.is_nil(response)
    assert.equal("TRANSPORT_LOST: the model's stream failed: full", tostring(err))
  end)

  it("fails where an event is larger than a parser takes", function()
    local response, err = assemble({ "data: " .. ("x"):rep(limits.event + 1), "data: end\n\n" })
    assert.is_nil(response)
    assert.matches("^TRANSPORT_LOST: the model's stream failed: .", tostring(err))
  end)

  it("may have as many bytes as a body, and no more", function()
    local function of(bytes)
      local line = ":" .. ("x"):rep(1024 * 1024 - 3) .. "\n\n"
      local pieces = {}
      for i = 1, bytes / #line - 1 do
        pieces[i] = line
      end
      pieces[#pieces + 1] = "data: end\n\n"
      pieces[#pieces + 1] = ":" .. ("x"):rep(bytes - #pieces * #line + #line - #"data: end\n\n" - 2) .. "\n"
      return pieces
    end
    assert.same({ "end" }, (assemble(of(limits.body))))
    local response, err = assemble(of(limits.body + 1))
    assert.is_nil(response)
    assert.equal("TRANSPORT_LOST: the model's stream failed: the answer is larger than " .. limits.body .. " bytes",
      tostring(err))
  end)

  it("counts a value as 64 bytes", function()
    local event, left = { event = "m", data = "x" }, limits.body / 64 + 1
    local response, err = assemble(function()
      left = left - 1
      return left >= 0 and event or nil
    end)
    assert.is_nil(response)
    assert.matches("larger than", tostring(err))
    assert.equal(0, left)
  end)

  it("fails with what the program raises", function()
    local response, err = assemble({ "data: 1\n\n" }, function()
      error(errors.new("ABORTED", "enough"))
    end)
    assert.is_nil(response)
    assert.equal("ABORTED: enough", tostring(err))
  end)
end)
