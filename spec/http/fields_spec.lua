local core = require("operations.core")

describe("the fields of a head", function()
  local function read(...)
    return core.http_fields(table.concat({ ... }, "\r\n"))
  end

  it("are values by lower-case names, without the blanks around them", function()
    assert.same({ ["content-type"] = "a; b", x = "", ["y z"] = ":" },
      read("Content-Type: \ta; b \t", "X:", "Y z :  : ", "no field", ": no name", ""))
    assert.same({}, read(""))
    assert.same({ a = "1" }, core.http_fields("A: 1", {}))
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

  it("continue in lines that begin with a blank", function()
    assert.same({ a = "1 2: 3 , 4", b = "5" }, read(" \t0", "A: 1", "\t 2: 3", " ", "B: 5", "no field", "A:4"))
    assert.same({ setCookie = { "a b", "c" } }, read("Set-Cookie: a", " b", "Set-Cookie: c"))
  end)

  local function trimmed(text)
    return (text:gsub("[ \t\n\v\f\r]+$", ""):gsub("^[ \t]+", ""))
  end

  -- The same, line by line.
  local function expected(text)
    local fields, name = {}, ""
    for line in text:gmatch("([^\n]*)\n") do
      local folded = line:find("^[ \t]") ~= nil
      local colon = line:find(":", 1, true)
      if folded or colon then
        name = folded and name or trimmed(line:sub(1, colon - 1)):sub(1, 256):lower()
        local value = trimmed(folded and line or line:sub(colon + 1))
        if name == "set-cookie" then
          local cookies = fields.setCookie or {}
          fields.setCookie = cookies
          if folded and #cookies > 0 then
            cookies[#cookies] = cookies[#cookies] .. " " .. value
          else
            cookies[#cookies + 1] = value
          end
        elseif name ~= "" then
          fields[name] = fields[name] and fields[name] .. (folded and " " or ", ") .. value or value
        end
      end
    end
    return fields
  end

  it("are those of any lines, with any repetition and continuation", function()
    local random = require("spec.support.random")
    local names = { "A", "a", "B", "Set-Cookie", "SET-COOKIE", "Set-Cookiz", "x", "X-Y", " z ", "", ("N"):rep(256),
      ("n"):rep(257), ("n"):rep(400), "@[", "AZ", "\195\132" }
    for letter = 97, 122 do
      names[#names + 1] = string.char(letter, 97 + letter * 7 % 26)
    end
    local blanks = { "", " ", "\t", " \t ", "\v", "\r" }
    for seed = 1, 400 do
      random.seed(seed)
      local lines = {}
      for i = 1, random.upto(40) do
        local value = random.pick(blanks) .. random.pick({ "", "v" .. i, "a: b", "a b", "\0" }) .. random.pick(blanks)
        local kind = random.upto(10)
        lines[i] = (kind == 1 and "nothing" or kind <= 3 and random.pick({ " ", "\t" }) .. value
          or random.pick(names) .. random.pick({ ":", " :" }) .. value) .. random.pick({ "\r\n", "\n" })
      end
      local text = table.concat(lines)
      assert.same(expected(text), core.http_fields(text))
      assert.same(expected(text), core.http_fields((text:gsub("\n$", ""))))
    end
  end)
end)
