local operations = require("operations")
local variables = require("operations.mcp.client.variables")

local function expand(value, options)
  return variables.expand(value, "/x", options or {})
end

local function failure(value)
  local ok, err = pcall(expand, value)
  assert.is_false(ok)
  assert.equal("VALIDATION_ERROR", err.code)
  return err.message
end

describe("variables of mcp.json", function()
  it("stand for the environment's, wherever they are in a text", function()
    local home, path = os.getenv("HOME"), os.getenv("PATH")
    assert.equal(("a%sb%sc$d{e}"):format(home, path), expand("a${HOME}b${env:PATH}c$d{e}"))
    assert.equal("else else", expand("${NO_SUCH_NAME:-else} ${env:NO_SUCH_NAME:-else}"))
    assert.same({ list = { home, 1 }, deep = { x = { home } }, [1] = true },
      expand({ list = { "${HOME}", 1 }, deep = { x = { "${userHome}" } }, [1] = true }))
  end)

  it("stand for the workspace", function()
    local given = { workspace = "/home/ada/tree" }
    assert.equal("/home/ada/tree/bin tree", expand("${workspaceFolder}${/}bin ${workspaceFolderBasename}", given))
    local pipe = assert(io.popen("pwd -P"))
    local here = pipe:read("*l")
    pipe:close()
    assert.equal(here, expand("${workspaceFolder}"))
    assert.equal(here .. "/x", expand("${cwd}/x", given)) -- also where the workspace is another directory
  end)

  it("stand for what a command says, without the end of its last line", function()
    assert.equal("a b\nc!", expand("${cmd: printf 'a b\\nc\\n\\n'}!"))
    assert.equal("<" .. os.getenv("HOME") .. ">", expand("<${cmd:echo ${HOME}}>"))
    assert.equal("", expand("${cmd:cat}"))
  end)

  it("do not hold up other tasks while a command runs", function()
    local order = {}
    operations.run(function()
      local slow = operations.spawn(function()
        order[#order + 1] = expand("${cmd:sleep 0.2; echo slow}")
      end)
      order[#order + 1] = "quick"
      slow:wait()
    end)
    assert.same({ "quick", "slow" }, order)
  end)

  it("are errors with their place where nothing is known", function()
    assert.equal("/x/env/A~1B: the environment has no NO_SUCH_NAME", failure({ env = { ["A/B"] = "${NO_SUCH_NAME}" } }))
    assert.matches("/x: no prompt is available for ${input:token}", failure("${input:token}"), 1, true)
    local text = failure("${cmd:echo why >&2; exit 3}")
    assert.matches('/x: the command "echo why >&2; exit 3" failed: exit code 3: why', text, 1, true)
    assert.matches("more than 65536 bytes", failure("${cmd:yes}"), 1, true)
  end)
end)
