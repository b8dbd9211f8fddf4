--- Runs inside of Neovim: the operations of the editor as tools of other plugins. Those are not installed here: their
--- part is what their pages promise to authors.
local nvim = require("operations.nvim")
local operations = require("operations")

describe("beside other assistants, an operation", function()
  local beside, remove, answer

  local function wait(test)
    local value
    assert(vim.wait(10000, function()
      value = test()
      return value ~= nil
    end, 5))
    return value
  end

  setup(function()
    vim.opt.runtimepath:prepend("examples/neovim")
    beside = require("beside")
    vim.ui.select = function(_, _, done) -- luacheck: ignore 122
      done(answer)
    end
    remove = assert(nvim.add_source("lamp", { operations = {
      { namespace = "lamp", name = "state", type = "query", title = "Is it on?", handler = function()
        operations.sleep(0.01)
        return { on = true }
      end },
      { namespace = "lamp", name = "dim", description = "Dims it", inputSchema = { type = "object",
        required = { "to" }, properties = { to = { type = "integer", minimum = 0, maximum = 9 },
          how = { type = "string", enum = { "fast", "slow" } }, names = { type = "array", items = { type = "string" } },
          at = { type = "object", properties = { room = { type = "string" } } } } },
        handler = function(input) return input.to end },
    } }))
  end)

  teardown(function()
    remove()
  end)

  it("is a tool of CodeCompanion, which asks where it changes something", function()
    local tools, told = { groups = {} }, nil
    package.loaded["codecompanion.config"] = { interactions = { chat = { tools = tools } } }
    beside.codecompanion().setup()
    assert.same({ "lamp_dim", "lamp_state" }, (function(list) table.sort(list) return list end)(
      vim.list_slice(tools.groups.operations.tools)))
    assert.same({ true, false }, { tools.lamp_dim.opts.require_approval_before,
      tools.lamp_state.opts.require_approval_before })
    local tool = tools.lamp_dim.callback()
    assert.equal("function", vim.json.decode(vim.json.encode(tool.schema)).type)
    assert.equal(9, tool.schema["function"].parameters.properties.to.maximum)
    local function run(arguments)
      told = nil
      tool.cmds[1]({}, arguments, { output_cb = function(output) told = output end })
      return wait(function() return told end)
    end
    assert.same({ status = "success", data = "7" }, run({ to = 7 }))
    local failure = run({ to = 70 })
    assert.equal("error", failure.status)
    assert.matches("/to", failure.data)
    local given
    local chat = { add_tool_output = function(_, _, text) given = text end }
    tool.output.success({}, { "text" }, { tools = { chat = chat } })
    assert.equal("text", given)
  end)

  it("follows the editor's sources", function()
    local tools = package.loaded["codecompanion.config"].interactions.chat.tools
    local other = assert(nvim.add_source("more", { operations = { { namespace = "more", name = "one", type = "query",
      handler = function() return 1 end } } }))
    wait(function() return tools.more_one end)
    other()
    remove()
    remove = assert(nvim.add_source("lamp", { operations = { { namespace = "lamp", name = "state", type = "query",
      handler = function() return { on = true } end } } }))
    wait(function() return tools.more_one == nil and true or nil end)
  end)

  it("is a custom tool of Avante, with its parameters", function()
    remove()
    remove = assert(nvim.add_source("lamp", { operations = { { namespace = "lamp", name = "dim",
      description = "Dims it", inputSchema = { type = "object", required = { "to" }, properties = {
        at = { type = "object", properties = { room = { type = "string", description = "Where" } } },
        how = { type = "string", enum = { "fast", "slow" } }, names = { type = "array", items = { type = "string" } },
        to = { type = "integer" } } }, handler = function(input) return input.to end } } }))
    local tool = beside.avante()[1]
    assert.same({ "lamp_dim", "Dims it" }, { tool.name, tool.description })
    assert.same({ { name = "at", type = "object", optional = true, fields = { { name = "room", type = "string",
      optional = true, description = "Where" } } }, { name = "how", type = "string", optional = true,
      choices = { "fast", "slow" } }, { name = "names", type = "array", optional = true, items = { name = "item",
      type = "string", optional = true } }, { name = "to", type = "integer", optional = false } }, tool.param.fields)
    local function run(choice)
      local told
      answer = choice
      tool.func({ to = 5 }, { on_complete = function(result, err) told = { result, err } end })
      return wait(function() return told end)
    end
    assert.same({ "5" }, run("Yes"))
    assert.matches("not approved", run("No")[2])
  end)

  it("is a tool of a native server of mcphub.nvim", function()
    local server = { capabilities = { tools = {} } }
    package.loaded["mcphub"] = { add_server = function() return server end }
    beside.mcphub()
    local tool, told = server.capabilities.tools[1], nil
    local response = { text = function(self, text) self.said = text return self end, send = function(self)
      told = self.said
    end, error = function(_, text) told = "error: " .. text end }
    tool.handler({ params = { to = 3 } }, response)
    assert.equal("3", wait(function() return told end))
    told = nil
    tool.handler({ params = {} }, response)
    assert.matches("^error: .*/to", wait(function() return told end))
    assert.equal("object", tool.inputSchema.type)
  end)
end)
