--- What `list` and `describe` look like in terminals of three widths.
local command = require("spec.support.command")
local tmux = require("spec.support.tmux")

local document = [[{ "openapi": "3.1.0", "info": { "title": "Pet store", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ],
  "components": { "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } }, "paths": {
  "/pets": { "post": { "operationId": "pets/create", "tags": ["pets"], "summary": "Add a <b>pet</b> to the store",
    "security": [ { "token": [] } ],
    "description": "Adds a pet. See [the guide](http://a.example/guide) for what a *pet* is, and what the store takes.",
    "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object",
      "required": ["name"], "properties": { "name": { "type": "string", "example": "Tom" } } } } } },
    "responses": { "201": { "description": "" } } } } } }]]

local list = "petstore: pets\n  petstore.pets_create body{name}  Add a pet to the store\n"

for _, width in ipairs({ 60, 80, 200 }) do
  describe(("a terminal of %d columns"):format(width), function()
    local terminal

    setup(function()
      terminal = tmux.open("bash --norc --noprofile", width)
      local file = assert(io.open(terminal.home .. "/pets.json", "w"))
      file:write(document)
      file:close()
      terminal:type("operations add petstore ~/pets.json", { "Enter" })
      terminal:wait("remembered petstore")
    end)

    teardown(function()
      terminal:close()
    end)

    local count = 0

    local function shown(line)
      count = count + 1
      terminal:type(("clear; %s; echo e''nd %d"):format(line, count), { "Enter" })
      return (terminal:wait("end " .. count):gsub("end " .. count .. "\n.*$", ""))
    end

    it("shows operations in groups, each on a line", function()
      assert.equal(list, shown("operations list"))
    end)

    it("shows what is wrapped, unmarked, and a call to copy", function()
      local text = shown("operations describe pets/create")
      for line in text:gmatch("[^\n]+") do
        assert.is_true(#line <= width, line)
      end
      assert.is_nil(text:find("[<*%]]"))
      assert.matches("See the guide for what", text)
      assert.matches("\nAuth:\n  token (HTTP bearer)\n", text, 1, true)
      assert.matches("\nTry:\n  operations call petstore.pets_create name=Tom\n", text, 1, true)
    end)

    it("breaks no word of a help text", function()
      local function words(text)
        return (text:gsub("%s+", " "):gsub("^ ", ""))
      end
      assert.equal(words(command.run("operations trust --help").out), words(shown("operations trust --help")))
    end)

    it("has colours unless NO_COLOR says otherwise", function()
      shown("operations list")
      assert.matches("\27[32m", terminal:screen(true), 1, true)
      shown("NO_COLOR=1 operations list")
      assert.is_nil(terminal:screen(true):find("\27[32m", 1, true))
    end)
  end)
end
