local mutations = require("spec.mutate.mutations")
local specs_of = require("spec.support.specs_of")

-- The changes to a text, "line kind: text with the change".
local function changes(text, language)
  local list = {}
  for i, mutation in ipairs(mutations.all(text, language)) do
    list[i] = mutation.line .. " " .. mutation.kind .. ": " .. mutations.apply(text, mutation)
  end
  table.sort(list)
  return list
end

describe("the mutations of", function()
  it("a comparison are its opposite and its boundary", function()
    assert.same({ "1 boundary: x = a <= b", "1 comparison: x = a >= b" }, changes("x = a < b", "lua"))
    assert.same({ "1 comparison: x = a != b;" }, changes("x = a == b;", "c"))
    assert.same({ "1 comparison: x = a == b" }, changes("x = a ~= b", "lua"))
  end)

  it("a condition are its negations", function()
    assert.same({ "1 negation: if a and  b then", "1 negation: if a or not b then" },
      changes("if a and not b then", "lua"))
    assert.same({ "1 negation: if (!a || b)", "1 negation: if (a && b)" }, changes("if (!a && b)", "c"))
  end)

  it("a constant are one more, and none of what is one or many", function()
    assert.same({ "1 constant: f(3, x1)" }, changes("f(2, x1)", "lua"))
    assert.same({ "1 constant: f(0)" }, changes("f(1)", "c"))
    assert.same({ "1 constant: f(0u)" }, changes("f(4096u)", "c"))
    assert.same({ "1 constant: f(false)" }, changes("f(true)", "lua"))
  end)

  it("sizes of reserved memory are left out, as a larger size is correct too", function()
    assert.same({ "1 constant: lua_createtable(L, 0, 2); f(3)" }, changes("lua_createtable(L, 0, 2); f(2)", "c"))
    assert.same({}, changes("lua_createtable(L, (int)(a ? f(n) : 0), 2);", "c"))
    assert.same({}, changes("luaL_checkstack(L, n + 8, text), ops_checkstack(L, 4), check_reserve(m, 8)", "c"))
    assert.same({ "1 constant: buffer_reserve(b, n + 3)" }, changes("buffer_reserve(b, n + 2)", "c"))
  end)

  it("an array's size are a smaller one", function()
    assert.same({ "1 constant: static const char text[1], *p;" }, changes("static const char text[64], *p;", "c"))
    assert.same({ "1 constant: char text[SIZE + 1];" }, changes("char text[SIZE + 32];", "c"))
    assert.same({ "2 constant: f(\n  a[3]);" }, changes("f(\n  a[2]);", "c"))
    assert.same({ "1 constant: else a[3] = x;" }, changes("else a[2] = x;", "c"))
  end)

  it("a position that counts as the first one, or of a plain text without magic, are left out", function()
    assert.same({ "1 constant: x = t:sub(1, 3)" }, changes("x = t:sub(1, 2)", "lua"))
    assert.same({ "1 constant: x = t:sub(3)" }, changes("x = t:sub(2)", "lua"))
    assert.same({}, changes('x = t:find("/", 1, true), t:find("\\n", at, true)', "lua"))
    assert.same({ "1 constant: x = t:find(y, 1, false)" }, changes("x = t:find(y, 1, true)", "lua"))
    assert.same({ '1 constant: x = t:find(".", 1, false)' }, changes('x = t:find(".", 1, true)', "lua"))
    assert.same({ '1 constant: x = t:find("\\0", at, false)' }, changes('x = t:find("\\0", at, true)', "lua"))
    assert.same({ "1 constant: x = t:byte(0)" }, changes("x = t:byte(1)", "lua"))
  end)

  it("a statement are left out, of a value returned another one", function()
    assert.same({ "2 dropped statement: do\n  \nend" }, changes("do\n  a.b:c(d)\nend", "lua"))
    assert.same({ "1 returned value:   return nil" }, changes("  return a, b", "lua"))
    assert.same({ "1 dropped statement:   if (p) ;" }, changes("  if (p) free(p);", "c"))
    assert.same({ "1 returned value:   return 0;" }, changes("  return p->n;", "c"))
  end)

  it("text outside of code are left out", function()
    assert.same({}, changes("-- a < b\n--[[ 1\n2 ]] f('==', \"<\\\" >\", [[ 3 ]])", "lua"))
    assert.same({}, changes("#define A 1 \\\n  < 2\n/* 1 <\n 2; */ f(\"!\\\\\", '0'); // == 1", "c"))
    assert.same({}, changes("p->next(q << r);", "c"))
  end)
end)

describe("a change to a Lua file is looked for", function()
  it("in the specs of other rooms that require the file, and of those of other rooms' files that do", function()
    assert.same({ "spec/mcp/server/many_spec.lua", "spec/mcp/server/tool_result_spec.lua",
      "spec/tools/tools_spec.lua" }, specs_of.users("lua/operations/offer/guide.lua"))
  end)

  it("in those of a folder in its room, which is another room", function()
    assert.same({ "spec/openapi/out/components_spec.lua", "spec/openapi/out/version30_spec.lua" },
      specs_of.users("lua/operations/openapi/walk.lua"))
  end)

  it("in no spec outside of its room where no other room requires it", function()
    assert.same({}, specs_of.users("lua/operations/oauth/jwk.lua"))
  end)

  it("in what other rooms say of the nearest folder", function()
    assert.same({ "spec/calls" }, specs_of.elsewhere("lua/operations/calls/redis/link.lua"))
    assert.same({ "spec/server/answer_store_spec.lua" },
      specs_of.elsewhere("lua/operations/middleware/redis_buckets.lua"))
    assert.same({ "spec/value" }, specs_of.elsewhere("src/json/reader.c"))
    assert.same({}, specs_of.elsewhere("lua/operations/openapi/file.lua"))
  end)
end)
