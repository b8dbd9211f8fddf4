--- Completion, driven by the keys of the three shells.
local tmux = require("spec.support.tmux")

local document = [[{ "openapi": "3.1.0", "info": { "title": "Pet store", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ], "paths": { "/pets/{kind}": { "get": { "operationId": "pets/list",
    "parameters": [ { "name": "kind", "in": "path", "required": true, "schema": { "enum": ["cat", "dog"] } } ],
    "responses": { "200": { "description": "", "content": { "application/json": {} } } } } } } }]]

local shells = {
  { "bash --norc --noprofile", 'eval "$(operations completion bash)"' },
  { "zsh -f", 'autoload -Uz compinit; compinit -u; eval "$(operations completion zsh)"' },
  { "fish --no-config", "operations completion fish | source" },
}

for _, shell in ipairs(shells) do
  describe("completion in " .. shell[1]:match("^%S+"), function()
    local terminal

    before_each(function()
      terminal = tmux.open(shell[1], 100)
      local file = assert(io.open(terminal.home .. "/pets.json", "w"))
      file:write(document)
      file:close()
      terminal:type("operations add petstore ~/pets.json", { "Enter" })
      terminal:wait("remembered petstore")
      terminal:type(shell[2] .. "; clear; echo rea''dy", { "Enter" })
      terminal:wait("ready")
    end)

    after_each(function()
      terminal:close()
    end)

    it("knows commands, ids, keys and values", function()
      terminal:type("operations desc", { "Tab" })
      terminal:wait("operations describe")
      terminal:type({ "C-u" }, "operations call pets", { "Tab" })
      terminal:wait("operations call petstore.pets_list")
      terminal:type({ "Tab" })
      terminal:wait("kind=")
      terminal:type("d", { "Tab" })
      terminal:wait("petstore.pets_list kind=dog")
    end)

    it("knows options and sources", function()
      terminal:type("operations remove pet", { "Tab" })
      terminal:wait("operations remove petstore")
      terminal:type({ "C-u" }, "operations list --col", { "Tab" })
      terminal:wait("operations list --color")
    end)
  end)
end
