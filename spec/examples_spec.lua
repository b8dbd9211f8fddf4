local command = require("spec.support.command")
local samples = require("spec.support.samples")
local system = require("operations.system")

local names = assert(system.list("examples"))
table.sort(names)

-- Their specs are elsewhere: below, readme_spec.lua, hosts/example_spec.lua.
local elsewhere = { ["demo.lua"] = true, ["hello.lua"] = true, ["hosts.lua"] = true }

describe("the example", function()
  for _, name in ipairs(names) do
    if name:find("%.lua$") and not elsewhere[name] then
      it(name .. " prints what its comments say", function()
        local result = command.run_with_server("lua examples/" .. name)
        assert.equal("", result.err)
        assert.equal(samples.promised("examples/" .. name), result.out)
        assert.equal(0, result.code)
      end)
    end
  end
end)

describe("the demo", function()
  it("ends well", function()
    local result = command.run_with_server("lua examples/demo.lua")
    assert.equal("", result.err)
    assert.matches("\nThe demo is done%.\n$", result.out)
    assert.equal(0, result.code)
  end)

  it("fails when its server is not what it should be", function()
    local result = command.run("TASKS_URL=http://127.0.0.1:1 lua examples/demo.lua")
    assert.not_equal(0, result.code)
  end)
end)

describe("examples/server/run", function()
  it("ends as its command does and leaves no server behind", function()
    local connect = [[bash -c 'exec 3<>/dev/tcp/127.0.0.1/%s' 2>&1 ]]
    local script = "echo ${TASKS_URL##*:}; " .. connect:format("'${TASKS_URL##*:}'") .. "; exit 7"
    local result = command.run_with_server(script)
    local port = result.out:match("^(%d+)\n$")
    assert.is_string(port)
    assert.equal(7, result.code)
    assert.matches("refused", command.run(connect:format(port)).out)
  end)
end)
