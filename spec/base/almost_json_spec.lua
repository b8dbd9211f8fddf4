local almost_json = require("operations.base.almost_json")
local core = require("operations.core")
local json = require("operations.base.json")

local REPLACEMENT = "\239\191\189"

local function read(text, nulls)
  local _, err = json.decode(text)
  return almost_json.decode(text, assert(err), nulls)
end

describe("a text that is almost JSON", function()
  it("has U+FFFD for invalid UTF-8 and halves of characters", function()
    assert.same({ "a" .. REPLACEMENT, REPLACEMENT .. "\n" }, { read('["a\255"]')[1], read('["\\udc00\\n"]')[1] })
  end)

  it("has null for NaN and infinities where that is asked for, outside strings only", function()
    for text, expected in pairs({
      ["NaN"] = core.null, ["[NaN,-Infinity,Infinity,1]"] = { core.null, core.null, core.null, 1 },
      ['{"NaN":NaN,"b":"\\"Infinity","c":[-NaN]}'] = { NaN = core.null, b = '"Infinity', c = { core.null } },
      ['["\\\\",NaN,"N\255"]'] = { "\\", core.null, "N" .. REPLACEMENT },
    }) do
      assert.same(expected, (read(text, true)))
      assert.is_nil((read(text)))
    end
    local value, _, warning = read("[NaN,1e400]", true)
    assert.same({ core.null, "1e400" }, value)
    assert.matches("out of range", warning)
  end)

  it("is refused as before when that does not help", function()
    for _, text in ipairs({ "[Na]", "[NaN", '["NaN', "[Infinit]", "[NaNa]", '"\\', "{'a':NaN}",
      '["a line end\nin a string\255"]' }) do
      local value, err = read(text, true)
      assert.is_nil(value)
      assert.equal("VALIDATION_ERROR", err.code)
    end
  end)
end)
