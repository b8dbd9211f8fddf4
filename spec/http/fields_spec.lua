local core = require("operations.core")

describe("the fields of a head", function()
  local function read(...)
    return core.http_fields(table.concat({ ... }, "\r\n"))
  end

  it("are values by lower-case names, without the blanks around them", function()
    assert.same({ ["content-type"] = "a; b", x = "", ["y z"] = ":" },
      read("Content-Type: \ta; b \t", "X:", "Y z :  : ", "no field", ": no name", ""))
    assert.same({}, read(""))
  end)

  it("of one name are joined, but for cookies", function()
    assert.same({ a = "1, 2, 3", setCookie = { "a=1, 2", "b" } },
      read("A: 1", "Set-Cookie: a=1, 2", "a: 2", "A: 3", "set-cookie: b"))
  end)

  it("of one name are joined however often it is repeated, in between others", function()
    local lines, values = {}, {}
    for i = 1, 2000 do
      lines[i], values[i] = "a: " .. i .. "\r\nb" .. i .. ": x\r\nSet-Cookie: c" .. i .. "\r\n", tostring(i)
    end
    local fields = core.http_fields(table.concat(lines) .. "A: end\r\n  of it\r\n")
    assert.equal(table.concat(values, ", ") .. ", end of it", fields.a)
    assert.equal("x", fields.b2000)
    assert.same({ 2000, "c1" }, { #fields.setCookie, fields.setCookie[1] })
  end)

  it("go on in lines that begin with a blank", function()
    assert.same({ a = "1 2: 3 , 4", b = "5" }, read(" \t0", "A: 1", "\t 2: 3", " ", "B: 5", "no field", "A:4"))
    assert.same({ setCookie = { "a b", "c" } }, read("Set-Cookie: a", " b", "Set-Cookie: c"))
  end)
end)
