local samples = require("spec.support.samples")
local system = require("operations.system")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

--- The programs and sessions of a page, each run.
local function runs(page)
  for _, sample in ipairs(samples.programs(page)) do
    -- A program that it starts itself would miss the sanitizer that its modules are built with.
    local alone = os.getenv("LD_PRELOAD") and sample.code:find("from_mcp.connect", 1, true)
    local run = alone and pending or it
    run(("prints what it says at line %d"):format(sample.line), function()
      assert.is_string(sample.expected, "a text block with the output follows")
      local result = samples.run_program(sample.code)
      assert.equal("", result.err)
      assert.equal(sample.expected, result.out)
      assert.equal(0, result.code)
    end)
  end

  for _, session in ipairs(samples.sessions(page)) do
    it(("shows the session at line %d as it goes"):format(session.line), function()
      local printed = samples.run_session(session)
      for i, expected in ipairs(session.expected) do
        assert.equal(expected, printed[i], session.commands[i])
      end
    end)
  end
end

for _, name in ipairs(assert(system.list("doc"))) do
  if name:find("%.md$") then
    describe("doc/" .. name, function()
      runs("doc/" .. name)
    end)
  end
end

describe("the README", function()
  runs("README.md")

  it("begins with the program of examples/hello.lua", function()
    local first = samples.programs("README.md")[1].code
    assert.equal(read("examples/hello.lua"), first)
    local _, lines = first:gsub("\n", "")
    assert.is_true(lines <= 15)
  end)

  it("lists every exit code of the command line", function()
    local output = require("operations.cli.output")
    local table_of_codes = read("doc/command-line.md"):match("| exit code | |\n(.-)\n\n")
    for name, code in pairs(output.codes) do
      assert.matches(("| %d |"):format(code), table_of_codes, 1, true, name)
    end
  end)
end)
