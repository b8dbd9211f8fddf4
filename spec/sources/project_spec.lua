-- The real program, in the directory of a project.
local command = require("spec.support.command")
local json = require("operations.base.json")
local system = require("operations.system")

local document = [[{ "openapi": "3.1.0", "info": { "title": "A", "version": "1" },
  "servers": [ { "url": "http://127.0.0.1:9" } ], "paths": { "/a": { "get": { "operationId": "a",
    "parameters": [ { "$ref": "parts/p.json" } ] } } } }]]

local sources = { sources = {
  tools = { mcp = "sh ./server.sh", bearer = "cmd:./token.sh", header = { "X-Team: cmd:cat team.txt" } },
  definitions = { lua = "definitions" },
  api = { openapi = "api.json", ["ca-file"] = "ca.pem", patch = "mend.json",
    ["api-key"] = { "k=cmd:./key.sh", "l=env:L" },
    profiles = { work = { ["client-secret"] = "cmd:sh work.sh" } } },
  many = { ["mcp-config"] = "tools/mcp.json" },
  programs = { command = "programs.json" },
} }

local servers = { mcpServers = {
  local_one = { command = "node", args = { "${workspaceFolder}/dist/index.js", "two words" }, envFile = ".env",
    env = { TOKEN = "${env:TOKEN}", NODE_OPTIONS = "--require ./hook.js", PATH = "./bin:/usr/bin" } },
  web = { url = "https://mcp.example/mcp", headers = {
    Authorization = "Bearer ${cmd: sh ./header.sh; echo ${USER}}" } },
} }

-- What every command would leave behind.
-- The memory of a program; the sanitizer's own is larger.
local LIMIT = os.getenv("ASAN_OPTIONS") and "" or "ulimit -v 2000000; "

local trap = "touch $TRAP\n"

local files = {
  [".operations.json"] = json.encode(sources), ["tools/mcp.json"] = json.encode(servers), ["api.json"] = document,
  ["parts/p.json"] = '{ "name": "q", "in": "query", "schema": { "type": "string" } }', ["ca.pem"] = "x",
  ["mend.json"] = "[]", ["key.sh"] = trap, ["run.sh"] = trap,
  ["programs.json"] = '[{"namespace":"p","name":"run","argv":["./run.sh",["-n","{n}"]]}]',
  ["server.sh"] = trap, ["token.sh"] = trap, ["work.sh"] = trap, ["team.txt"] = "a", ["hook.js"] = "", [".env"] = "A=1",
  ["dist/index.js"] = "", ["header.sh"] = trap, ["bin/node"] = trap, ["definitions/a.lua"] =
    'os.execute("touch $TRAP") return { namespace = "d", name = "a", handler = function() return 1 end }',
}

