local checker = require("spec.calls.chaos.checker")
local history = require("spec.calls.chaos.history")

-- Each word of these is a record: `process:what` and its fields.
local function records_of(list)
  local records = {}
  for i, fields in ipairs(list) do
    local record = { process = fields[1], what = fields[2], id = fields[3], at = 1000 + i }
    for key, value in pairs(fields) do
      if type(key) == "string" then
        record[key] = value
      end
    end
    records[i] = record
  end
  return records
end

local function fast()
  return {
    { "c", "submitted", "1", mode = "fast", kind = "call", deadline = 5000 },
    { "c", "accepted", "1" },
    { "w", "started", "1", run = "r" },
    { "w", "ended", "1", run = "r" },
    { "c", "terminal", "1", outcome = "answered", run = "r" },
  }
end

local function reliable()
  return {
    { "c", "submitted", "1", mode = "reliable", kind = "call", deadline = 5000 },
    { "c", "accepted", "1" },
    { "w", "started", "1", run = "r", attempt = 1 },
    { "n", "killed", victim = "w" },
    { "v", "started", "1", run = "s", attempt = 2 },
    { "v", "ended", "1", run = "s" },
    { "c", "terminal", "1", outcome = "answered", run = "s" },
    { "c", "left", pending = 0 },
  }
end

local function stream()
  return {
    { "c", "submitted", "1", mode = "fast", kind = "subscription", events = 3 },
    { "w", "started", "1", run = "r" },
    { "c", "event", "1", seq = 1 },
    { "c", "event", "1", seq = 2 },
    { "w", "ended", "1", run = "r" },
    { "c", "event", "1", seq = 3 },
    { "c", "terminal", "1", outcome = "completed", run = "r" },
  }
end

-- The kinds of fault that a history has.
local function found(list)
  local kinds = {}
  for i, fault in ipairs(checker.check(records_of(list))) do
    assert.is_string(fault.message)
    kinds[i] = fault.kind
  end
  return kinds
end

-- Changes the fields of a record.
local function with(list, i, fields)
  for key, value in pairs(fields) do
    list[i][key] = value
  end
  return list
end

local function without(list, ...)
  for _, i in ipairs({ ... }) do
    table.remove(list, i)
  end
  return list
end

local function adding(list, i, record)
  table.insert(list, i, record)
  return list
end

describe("the checker finds nothing wrong with", function()
  local failed = { outcome = "failed", code = "TRANSPORT_LOST", mayHaveRun = true }

  it("jobs that were done once, and again after a kill, and in order", function()
    assert.same({}, found(fast()))
    assert.same({}, found(reliable()))
    assert.same({}, found(stream()))
    assert.same({}, found({}))
  end)

  it("jobs that were lost at most once, and ended in an error", function()
    assert.same({}, found(with(fast(), 5, failed)))
    assert.same({}, found(with(without(fast(), 4, 3), 3, failed)))
  end)

  it("a stream that ended early in an error", function()
    assert.same({}, found(with(without(stream(), 6), 6, failed)))
  end)

  it("jobs that were refused before they began", function()
    assert.same({}, found(with(without(reliable(), 6, 5, 4, 3, 2), 2,
      { outcome = "failed", code = "BUSY", mayHaveRun = false })))
  end)

  it("a call refused for lack of room or of a worker", function()
    for _, code in ipairs({ "BUSY", "UNAVAILABLE" }) do
      assert.same({}, found(with(without(reliable(), 6, 5, 4, 3), 3,
        { outcome = "failed", code = code, mayHaveRun = false })))
    end
  end)

  it("an error that is the handler's own", function()
    local list = with(with(reliable(), 6, { code = "FULL" }), 7, { outcome = "failed", code = "FULL", run = false })
    assert.same({}, found(list))
  end)

  it("the jobs of a killed caller", function()
    assert.same({}, found(adding(without(fast(), 5), 5, { "n", "killed", victim = "c" })))
  end)

  it("jobs that were accepted and then aborted", function()
    local list = with(without(reliable(), 6, 5, 4, 3), 3, { outcome = "failed", code = "ABORTED" })
    assert.same({}, found(adding(list, 3, { "c", "aborted", "1" })))
  end)
end)

