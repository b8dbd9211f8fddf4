local json = require("operations.base.json")
local own_schemas = require("operations.openapi.own_schemas")
local property_order = require("operations.base.property_order")

-- A reader that takes schemas as they are, but for one that refers elsewhere.
local reader = { schema = function(_, schema)
  if type(schema) ~= "table" or schema["$ref"] ~= "elsewhere" then
    return schema
  end
end }

local function read(text)
  return assert(json.decode(text))
end

local function encoded(value)
  return json.encode(value, { sort_keys = true })
end

describe("the parameters of an operation of ours", function()
  it("are those that are no headers", function()
    assert.same({ "a", "b" }, (function()
      local names = {}
      for i, node in ipairs((own_schemas.parameters(read('{"parameters":[{"name":"a","in":"query"},'
        .. '{"name":"h","in":"header"},{"name":"b","in":"path"}]}')))) do
        names[i] = node.name
      end
      return names
    end)())
    assert.same({ {}, true }, { own_schemas.parameters({}) })
    for _, list in ipairs({ "[7]", '[{"in":"query"}]', '[{"name":"a"}]', '[{"name":7,"in":"query"}]' }) do
      assert.same({ {}, false }, { own_schemas.parameters(read('{"parameters":' .. list .. "}")) })
    end
  end)
end)

describe("the input of an operation of ours", function()
  local function of(node, x)
    return encoded(own_schemas.input(reader, read(node), read(x or '{"input":"body"}')))
  end

  it("is an object of its parameters, closed unless it is said to be open", function()
    local node = '{"parameters":[{"name":"b","in":"query","required":true,"schema":{"type":"string"}},'
      .. '{"name":"a","in":"query"},{"name":"c","in":"query","schema":false}]}'
    assert.equal('{"additionalProperties":false,"properties":{"a":true,"b":{"type":"string"},"c":false},'
      .. '"required":["b"],"type":"object"}', of(node, '{"input":"parameters"}'))
    assert.equal('{"properties":{"a":true,"b":{"type":"string"},"c":false},"required":["b"],"type":"object"}',
      of(node, '{"input":"parameters","open":true}'))
    assert.equal('{"additionalProperties":false,"properties":{},"type":"object"}', of("{}", '{"input":"parameters"}'))
  end)

  it("keeps the order of its parameters", function()
    local node = read('{"parameters":[{"name":"b","in":"query"},{"name":"c","in":"path"},{"name":"a","in":"query"}]}')
    local input = own_schemas.input(reader, node, { input = "parameters" })
    assert.same({ "b", "c", "a" }, property_order.names(input.properties))
  end)

  it("is the schema of its body, true where it has none", function()
    assert.equal('{"type":"array"}', of('{"requestBody":{"content":{"application/json":{"schema":{"type":"array"}}}}}'))
    assert.equal('{"type":"string"}', of('{"requestBody":{"content":{"text/plain":{"schema":{"type":"string"}}}}}'))
    for _, node in ipairs({ "{}", '{"requestBody":7}', '{"requestBody":{}}', '{"requestBody":{"content":{}}}',
      '{"requestBody":{"content":{"a/b":7}}}', '{"requestBody":{"content":{"a/b":{}}}}' }) do
      assert.equal("true", of(node))
    end
    assert.is_nil(own_schemas.input(reader, read('{"requestBody":{"content":{"a/b":{"schema":{"$ref":"elsewhere"}}}}}'),
      { input = "body" }))
  end)

  it("has the parameters of the path before the members of its body", function()
    local input = own_schemas.input(reader, read('{"parameters":[{"name":"z","in":"path","schema":{}},'
      .. '{"name":"y","in":"path","schema":{}}],"requestBody":{"content":{"application/json":{"schema":'
      .. '{"type":"object","properties":{"x":{},"a":{}}}}}}}'), { input = "body" })
    assert.same({ "z", "y", "a", "x" }, property_order.names(input.properties))
    local parameters = '"parameters":[{"name":"id","in":"path","schema":{"type":"integer"}},{"name":"q","in":"query"}]'
    local function with(schema)
      return of(('{%s,"requestBody":{"content":{"application/json":{"schema":%s}}}}'):format(parameters, schema))
    end
    assert.equal('{"properties":{"id":{"type":"integer"},"t":true},"required":["id","t"],"type":"object"}',
      with('{"type":"object","properties":{"t":true},"required":["t"]}'))
    assert.equal('{"properties":{"id":{"type":"integer"}},"required":["id"],"type":"object"}',
      with('{"type":"object"}'))
    assert.equal('{"properties":{"id":{"type":"string"}},"required":["id"],"type":"object"}',
      with('{"type":"object","properties":{"id":{"type":"string"}}}'))
    assert.equal('{"type":"array"}', with('{"type":"array"}'))
    assert.equal("true", with("true"))
  end)
end)

