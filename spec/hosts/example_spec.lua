local command = require("spec.support.command")
local inside = require("spec.support.inside")
local samples = require("spec.support.samples")

describe("the example hosts.lua runs unchanged", function()
  local path = "examples/hosts.lua"

  local function prints_what_it_promises(result, log)
    assert.equal(samples.promised(path), result.out)
    assert.equal(0, result.code)
    assert.equal("", log)
  end

  it("in plain Lua", function()
    local result = command.run_with_server("lua " .. path)
    prints_what_it_promises(result, result.err)
  end)

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
        prints_what_it_promises(result, result.log or "")
      end)
    end
  end
end)
