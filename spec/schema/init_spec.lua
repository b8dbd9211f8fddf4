local json = require("operations.base.json")
local core = require("operations.core")
local schema = require("operations.schema")

describe("operations.schema", function()
  it("checks what the README of the module promises", function()
    local compiled = assert(schema.compile({
      type = "object",
      properties = { title = { type = "string", maxLength = 20 }, priority = { type = "integer" } },
      required = { "title" },
    }))
    assert.is_true(compiled:check({ title = "x", priority = 1 }))
    local ok, issues = compiled:check({ title = 5 })
    assert.is_false(ok)
    assert.equal("/title", issues[1].path)
    assert.equal("/properties/title/type", issues[1].schemaPath)
    assert.equal("type", issues[1].keyword)
    assert.equal("expected string, got 5", issues[1].message)
    assert.same({ "string" }, issues[1].params.type)
  end)

  it("raises on a wrong argument, naming it", function()
    assert.has_error(function() schema.compile("x") end,
      "bad argument #1 to 'compile' (a schema, table or boolean, expected, got string)")
    assert.has_error(function() schema.compile(true, 5) end,
      "bad argument #2 to 'compile' (table expected, got number)")
    assert.has_error(function() schema.compile(true, { resolve = 1 }) end,
      "bad option 'resolve' to 'compile' (function expected, got number)")
    assert.has_error(function() schema.compile(true, { colour = 1 }) end, "bad option 'colour' to 'compile' (unknown)")
    assert.error_matches(function() schema.compile(true, { draft = "5" }) end, "bad option 'draft'")
    assert.error_matches(function() schema.compile(true, { draft = 5 }) end,
      "bad option 'draft' to 'compile' %(string expected, got number%)")
    assert.error_matches(function() schema.compile(true, { max_issues = 0 }) end, "bad option 'max_issues'")
    -- What stands before is not seen by error_matches: who is to blame.
    local _, raised = pcall(function() local _ = schema.compile(true, { draft = "5" }) end)
    assert.matches("init_spec.lua:%d+: bad option 'draft'", raised)
    assert.error_matches(function() schema.compile(true):cast(1, "hard") end, "invalid option 'hard'")
    assert.error_matches(function() schema.compile(true).check({}, 1) end, "a compiled schema expected")
    assert.error_matches(function() schema.compile(true):check() end, "value expected")
  end)

  it("checks the types of options in C as well", function()
    local right = { documents = "table", formats = "boolean", uri = "string", draft = "string", max_issues = "number",
      max_steps = "number" }
    for name, kind in pairs(right) do
      for _, value in ipairs({ 1, "7", true, {} }) do
        local ok, raised = pcall(function() local _ = core.schema_compile({}, { [name] = value }) end)
        assert.equal(type(value) == kind, ok, name)
        if not ok then
          assert.matches(("bad option '%s' %%(%s expected, got %s%%)$"):format(name, kind,
            type(value)), raised)
        end
      end
    end
    local compiled = core.schema_compile({ format = "date", ["$ref"] = "b" }, { documents = { ["a:b"] = true },
      uri = "a:c", formats = true })
    assert.is_false((compiled:check("x")))
    assert.is_true((core.schema_compile({ format = "date" }, { formats = false }):check("x")))
    assert.is_true((core.schema_compile({ format = "date" }):check("x")))
    local many = {}
    for i = 1, 101 do
      many[i] = i
    end
    assert.equal(100, #select(2, core.schema_compile({ items = { type = "null" } }):check(many)))
  end)

  it("lists in C the documents that it lacks", function()
    local lacking = { allOf = { { ["$ref"] = "a:b#/x" }, { ["$ref"] = "a:c" }, { ["$ref"] = "#/y" } } }
    for _, options in ipairs({ false, {}, { documents = {} }, { documents = { ["a:d"] = true }, formats = true } }) do
      local compiled, err, missing = core.schema_compile(lacking, options or nil)
      assert.is_nil(compiled)
      assert.equal(3, #err.details)
      assert.same({ "a:b", "a:c" }, missing)
    end
    assert.equal("a:meta", select(3, core.schema_compile({ ["$schema"] = "a:meta#" }))[1])
    assert.same({}, (select(3, core.schema_compile({ type = 5 }))))
    assert(core.schema_compile({ ["$ref"] = "a:b" }, { documents = { ["a:b"] = true } }))
    assert(core.schema_compile({ ["$ref"] = "a:b" }, { documents = { ["a:b#"] = true } }))
  end)

  it("takes 1 to 1000000 issues and 1 to 1e15 steps", function()
    for name, most in pairs({ max_issues = 1000000, max_steps = 1e15 }) do
      for _, count in ipairs({ 1, 2, 1.5, most }) do
        assert(schema.compile(true, { [name] = count }))
      end
      for _, count in ipairs({ 0, 0.5, -1, most + 1, math.huge, 0 / 0 }) do
        assert.error_matches(function() schema.compile(true, { [name] = count }) end, "bad option '" .. name .. "'")
      end
    end
    local compiled = assert(schema.compile({ items = { type = "null" } }, { max_issues = 2 }))
    assert.equal(2, #select(2, compiled:check({ 1, 2, 3 })))
  end)

  it("takes the modes \"off\", \"cast\" and \"force\", and lists changes unless told not to", function()
    local compiled = assert(schema.compile({ properties = { a = { type = "integer" }, b = { type = "integer" } } }))
    local value = { a = "1", b = "x" }
    for mode, expected in pairs({ off = value, cast = { a = 1, b = "x" }, force = { a = 1, b = 0 } }) do
      local listed = { compiled:cast(value, mode) }
      assert.equal(2, #listed)
      assert.same(expected, listed[1])
      assert.equal(({ off = 0, cast = 1, force = 2 })[mode], #listed[2])
      assert.same(listed, { compiled:cast(value, mode, true) })
      assert.same({ expected }, { compiled:cast(value, mode, false) })
      assert.equal(1, select("#", compiled:cast(value, mode, false)))
    end
    assert.same({ compiled:cast(value) }, { compiled:cast(value, nil, nil) })
    for _, mode in ipairs({ "", "of", "cas", "casts", "forced", 1, true, {} }) do
      assert.has_error(function() compiled:cast(value, mode) end)
    end
  end)

  it("asks `resolve` for the documents that references need, and for theirs", function()
    local asked = {}
    local compiled = assert(schema.compile({ ["$ref"] = "http://example.com/a.json#/$defs/x" }, {
      resolve = function(uri)
        asked[#asked + 1] = uri
        if uri == "http://example.com/a.json" then
          return { ["$defs"] = { x = { ["$ref"] = "b.json" } } }
        end
        return { type = "integer" }
      end,
    }))
    assert.same({ "http://example.com/a.json", "http://example.com/b.json" }, asked)
    assert.is_true(compiled:check(1))
    local _, issues = compiled:check("x")
    assert.equal("http://example.com/b.json/type", issues[1].schemaPath)
  end)

  it("refuses a reference to an unknown document", function()
    local compiled, err = schema.compile({ properties = { a = { ["$ref"] = "http://example.com/a.json" } } })
    assert.is_nil(compiled)
    assert.equal("VALIDATION_ERROR: /properties/a/$ref: \"http://example.com/a.json\" is not in any of the given"
      .. " documents", tostring(err))
  end)

  it("resolves relative references from `uri`", function()
    local compiled = assert(schema.compile({ ["$ref"] = "other.json" }, {
      uri = "http://example.com/dir/this.json",
      resolve = function(uri) return { const = uri } end,
    }))
    assert.is_true(compiled:check("http://example.com/dir/other.json"))
  end)

  it("knows the metaschemas of its drafts", function()
    for _, uri in ipairs({
      "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
      "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#",
      "http://json-schema.org/draft-04/schema#",
    }) do
      local compiled = assert(schema.compile({ ["$ref"] = uri }))
      assert.is_true(compiled:check({ type = "object", properties = { a = { minLength = 1 } } }), uri)
      assert.is_false((compiled:check({ properties = { a = { minLength = -1 } } })), uri)
      assert.is_false((compiled:check({ type = "text" })), uri)
    end
    assert.is_nil(schema.compile({ ["$ref"] = "https://json-schema.org/draft/2020-12/meta/none" }))
  end)

  it("keeps two compiled schemas apart and outlives its definition", function()
    local definition = { enum = { "a", { 1, { b = json.null } } } }
    local one, two = assert(schema.compile(definition)), assert(schema.compile({ enum = { "b" } }))
    definition = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.is_true(one:check("a"))
    assert.is_false((two:check("a")))
    assert.is_true(one:check({ 1, { b = json.null } }))
  end)

  it("allocates nothing in Lua for a value that conforms", function()
    local compiled = assert(schema.compile({
      type = "object", additionalProperties = false, required = { "a" },
      properties = { a = { type = "string", pattern = "^x" }, b = { type = "array", items = { type = "number" } } },
    }))
    local value = { a = "xyz", b = { 1, 2.5 } }
    local least = math.huge -- of a few rounds: LuaJIT's compiler allocates for itself
    for _ = 1, 5 do
      collectgarbage()
      collectgarbage("stop")
      local before = collectgarbage("count")
      for _ = 1, 1000 do
        compiled:check(value)
      end
      least = math.min(least, collectgarbage("count") - before)
      collectgarbage("restart")
    end
    assert.is_true(least < 1)
  end)
end)
