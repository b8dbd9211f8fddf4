local entity_tag = require("operations.server.entity_tag")

describe("entity tags", function()
  it("are 128 bits of the SHA-256 of a body, in quotes", function()
    assert.equal('"ba7816bf8f01cfea414140de5dae2223"', entity_tag.of("abc"))
    assert.not_equal(entity_tag.of(""), entity_tag.of("\0"))
  end)

  it("are found in If-None-Match, whatever their strength", function()
    for _, field in ipairs({ '"a"', 'W/"a"', "*", '"b", "a"', '"b",W/"a"', ' "a" ' }) do
      assert.is_true(entity_tag.matches(field, '"a"'), field)
    end
    for _, field in ipairs({ "", '"b"', "a", 'w/"a"', '"a', '"aa"', 'W/"b", "c"' }) do
      assert.is_false(entity_tag.matches(field, '"a"'), field)
    end
    assert.is_false(entity_tag.matches(nil, '"a"'))
    assert.is_true(entity_tag.matches('"x, y" ,W/"a, *, b"', '"a, *, b"'))
    assert.is_false(entity_tag.matches('"a, *, b", "c', '"c"'))
  end)
end)
