local entry = require("operations.sources.entry")
local json = require("operations.base.json")

local function of(input, more)
  local spec = { namespace = "a", name = "b", type = "query", inputSchema = input and json.decode(input) }
  for name, value in pairs(more or {}) do
    spec[name] = value
  end
  return entry.of(spec, "s")
end

describe("the entry of an operation", function()
  it("says what lists show of it", function()
    local made = of(nil, { title = "T", tags = { "t" }, description = " One\n two. \n \nThree.",
      _meta = { method = "GET", path = "/x", operationId = "getX", deprecated = true } })
    assert.same({ id = "a.b", source = "s", type = "query", title = "T", summary = "One two.", tags = { "t" },
      method = "GET", path = "/x", operationId = "getX", deprecated = true, signature = "", keys = {} }, made)
    assert.equal("All of it.", of(nil, { description = "All\nof it." }).summary)
    assert.equal("tool", of(nil, { _meta = { tool = "tool" } }).operationId)
    made = of("true", { description = 7, _meta = 7 })
    assert.same({ id = "a.b", source = "s", type = "query", signature = "", keys = {} }, made)
    assert.is_nil(of(nil, { _meta = { deprecated = "yes" } }).deprecated)
  end)

  it("has its keys, with the values that they may have", function()
    assert.same({ { name = "e", values = { "x", "y" } }, { name = "f", values = { true, false } },
      { name = "l", values = { 1 } }, { name = "m", values = { 2 } }, { name = "n", required = true },
      { name = "r", values = { "z" } } }, of([[{"properties":{"e":{"enum":["x","y"]},"f":{"type":"boolean"},
        "l":{"type":"array","items":{"enum":[1]}},"m":{"items":{"enum":[2]}},"n":{"type":"string"},
        "r":{"$ref":"#/$defs/a~1b~0c"}},"required":["n"],"$defs":{"a/b~c":{"$ref":"#/$defs/d"},
        "d":{"enum":["z"]}}}]]).keys)
  end)

  it("follows sixteen references one behind the other", function()
    for count, expected in pairs({ [16] = { { name = "x" } }, [17] = {} }) do
      local input = { ["$ref"] = "#/$defs/n2", ["$defs"] = { ["n" .. count + 1] = { properties = { x = true } } } }
      for i = 2, count do
        input["$defs"]["n" .. i] = { ["$ref"] = "#/$defs/n" .. i + 1 }
      end
      assert.same(expected, of(json.encode(input)).keys)
    end
  end)

  it("follows references, also of the whole, but none that leads nowhere or in a circle", function()
    assert.same({ { name = "x" } }, of('{"$ref":"#/$defs/i","$defs":{"i":{"properties":{"x":true}}}}').keys)
    for _, text in ipairs({ '{"$ref":"#/$defs/i"}', '{"$ref":"#/$defs/i","$defs":{"i":{"$ref":"#/$defs/i"}}}',
      '{"$ref":"other","$defs":{}}', '{"$ref":7}', '{"$ref":"#/$defs/i","$defs":{"i":true}}' }) do
      assert.same({}, of(text).keys)
    end
  end)

  it("has a signature of what is required, and of what is in a body", function()
    local body = of([[{"properties":{"body":{"properties":{"t":true,"u":{"type":"boolean"},"v":true},
      "required":["t","v"]},"o":true,"p":true},"required":["p"]}]])
    assert.equal("body{t v} p", body.signature)
    assert.same({ "body", "o", "p", "t", "u", "v" }, (function()
      local names = {}
      for i, key in ipairs(body.keys) do
        names[i] = key.name
      end
      return names
    end)())
    assert.equal("body", of('{"properties":{"body":{"type":"string"}},"required":["body"]}').signature)
    assert.equal("body{t}", of('{"properties":{"body":{"properties":{"t":true},"required":["t"]}}}').signature)
    assert.equal("", of('{"properties":{"body":{"properties":{"t":true}}}}').signature)
    assert.equal("p", of('{"properties":{"p":{"properties":{"t":true},"required":["t"]}},"required":["p"]}').signature)
  end)
end)

describe("the operation that a word means", function()
  local list = {
    { id = "pets.list-all" }, { id = "pets.get", operationId = "getPetById", method = "GET", path = "/pets/{id}" },
    { id = "shop.get", method = "POST", path = "/shop" }, { id = "shop.deep.name" }, { id = "pets_x.y",
      operationId = "do it" },
  }

  local function ids(word)
    local found = {}
    for i, item in ipairs(entry.find(word, list)) do
      found[i] = item.id
    end
    return found
  end

  it("is its id, in any spelling", function()
    for _, word in ipairs({ "pets.list-all", "PETS/list_all", "pets list all", "pets-list.all", "list-all",
      "List All" }) do
      assert.same({ "pets.list-all" }, ids(word))
    end
    assert.same({ "shop.deep.name" }, ids("deep.name"))
    assert.same({}, ids("name"))
    assert.same({}, ids("list"))
  end)

  it("is its operationId, with or without its namespace", function()
    assert.same({ "pets.get" }, ids("getpetbyid"))
    assert.same({ "pets.get" }, ids("pets.getPetById"))
    assert.same({ "pets_x.y" }, ids("do-it"))
    assert.same({ "pets_x.y" }, ids("pets_x/do it"))
  end)

  it("is its endpoint, whatever the parameters are called", function()
    assert.same({ "pets.get" }, ids("GET /pets/{petId}"))
    assert.same({ "pets.get" }, ids("get   /pets/{}"))
    assert.same({ "shop.get" }, ids("POST /shop"))
    assert.same({}, ids("POST /pets/{id}"))
    assert.same({}, ids("GET /shop"))
  end)

  it("may be several", function()
    assert.same({ "pets.get", "shop.get" }, ids("get"))
  end)

  it("is an error that names the candidates where there is no operation, or more than one", function()
    assert.equal("'get' may be pets.get, shop.get: give the whole id",
      entry.problem("get", entry.find("get", list), list))
    local many = {}
    for i = 1, 7 do
      many[i] = { id = "n" .. i .. ".x" }
    end
    assert.equal("'x' may be n1.x, n2.x, n3.x, n4.x, n5.x or one of 2 more: give the whole id",
      entry.problem("x", many, many))
    many[7], many[6] = nil, nil
    assert.equal("'x' may be n1.x, n2.x, n3.x, n4.x, n5.x: give the whole id", entry.problem("x", many, many))
    assert.equal("no operation 'pets.gat'; did you mean pets.get or shop.get?", entry.problem("pets.gat", {}, list))
    assert.equal("no operation 'shop.deep.names'; did you mean shop.deep.name?",
      entry.problem("shop.deep.names", {}, list))
    assert.equal("no operation 'zzzzzzzz'", entry.problem("zzzzzzzz", {}, list))
  end)
end)
