local command = require("spec.support.command")
local directories = require("operations.base.directories")

describe("the directories of files", function()
  local function run(script)
    return command.run(script .. [[ lua -e 'local d = require("operations.base.directories")
      print(d.config(), d.cache(), d.state(), d.current(), d.above("mark"))']]).out
  end

  it("are those of the XDG variables that hold absolute paths, else those below HOME", function()
    local at = "cd /; "
    assert.equal("/c/operations\t/h/.cache/operations\t/h/.local/state/operations\t/\tnil\n",
      run(at .. "export HOME=/h XDG_CONFIG_HOME=/c XDG_CACHE_HOME=relative; unset XDG_STATE_HOME;"))
    assert.equal("nil\tnil\tnil\t/\tnil\n", run(at .. "unset HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME;"))
  end)

  it("are the working directory, by the name that the user knows, and those above it", function()
    local out = run("mkdir -p $XDG_CACHE_HOME/a/b; cd $XDG_CACHE_HOME; touch a/mark; ln -s a c; cd c/b;")
    local current, above = out:match("(%S+)\t(%S+)\n$")
    assert.matches("/c/b$", current)
    assert.equal(current:gsub("/b$", "/mark"), above)
  end)

  it("make paths absolute", function()
    assert.equal("/x", directories.absolute("/x", "/base"))
    assert.equal("/base/x/y", directories.absolute("./x/y", "/base/"))
    assert.equal(directories.current() .. "/x", directories.absolute("x"))
  end)
end)
