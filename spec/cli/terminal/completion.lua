--- Completion, driven by the keys of the three shells.
local json = require("operations.base.json")
local operations = require("operations")
local tmux = require("spec.support.tmux")

local document = [[{ "openapi": "3.1.0", "info": { "title": "Pet store", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ], "paths": { "/pets/{kind}": { "get": { "operationId": "pets/list",
    "parameters": [ { "name": "kind", "in": "path", "required": true, "schema": { "enum": ["cat", "dog"] } } ],
    "responses": { "200": { "description": "", "content": { "application/json": {} } } } } } } }]]

-- Words of a document that would run something, or be other words, where a shell read them unquoted.
local hostile = { "red;touch ran;", "k$(touch ran)", "`touch ran`", "x|touch ran", "a&touch ran", "a\ntouch ran",
  "~root", "!touch", "it's", 'quo"te', "two words", "*", "#no", "-rf", ">ran", "<(touch ran)", "{a,b}", "$HOME",
  "back\\slash", "a\27b" }

local function hostile_document()
  local parameters = { { name = "kind", ["in"] = "query", schema = { enum = {} } } }
  for i, word in ipairs(hostile) do
    parameters[1].schema.enum[i] = ("%02d"):format(i) .. word
    parameters[i + 1] = { name = ("p%02d"):format(i) .. word, ["in"] = "query", schema = { type = "string" } }
  end
  return assert(json.encode({ openapi = "3.1.0", info = { title = "Bad", version = "1" },
    servers = { { url = "http://127.0.0.1:9" } }, paths = { ["/x"] = { get = { operationId = "x",
      parameters = parameters, responses = { ["200"] = { description = "" } } } } } }))
end

local shells = {
  { "bash --norc --noprofile", 'eval "$(operations completion bash)"' },
  { "zsh -f", 'autoload -Uz compinit; compinit -u; eval "$(operations completion zsh)"' },
  { "fish --no-config", "operations completion fish | source" },
}

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

for _, shell in ipairs(shells) do
  describe("completion in " .. shell[1]:match("^%S+"), function()
    local terminal

    before_each(function()
      terminal = tmux.open(shell[1], 100)
      write(terminal.home .. "/pets.json", document)
      write(terminal.home .. "/bad.json", hostile_document())
      terminal:type("operations add petstore ~/pets.json; operations add bad ~/bad.json", { "Enter" })
      terminal:wait("remembered bad")
      terminal:type(shell[2] .. "; cd; clear; echo rea''dy", { "Enter" })
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

    -- What the shell hands to the program as the last word, after Tab and Enter.
    local function word_of(typed, value)
      os.remove(terminal.home .. "/word")
      terminal:type({ "C-u" }, typed, { "Tab" })
      terminal:wait(value)
      terminal:type({ "Enter" })
      for _ = 1, 100 do
        local file = io.open(terminal.home .. "/word")
        if file then
          local text = file:read("*a")
          file:close()
          return text
        end
        operations.sleep(0.05)
      end
      error(terminal:screen())
    end

    it("gives keys and values of a document as one word each, which runs nothing", function()
      os.execute(("cd %s && mv bin/operations bin/real"):format(terminal.home))
      write(terminal.home .. "/bin/operations", '#!/bin/sh\n[ "$1" = call ] || exec real "$@"\n'
        .. 'for last in "$@"; do :; done\nprintf %s "$last" >~/word.part; mv ~/word.part ~/word\n')
      os.execute(("chmod +x %s/bin/operations"):format(terminal.home))
      for i, text in ipairs(hostile) do
        local number = ("%02d"):format(i)
        if not text:find("%c") then
          assert.equal("kind=" .. number .. text, word_of("operations call bad.x kind=" .. number, "kind=" .. number))
          local key = word_of("operations call bad.x p" .. number, "p" .. number)
          assert.equal("p" .. number .. text .. "=", key)
        end
      end
      assert.equal("", io.popen("ls " .. terminal.home .. " | grep ran"):read("*a"))
    end)
  end)
end
