local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local json = require("operations.base.json")
local mcp_servers = require("operations.sources.mcp_servers")
local operations = require("operations")
local output = require("operations.cli.output")

describe("the MCP servers that an operation may be of", function()
  local path = os.tmpname()

  setup(function()
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = { files = { command = "x" }, ["files.old"] = { command = "y" } } }))
    file:close()
  end)

  teardown(function()
    os.remove(path)
  end)

  local function source(kind, place, namespace)
    return { kind = kind, place = place, config = { namespace = namespace } }
  end

  local function narrowed(id)
    local places = {}
    for i, item in ipairs(mcp_servers.narrow({ source("mcp", "npx weather"), source("openapi", "a.json"),
      source("mcp", "https://mcp.example.com/mcp"), source("mcp", "npx weather", "second"),
      source("mcp-config", path), source("mcp-config", "/no/such/file") }, id)) do
      places[i] = item.place .. (item.wanted and "#" .. item.wanted or "")
    end
    return table.concat(places, " ")
  end

  it("are the one whose namespace begins the id, and sources other than MCP servers", function()
    assert.equal("npx weather a.json", narrowed("weather.today"))
    assert.equal("a.json https://mcp.example.com/mcp", narrowed("example/search"))
    assert.equal("a.json npx weather", narrowed("second.today"))
  end)

  it("are one of a file; the longest namespace counts", function()
    assert.equal("a.json " .. path .. "#files", narrowed("files.read"))
    assert.equal("a.json " .. path .. "#files.old", narrowed("files.old.read"))
  end)

  it("are all where no namespace begins it", function()
    local all = ("npx weather a.json https://mcp.example.com/mcp npx weather %s /no/such/file"):format(path)
    assert.equal(all, narrowed("read"))
    assert.equal(all, narrowed("filesystem.read"))
    assert.equal(all, narrowed("files."))
  end)
end)

describe("the servers of a file", function()
  it("tell the caller how far a call is, of how much where that is known, and end with the program", function()
    local path, told = os.tmpname(), {}
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = { s = { command = command.interpreter(),
      args = { "spec/support/mcp/server.lua", "legacy" }, env = command.environment() } } }))
    file:close()
    local face = {
      at_end = output.at_end, complain = output.complain, notice = output.notice,
      login = function() return {} end,
      progress = function(text)
        told[#told + 1] = text
      end,
    }
    finally(function()
      os.remove(path)
    end)
    operations.run(function()
      local registry = operations.registry()
      assert(registry:register_all(assert(mcp_servers.file({ place = path }, print, { face = face }))))
      local reports = {}
      local context = { on_progress = function(...)
        reports[#reports + 1] = { ... }
      end }
      assert(registry:execute("s.steps", { count = 2 }, context))
      local never = operations.spawn(registry.execute, registry, "s.never", {}, context)
      eventually(function() return reports[#reports] and reports[#reports][1] == 0 end)
      never:cancel()
      assert.same({ { 2, 2, "at" }, { 0 } }, { reports[#reports - 1], reports[#reports] })
      assert.same({ "connecting to the servers of " .. path }, told)
      assert(registry:execute("s.echo", { message = "a" }))
      output.close()
      assert.is_nil((registry:execute("s.echo", { message = "a" })))
    end)
  end)

  it("ask the person, where there is one", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(json.encode({ mcpServers = { s = { command = command.interpreter(),
      args = { "spec/support/mcp/server.lua", "legacy" }, env = command.environment() } } }))
    file:close()
    finally(function()
      os.remove(path)
    end)
    local asked_for, answers = {}, { "answer", "Ada" }
    local function next_answer(prompt)
      asked_for[#asked_for + 1] = prompt
      return table.remove(answers, 1)
    end
    local person = { select = function(_, prompt) return next_answer(prompt) end, input = next_answer,
      open = function(address) asked_for[#asked_for + 1] = address end }
    local form = { mode = "form", message = "Who?", requestedSchema = { type = "object", required = { "name" },
      properties = { name = { type = "string" } } } }
    local function action(face, question)
      return operations.run(function()
        local definitions = assert(mcp_servers.file({ place = path }, print, { person = face,
          face = { at_end = output.at_end, complain = print, notice = print, progress = print,
            login = function() return {} end } }))
        local registry = operations.registry()
        assert(registry:register_all(definitions))
        local result = assert(registry:execute("s.ask_user", { params = question })).meta.structuredContent
        output.close()
        return result.result or result.error.message
      end)
    end
    assert.same({ action = "accept", content = { name = "Ada" } }, action(person, form))
    assert.same({ "s: Who?", "s: name: " }, asked_for)
    asked_for, answers = {}, { "open", "decline" }
    local page = { mode = "url", message = "In:", url = "https://a.example/in", elicitationId = "1" }
    assert.same({ action = "accept" }, action(person, page))
    assert.same({ action = "decline" }, action(person, page))
    assert.same({ "s: In: https://a.example/in", "https://a.example/in", "s: In: https://a.example/in" }, asked_for)
    assert.is_string(action(nil, form)) -- an error: it is not offered
  end)
end)
