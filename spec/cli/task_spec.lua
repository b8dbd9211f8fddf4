-- Long calls at a shell: `operations call --detach` and `operations task`, against a server of HTTP and MCP.
local command = require("spec.support.command")
local operations = require("operations")

describe("a long call at a shell", function()
  local server, url

  setup(function()
    server = assert(operations.process.spawn({ command.interpreter(), "lua/operations/cli/main.lua", "serve", "--lua",
      "spec/support/long_report.lua", "--port", "0", "--no-auth", "--mcp-server", env = command.environment(),
      env_allow = { "PATH", "HOME" } }))
    local line = ""
    while not line:find("http://", 1, true) do
      line = assert(server:read_line(), "no server")
    end
    url = line:match("http://%S+")
  end)

  teardown(function()
    server:stop()
  end)

  -- Runs a script; $HTTP and $MCP are the words that name the server's operations.
  local function run(script)
    return command.run(("HTTP='--openapi %s/openapi.json'; MCP='--mcp %s/mcp --namespace office'; "):format(url, url)
      .. script)
  end

  for _, case in ipairs({ { "HTTP", "report.write", "http://127.0.0.1:%d+/jobs/[%x-]+" },
    { "MCP", "office.report_write", "[%x-]+" } }) do
    local words, id, task = case[1], case[2], case[3]

    it("is followed to its result over " .. words, function()
      assert.same({ out = '{"pages":2}\n', err = "", code = 0 },
        run(("operations call %s pages=2 $%s"):format(id, words)))
    end)

    it("is left running over " .. words .. " and found again by its id", function()
      local begun = run(("operations call %s pages=20 --detach $%s"):format(id, words))
      assert.same({ "", 0 }, { begun.err, begun.code })
      assert.matches("^" .. id:gsub("%.", "%%.") .. "@" .. task .. "\n$", begun.out)
      local name = begun.out:match("%S+")
      assert.same({ out = '{"pages":20}\n', err = "", code = 0 }, run(("operations task %s $%s"):format(name, words)))
    end)

    it("continues over " .. words .. " when a wait for it ends, until it is cancelled", function()
      local name = run(("operations call %s pages=100000 --detach $%s"):format(id, words)).out:match("%S+")
      local late = run(("operations task %s --timeout 2 $%s"):format(name, words))
      assert.equal("", late.out)
      assert.is_true(late.code == 6 or late.code == 12) -- the time is also that of loading the source
      assert.same({ out = "", err = "", code = 0 }, run(("operations task %s --cancel $%s"):format(name, words)))
      local over = run(("operations task %s $%s"):format(name, words))
      assert.equal("", over.out)
      assert.matches("cancelled", over.err)
    end)
  end

  it("has no options that its wait would ignore", function()
    for _, option in ipairs({ "--lua-code", "--no-input" }) do
      local result = run(("operations task report.write@x %s $HTTP"):format(option))
      assert.same({ "", 2 }, { result.out, result.code })
      assert.matches(option, result.err, 1, true)
    end
  end)

  it("is refused by an id that was not printed", function()
    for _, words in ipairs({ "", "report.write", "report.write@", "@x", "a@b c" }) do
      assert.same({ out = "", err = "operations: expected the ID that operations call --detach has printed\n",
        code = 2 }, run(("operations task %s $HTTP"):format(words)))
    end
    local unknown = run("operations task report.write@" .. url .. "/jobs/00000000-0000-0000-0000-000000000000 $HTTP")
    assert.same({ "", 3 }, { unknown.out, unknown.code })
    assert.matches("nothing is at", unknown.err)
    assert.equal("operations: --detach leaves one call running: it excludes --all and --max-items\n",
      run("operations call report.write pages=1 --detach --all $HTTP").err)
  end)
end)