-- One history for each kind of fault that there is.
local planted = {
  ["unknown"] = { fast, function(list)
    return without(list, 1)
  end },
  ["submitted twice"] = { fast, function(list)
    return adding(list, 2, list[1])
  end },
  ["no terminal"] = { fast, function(list)
    return without(list, 5)
  end },
  ["two terminals"] = { fast, function(list)
    return adding(list, 6, list[5])
  end },
  ["after the end"] = { stream, function(list)
    return adding(without(list, 6), 7, { "c", "event", "1", seq = 3 })
  end },
  ["repeated"] = { stream, function(list)
    return adding(list, 5, list[4])
  end },
  ["swapped"] = { stream, function(list)
    list[3], list[4] = list[4], list[3]
    return list
  end },
  ["missing"] = { stream, function(list)
    return without(list, 4)
  end },
  ["lost"] = { reliable, function(list)
    return with(list, 7, { outcome = "failed", code = "TRANSPORT_LOST" })
  end },
  ["ran twice"] = { fast, function(list)
    return adding(adding(list, 5, { "v", "started", "1", run = "s", attempt = 2 }), 6, { "v", "ended", "1", run = "s" })
  end },
  ["unmarked"] = { reliable, function(list)
    return with(list, 5, { attempt = 1 })
  end },
  ["unfounded"] = { fast, function(list)
    return with(list, 5, { run = "another" })
  end },
  ["untrue"] = { fast, function(list)
    return with(list, 5, { outcome = "failed", code = "UNAVAILABLE", mayHaveRun = false })
  end },
  ["started late"] = { fast, function(list)
    return with(list, 1, { deadline = 2 })
  end },
  ["left running"] = { reliable, function(list)
    return without(list, 4)
  end },
}

describe("the checker finds", function()
  for _, kind in ipairs(checker.kinds()) do
    it(("'%s', and nothing else"):format(kind), function()
      local history_of, break_it = planted[kind][1], planted[kind][2]
      assert.same({ kind }, found(break_it(history_of())))
    end)
  end

  it("events that are missing at the end of a completed job", function()
    assert.same({ "missing" }, found(without(stream(), 6)))
  end)

  it("an accepted job that no process did while its caller was killed", function()
    local list = without(reliable(), 8, 7, 6, 5, 3)
    assert.same({ "lost" }, found(adding(list, 4, { "n", "killed", victim = "c" })))
  end)

  it("an answer of a run that failed, and of one that never started", function()
    assert.same({ "unfounded" }, found(with(fast(), 4, { code = "FULL" })))
    local list = with(fast(), 5, { outcome = "failed", code = "FULL", run = false })
    assert.same({ "unfounded" }, found(without(list, 3)))
  end)

  it("requests that a call map does not forget", function()
    assert.same({ "left pending" }, found(with(reliable(), 8, { pending = 1 })))
  end)
end)

describe("a history", function()
  local directory

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
  end)

  after_each(function()
    os.execute("rm -r " .. directory)
  end)

  it("is read as it was written, each process by itself", function()
    local one, other = history.open(directory, "a"), history.open(directory, "b")
    other("submitted", { id = "1" })
    one("killed", { victim = "b" })
    other("left", { pending = 0 })
    local records = history.read(directory)
    assert.same({ "killed", "submitted", "left" }, { records[1].what, records[2].what, records[3].what })
    assert.same({ "a", "b", "b" }, { records[1].process, records[2].process, records[3].process })
    assert.is_number(records[1].at)
    assert.same({ "1", "b", 0 }, { records[2].id, records[1].victim, records[3].pending })
  end)

  it("that was cut is a fault that says where", function()
    local file = assert(io.open(directory .. "/a.jsonl", "wb"))
    file:write('{"what":"left","pending":0}\n{"what":')
    file:close()
    local faults = checker.check(history.read(directory))
    assert.same({ "unreadable", 1 }, { faults[1].kind, #faults })
    assert.truthy(faults[1].message:find("a.jsonl:2:", 1, true))
  end)
end)
