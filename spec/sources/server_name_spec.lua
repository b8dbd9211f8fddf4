local mcp_servers = require("operations.sources.mcp_servers")

describe("the name of a server", function()
  for line, expected in pairs({
    ["npx -y @modelcontextprotocol/server-everything"] = "everything",
    ["npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp"] = "filesystem",
    ["uvx mcp-server-git --repository ."] = "git", ["/opt/bin/weather-mcp --fast"] = "weather",
    ["lua5.4 'my tools/tasks_mcp.lua' x"] = "tasks", ["./server"] = "server",
    ["node /opt/node_modules/@acme/files-mcp/dist/index.js stdio"] = "files",
    ["env A=b C=d npx -y weather"] = "weather",
    ["perl tools/notes.pl"] = "notes", ["python3.13 -u weather.py"] = "weather", ["uv run server-time"] = "time",
    ["lua5.4"] = "lua5.4", ["lua5.4 main.lua"] = "main",
  }) do
    it("is told by its command: " .. line, function()
      assert.equal(expected, mcp_servers.of_command(mcp_servers.words(line)))
    end)
  end

  for _, runner in ipairs({ "env", "npx", "bunx", "uvx", "pipx", "pnpx", "node", "bun", "deno", "tsx", "uv", "run",
    "lua", "luajit", "python", "perl", "ruby", "sh" }) do
    it("is not that of the program that runs it: " .. runner, function()
      assert.equal("files", mcp_servers.of_command({ "/usr/bin/" .. runner, "-x", "files.js" }))
    end)
  end

  for _, place in ipairs({ "index", "main", "cli", "server", "dist", "build", "src", "bin" }) do
    it("is not that of the place where it is stored: " .. place, function()
      assert.equal("files", mcp_servers.of_command({ "files/" .. place .. "/main.js" }))
    end)
  end

  it("is that of the place where there is no other, and mcp without any word", function()
    assert.equal("main", mcp_servers.of_command({ "dist/main.js" }))
    assert.equal("mcp", mcp_servers.of_command({ "/" }))
    assert.equal("mcp", mcp_servers.of_command({ "?" }))
    assert.equal("ffff_1.2.3.4", mcp_servers.of_url("http://[::ffff:1.2.3.4]:80/"))
    assert.equal("no_url", mcp_servers.of_url("no url"))
  end)

  for url, expected in pairs({
    ["https://mcp.example.com/mcp"] = "example", ["http://localhost:3921/mcp"] = "localhost",
    ["http://127.0.0.1:80/"] = "127.0.0.1",
  }) do
    it("is told by its URL: " .. url, function()
      assert.equal(expected, mcp_servers.of_url(url))
    end)
  end
end)

describe("a command line", function()
  it("is split at blanks, but not within quotes", function()
    assert.same({ "a", "b c", "d e", "", "f g" }, mcp_servers.words("a 'b c' \"d e\"  ''  f\\ g "))
    assert.same({ "ab c" }, mcp_servers.words("a'b c'"))
    assert.same({ "a", "b" }, mcp_servers.words("a b"))
    assert.same({}, mcp_servers.words(""))
    assert.same({ "ab", "\\" }, mcp_servers.words("a\\b \\"))
    assert.is_nil(mcp_servers.words("a 'b"))
  end)
end)