describe("the output of an operation of ours", function()
  local function of(node, x)
    return encoded(own_schemas.output(reader, read(node), read(x or '{"type":"query"}')))
  end

  it("is the schema of its success, true without one", function()
    assert.equal('{"type":"string"}',
      of('{"responses":{"201":{"content":{"text/plain":{"schema":{"type":"string"}}}}}}'))
    for _, node in ipairs({ "{}", '{"responses":{"200":7}}', '{"responses":{"404":{}}}', '{"responses":{"200":{}}}',
      '{"responses":{"204":{"content":{"a/b":{"schema":false}}}}}', '{"responses":7}' }) do
      assert.equal("true", of(node))
    end
  end)

  it("of a subscription is the schema of one event", function()
    local node = '{"responses":{"200":{"content":{"application/x-ndjson":{"%s":{"type":"string"}},'
      .. '"text/event-stream":{}}}}}'
    for _, name in ipairs({ "itemSchema", "x-itemSchema" }) do
      assert.equal('{"type":"string"}', of(node:format(name), '{"type":"subscription"}'))
    end
    assert.equal("true", of(node:format("schema"), '{"type":"subscription"}'))
    assert.equal("true", of("{}", '{"type":"subscription"}'))
  end)

  it("has the status of the first success with data", function()
    local function status(responses)
      return select(2, own_schemas.success({ responses = responses }))
    end
    assert.equal("201", status({ ["202"] = {}, ["201"] = {}, ["204"] = {}, default = {} }))
    assert.equal("200", status({ ["204"] = {}, ["2XX"] = {}, ["404"] = {}, [200] = {} }))
    assert.equal("299", status({ ["299"] = 7 }))
    assert.equal("200", status(nil))
  end)
end)

describe("the errors of an operation of ours", function()
  local function of(node, errors)
    local list = own_schemas.errors(reader, read(node), { errors = errors })
    return list and encoded(list)
  end

  it("are those of x-operation, with what their responses say", function()
    local node = [[{"responses":{"410":{"content":{"application/problem+json":{"schema":{"oneOf":[
      {"description":"It is gone","properties":{"details":{"type":"object"}}},
      {"properties":{"code":{"pattern":"^X"}}}]}}}},
      "422":{"content":{"application/problem+json":{"schema":{"anyOf":[{"description":7}]}}}}}}]]
    assert.equal('[{"code":"GONE","description":"It is gone","schema":{"type":"object"},"statusCode":410},'
      .. '{"code":"X_1","description":"","pattern":"^X","schema":true},{"code":"FULL","description":"","schema":true}]',
      of(node, { ["410"] = { "GONE", "X_1" }, ["422"] = { "FULL" } }))
    assert.equal('[{"code":"HTTP_404","description":"","schema":true}]', of("{}", { ["404"] = { "HTTP_404" } }))
    assert.equal('[{"code":"A","description":"","schema":true,"statusCode":404}]', of("{}", { ["404"] = { "A" } }))
  end)

  it("are absent where it declares none", function()
    assert.is_nil(of("{}", nil))
    assert.is_nil(of("{}", {}))
    assert.is_nil(of("{}", { ["404"] = {} }))
  end)
end)
