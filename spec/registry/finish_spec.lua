local compat = require("operations.base.compat")
local core = require("operations.core")
local local_calls = require("operations.registry.operation")
local operations = require("operations")
local schemas = require("operations.schema")
local one_operation = require("spec.support.one_operation")

local answer, returning, task_schema = one_operation.answer, one_operation.returning, one_operation.task_schema

describe("a result that does not fit its schema", function()
  it("is logged with the first thing that is wrong", function()
    local logged = {}
    local function warned_of(definition, normalize)
      local registry = operations.registry({ normalize = normalize, log = function(level, message)
        logged[#logged + 1] = level .. ": " .. message
      end })
      definition.namespace, definition.name, definition.accessControl = "a", "b", {}
      assert(registry:register(definition))
      assert(registry:execute("a.b", {}))
      return table.remove(logged)
    end
    local schema = { type = "object", properties = { n = { type = "integer" } } }
    local function answer_text()
      return { n = "x" }
    end
    assert.matches("a.b: result does not fit its schema: /n: expected integer", warned_of({
      outputSchema = schema, handler = answer_text }), 1, true)
    assert.matches("a.b: result does not fit its schema: /n: replaced", warned_of({
      outputSchema = schema, handler = answer_text }, "force"), 1, true)
  end)
end)

describe("a result that is almost an envelope", function()
  local near = {
    { { source = "http" }, "statusCode, a number" },
    { { source = "http", statusCode = "200" }, "statusCode, a number" },
    { { source = "local", operationId = "a.b" }, "operationId, a string, and timestamp, a number" },
    { { source = "mcp", isError = true }, "isError, a boolean, and content, an array" },
  }
  local function told_of(meta, schema)
    local told = {}
    local registry = operations.registry({ on_warning = function(warning) told[#told + 1] = warning end })
    local value = { data = 1, meta = meta }
    assert(registry:register({ namespace = "a", name = "b", outputSchema = schema, handler = function()
      return value
    end }))
    local envelope = assert(registry:execute("a.b", {}))
    assert(registry:register({ namespace = "a", name = "s", type = "subscription", handler = function(_, context)
      context.emit(value)
    end }))
    for event in registry:subscribe("a.s", {}) do
      assert.equal(envelope.meta.source, event.meta.source)
    end
    return told, envelope
  end

  it("is data, which on_warning is told, also of events", function()
    for _, case in ipairs(near) do
      for _, schema in ipairs({ true, { type = "object", properties = { data = { type = "string" } } } }) do
        local told, envelope = told_of(case[1], schema)
        assert.equal("local", envelope.meta.source)
        assert.same(schema == true and case[1] or nil, envelope.data.meta)
        assert.same({ "a.b", "a.s" }, { told[1].operationId, told[2].operationId })
        local issues = told[1].issues
        assert.equal("/meta", issues[#issues].path)
        assert.equal("an envelope of this source has " .. case[2] .. "; it is data", issues[#issues].message)
      end
    end
  end)

  it("is not what names no source of an envelope, or is one", function()
    for _, meta in ipairs({ {}, { source = "ftp" }, { source = 1 }, { source = "http", statusCode = 200 }, 1 }) do
      assert.same({}, (told_of(meta, true)))
    end
  end)
end)

describe("a result", function()
  it("is wrapped in a local envelope", function()
    local envelope = answer({ handler = function() return 5 end })
    assert.equal(5, envelope.data)
    assert.equal("local", envelope.meta.source)
  end)

  it("that takes long is finished like any other, in a task and outside", function()
    local schema = { type = "array", items = { type = "object",
      properties = { i = { type = "integer" }, n = { type = "integer", default = 7 } } } }
    local function run_long()
      return answer({ outputSchema = schema, handler = function()
        local list = {}
        for i = 1, 5000 do
          list[i] = { i = i }
        end
        local envelope = operations.local_envelope(list, "a.b")
        local_calls.takes_long(envelope)
        return envelope
      end }, {}, { normalize = "cast" })
    end
    for _, run in ipairs({ run_long, function() return operations.run(run_long) end }) do
      local envelope = run()
      assert.equal(5000, #envelope.data)
      assert.same({ { i = 1, n = 7 }, { i = 5000, n = 7 } }, { envelope.data[1], envelope.data[5000] })
    end
  end)

  it("of nothing is an envelope without data", function()
    local envelope = answer({ handler = function() end })
    assert.is_nil(envelope.data)
    assert.is_true(operations.is_response_envelope(envelope))
  end)

  it("that is an envelope already passes through", function()
    local mine = operations.http_envelope({ a = 1 }, { statusCode = 201 })
    local envelope = answer({ handler = function() return mine end })
    assert.equal(201, envelope.meta.statusCode)
    assert.same({ a = 1 }, envelope.data)
  end)

  it("that only looks like an envelope is data", function()
    for _, meta in ipairs({ { source = "http" }, { source = "local" }, { source = "ftp", statusCode = 200 } }) do
      local mine = { data = 1, meta = meta }
      local envelope = answer({ handler = function() return mine end })
      assert.equal("a.b", envelope.meta.operationId)
      assert.equal(mine, envelope.data)
    end
  end)

  it("loses properties its schema does not know, valid or not", function()
    assert.same({ id = "x", total = 1, state = "open" }, answer(returning({ id = "x", total = 1, secret = 1 })).data)
  end)

  it("gets its defaults, of optional properties too", function()
    assert.equal("open", answer(returning({ id = "x", total = 1 })).data.state)
  end)

  it("is converted where nothing is lost", function()
    assert.equal(12, answer(returning({ id = "x", total = "12" })).data.total)
    assert.equal(0, #one_operation.warnings)
  end)

  it("keeps null where null is allowed", function()
    assert.equal(operations.null, answer(returning({ id = "x", total = 1, note = operations.null })).data.note)
    assert.equal(0, #one_operation.warnings)
  end)

  it("marked as an object is an object, marked as an array is refused", function()
    local function check(value, count)
      local definition = { outputSchema = { type = "object" }, handler = function() return value end }
      assert.equal(value, answer(definition).data)
      assert.equal(count, #one_operation.warnings)
    end
    check(operations.object(), 0)
    check(operations.object({ a = 1 }), 0)
    check(operations.array({ 1 }), 1)
    check({ 1 }, 1)
  end)

  it("that does not fit stays as it is and is warned of with its path", function()
    local envelope = answer(returning({ id = "x", total = "many" }))
    assert.equal("many", envelope.data.total)
    assert.equal(1, #one_operation.warnings)
    assert.equal("a.b", one_operation.warnings[1].operationId)
    assert.equal("/total", one_operation.warnings[1].issues[1].path)
  end)

  it("that may be anything is warned of when it cannot be said in JSON", function()
    local output = { type = "object", properties = { any = {} } }
    answer({ outputSchema = output, handler = function() return { any = { f = print } } end })
    assert.equal("/any/f", one_operation.warnings[1].issues[1].path)
    answer({ outputSchema = output, handler = function() return { any = { f = 1 } } end })
    assert.same({}, one_operation.warnings)
  end)

  it("of nothing is not invented", function()
    local envelope = answer({ outputSchema = task_schema, handler = function() end })
    assert.is_nil(envelope.data)
    assert.equal(1, #one_operation.warnings)
  end)

  it("without a value is kept in an envelope of the handler's own", function()
    local envelope = answer(returning(operations.http_envelope(nil, { statusCode = 204 })))
    assert.equal(204, envelope.meta.statusCode)
    assert.is_nil(envelope.data)
    assert.equal(0, #one_operation.warnings)
  end)

  it("of an MCP tool that failed is no output: the schema does not count", function()
    local blocks = operations.array({ { type = "text", text = "no" } })
    local mine = operations.mcp_envelope(blocks, { isError = true, content = blocks })
    local envelope = answer(returning(mine), nil, { normalize = "force" })
    assert.equal(mine, envelope)
    assert.equal(0, #one_operation.warnings)
    answer(returning(operations.mcp_envelope(blocks, { content = blocks })))
    assert.equal(1, #one_operation.warnings)
  end)

  it("is made to fit by force, each replacement reported", function()
    local envelope = answer(returning({ id = "x", total = "many" }), nil, { normalize = "force" })
    assert.equal("number", type(envelope.data.total))
    assert.equal(1, #one_operation.warnings)
    assert.equal("/total", one_operation.warnings[1].changes[1].path)
    assert.equal("many", one_operation.warnings[1].changes[1].old)
  end)

  it("that does not fit fails where the registry says so, and is no warning", function()
    local envelope, err = answer(returning({ id = "x", total = "many" }), nil, { on_mismatch = "fail" })
    assert.is_nil(envelope)
    assert.equal('OUTPUT_INVALID: a.b: the result does not fit its schema: /total: expected integer, got "many"',
      tostring(err))
    assert.equal("/total", err.details[1].path)
    assert.same({}, one_operation.warnings)
    assert.same({}, one_operation.logged)
    assert.equal(12, answer(returning({ id = "x", total = "12" }), nil, { on_mismatch = "fail" }).data.total)
  end)

  it("that does not fit as a whole is logged so", function()
    local logged = {}
    local registry = operations.registry({ log = function(_, message)
      logged[#logged + 1] = message
    end })
    local definition = one_operation.returning("x")
    definition.namespace, definition.name = "a", "b"
    assert(registry:register(definition))
    assert(registry:execute("a.b"))
    assert.same({ 'a.b: result does not fit its schema: result: expected object, got "x"' }, logged)
  end)

  it("fails or not as the operation says before the registry", function()
    local definition = returning({ id = "x", total = "many" })
    definition.on_mismatch = "fail"
    assert.equal("OUTPUT_INVALID", select(2, answer(definition)).code)
    local _, whole = answer(returning("x"), nil, { on_mismatch = "fail" })
    assert.equal('a.b: the result does not fit its schema: result: expected object, got "x"', whole.message)
    definition.on_mismatch = "warn"
    assert.equal("many", answer(definition, nil, { on_mismatch = "fail" }).data.total)
    assert.equal(1, #one_operation.warnings)
  end)

  it("fails after it was normalized, in an envelope of the handler's own too", function()
    local options = { on_mismatch = "fail", normalize = "force" }
    assert.equal("number", type(answer(returning({ id = "x", total = "many" }), nil, options).data.total))
    assert.equal("/total", one_operation.warnings[1].changes[1].path)
    options.normalize = "off"
    assert.equal("/total", select(2, answer(returning({ id = "x", total = "12" }), nil, options)).details[1].path)
    local envelope = operations.http_envelope({ id = true }, { statusCode = 200 })
    local _, err = answer(returning(envelope), nil, { on_mismatch = "fail" })
    assert.equal("OUTPUT_INVALID", err.code)
    assert.equal(2, #err.details)
    assert.matches("%(and 1 more%)$", err.message)
  end)

  it("that is not there, or a failed tool's, does not fail", function()
    local options = { on_mismatch = "fail" }
    local nothing = operations.http_envelope(nil, { statusCode = 204 })
    assert.equal(204, answer(returning(nothing), nil, options).meta.statusCode)
    local blocks = operations.array({ { type = "text", text = "no" } })
    local mine = operations.mcp_envelope(blocks, { isError = true, content = blocks })
    assert.equal(mine, answer(returning(mine), nil, options))
  end)

  it("is only checked when normalizing is off", function()
    local mine = { id = "x", total = "12", secret = 1 }
    local envelope = answer(returning(mine), nil, { normalize = "off" })
    assert.equal(mine, envelope.data)
    assert.equal("/total", one_operation.warnings[1].issues[1].path)
    assert.equal(12, answer(returning({ id = "x", total = 12 }), nil, { normalize = "off" }).data.total)
    assert.same({}, one_operation.warnings)
  end)

  it("is normalized as the operation says before the registry", function()
    local definition = returning({ id = "x", total = "12" })
    definition.normalize = "off"
    assert.equal("12", answer(definition, nil, { normalize = "force" }).data.total)
  end)

  it("never changes the handler's own table or envelope", function()
    local mine = { id = "x", total = "12", secret = 1 }
    answer(returning(mine))
    assert.same({ id = "x", total = "12", secret = 1 }, mine)
    local envelope = operations.http_envelope(mine, { statusCode = 200 })
    local result = answer(returning(envelope))
    assert.equal(mine, envelope.data)
    assert.equal(12, result.data.total)
    assert.equal(200, result.meta.statusCode)
  end)

  it("tells of every change when asked to", function()
    local seen = {}
    answer(returning({ id = "x", total = "12", secret = 1 }), nil, {
      on_change = function(id, list)
        assert.equal("a.b", id)
        for _, change in ipairs(list) do
          seen[change.kind] = change.path
        end
      end,
    })
    assert.same({ stripped = "/secret", converted = "/total", defaulted = "/state" }, seen)
  end)
end)

describe("a handler's envelope", function()
  it("is read without its metamethods", function()
    local hostile = { __index = function() error("asked") end }
    local meta = setmetatable({ source = "http", statusCode = 204 }, hostile)
    local given = setmetatable({ meta = meta }, hostile)
    local output = { handler = function() return given end, outputSchema = { type = "string" } }
    assert.equal(given, answer(output))
  end)
end)

describe("finishing a result", function()
  local output = assert(schemas.compile({ type = "object", properties = {
    n = { type = "integer" }, k = { type = "integer" }, any = {},
  } }))

  local function list(items, field)
    local texts = {}
    for i, item in ipairs(items or {}) do
      texts[i] = (item[field] and item[field] .. " " or "") .. item.path
    end
    table.sort(texts)
    return items and table.concat(texts, ", ") or "none"
  end

  -- The data, the issues and changes of the warning, and the changes that are told; or the issues of the error.
  local function finished(value, mode, tells, fails)
    local operation = core.registry(mode, tells, fails):operation({ namespace = "a", name = "b" }, nil, output)
    local results = compat.pack(operation:finish(value, nil, "more"))
    local envelope, warning, changes = results[1], results[2], results[3]
    if not envelope then
      assert.same({ 2, "OUTPUT_INVALID" }, { results.n, warning.code })
      return { "fails", list(warning.details) }
    end
    assert.equal(3, results.n)
    assert.is_true(operations.is_response_envelope(envelope))
    assert.is_true(warning == nil or warning.operationId == "a.b")
    local n, k = envelope.data.n, envelope.data.k
    return { operations.json.encode({ n, k }), warning and list(warning.issues) or "no warning",
      list(warning and warning.changes, "kind"), list(changes, "kind") }
  end

  local cases = {
    { { n = 1, k = 2 }, off = { '[1,2]', "no warning", "none" }, cast = { '[1,2]', "no warning", "none" },
      force = { '[1,2]', "no warning", "none" } },
    { { n = "1", k = 2 }, off = { '["1",2]', "/n", "none" }, cast = { '[1,2]', "no warning", "none", "converted /n" },
      force = { '[1,2]', "no warning", "none", "converted /n" } },
    { { n = "x", k = "2" }, off = { '["x","2"]', "/k, /n", "none" }, cast = { '["x",2]', "/n", "none", "converted /k" },
      force = { '[0,2]', "", "replaced /n", "converted /k, replaced /n" } },
    { { n = "x", k = "y" }, off = { '["x","y"]', "/k, /n", "none" }, cast = { '["x","y"]', "/k, /n", "none" },
      force = { '[0,0]', "", "replaced /k, replaced /n", "replaced /k, replaced /n" } },
    { { any = { print }, n = "x", k = 2 }, off = { '["x",2]', "/any/0, /n", "none" },
      cast = { '["x",2]', "/any/0, /n", "none" } },
    { { any = { print }, n = 1, k = 2 }, off = { '[1,2]', "/any/0", "none" }, cast = { '[1,2]', "/any/0", "none" } },
  }

  for _, mode in ipairs({ "off", "cast", "force" }) do
    for _, tells in ipairs({ false, true }) do
      it(("gives data, a warning and changes: %s, %s"):format(mode, tells), function()
        for i, case in ipairs(cases) do
          local data, expected = case[1], case[mode]
          for _, value in ipairs(expected and { data, operations.http_envelope(data, { statusCode = 200 }) } or {}) do
            local all = { expected[1], expected[2], expected[3], tells and expected[4] or "none" }
            assert.same(all, finished(value, mode, tells, false), i)
            local misfits = expected[2] ~= "no warning" and expected[2] ~= ""
            assert.same(misfits and { "fails", expected[2] } or all, finished(value, mode, tells, true), i)
          end
        end
      end)
    end
  end

  it("needs nothing where anything fits, and gives back an envelope of the handler's own", function()
    local operation = core.registry():operation({ namespace = "a", name = "b" })
    for _, value in ipairs({ 1, "x", false, { 1 }, { meta = { source = "x" } } }) do
      local results = compat.pack(operation:finish(value, "no step", "more"))
      assert.equal(1, results.n)
      assert.same({ value, "local", "a.b" },
        { results[1].data, results[1].meta.source, results[1].meta.operationId })
    end
    local own = operations.http_envelope(1, { statusCode = 200 })
    assert.same({ own, n = 1 }, compat.pack(operation:finish(own, nil, "more")))
    assert.equal(0, select("#", operation:ahead(own)))
  end)
end)
