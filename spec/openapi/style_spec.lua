local core = require("operations.core")
local operations = require("operations")
local style = require("operations.openapi.style")

local function expanded(name, value, explode, encode)
  return (style.expand(style.expressions[name], "v", value, explode, encode or style.encode))
end

describe("the text of a value", function()
  it("is the same for a string, a number and a boolean", function()
    assert.equal("a b", style.value_text("a b"))
    assert.equal("7", style.value_text(7))
    assert.equal("-1", style.value_text(-1.0))
    assert.equal("0.1", style.value_text(0.1))
    assert.equal("0.30000000000000004", style.value_text(0.1 + 0.2))
    assert.equal("1e+300", style.value_text(1e300))
    assert.equal("1000000000000000", style.value_text(1e15))
    assert.equal("100000000000000000", style.value_text(1e17))
    assert.equal("1e+18", style.value_text(1e18))
    assert.equal("-1e+18", style.value_text(-1e18))
    assert.equal("true", style.value_text(true))
    assert.equal("false", style.value_text(false))
  end)

  it("is the JSON of a list or an object, with sorted keys", function()
    assert.equal("[1,2]", style.value_text({ 1, 2 }))
    assert.equal('{"a":1,"b":2}', style.value_text({ b = 2, a = 1 }))
  end)

  it("is nil for values that cannot be sent", function()
    assert.same({ nil, "expected a finite number" }, { style.value_text(0 / 0) })
    assert.same({ nil, "expected a finite number" }, { style.value_text(math.huge) })
    assert.same({ nil, "expected a finite number" }, { style.value_text(-math.huge) })
    assert.same({ nil, "a null cannot be sent" }, { style.value_text(core.null) })
    assert.same({ nil, "a function cannot be sent" }, { style.value_text(print) })
    local text, message = style.value_text({ "\255" })
    assert.is_nil(text)
    assert.matches("UTF%-8", message)
  end)
end)

-- RFC 6570, 3.2, and OpenAPI's table of styles.
describe("the expression of a style", function()
  local list, map = { "a b", "c" }, { k = "1", l = "2;" }
  for name, expected in pairs({
    simple = { "a%20b,c", "a%20b,c", "k,1,l,2%3B", "k=1,l=2%3B", "", "x" },
    label = { ".a%20b,c", ".a%20b.c", ".k,1,l,2%3B", ".k=1.l=2%3B", ".", ".x" },
    matrix = { ";v=a%20b,c", ";v=a%20b;v=c", ";v=k,1,l,2%3B", ";k=1;l=2%3B", ";v", ";v=x" },
    form = { "v=a%20b,c", "v=a%20b&v=c", "v=k,1,l,2%3B", "k=1&l=2%3B", "v=", "v=x" },
    spaceDelimited = { "v=a%20b%20c", "v=a%20b&v=c", "v=k%201%20l%202%3B", "k=1&l=2%3B", "v=", "v=x" },
    pipeDelimited = { "v=a%20b%7Cc", "v=a%20b&v=c", "v=k%7C1%7Cl%7C2%3B", "k=1&l=2%3B", "v=", "v=x" },
    cookie = { "v=a%20b,c", "v=a%20b; v=c", "v=k,1,l,2%3B", "k=1; l=2%3B", "v=", "v=x" },
  }) do
    it(name .. " writes lists, objects and texts", function()
      assert.same(expected, { expanded(name, list, false), expanded(name, list, true), expanded(name, map, false),
        expanded(name, map, true), expanded(name, "", true), expanded(name, "x", false) })
    end)
  end

  it("joins with the plain delimiter where nothing is encoded", function()
    assert.equal("v=a b c", expanded("spaceDelimited", list, false, style.plain))
    assert.equal("v=a b|c", expanded("pipeDelimited", list, false, style.plain))
    assert.equal("v=a b,c", expanded("form", list, false, style.plain))
  end)

  it("leaves out nulls, and writes nothing of empty values", function()
    assert.equal("a,c", expanded("simple", { "a", core.null, "c" }, false))
    assert.equal("k=1", expanded("form", { k = "1", l = core.null }, true))
    for _, empty in ipairs({ operations.array({}), operations.object({}), { core.null } }) do
      local text, message = style.expand(style.expressions.form, "v", empty, true, style.encode)
      assert.is_nil(text)
      assert.is_nil(message)
    end
  end)

  it("says where a value cannot be sent", function()
    local function refused(value)
      local text, message, path = style.expand(style.expressions.form, "v", value, true, style.encode)
      assert.is_nil(text)
      return message, path
    end
    assert.same({ "a function cannot be sent", "/1" }, { refused({ 1, print }) })
    assert.same({ "a function cannot be sent", "/a~1b~0c" }, { refused({ ["a/b~c"] = print }) })
    assert.same({ "expected a finite number", "/k" }, { refused({ k = 0 / 0 }) })
    assert.same({ "a function cannot be sent" }, { refused(print) })
    assert.same({ nil, "a function cannot be sent" },
      { style.pairs(style.expressions.form, "v", print, true, style.encode) })
  end)

  it("encodes the keys of objects, but for one that encodes nothing", function()
    assert.equal("a%20b=1", expanded("form", { ["a b"] = 1 }, true))
    assert.equal("a b=1", expanded("form", { ["a b"] = 1 }, true, style.plain))
    assert.equal("a%2Fb=/", expanded("form", { ["a/b"] = "/" }, true, style.encode_reserved))
  end)
end)

