local core = require("operations.core")
local identical = require("spec.support.identical")
local json = require("operations.base.json")
local random_schema = require("spec.support.random_schema")
local schema = require("operations.schema")

local seeds = 600

local function text(value)
  return value == nil and "nil" or assert(json.encode(value, { sort_keys = true }))
end

local function each(visit)
  for seed = 1, seeds do
    local pick = random_schema.generator(seed * 7919)
    local definition = random_schema.schema(pick, 2)
    local compiled = assert(schema.compile(definition))
    for _ = 1, 3 do
      local value = random_schema.value(pick, 2)
      visit(compiled, value, definition, "seed " .. seed .. ": " .. text(definition) .. " with " .. text(value))
    end
  end
end

describe("whatever the schema and the value are", function()
  it("a value is valid or has issues", function()
    each(function(compiled, value, _, label)
      local ok, issues = compiled:check(value)
      assert.is_true(ok or #issues > 0, label)
    end)
  end)

  it("casting twice is casting once", function()
    each(function(compiled, value, _, label)
      local once = compiled:cast(value)
      assert.equal(text(once), text((compiled:cast(once))), label)
    end)
  end)

  it("forcing twice is forcing once", function()
    each(function(compiled, value, _, label)
      local once = compiled:cast(value, "force")
      assert.equal(text(once), text((compiled:cast(once, "force"))), label)
    end)
  end)

  it("casting is the same with and without a list of changes", function()
    each(function(compiled, value, _, label)
      for _, mode in ipairs({ "cast", "force" }) do
        assert.is_true(identical((compiled:cast(value, mode)), (compiled:cast(value, mode, false))), label)
      end
    end)
  end)

  it("casting keeps a valid value valid", function()
    each(function(compiled, value, _, label)
      if compiled:check(value) then
        assert.is_true(compiled:check((compiled:cast(value))), label)
      end
    end)
  end)

  it("casting changes nothing without saying so", function()
    each(function(compiled, value, _, label)
      local result, changes = compiled:cast(value)
      if #changes == 0 and text(value):find("{}", 1, true) == nil then
        assert.equal(text(value), text(result), label)
      end
    end)
  end)

  it("an operation warns of what checking its result finds", function()
    each(function(compiled, value, _, label)
      for _, mode in ipairs({ "cast", "force" }) do
        local operation = core.registry(mode):operation({ namespace = "a", name = "law" }, nil, compiled)
        local envelope, warning = operation:finish(value)
        local ok, issues = compiled:check(envelope.data)
        assert.same(not ok and issues or warning and {}, warning and warning.issues, label)
        assert.is_true(ok == (warning == nil) or warning.changes ~= nil, label)
      end
    end)
  end)

  it("no input is changed", function()
    each(function(compiled, value, _, label)
      local before = text(value)
      compiled:check(value)
      compiled:cast(value)
      compiled:cast(value, "force")
      compiled:fill(value)
      assert.equal(before, text(value), label)
    end)
  end)

  it("forcing is casting, and then replacing where that does not fit", function()
    each(function(compiled, value, _, label)
      local result, changes = compiled:cast(value)
      local forced, more = compiled:cast(value, "force")
      for i, change in ipairs(changes) do
        assert.same(change, more[i], label)
      end
      local first = more[#changes + 1] -- schemas that it makes apply may change more
      assert.is_true(first == nil or first.kind == "replaced", label)
      if #more == #changes then
        assert.is_true(identical(result, forced), label)
      elseif compiled:check(result) then
        error("changes what fits: " .. label)
      end
    end)
  end)
end)

-- A random union of objects, however nested. Each of its leaves is an object with a tag, members of its own, one that
-- all share and an enum. Returns also the leaves, each with a value that is valid for it.
local function random_union(pick)
  local leaves, defs = {}, { base = { type = "object", required = { "status" },
    properties = { status = { enum = { "on", "off" } }, shared = { type = "integer" } } } }
  local function leaf()
    local tag = "t" .. #leaves + 1
    local own, value = { tag = { const = tag } }, { tag = tag, status = "off", shared = pick(9) }
    for i = 1, pick(4) do
      own[tag .. i] = ({ { type = "integer" }, { type = "string" }, true })[pick(3)]
      value[tag .. i] = own[tag .. i] == true and { pick(9) } or own[tag .. i].type == "integer" and pick(9) or "s"
    end
    leaves[#leaves + 1] = value
    local part = { properties = own, required = { "tag" } }
    local case = pick(5)
    if case == 1 then
      own.status, own.shared = defs.base.properties.status, defs.base.properties.shared
      return { type = "object", properties = own, required = { "tag", "status" } }
    elseif case == 2 then
      return { allOf = { part, { ["$ref"] = "#/$defs/base" } } }
    elseif case == 3 then
      defs[tag] = { allOf = { { ["$ref"] = "#/$defs/base" }, part } }
      return { ["$ref"] = "#/$defs/" .. tag }
    elseif case == 4 then
      return { ["$ref"] = "#/$defs/base", properties = own, required = { "tag" } }
    end
    return { allOf = { { ["$ref"] = "#/$defs/base" } }, ["if"] = { required = { "tag" } }, ["then"] = part,
      required = { "tag" } }
  end
  local function union(depth)
    local branches = {}
    for i = 1, 1 + pick(3) do
      branches[i] = depth > 0 and pick(3) == 1 and union(depth - 1) or leaf()
    end
    return { [pick(2) == 1 and "anyOf" or "oneOf"] = branches }
  end
  local definition = union(2)
  definition["$defs"] = defs
  return definition, leaves
end

describe("a random union", function()
  local function each_leaf(visit)
    for seed = 1, 300 do
      local definition, leaves = random_union(random_schema.generator(seed * 15485863))
      local compiled = assert(schema.compile(definition))
      for _, value in ipairs(leaves) do
        local label = "seed " .. seed .. ": " .. text(definition) .. " with " .. text(value)
        assert.is_true(compiled:check(value), label)
        visit(compiled, value, label)
      end
    end
  end

  -- A copy with one member set.
  local function with(value, name, member)
    local copy = {}
    for key, kept in pairs(value) do
      copy[key] = kept
    end
    copy[name] = member
    return copy
  end

  it("loses nothing of a value that is valid for a branch, nor of one with a new value in an enum", function()
    each_leaf(function(compiled, value, label)
      assert.equal(text(value), text((compiled:cast(value))), label)
      local spoiled = with(value, "status", "new")
      assert.equal(text(spoiled), text((compiled:cast(spoiled))), label)
    end)
  end)

  it("loses nothing but a member that no branch declares", function()
    each_leaf(function(compiled, value, label)
      for _, status in ipairs({ "on", "new" }) do
        local known = with(value, "status", status)
        assert.equal(text(known), text((compiled:cast(with(known, "unknown", 1)))), label)
      end
    end)
  end)

  it("is forced to nothing but a value of the enum", function()
    each_leaf(function(compiled, value, label)
      assert.equal(text(with(value, "status", "on")), text((compiled:cast(with(value, "status", "new"), "force"))),
        label)
    end)
  end)
end)

-- A random schema of nested unions whose branches share names, need not have a tag, and may be open, closed or lists.
-- Returns also values, each valid for one of the branches.
local function nested_unions(pick)
  local defs, names, generate = {}, 0, nil
  local function name(prefix)
    names = names + 1
    return prefix .. names
  end
  local function scalar()
    local case = pick(4)
    if case == 1 then
      return { type = "integer" }, { pick(50) }
    elseif case == 2 then
      return { enum = { "on", "off" } }, { "off" }
    elseif case == 3 then
      return true, { { x = pick(9), y = { z = "q" } } }
    end
    return { type = "string" }, { "s" .. pick(50) }
  end
  local function object(depth, tag)
    local definition = { type = pick(3) > 1 and "object" or nil, properties = { tag = tag and { const = tag } },
      required = { tag and "tag" } }
    local value = { tag = tag }
    for i = 1, pick(3) do
      local member, values = generate(depth - 1)
      local key = pick(3) == 1 and "c" .. i or name("p")
      definition.properties[key], value[key] = member, values[pick(#values)]
      if pick(2) == 1 then
        table.insert(definition.required, key)
      end
    end
    if pick(12) == 1 then
      definition.additionalProperties = false
    end
    return definition, { value }
  end
  local function disguised(definition)
    local case = pick(8)
    if case == 1 then
      local key = name("d")
      defs[key] = definition
      return { ["$ref"] = "#/$defs/" .. key }
    end
    return case == 2 and { allOf = { definition } } or case == 3 and { anyOf = { definition } } or
      case == 4 and { oneOf = { definition, { type = "null" } } } or
      case == 5 and { ["if"] = { type = "object" }, ["then"] = definition } or definition
  end
  local function union(depth)
    local branches, all, tagged, lists = {}, {}, pick(2) == 1, pick(6) == 1
    for i = 1, 1 + pick(3) do
      local branch, values = object(depth, tagged and name("t") or nil)
      if pick(8) == 1 then
        branch, values = { type = "object" }, { { x = 1, y = { z = "q" } } }
      elseif branch.additionalProperties == nil and pick(3) == 1 then
        local key, shared, found = name("b"), scalar()
        values[1][key] = found[1]
        branch = { allOf = { branch, { type = "object", properties = { [key] = shared } } } }
      end
      branch = branch.properties and disguised(branch) or branch
      branches[i] = lists and { type = "array", items = branch } or branch
      for _, value in ipairs(values) do
        all[#all + 1] = lists and { value } or value
      end
    end
    return { [pick(2) == 1 and "anyOf" or "oneOf"] = branches }, all
  end
  function generate(depth)
    local case = depth > 0 and pick(5) or 1
    if case == 1 then
      return scalar()
    elseif case == 2 then
      local items, values = generate(depth - 1)
      return { type = "array", items = items }, { { values[pick(#values)] } }
    elseif case == 3 then
      return object(depth)
    end
    return union(depth)
  end
  local definition, values = union(2)
  definition["$defs"] = defs
  return definition, values
end

-- Visits every table of a value and what is in it, also in its copy.
local function members_of(value, copy, path, visit)
  for key, member in pairs(value) do
    local below = path .. "/" .. key
    visit(copy, key, below)
    if type(member) == "table" and type(copy[key]) == "table" then
      members_of(member, copy[key], below, visit)
    end
  end
end

describe("a union whose branches share names, are open or are lists", function()
  it("loses nothing of a value of a branch, nor anything else of one in which a member is wrong", function()
    for seed = 1, 200 do
      local pick = random_schema.generator(seed * 15485863 + 17)
      local definition, values = nested_unions(pick)
      local compiled = assert(schema.compile(definition))
      for _, value in ipairs(values) do
        local function assert_kept(given)
          local result = compiled:cast(given)
          members_of(given, result, "", function(copy, key, path)
            assert.is_not_nil(copy[key],
              ("seed %d: %s with %s lost %s"):format(seed, text(definition), text(given), path))
          end)
        end
        assert_kept(value)
        local places = {}
        members_of(value, value, "", function(at, key, path) places[#places + 1] = { at, key, path } end)
        table.sort(places, function(a, b) return a[3] < b[3] end)
        local place = places[pick(#places + 1)]
        if place then
          local at, key = place[1], place[2]
          local right = at[key]
          at[key] = type(right) == "table" and "wrong" or { "wrong" }
          assert_kept(value)
          at[key] = right
        end
      end
    end
  end)
end)

-- A scalar as many tables deep.
local function nested(depth, wrap)
  local value = "7"
  for _ = 1, depth do
    value = wrap(value)
  end
  return value
end

describe("the limit of nesting", function()
  local again = { ["$ref"] = "#/$defs/n" }
  local wide = { next = again }
  for i = 1, 80 do
    wide["p" .. i] = { type = "integer" }
  end
  local function in_object(value) return { k = "a", next = value } end
  for name, case in pairs({
    ["objects"] = { { type = { "object", "integer" }, properties = { next = again } }, in_object },
    ["arrays"] = { { type = { "array", "integer" }, items = again }, function(value) return { value } end },
    ["unions"] = { { oneOf = { { type = "integer" }, { type = "object", properties = { next = again } } } },
      in_object },
    ["tagged unions"] = { { oneOf = { { type = "integer" },
      { type = "object", required = { "k" }, properties = { k = { const = "a" }, next = again } },
      { type = "object", required = { "k" }, properties = { k = { const = "b" } } } } }, in_object },
    ["wide objects"] = { { type = { "object", "integer" }, properties = wide }, in_object },
  }) do
    it("is the same for " .. name .. " with and without a list of changes", function()
      local compiled = assert(schema.compile({ ["$ref"] = "#/$defs/n", ["$defs"] = { n = case[1] } }))
      for _, depth in ipairs({ 1, 60, 253, 254, 255, 510, 511, 512, 513 }) do
        local value = nested(depth, case[2])
        local listed, unlisted = compiled:cast(value), compiled:cast(value, "cast", false)
        assert.equal(listed == value, unlisted == value)
      end
    end)
  end
end)

describe("an object of many properties", function()
  local properties, required = {}, {}
  for i = 1, 60 do
    properties["p" .. i] = { type = "integer", default = i % 7 == 0 and i or nil }
    required[#required + 1] = i % 20 == 0 and "p" .. i or nil
  end
  local compiled = assert(schema.compile({ type = "object", properties = properties, required = required }))

  it("is cast to the same with and without a list of changes, however many it has", function()
    for seed = 1, 200 do
      local pick, value = random_schema.generator(seed * 104729), {}
      for i = 1, 64 do
        if pick(200) <= seed then
          value[pick(30) == 1 and "x" .. i or "p" .. i] = pick(3) == 1 and tostring(i) or i
        end
      end
      local listed, unlisted = compiled:cast(value), compiled:cast(value, "cast", false)
      assert.is_true(identical(listed, unlisted), "seed " .. seed .. ": " .. text(value))
      assert.equal(7, unlisted.p7)
      assert.is_nil(unlisted.x1 or unlisted.p61)
    end
  end)
end)
