local command = require("spec.support.command")

-- LuaJIT itself crashes where its allocator refuses the growth of a stack.
local describe_ceiling = command.linked() and not rawget(_G, "jit") and describe or pending

describe_ceiling("a state whose allocator has a ceiling", function()
  it("ends calls in errors: registration, execution, HTTP, 10 MiB of JSON, tasks; the next ones succeed", function()
    local path = os.tmpname()
    finally(function()
      os.remove(path)
    end)
    local built = command.run(("cc -rdynamic -Isrc -o %s spec/native/ceiling.c %s"):format(path, command.linked()))
    assert.equal("", built.err)
    local result = command.run(("LUA_CPATH='%s;;' LD_PRELOAD=$SANITIZER %s spec/native/states/ceiling.lua"):format(
      package.cpath:match("[^;]*/build/[^;]*"), path))
    assert.equal(0, result.code, result.err)
  end)
end)