describe("reserved characters", function()
  it("stay, and so do triplets; characters that would end the value do not", function()
    assert.equal(":/?[]@!$'()*+,;=", style.encode_reserved(":/?[]@!$'()*+,;="))
    assert.equal("%26%23%20%22", style.encode_reserved('&# "'))
    assert.equal("%2F%25%25zz%251", style.encode_reserved("%2F%%zz%1"))
    assert.equal("-._~AZaz09", style.encode_reserved("-._~AZaz09"))
  end)

  it("are encoded where they end a place", function()
    assert.equal("a%2Fb%3Fc%5Bd%5D:", style.reserved_encoder("path")("a/b?c[d]:"))
    assert.equal("a/b%3B", style.reserved_encoder("cookie")("a/b;"))
    assert.equal("a/b;", style.reserved_encoder("query")("a/b;"))
  end)
end)

describe("deepObject", function()
  local function deep(value, arrays)
    local list, message, path = style.deep_pairs("v", value, style.plain, arrays)
    if not list then
      return message, path
    end
    for i, pair in ipairs(list) do
      list[i] = pair[1] .. "=" .. pair[2]
    end
    return table.concat(list, "&")
  end

  it("writes members in brackets, however deep", function()
    assert.equal("v[a]=1&v[b][c]=2", deep({ a = 1, b = { c = 2, d = core.null } }))
    assert.equal("v%5Ba%5D", style.deep_pairs("v", { a = 1 }, style.encode)[1][1])
  end)

  it("writes lists with brackets, indices or by repeating the name", function()
    local value = { a = { "x", "y" } }
    assert.equal("v[a][]=x&v[a][]=y", deep(value))
    assert.equal("v[a][]=x&v[a][]=y", deep(value, "brackets"))
    assert.equal("v[a][0]=x&v[a][1]=y", deep(value, "indices"))
    assert.equal("v[a]=x&v[a]=y", deep(value, "repeat"))
  end)

  it("writes lists of objects and of lists with indices", function()
    assert.equal("v[0][k]=x&v[1][k]=y", deep({ { k = "x" }, { k = "y" } }))
    assert.equal("v[0]=1&v[1][]=2", deep({ 1, { 2 } }))
  end)

  it("says where a value cannot be sent", function()
    assert.same({ "a function cannot be sent", "/a/1" }, { deep({ a = { 1, print } }) })
    assert.same({ "a function cannot be sent", "/a" }, { deep({ a = print }) })
    assert.same({ "a function cannot be sent", "/a~1b~0c" }, { deep({ ["a/b~c"] = print }) })
  end)
end)
