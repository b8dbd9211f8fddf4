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

describe("the example's own specs", function()
  it("pass, each of them", function()
    local result = command.run("lua /usr/bin/busted -o TAP examples/spec")
    assert.equal("", result.err)
    assert.equal(0, result.code)
    assert.is_nil(result.out:find("not ok", 1, true))
    local _, passed = ("\n" .. result.out):gsub("\nok ", "")
    local written = 0
    for line in io.lines("examples/spec/notes_spec.lua") do
      written = written + (line:find("^  it%(") and 1 or 0)
    end
    assert.equal(written, passed)
  end)

  it("fail when an operation answers with something else", function()
    local broken = "sed 's/id = #notes + 1/id = \"one\"/' examples/spec/notes.lua"
    local spec = "sed \"s|examples/spec/notes|$dir/notes|\" examples/spec/notes_spec.lua"
    local result = command.run(("dir=$(mktemp -d); %s > $dir/notes.lua; %s > $dir/notes_spec.lua; "
      .. "lua /usr/bin/busted -o TAP $dir; code=$?; rm -r $dir; exit $code"):format(broken, spec))
    assert.not_equal(0, result.code)
    assert.matches("OUTPUT_INVALID: notes.add: the result does not fit its schema: /id", result.out, 1, true)
  end)
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
