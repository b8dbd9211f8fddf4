local inside = require("spec.support.inside")
local samples = require("spec.support.samples")

-- examples_spec.lua runs it in plain Lua.
describe("the example hosts.lua runs unchanged", function()
  local path = "examples/hosts.lua"
  local run = {
    nvim = function()
      return inside.nvim(path, "examples/server/run", "-c 'qa!'")
    end,
    nginx = function()
      return inside.nginx(path, "examples/server/run")
    end,
  }

  for program, start in pairs(run) do
    local missing = inside.missing(program)
    if missing then
      pending(missing)
    else
      it("in " .. program, function()
        local result = start()
        assert.equal(samples.promised(path), result.out)
        assert.equal(0, result.code)
        assert.equal("", result.log or "")
      end)
    end
  end
end)
