-- How references are resolved: RFC 3986, section 5.4, by schemas that only the resolved URI finds.
local schema = require("operations.schema")

local BASE = "http://a/b/c/d;p?q"

-- Does `reference`, in a schema at `base`, lead to what is at `target`?
local function leads_to(base, reference, target)
  local compiled = schema.compile({
    ["$id"] = base, properties = { x = { ["$ref"] = reference } },
    ["$defs"] = { there = { ["$id"] = target, type = "string" } },
  })
  local asked
  schema.compile({ ["$id"] = base, properties = { x = { ["$ref"] = reference } } }, { resolve = function(uri)
    asked = uri
    return true
  end })
  return compiled ~= nil and not compiled:check({ x = 5 }) and compiled:check({ x = "text" }) and asked == target
end

local examples = {
  ["g:h"] = "g:h", g = "http://a/b/c/g", ["./g"] = "http://a/b/c/g", ["g/"] = "http://a/b/c/g/", ["/g"] = "http://a/g",
  ["//g"] = "http://g", ["?y"] = "http://a/b/c/d;p?y", ["g?y"] = "http://a/b/c/g?y", [";x"] = "http://a/b/c/;x",
  ["g;x"] = "http://a/b/c/g;x", ["g;x?y"] = "http://a/b/c/g;x?y", ["."] = "http://a/b/c/", ["./"] = "http://a/b/c/",
  [".."] = "http://a/b/", ["../"] = "http://a/b/", ["../g"] = "http://a/b/g", ["../.."] = "http://a/",
  ["../../"] = "http://a/", ["../../g"] = "http://a/g", ["../../../g"] = "http://a/g", ["../../../../g"] = "http://a/g",
  ["/./g"] = "http://a/g", ["/../g"] = "http://a/g", ["g."] = "http://a/b/c/g.", [".g"] = "http://a/b/c/.g",
  ["g.."] = "http://a/b/c/g..", ["..g"] = "http://a/b/c/..g", ["./../g"] = "http://a/b/g",
  ["./g/."] = "http://a/b/c/g/",
  ["g/./h"] = "http://a/b/c/g/h", ["g/../h"] = "http://a/b/c/h", ["g;x=1/./y"] = "http://a/b/c/g;x=1/y",
  ["g;x=1/../y"] = "http://a/b/c/y", ["g?y/./x"] = "http://a/b/c/g?y/./x", ["g?y/../x"] = "http://a/b/c/g?y/../x",
  ["//g/../h?z"] = "http://g/h?z", ["g/.."] = "http://a/b/c/", ["g/."] = "http://a/b/c/g/",
  ["1:g"] = "http://a/b/c/1:g",
  ["G+1.-:h"] = "G+1.-:h", ["az:h"] = "az:h", ["AZ:h"] = "AZ:h", ["a09:h"] = "a09:h",
  ["a_:h"] = "http://a/b/c/a_:h", ["a@:h"] = "http://a/b/c/a@:h", ["a[:h"] = "http://a/b/c/a[:h",
  ["a`:h"] = "http://a/b/c/a`:h", ["a{:h"] = "http://a/b/c/a{:h", ["a/:h"] = "http://a/b/c/a/:h",
  ["a;:h"] = "http://a/b/c/a;:h", ["a,:h"] = "http://a/b/c/a,:h", [":h"] = "http://a/b/c/:h",
  ["az"] = "http://a/b/c/az", ["/"] = "http://a/", ["//"] = "http://", ["//g?y"] = "http://g?y",
  ["/g?"] = "http://a/g?",
  ["...."] = "http://a/b/c/....", ["./.."] = "http://a/b/", ["../."] = "http://a/b/",
  ["g\0h"] = "http://a/b/c/g\0h", ["//g\0h/../i"] = "http://g\0h/i",
}

describe("a reference", function()
  for reference, target in pairs(examples) do
    it(("%s leads to %s"):format(reference, target), function()
      assert.is_true(leads_to(BASE, reference, target))
      assert.is_false(leads_to(BASE, reference, target .. "x"))
    end)
  end

  it("is resolved against a base without a path, without an authority and without a scheme", function()
    assert.is_true(leads_to("http://a", "g", "http://a/g"))
    assert.is_true(leads_to("http://a?q", "../g", "http://a/g"))
    assert.is_true(leads_to("urn:a:b", "urn:a:c", "urn:a:c"))
    assert.is_true(leads_to("urn:a", "./g", "urn:g"))
    assert.is_true(leads_to("urn:a", "../g", "urn:g"))
    assert.is_true(leads_to("urn:a", "./../g", "urn:g"))
    assert.is_true(leads_to("urn:a", "g/..", "urn:/"))
    assert.is_true(leads_to("/a/b", "c", "/a/c"))
  end)

  it("has a pointer whose escapes are undone, and other characters stay", function()
    local definitions = { ["a b"] = { type = "string" }, ["%"] = { type = "string" }, ["%2"] = { type = "string" },
      ["%zz"] = { type = "string" }, ["%1z"] = { type = "string" }, ["jJ"] = { type = "string" } }
    for _, name in ipairs({ "09", ":_", "oJ", "%3g", "%3G", "%3`", "%3@", "%3:", "%g3", "%/3", "%a", "a\t" }) do
      definitions[name] = { type = "string" }
    end
    for _, pointer in ipairs({ "a%20b", "%25", "%", "%2", "%zz", "%1z", "%6A%4a", "%30%39", "%3A%5F", "%3a%5f",
      "%6f%4A", "%3g", "%3G", "%3`", "%3@", "%3:", "%g3", "%25~13", "%a",
      "a%09" }) do
      local compiled = assert(schema.compile({ ["$defs"] = definitions, ["$ref"] = "#/$defs/" .. pointer }))
      assert.is_false((compiled:check(5)))
    end
    for _, pointer in ipairs({ "%2F$defs/jJ", "%2f%24defs%2FjJ", "/%24defs/jJ" }) do
      assert.is_false((assert(schema.compile({ ["$defs"] = definitions, ["$ref"] = "#" .. pointer })):check(5)))
    end
  end)
end)
