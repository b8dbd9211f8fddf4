local blocks = require("operations.cli.blocks")
local json = require("operations.base.json")

local function text(content)
  return blocks.text(assert(blocks.of(json.decode(content))))
end

describe("the content of a tool's answer", function()
  it("is text, and files by kind, type and size", function()
    assert.equal("a\nb\n[image image/png, 3 bytes: -o FILE saves it]\n[file application/octet-stream, 1 byte: -o FILE "
      .. "saves it]\nr\n[link file:///x]\n", text([==[[{"type":"text","text":"a\nb\n"},
      {"type":"image","mimeType":"image/png","data":"QUJD"},{"type":"resource","resource":{"uri":"x","blob":"QQ=="}},
      {"type":"resource","resource":{"uri":"x","text":"r"}},{"type":"resource_link","uri":"file:///x"}]]==]))
  end)

  it("is told by the block's kind alone, and may be a single block", function()
    assert.equal("[audio audio/wav, 2 bytes: -o FILE saves it]\n[image application/octet-stream, 1 byte: -o FILE saves "
      .. "it]\n", text([==[[{"type":"audio","mimeType":"audio/wav","data":"QUI="},
      {"type":"image","mimeType":7,"data":"QQ==","resource":{"blob":"QUJD"}}]]==]))
    assert.equal("a\n", text('{"type":"text","text":"a"}'))
    for _, content in ipairs({ '[{"type":"resource"}]', '[{"type":"resource","resource":"x","data":"QQ=="}]',
      '[{"type":"text","text":7}]', '[{"type":"resource_link","uri":7}]', '[{"type":"other","data":"QQ=="}]' }) do
      assert.is_nil(text(content))
    end
    assert.is_nil(blocks.of("text"))
    assert.is_nil(blocks.of(json.decode('[{"type":"text"},{"text":"a"}]')))
  end)

  it("is JSON where the kind of a block is unknown, or its data is broken", function()
    assert.is_nil(text('[{"type":"odd"}]'))
    assert.is_nil(text('[{"type":"image","data":"?"}]'))
    assert.is_nil(blocks.of(json.decode("[1]")))
    assert.is_nil(blocks.of(json.decode("[]")))
  end)

  it("has files, named by the end of their URI", function()
    local files = blocks.files(blocks.of(json.decode([==[[{"type":"text","text":"a"},
      {"type":"resource","resource":{"uri":"file:///a/b.bin","blob":"QQ=="}}]]==])))
    assert.same({ { bytes = "A", media_type = "application/octet-stream", kind = "file", name = "b.bin" } }, files)
  end)
end)
