local json = require("operations.base.json")
local json_patch = require("operations.base.json_patch")
local operations = require("operations")

local function decode(text)
  return assert(json.decode(text, { keep_order = true }))
end

-- The patched value as text; or nil and the message.
local function patched(value, patch)
  local root = decode(value)
  local result, err = json_patch.apply(root, decode(patch))
  assert.equal(value, json.encode(root, { keep_order = true })) -- the original stays
  if err then
    return nil, err.message, err
  end
  return json.encode(result, { keep_order = true })
end

describe("a JSON patch", function()
  for name, case in pairs({
    ["adds a member, the last one"] = { '{"b":1,"a":2}', '[{"op":"add","path":"/0","value":{"x":[]}}]',
      '{"b":1,"a":2,"0":{"x":[]}}' },
    ["replaces a member that is there by add"] = { '{"b":1,"a":2}', '[{"op":"add","path":"/b","value":null}]',
      '{"b":null,"a":2}' },
    ["inserts into a list, and at its end"] = { '{"l":[1,2]}', '[{"op":"add","path":"/l/1","value":7},'
      .. '{"op":"add","path":"/l/-","value":8},{"op":"add","path":"/l/4","value":9}]', '{"l":[1,7,2,8,9]}' },
    ["adds to an empty list and to an object"] = { '{"l":[],"o":{}}', '[{"op":"add","path":"/l/0","value":1},'
      .. '{"op":"add","path":"/o/-","value":1}]', '{"l":[1],"o":{"-":1}}' },
    ["removes members and items"] = { '{"l":[1,2,3],"a":{"b":1}}',
      '[{"op":"remove","path":"/l/1"},{"op":"remove","path":"/a/b"}]', '{"l":[1,3],"a":{}}' },
    ["replaces, also the whole"] = { '{"a":{"b":1}}', '[{"op":"replace","path":"/a/b","value":false},'
      .. '{"op":"replace","path":"","value":[1]},{"op":"add","path":"/0","value":0}]', "[0,1]" },
    ["moves"] = { '{"a":{"b":1},"l":[1,2]}', '[{"op":"move","from":"/a/b","path":"/c"},'
      .. '{"op":"move","from":"/l/0","path":"/l/1"},{"op":"move","from":"/c","path":"/c"}]',
      '{"a":{},"l":[2,1],"c":1}' },
    ["copies, and changes the copy alone"] = { '{"a":{"b":[1]}}', '[{"op":"copy","from":"/a","path":"/c"},'
      .. '{"op":"add","path":"/c/b/-","value":2}]', '{"a":{"b":[1]},"c":{"b":[1,2]}}' },
    ["reads escapes of pointers, and empty names"] = { '{"a/b":{"~":1},"":2}', '[{"op":"replace","path":"/a~1b/~0",'
      .. '"value":3},{"op":"test","path":"/","value":2},{"op":"remove","path":"/"}]', '{"a/b":{"~":3}}' },
    ["tests by value, objects in any order"] = { '{"a":{"x":1,"y":[null,{}]}}', '[{"op":"test","path":"/a",'
      .. '"value":{"y":[null,{}],"x":1.0}},{"op":"test","path":"","value":{"a":{"x":1,"y":[null,{}]}}}]',
      '{"a":{"x":1,"y":[null,{}]}}' },
    ["does nothing when it is empty"] = { '{"a":1}', "[]", '{"a":1}' },
  }) do
    it(name, function()
      assert.equal(case[3], (assert(patched(case[1], case[2]))))
    end)
  end

  it("leaves its own values as they are", function()
    local patch = decode('[{"op":"add","path":"/a","value":{"b":[]}},{"op":"add","path":"/a/b/-","value":1}]')
    for _ = 1, 2 do
      assert.same({ a = { b = { 1 } } }, json_patch.apply({}, patch))
    end
    assert.same({ l = { 1 } }, json_patch.apply({ l = {} }, { { op = "add", path = "/l/-", value = 1 } }))
  end)

  for name, case in pairs({
    ["of a place that is not there"] = { '{"op":"remove","path":"/a/x"}',
      "(remove /a/x) of the patch: there is no /a/x" },
    ["below a place that is not there"] = { '{"op":"add","path":"/x/y/z","value":1}', "there is no /x" },
    ["below a place that holds nothing"] = { '{"op":"add","path":"/a/b/c","value":1}',
      "there is no /a/b/c: /a/b holds a integer" },
    ["that replaces nothing"] = { '{"op":"replace","path":"/x~1y","value":1}', "there is no /x~1y" },
    ["past the end of a list"] = { '{"op":"add","path":"/l/3","value":1}', "there is no /l/3: the list has 2 items" },
    ["of an index that is none"] = { '{"op":"remove","path":"/l/01"}', "there is no /l/01" },
    ["of the item after the last"] = { '{"op":"replace","path":"/l/-","value":1}', "there is no /l/-" },
    ["from nowhere"] = { '{"op":"move","from":"/x","path":"/y"}', "there is no /x" },
    ["of a place into itself"] = { '{"op":"move","from":"/a","path":"/a/c"}', "/a cannot be moved into itself" },
    ["that tests another value"] = { '{"op":"test","path":"/l","value":[1,2,3]}', "the value at /l is another one" },
    ["that tests a text for a number"] = { '{"op":"test","path":"/a/b","value":"1"}', "is another one" },
    ["without a value"] = { '{"op":"add","path":"/y"}', "it has no value" },
    ["without a path"] = { '{"op":"add","value":1}', "path: expected a JSON Pointer, got" },
    ["with a path that is no pointer"] = { '{"op":"remove","path":"a"}', 'path: expected a JSON Pointer, got "a"' },
    ["with a wrong escape"] = { '{"op":"remove","path":"/a~2"}', "expected a JSON Pointer" },
    ["without a place to copy from"] = { '{"op":"copy","path":"/y"}', "from: expected a JSON Pointer" },
    ["that is not known"] = { '{"op":"merge","path":""}',
      "expected add, remove, replace, move, copy or test, got merge" },
    ["that is no object"] = { "7", "expected an object, got integer" },
    ["that removes the whole"] = { '{"op":"remove","path":""}', "the whole document cannot be removed" },
  }) do
    it("refuses an operation " .. name .. ", and names it", function()
      local result, message, err = patched('{"a":{"b":1},"l":[1,2]}',
        '[{"op":"add","path":"/new","value":1},' .. case[1] .. "]")
      assert.is_nil(result)
      assert.matches("^operation 2", message)
      assert.matches(case[2], message, 1, true)
      assert.same({ "EXECUTION_ERROR", "patch", 2 }, { err.code, err.details.kind, err.details.index })
      assert.is_true(operations.is_error(err))
    end)
  end
end)
