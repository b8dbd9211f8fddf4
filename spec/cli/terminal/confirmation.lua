--- Operations that delete, and changes of other programs' files, ask at a terminal.
local server = require("spec.support.server")
local tmux = require("spec.support.tmux")

describe("a deletion", function()
  local api, terminal

  setup(function()
    api = server.start()
    terminal = tmux.open("bash --norc --noprofile", 120)
    local file = assert(io.open(terminal.home .. "/api.json", "w"))
    file:write((([[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" }, "servers": [ { "url": "URL" } ],
      "paths": { "/echo": { "delete": { "operationId": "drop", "responses": { "200": { "description": "",
        "content": { "application/json": {} } } } } } } }]]):gsub("URL", api.url)))
    file:close()
    terminal:type("operations add api ~/api.json", { "Enter" })
    terminal:wait("remembered api")
  end)

  teardown(function()
    terminal:close()
    api:stop()
  end)

  it("is asked for, and not made without a yes", function()
    terminal:type("clear; operations call api.drop; echo code=$?", { "Enter" })
    terminal:wait("operations: api.drop deletes (DELETE /echo): continue? [y/N]")
    terminal:type({ "Enter" })
    assert.matches("not called\ncode=7", terminal:wait("code=7"))
    terminal:type("clear; operations call api.drop --compact; echo code=$?", { "Enter" })
    terminal:wait("continue? [y/N]")
    terminal:type("y", { "Enter" })
    assert.matches('"method":"DELETE"', terminal:wait("code=0"), 1, true)
  end)

  it("is made at once with -y, and in a script", function()
    terminal:type("clear; operations call -y api.drop --compact; echo told=$?", { "Enter" })
    assert.is_nil(terminal:wait("told=0"):find("go on", 1, true))
    terminal:type("clear; operations call api.drop --compact </dev/null; echo script=$?", { "Enter" })
    assert.is_nil(terminal:wait("script=0"):find("go on", 1, true))
  end)

  it("is not the only thing that is asked about: so is a server for another program", function()
    terminal:type("clear; operations install cursor api; echo code=$?", { "Enter" })
    terminal:wait("write this under mcpServers of")
    terminal:type({ "Enter" })
    assert.matches("not written\ncode=7", terminal:wait("code=7"))
    terminal:type("clear; operations install cursor api; echo code=$?", { "Enter" })
    terminal:wait("mcp.json? [y/N]")
    terminal:type("y", { "Enter" })
    assert.matches("has the server operations", terminal:wait("code=0"), 1, true)
  end)
end)
