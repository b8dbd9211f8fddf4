--- Tables that change while the core walks them: finalizers add, remove and replace members, and weak tables lose them,
--- whenever garbage is collected. `make asan` runs this file too, which finds memory that is used wrongly.
local at_collections = require("spec.support.at_collections")
local json = require("operations.base.json")
local operations = require("operations")
local random = require("spec.support.random")
local schema = require("operations.schema")

local collections = rawget(_G, "jit") and 200 or 20 -- during each test; LuaJIT's are short
local most = 120 -- members of a table

--- Short and long names, which nothing but the table keeps alive.
local function name()
  local text = random.pick({ "a", "b/", "c~", "" }) .. random.upto(100000)
  return random.chance(20) and text .. ("x"):rep(60) or text
end

local function add(t, count, member)
  for _ = 1, count do
    t[name()] = member()
  end
end

--- Removes and replaces members, and adds some, so that the table is rehashed.
local function change(t, member)
  local names = {}
  for key in next, t do
    names[#names + 1] = key
  end
  for _, key in ipairs(names) do
    if #names > most or random.chance(20) then
      t[key] = nil
    elseif random.chance(20) then
      t[key] = member()
    end
  end
  add(t, random.chance(70) and 20 or 0, member)
end

--- What Lua says, as for `pairs`, when the member that a walk has reached is gone and the table was rehashed.
local function may_raise(err)
  return tostring(err):find("invalid key to 'next'", 1, true) ~= nil
end

--- Calls `run` with tables made of what `member` returns, while they change.
local function while_they_change(member, run)
  for _, mode in ipairs({ "", "v" }) do
    local t, count = nil, 0
    at_collections(function()
      if t then
        change(t, member)
      end
      count = count + 1
      return count > collections
    end, function()
      t = setmetatable({}, mode ~= "" and { __mode = mode } or nil)
      add(t, 60, member)
      local ok, err = xpcall(function() run(t) end, debug.traceback)
      assert(ok or may_raise(err), err)
    end)
  end
end

--- The same with the collectors that the runtime has.
local function with_every_collector(member, run)
  random.seed(41)
  while_they_change(member, run)
  if pcall(collectgarbage, "generational", 1, 1) then
    local ok, err = pcall(while_they_change, member, run)
    collectgarbage("incremental")
    assert(ok, err)
  end
end

local function scalar()
  return random.pick({ random.upto(100), name(), true, 1.5 })
end

local function value()
  local case = random.upto(4)
  if case == 1 then
    return { [name()] = scalar(), a = scalar(), b = "12" }
  elseif case == 2 then
    return { scalar(), scalar() }
  end
  return scalar()
end

local function subschema()
  local case = random.upto(5)
  if case == 1 then
    return { type = "string", title = name() }
  elseif case == 2 then
    return { properties = { [name()] = true }, required = { name() }, const = { name() } }
  elseif case == 3 then
    return { enum = { name(), name() }, default = { [name()] = name() } }
  end
  return random.pick({ true, false })
end

local strict = assert(schema.compile({
  additionalProperties = { type = "integer" },
  patternProperties = { ["^a"] = { type = "string" } },
  propertyNames = { maxLength = 30 },
  minProperties = 200,
}))
local unevaluated = assert(schema.compile({
  anyOf = { { patternProperties = { ["^a"] = { type = "string" } } }, { required = { "b" } } },
  unevaluatedProperties = { type = "array", items = { type = "string" }, uniqueItems = true },
}))
local anything = assert(schema.compile({ properties = { rest = true }, additionalProperties = true }))
local moving = assert(schema.compile({
  allOf = { { patternProperties = { ["^a"] = { type = "string" } } } },
  properties = { a = { default = { x = { 1 } } } },
  required = { "z" },
  additionalProperties = {
    type = { "object", "integer" },
    properties = { a = { type = "integer" }, b = { type = "integer" }, c = { default = { "d" } } },
    required = { "e" },
  },
}))

describe("a table that changes while it is walked", function()
  it("is encoded with each name once, in order", function()
    with_every_collector(scalar, function(t)
      local text = assert(json.encode(t, { sort_keys = true }))
      local last
      for key in text:gmatch('"([^"]*)":') do
        assert(last == nil or last < key, key)
        last = key
      end
    end)
  end)

  it("is encoded as JSON", function()
    with_every_collector(value, function(t)
      local text = json.encode({ t, { t } }, { sort_keys = random.chance(50), indent = 2 })
      assert(text == nil or json.decode(text))
    end)
  end)

  it("is compiled, or refused with issues", function()
    with_every_collector(subschema, function(t)
      for _, keyword in ipairs({ "properties", "patternProperties", "dependentSchemas", "$defs" }) do
        local compiled, err = schema.compile({ [keyword] = t, required = { "a" }, default = t, enum = { t, "x" } })
        assert(compiled or #err.details > 0)
        if compiled then
          compiled:check({ a = 1, x = { t } })
        end
      end
      schema.compile({ oneOf = { { ["$ref"] = "#/$defs/a" } }, ["$defs"] = { a = t, b = { properties = t } } })
      schema.compile(t)
    end)
  end)

  it("is checked", function()
    with_every_collector(value, function(t)
      for _, compiled in ipairs({ strict, unevaluated, anything }) do
        local ok, issues = compiled:check(t)
        assert(ok or #issues > 0)
        for _, issue in ipairs(issues or {}) do
          assert(type(issue.path) == "string" and type(issue.message) == "string")
        end
      end
    end)
  end)

  for _, mode in ipairs({ "cast", "force" }) do
    it("is moved towards a schema by " .. mode, function()
      with_every_collector(value, function(t)
        local _, changes = moving:cast(t, mode)
        for _, made in ipairs(changes) do
          assert(type(made.path) == "string")
        end
        strict:cast(t, mode)
        unevaluated:cast({ a = t, t }, mode)
      end)
    end)
  end

  it("is filled in", function()
    with_every_collector(value, function(t)
      assert(moving:fill(t))
    end)
  end)

  it("is the meta of an envelope", function()
    with_every_collector(value, function(t)
      t.statusCode, t.isError, t.content = 200, false, {}
      for _, make in ipairs({ operations.http_envelope, operations.mcp_envelope }) do
        local ok, made = pcall(make, t, t) -- a finalizer may have removed a field that is required
        assert(not ok or operations.is_response_envelope(made))
      end
    end)
  end)

  it("is registered, and is the input and the result of a call", function()
    with_every_collector(subschema, function(t)
      local registry = operations.registry({ on_warning = function() end })
      local ok = pcall(registry.register, registry, {
        namespace = "a", name = "b", type = "query", _meta = t,
        inputSchema = { type = "object", properties = t }, outputSchema = { properties = { a = { properties = t } } },
        handler = function(input) return { a = input, b = t } end,
      })
      if ok then
        registry:execute("a.b", t)
      end
    end)
  end)
end)
