local cells = require("operations.people.cells")

describe("the columns of a text", function()
  it("are two for wide characters and none for marks", function()
    assert.equal(3, cells.width("abc"))
    assert.equal(4, cells.width("東京"))
    assert.equal(1, cells.width("e\204\129"))
    assert.equal(2, cells.width("\240\159\152\128"))
    assert.equal(5, cells.width("é…ü–x"))
  end)

  it("are cut, and filled", function()
    assert.equal("abc", cells.cut("abc", 3))
    assert.equal("ab…", cells.cut("abcd", 3))
    assert.equal("東…", cells.cut("東京", 3))
    assert.equal("…", cells.cut("東京", 2))
    assert.equal("東  ", cells.pad("東", 4))
  end)
end)

describe("the width of a character", function()
  -- The first and the last of each block, and their neighbours.
  local function character(code)
    if code < 0x800 then
      return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64)
    elseif code < 0x10000 then
      return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
    end
    return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
      0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
  end

  local function widths(...)
    local list = {}
    for i, code in ipairs({ ... }) do
      list[i] = cells.width(character(code))
    end
    return list
  end

  it("is two in the blocks of wide characters", function()
    for _, block in ipairs({ { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xA960, 0xA97F },
      { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 },
      { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD } }) do
      assert.same({ 1, 2, 2, 1 }, widths(block[1] - 1, block[1], block[2], block[2] + 1))
    end
  end)

  it("is one for letters from the first with three bytes", function()
    assert.same({ 1, 1, 1, 1 }, widths(0x7FF, 0x800, 0x905, 0xE01))
  end)

  it("is zero in the blocks of combining marks and joiners", function()
    for _, block in ipairs({ { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x064B, 0x065F },
      { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F } }) do
      assert.same({ 1, 0, 0, 1 }, widths(block[1] - 1, block[1], block[2], block[2] + 1))
    end
    assert.same({ 1, 0, 0, 2, 2, 1 }, widths(0xFE1F, 0xFE20, 0xFE2F, 0xFE30, 0xFE6F, 0xFE70))
  end)
end)
