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

  it("go on in lines that begin with a blank", function()
    assert.same({ a = "1 2: 3 , 4", b = "5" }, read(" \t0", "A: 1", "\t 2: 3", " ", "B: 5", "no field", "A:4"))
    assert.same({ setCookie = { "a b", "c" } }, read("Set-Cookie: a", " b", "Set-Cookie: c"))
  end)
end)
