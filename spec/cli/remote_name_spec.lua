local destination = require("operations.cli.destination")

describe("the name that a server gives a file", function()
  it("is that of Content-Disposition", function()
    assert.equal("a b.txt", destination.remote_name('attachment; filename="a b.txt"'))
    assert.equal("a.txt", destination.remote_name("attachment; filename=a.txt; x=y"))
    assert.equal('a"b', destination.remote_name('attachment; filename="a\\"b"'))
    assert.equal("ä.txt", destination.remote_name("attachment; filename=\"a.txt\"; filename*=UTF-8''%C3%A4.txt"))
  end)

  it("is never a path, nor hidden, nor anything but a name", function()
    assert.equal("passwd", destination.remote_name('attachment; filename="../../etc/passwd"'))
    assert.equal("x.exe", destination.remote_name([[attachment; filename="C:\\a\\x.exe"]]))
    assert.equal("b", destination.remote_name("attachment; filename*=UTF-8''..%2Fa%2Fb"))
    for _, name in ipairs({ "..", ".", "", "a/", ".bashrc", "a/.ssh", "\127", "-rf", "--help",
      "a\226\128\174txt.exe", "a\nb",
      "a\27[8mb", "a\tb", "\255", ("a"):rep(256), "  ", "a/-b" }) do
      assert.is_nil(destination.remote_name(('attachment; filename="%s"'):format(name)), name)
    end
    assert.is_nil(destination.remote_name('attachment; filename="a'))
  end)

  it("is else the end of the URL", function()
    assert.equal("a.zip", destination.remote_name(nil, "https://x.example/b/a.zip?c=/d#e/f"))
    assert.equal("a b", destination.remote_name("inline", "https://x.example/a%20b"))
    assert.equal("b", destination.remote_name(nil, "https://x.example/a%2Fb"))
    assert.is_nil(destination.remote_name(nil, "https://x.example/"))
    assert.is_nil(destination.remote_name(nil, "https://x.example"))
  end)
end)
