-- Run by spec/nvim/init_spec.lua inside Neovim: what authors of plugins use.
local editor = require("spec.support.editor")
local nvim = require("operations.nvim")
local operations = require("operations")

local function definition(namespace, name)
  return { namespace = namespace, name = name, type = "query", title = "Title of " .. name, handler = function()
    return { name = name }
  end }
end

local function ids()
  local list = {}
  for _, spec in ipairs((nvim.registry():specs())) do
    list[#list + 1] = spec.namespace .. "." .. spec.name
  end
  table.sort(list)
  return table.concat(list, " ")
end

local function state_of(name)
  for _, entry in ipairs(nvim.state()) do
    if entry.name == name then
      return entry
    end
  end
end

local document = [[{"openapi":"3.1.0","info":{"title":"T","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],
  "paths":{"/pets":{"get":{"operationId":"pets","responses":{"200":{"description":""}}}}}}]]

-- An HTTP server that answers with the document; returns its port and a function that ends it.
local function serve(port)
  local server = vim.loop.new_tcp()
  assert(server:bind("127.0.0.1", port))
  server:listen(16, function()
    local client = vim.loop.new_tcp()
    server:accept(client)
    client:read_start(function(_, bytes)
      if bytes then
        client:write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
          .. #document .. "\r\n\r\n" .. document, function() client:close() end)
      end
    end)
  end)
  return server:getsockname().port, function() server:close() end
end

describe("for authors of plugins, the editor", function()
  local removals = {}

  local function add(name, spec)
    local remove = assert(nvim.add_source(name, spec))
    table.insert(removals, remove)
    return remove
  end

  after_each(function()
    for _, remove in ipairs(removals) do
      remove()
    end
    removals = {}
    editor.clear()
    nvim.setup({})
  end)

  it("has a registry before setup(), with the sources that were added", function()
    assert.equal("", ids())
    local remove = add("notes", { operations = { definition("notes", "list") } })
    assert.equal("notes.list", ids())
    assert.equal("list", assert(nvim.registry():execute("notes.list")).data.name)
    remove()
    remove()
    assert.equal("", ids())
  end)

  it("keeps the sources of several plugins beside those of the user", function()
    add("notes", { operations = { definition("notes", "list") } })
    nvim.setup({ apis = { shop = { document = operations.json.decode(document) } } })
    local remove = add("tools", { mcp = editor.server() })
    nvim.registry()
    editor.wait(function() return nvim.registry():get("tools.echo") and nvim.registry():get("shop.pets") end)
    local registry = nvim.registry()
    nvim.setup({ apis = { store = { document = operations.json.decode(document) } } })
    assert.equal(registry, nvim.registry())
    editor.wait(function() return registry:get("store.pets") end)
    assert.is_nil(registry:get("shop.pets"))
    assert.is_table(registry:get("tools.echo"))
    remove()
    assert.is_nil(registry:get("tools.echo"))
    assert.equal("notes.list store.pets", ids())
  end)

  it("has the fields of a GraphQL service", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("type Query { pets: [String] }")
    file:close()
    nvim.setup({ apis = { shop = { graphql = true, file = path, endpoint = "http://127.0.0.1:1/graphql" } } })
    nvim.registry()
    editor.wait(function() return nvim.registry():get("shop.pets") end)
    os.remove(path)
  end)

  it("moves them into the registry that the user's setup() names", function()
    add("notes", { operations = { definition("notes", "list") } })
    nvim.registry()
    local own = operations.registry()
    nvim.setup({ registry = own })
    assert.equal(own, nvim.registry())
    assert.equal("notes.list", ids())
  end)

  it("reads a directory of definitions", function()
    local path = vim.fn.tempname()
    vim.fn.mkdir(path)
    vim.fn.writefile({ 'return { namespace = "weather", name = "today", type = "query",',
      "  handler = function() return 1 end }" }, path .. "/weather.lua")
    add("local", { directory = path })
    nvim.registry()
    editor.wait(function() return state_of("local").state == "connected" end, vim.inspect(state_of("local")))
    assert.equal(1, state_of("local").operations)
  end)

  it("refuses a name that is taken, and specs without a source", function()
    add("notes", { operations = {} })
    local remove, err = nvim.add_source("notes", { operations = {} })
    assert.same({ nil, "VALIDATION_ERROR", "there is a source 'notes' already" }, { remove, err.code, err.message })
    for message, spec in pairs({ ["one of operations, openapi, mcp and directory"] = {},
      ["'oprations'"] = { oprations = {} }, ["a table with file, url or document"] = { openapi = {} } }) do
      local ok, raised = pcall(nvim.add_source, "x", spec)
      assert.is_false(ok)
      assert.matches(message, raised, 1, true)
    end
  end)

  it("tells what is wrong with definitions that cannot be registered", function()
    add("odd", { operations = { { namespace = "odd" } } })
    nvim.registry()
    assert.equal("lost", state_of("odd").state)
    editor.notice("operations odd is lost")
  end)

  it("tries an API again that was down when it was first used", function()
    local heard = {}
    local stop = nvim.on_state(function(name, state)
      table.insert(heard, name .. " " .. state)
    end)
    local port, close = serve(0)
    close()
    nvim.setup({ apis = { shop = { url = ("http://127.0.0.1:%d/api.json"):format(port) } } })
    assert.equal("stopped", state_of("shop").state)
    nvim.registry()
    editor.wait(function() return state_of("shop").state == "retrying" end)
    editor.notice("api shop is retrying")
    assert.equal("ops 0/1 !shop", nvim.statusline())
    vim.cmd("Operations servers")
    editor.shows("shop  retrying  ")
    close = select(2, serve(port))
    editor.wait(function() return nvim.registry():get("shop.pets") end)
    editor.shows("shop  connected  1 operation%f[%A]")
    assert.equal("ops 1", nvim.statusline())
    assert.same({ "shop connecting", "shop retrying", "shop connected" }, { heard[1], heard[2], heard[#heard] })
    stop()
    vim.cmd("Operations servers disable shop")
    editor.shows("shop  disabled")
    assert.is_nil(nvim.registry():get("shop.pets"))
    vim.cmd("Operations servers restart shop")
    editor.shows("shop  connected")
    close()
  end)

  it("obeys the rules of setup{ policy = }, and asks here", function()
    local select, chosen, asked = vim.ui.select, nil, {}
    vim.ui.select = function(items, options, done) -- luacheck: ignore 122
      asked[#asked + 1] = options.prompt
      done(chosen and items[chosen])
    end
    nvim.setup({ policy = { { match = "own.write", action = "ask", name = "writes" },
      { match = "own.drop", action = "block", name = "never" } } })
    for _, name in ipairs({ "read", "write", "drop" }) do
      add("own_" .. name, { operations = { definition("own", name) } })
    end
    local function code_of(name)
      local result
      operations.spawn(function()
        local envelope, err = nvim.registry():execute("own." .. name)
        result = envelope and "ok" or err.code
      end)
      editor.wait(function() return result end)
      return result
    end
    assert.same({ "ok", "ACCESS_DENIED" }, { code_of("read"), code_of("drop") })
    assert.equal("ACCESS_DENIED", code_of("write"))
    chosen = 2
    assert.equal("ok", code_of("write"))
    assert.matches("own%.write: {} %(writes%)", asked[#asked])
    vim.cmd("Operations policy")
    editor.shows("block  own.drop  never")
    vim.ui.select = select -- luacheck: ignore 122
    nvim.setup({ policy = "./rules.json" })
    assert.equal("ACCESS_DENIED", code_of("read"))
    assert.has_error(function() nvim.setup({ policy = {}, registry = operations.registry() }) end)
    nvim.setup({})
  end)

  it("asks by forms and choices, and shows texts", function()
    local select, input, answer = vim.ui.select, vim.ui.input, nil
    local asked = {}
    vim.ui.select = function(items, options, done) -- luacheck: ignore 122
      table.insert(asked, options.prompt .. " " .. options.format_item(items[1]))
      done(items[1])
    end
    vim.ui.input = function(_, done) -- luacheck: ignore 122
      done("Ada")
    end
    add("notes", { operations = { definition("notes", "list"), definition("notes", "add") } })
    assert.is_nil(nvim.pick({ prompt = "which", filter = function(spec) return spec.name == "list" end },
      function(spec) answer = spec end))
    editor.wait(function() return answer end)
    assert.equal("list", answer.name)
    assert.same({ name = "Ada" }, nvim.form({ title = "who", schema = { type = "object", required = { "name" },
      properties = { name = { type = "string" } } } }))
    assert.same({ action = "accept", content = { name = "Ada" } }, nvim.elicit({ message = "who",
      requestedSchema = { type = "object", required = { "name" }, properties = { name = { type = "string" } } } }))
    assert.same({ "which notes.list  Title of list", "a server: who answer" }, asked)
    vim.ui.select, vim.ui.input = select, input -- luacheck: ignore 122
    local text, filetype = nvim.text(nvim.registry():execute("notes.list"))
    assert.same({ '{\n  "name": "list"\n}', "json" }, { text, filetype })
    local window = nvim.float({ title = "a result", text = text, filetype = filetype })
    assert.equal(text, editor.text())
    window:close()
    assert.is_false(window:is_open())
  end)
end)
