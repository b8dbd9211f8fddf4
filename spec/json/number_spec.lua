local json = require("operations.base.json")
local random = require("spec.support.random")

local function decodes(text)
  local value, err = json.decode(text)
  assert.is_nil(err)
  return value
end

-- A double of 53 random bits.
local function mantissa()
  return 2 ^ 52 + random.upto(2 ^ 26) * 2 ^ 26 + random.upto(2 ^ 26) - 1
end

-- The fewest digits that read back as `value`, nearest to it, and the power of ten of the first.
local function shortest(value)
  for precision = 0, 16 do
    local text = ("%." .. precision .. "e"):format(value)
    if tonumber(text) == value then
      local digits, exponent = text:match("^([%d.]+)e([+-]%d+)$")
      return digits:gsub("%.", ""):gsub("0+$", ""), tonumber(exponent)
    end
  end
end

-- As JSON has it: digits with a point among them, zeros before them, or an exponent.
local function written(value)
  local digits, exponent = shortest(value)
  if exponent >= 0 and exponent + 1 < #digits then
    return digits:sub(1, exponent + 1) .. "." .. digits:sub(exponent + 2)
  elseif exponent < 0 and exponent >= -6 then
    return "0." .. ("0"):rep(-exponent - 1) .. digits
  end
  return digits:sub(1, 1) .. (#digits > 1 and "." or "") .. digits:sub(2) .. "e" .. ("%d"):format(exponent)
end

describe("a number of JSON", function()
  it("is written with the fewest digits, and those that are nearest", function()
    for seed = 1, 40 do
      random.seed(seed)
      for exponent = -1074 + seed, 970, 37 do
        local value = (mantissa() + 1) * 2 ^ exponent
        if value < 2 ^ 45 or value > 2 ^ 53 then -- between them are integers, and two that are as near
          assert.equal(written(value), json.encode(value))
          assert.equal("-" .. written(value), json.encode(-value))
        end
        assert.equal(value, decodes(json.encode(value)))
      end
    end
  end)

  it("is written so at each power of ten", function()
    for exponent = -323, 308 do
      for _, digits in ipairs({ "1", "9", "15", "123456789", "12345678901234567", "99999999999999999" }) do
        local value = tonumber(digits .. "e" .. exponent)
        if value < math.huge and (value % 1 ~= 0 or value > 2 ^ 53) then
          assert.equal(written(value), json.encode(value))
        end
      end
    end
  end)

  it("is an integer to the last digit within 2^53", function()
    for digits = 1, 15 do
      random.seed(digits)
      for _ = 1, 40 do
        local text = tostring(random.upto(9))
        for _ = 2, digits do
          text = text .. random.upto(10) - 1
        end
        assert.equal(text, json.encode(tonumber(text)))
        assert.equal("-" .. text, json.encode(-tonumber(text)))
        assert.equal(text, json.encode(decodes(text)))
      end
    end
    for n = 0, 1100 do
      assert.equal(("%d"):format(n), json.encode(n))
      assert.equal(("%d"):format(-n - 1), json.encode(-n - 1))
    end
    assert.equal("9007199254740992", json.encode(2 ^ 53))
    assert.equal("-9007199254740991", json.encode(1 - 2 ^ 53))
    assert.equal("-9007199254740992", json.encode(-2 ^ 53))
    assert.equal("9.007199254740994e15", json.encode(2 ^ 53 + 2))
    assert.equal("-9.007199254740994e15", json.encode(-2 ^ 53 - 2))
  end)

  it("is read as the nearest double, whatever its power of ten", function()
    for exponent = -345, 310 do
      random.seed(exponent + 400)
      for digits = 1, 20, 1 + (exponent + 345) % 3 do
        local text = tostring(random.upto(9))
        for _ = 2, digits do
          text = text .. random.upto(10) - 1
        end
        text = text .. (exponent % 2 == 0 and "e" or "E+"):gsub("%+", exponent > 0 and "+" or "") .. exponent
        local expected = tonumber(text)
        if expected < math.huge then
          assert.equal(expected, decodes(text), text)
        else
          assert.is_nil(json.decode(text), text)
        end
      end
    end
  end)

  it("in the middle between two doubles is read as the even one", function()
    for power = -4, 23 do
      random.seed(power + 10)
      for _ = 1, 20 do
        local scale = 5 ^ math.abs(power)
        local text
        if power >= 0 then -- an odd number of 54 bits
          local least = math.ceil(2 ^ 53 / scale)
          local odd = least + random.upto(math.min(least, 2 ^ 30)) - 1
          odd = odd % 2 == 1 and odd or odd + 1
          text = ("%.0fe%d"):format(odd, power)
        else -- halves, quarters, ... of as many bits
          local whole = mantissa() / 2 ^ (-power - 1)
          whole = whole - whole % 1
          text = ("%.0f%s"):format(whole, ("%." .. -power .. "f"):format(2 ^ power):sub(2))
        end
        local expected = tonumber(text)
        assert.equal(expected, decodes(text), text)
        assert.equal(expected, decodes(text .. (text:find("e") and "" or "000")), text)
        for _, tail in ipairs({ "1", "0000000000000000000000001" }) do
          local above = text:find("e") and text:gsub("e", "." .. tail .. "e") or text .. tail
          assert.equal(tonumber(above), decodes(above), above)
        end
      end
    end
  end)

  it("just below a power of two is read as that where it is nearer than any below", function()
    for power = 1, 62 do
      local digits = ("%.0f"):format(2 ^ power)
      local text = digits:sub(1, -2) .. ("%d"):format(digits:sub(-1) - 1)
      if #digits < 18 then
        text = text .. "." .. ("9"):rep(18 - #digits)
      end
      assert.equal(2 ^ power, decodes(text .. "e0"), text)
      for _, exponent in ipairs({ "e-310", "e-300", "e-20", "e-1", "e3", "e30", "e280" }) do
        assert.equal(tonumber(text .. exponent), decodes(text .. exponent), text .. exponent)
      end
    end
  end)

  it("near the least and the largest doubles is read as one of them", function()
    for _, text in ipairs({ "4.9e-324", "2.5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.4e-324",
      "2.2250738585072014e-308", "2.2250738585072011e-308", "2.225073858507201e-308", "1.7976931348623157e308",
      "1.7976931348623158e308", "0.00000000000000000000000000000000000000000001e-280", "1e-342", "1e-343", "1e-400",
      "9.881312916824930883531375857364427447e-324", "0.00001e310", "1000000000000000000000e280",
      "1e308", "17e307", "9999999999999999999e-342", "9999999999999999999e-343" }) do
      assert.equal(tonumber(text), decodes(text), text)
      assert.equal(-tonumber(text), decodes("-" .. text), text)
    end
    for _, text in ipairs({ "123e-1000000000000", "0e999999999999", "0.0e-999999999999" }) do
      assert.equal(0, decodes(text))
    end
    for _, text in ipairs({ "1.7976931348623159e308", "1e309", "1e999999999999", "10000000000e300", "2e308" }) do
      assert.is_nil(json.decode(text), text)
      assert.is_nil(json.decode("-" .. text), text)
    end
  end)

  it("near the least doubles is written with the fewest digits", function()
    for n, text in ipairs({ "5e-324", "1e-323", "1.5e-323", "2e-323", "2.5e-323", "3e-323", "3.5e-323", "4e-323",
      "4.4e-323", "5e-323" }) do
      assert.equal(text, json.encode(n * 2 ^ -1074))
    end
    assert.equal("2.225073858507201e-308", json.encode(2 ^ -1022 - 2 ^ -1074))
    assert.equal("2.2250738585072014e-308", json.encode(2 ^ -1022))
    assert.equal("2.225073858507202e-308", json.encode(2 ^ -1022 + 2 ^ -1074))
    assert.equal("4.450147717014403e-308", json.encode(2 ^ -1021))
  end)

  it("of very many digits is read by all of them", function()
    local half = "9007199254740992.5" -- no double, nor is the next one
    for _, zeros in ipairs({ 1, 3, 20, 740, 760, 770, 780, 2000 }) do
      for _, tail in ipairs({ "0", "1", "9" }) do
        for _, head in ipairs({ half, "4503599627370496.5", "4503599627370497.5", "0.1", "123456789012345678.25" }) do
          local text = head .. ("0"):rep(zeros) .. tail
          assert.equal(tonumber(text), decodes(text))
          assert.equal(tonumber(text .. "e-30"), decodes(text .. "e-30"))
        end
        local large = "1" .. ("0"):rep(zeros) .. tail
        assert.equal(tonumber(large .. "e-" .. zeros), decodes(large .. ".0e-" .. zeros))
      end
    end
  end)
end)
