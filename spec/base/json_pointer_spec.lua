local json_pointer = require("operations.base.json_pointer")

describe("a JSON Pointer", function()
  -- RFC 6901, section 5
  local document = {
    foo = { "bar", "baz" }, [""] = 0, ["a/b"] = 1, ["c%d"] = 2, ["e^f"] = 3, ["g|h"] = 4, ["i\\j"] = 5, ["k\"l"] = 6,
    [" "] = 7, ["m~n"] = 8,
  }

  it("leads to a member or an item", function()
    assert.equal(document, json_pointer.get(document, ""))
    assert.equal("bar", json_pointer.get(document, "/foo/0"))
    assert.equal("baz", json_pointer.get(document, "/foo/1"))
    for key, value in pairs(document) do
      assert.equal(value, json_pointer.get(document, "/" .. json_pointer.escape(key)))
    end
  end)

  it("leads nowhere where there is nothing", function()
    for _, pointer in ipairs({ "/bar", "/foo/2", "/foo/-", "/foo/+0", "/foo/00", "/foo/", "/foo/0/x", "/~" }) do
      assert.is_nil(json_pointer.get(document, pointer))
    end
  end)

  it("escapes keys, and counts items from 0", function()
    assert.equal("a~1b", json_pointer.escape("a/b"))
    assert.equal("~01", json_pointer.escape("~1"))
    assert.equal("~1", json_pointer.unescape("~01"))
    assert.equal("0", json_pointer.escape(1))
  end)
end)
