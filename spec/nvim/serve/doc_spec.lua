local inside = require("spec.support.inside")
local samples = require("spec.support.samples")

local PAGE = "doc/neovim-assistants.md"

describe(PAGE, function()
  local missing = inside.missing("nvim")
  if missing then
    pending(missing)
    return
  end

  for _, sample in ipairs(samples.programs(PAGE, "lua nvim")) do
    it(("prints what it says in Neovim, line %d"):format(sample.line), function()
      local path, runtime = os.tmpname(), os.tmpname()
      os.remove(runtime)
      local file = assert(io.open(path, "w"))
      file:write("local print = function(...) io.stdout:write(table.concat(vim.tbl_map(tostring, vim.F.pack_len(...)),",
        " '\\t'), '\\n') end\n", sample.code)
      file:close()
      local result = inside.nvim(path, ("XDG_RUNTIME_DIR=%s"):format(runtime), "-c 'qa!'")
      inside.shell(("rm -rf %s %s"):format(path, runtime))
      assert.equal(sample.expected, result.out)
    end)
  end

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