describe("the sources of a project", function()
  local home

  local function write(name, text)
    os.execute(("mkdir -p '%s'"):format((home .. "/project/" .. name):match("^(.*)/")))
    local file = assert(io.open(home .. "/project/" .. name, "w"))
    file:write(text)
    file:close()
  end

  before_each(function()
    home = os.tmpname()
    os.remove(home)
    os.execute("mkdir -p " .. home)
    home = assert(system.real_path(home))
    for name, text in pairs(files) do
      write(name, text)
    end
  end)

  after_each(function()
    os.execute("rm -rf " .. home)
  end)

  -- Runs a script in the project's directory, with a home of its own.
  local function run(script)
    return command.run(([[
      HOME=%s; TRAP=$HOME/trap; export HOME TRAP; unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME
      tree=$PWD; operations() { LD_PRELOAD="$SANITIZER" %s $tree/lua/operations/cli/main.lua "$@"; }
      cd $HOME/project; chmod +x *.sh bin/node; %s]]):format(home, command.interpreter(), script))
  end

  local function is_trapped()
    return system.kind(home .. "/trap") ~= nil
  end

  local refusal = "is not trusted, so its sources are left out: operations trust %S+/project shows and trusts them\n"

  it("are refused without a terminal, with the command to run, and nothing of them is run", function()
    for _, words in ipairs({ "list", "call tools.x", "call p.run",
      "describe api.a", "watch definitions.a", "export many",
      "mcp tools", "serve definitions --port 0", "worker definitions --redis redis://127.0.0.1:1", "login api" }) do
      local result = run("operations " .. words)
      assert.matches(refusal, result.err, words)
      assert.not_equal(0, result.code, words)
      assert.is_false(is_trapped(), words)
    end
    assert.equal(12, run("operations call tools.x").code)
    assert.matches("tools is a source of " .. home .. "/project/.operations.json, which is not trusted\n",
      run("operations call tools.x").err, 1, true)
  end)

  it("are shown as they would run", function()
    local shown = run("operations trust --show").err
    for _, line in ipairs({ "tools", "    runs: ./run.sh '-n {n}'",
      "mcp runs: sh ./server.sh", "bearer runs: sh -c ./token.sh",
      "header runs: sh -c 'cat team.txt'",
      "api-key runs: sh -c ./key.sh", "client-secret runs: sh -c 'sh work.sh'",
      "runs the Lua file " .. home .. "/project/definitions/a.lua", "openapi: " .. home .. "/project/api.json",
      "local_one runs: node '${workspaceFolder}/dist/index.js' 'two words', with the variables NODE_OPTIONS, PATH, "
        .. "TOKEN (${env:TOKEN}), with the variables in .env",
      "web calls: https://mcp.example/mcp, with the headers Authorization (${cmd: sh ./header.sh; echo ${USER}})",
      "web runs: sh -c 'sh ./header.sh; echo ${USER}'" }) do
      assert.matches(line, shown, 1, true)
    end
    for name in pairs(files) do
      assert.matches("\n  " .. home .. "/project/" .. name .. "\n", shown, 1, true)
    end
    assert.matches(refusal, run("operations list").err)
    assert.is_false(is_trapped())
  end)

  it("are asked for again after a change of any file that they name", function()
    assert.equal(0, run("operations trust .").code)
    assert.equal("", run("operations sources").err)
    for name, text in pairs(files) do
      write(name, text .. "\n")
      assert.matches("changed since it was trusted (" .. home .. "/project/" .. name .. "), so",
        run("operations sources").err, 1, true)
      write(name, text)
    end
    write("definitions/deep/new.lua", "return {}")
    assert.matches("definitions/deep/new.lua", run("operations sources").err, 1, true)
    run("operations trust $PWD; operations trust --revoke $PWD")
    assert.matches(refusal, run("operations sources").err)
    assert.is_false(is_trapped())
  end)

  it("start nothing while a command line is completed, trusted or not", function()
    for _, script in ipairs({ "", "operations trust 2>/dev/null;" }) do
      for _, words in ipairs({ "call ''", "call tools.", "call definitions.a ''", "serve ''", "describe many.lo" }) do
        local result = run(script .. "operations complete -- " .. words)
        assert.equal("", result.err)
        assert.is_false(is_trapped(), words)
      end
    end
    assert.equal("definitions\n", run("operations complete -- serve def").out)
    write("server.sh", "changed")
    assert.equal("", run("operations complete -- serve def").out)
  end)

  it("of which one is a FIFO are refused without waiting", function()
    run("rm ca.pem; mkfifo ca.pem")
    for _, words in ipairs({ "list", "trust" }) do
      local result = run("operations " .. words)
      assert.matches("project/ca.pem: not a regular file\n", result.err)
      assert.equal(12, result.code)
    end
  end)

  it("are refused with endless files and directories, also while a command line is completed", function()
    write("big.json", "")
    run("truncate -s 64G big.json; mkfifo fifo; ln -s /dev/zero zero")
    for name, told in pairs({ ["mcp-config"] = { "fifo: not a regular file", "/dev/zero: not a regular file",
      "big.json: larger than 16777216 bytes" }, lua = { "/: more than 10000 files and directories" } }) do
      for i, place in ipairs(name == "lua" and { "/" } or { "fifo", "zero", "big.json" }) do
        write(".operations.json", json.encode({ sources = { one = { [name] = place } } }))
        for _, words in ipairs({ "list", "trust", "complete -- list o" }) do
          local result = run(LIMIT .. "operations " .. words)
          assert.same({ words:find("complete") and 0 or 12, "" }, { result.code, result.out }, place .. " " .. words)
          assert.matches(words:find("complete") and "" or told[i], result.err, 1, true)
        end
      end
    end
    run("mv big.json .operations.json")
    assert.equal("", run(LIMIT .. "operations complete -- list o").err)
  end)

  it("leave alone what the user names: on the command line, and in his own file", function()
    write("own/mcp.json", json.encode({ mcpServers = { none = { command = "false", disabled = true } } }))
    local result = run("rm .operations.json; operations list --lua definitions --mcp-config own/mcp.json")
    assert.equal("", result.err)
    assert.matches("d.a", result.out, 1, true)
    assert.is_true(is_trapped())
    result = run("cp -r definitions mine; operations add mine mine && operations list && operations call mine.d.a; "
      .. "operations call d.a")
    assert.is_nil(result.err:find("trust", 1, true))
    assert.matches("d.a", result.out, 1, true)
  end)
end)
