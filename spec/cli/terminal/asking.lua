--- Required input that is missing is asked for at a terminal.
local tmux = require("spec.support.tmux")

local document = [[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" },
  "servers": [ { "url": "http://a.test" } ],
  "paths": { "/x/{id}": { "post": { "operationId": "make", "parameters": [
      { "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } } ],
    "requestBody": { "required": true, "content": { "application/json": {
      "schema": { "$ref": "#/components/schemas/New" } } } },
    "responses": { "200": { "description": "" } } } } },
  "components": { "schemas": { "New": { "type": "object", "required": ["title", "state"], "properties": {
    "title": { "type": "string", "description": "What to do", "maxLength": 5 },
    "state": { "$ref": "#/components/schemas/State" }, "note": { "type": "string" } },
    "additionalProperties": false },
    "State": { "enum": ["open", "closed"] } } } }]]

describe("required input at a terminal", function()
  local terminal

  setup(function()
    terminal = tmux.open("bash --norc --noprofile", 100)
    local file = assert(io.open(terminal.home .. "/a.json", "w"))
    file:write(document)
    file:close()
    terminal:type("operations add api ~/a.json", { "Enter" })
    terminal:wait("remembered api")
  end)

  teardown(function()
    terminal:close()
  end)

  it("is asked for where it is missing, again where it does not fit", function()
    terminal:type("clear; operations call api.make --dry-run; echo code=$?", { "Enter" })
    terminal:wait("operations: id, integer:")
    terminal:type("7", { "Enter" })
    terminal:wait("operations: title (What to do), at most 5 characters:")
    terminal:type("too long", { "Enter" })
    terminal:wait("title: expected at most 5 characters, got 8 [too long]:")
    terminal:type("short", { "Enter" })
    terminal:wait("operations: state [open/closed]:")
    terminal:type("c", { "Enter" })
    local screen = terminal:wait("code=0")
    assert.matches("POST http://a.test/x/7", screen, 1, true)
    assert.matches('{"title":"short","state":"closed"}', screen, 1, true)
  end)

  it("is not asked for before a misspelt name is told", function()
    terminal:type("clear; operations call api.make id=1 titel=a state=open --dry-run; echo code=$?", { "Enter" })
    local screen = terminal:wait("code=5")
    assert.matches("/body/titel: unknown property", screen, 1, true)
    assert.is_nil(screen:find("operations: title", 1, true))
  end)

  it("is not asked for where it is given, with --no-input and in scripts", function()
    terminal:type("clear; operations call api.make id=1 title=a state=open --dry-run; echo given=$?", { "Enter" })
    assert.is_nil(terminal:wait("given=0"):find("operations: id", 1, true))
    terminal:type("clear; operations call api.make --no-input --dry-run; echo quiet=$?", { "Enter" })
    assert.matches("/id: required, but missing", terminal:wait("quiet=5"), 1, true)
    terminal:type("clear; operations call api.make --dry-run </dev/null; echo script=$?", { "Enter" })
    assert.matches("/id: required, but missing", terminal:wait("script=5"), 1, true)
  end)
end)
