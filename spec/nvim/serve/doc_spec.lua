--- What doc/neovim-assistants.md names; its samples are run by spec/pages_spec.lua.
local PAGE = "doc/neovim-assistants.md"

describe(PAGE, function()
  it("names every tool and every option", function()
    local file = assert(io.open(PAGE))
    local text = file:read("*a")
    file:close()
    local sources = assert(io.popen("cat lua/operations/nvim/serve/*.lua"))
    local code = sources:read("*a")
    sources:close()
    local count = 0
    for namespace, name in code:gmatch('{ namespace = "(%l+)", name = "(%l+)"') do
      assert.truthy(text:find(("`%s_%s`"):format(namespace, name), 1, true), namespace .. "_" .. name)
      count = count + 1
    end
    assert.equal(15, count)
    local options = code:match("local option_kinds = (%b{})")
    for option in options:gmatch("([%l_]+) = ") do
      assert.truthy(text:find("`" .. option .. "`", 1, true), option)
    end
  end)
end)
