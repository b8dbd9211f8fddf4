local source_options = require("operations.sources.options")
local shell = require("spec.support.command")
local with_yaml = require("spec.support.with_yaml")(it, pending)

-- The sources of options, { name, value } each.
local function plan(...)
  local order = {}
  for i, option in ipairs({ ... }) do
    order[i] = { name = option[1], value = option[2] == nil or option[2] }
  end
  return source_options.plan(order)
end

local function config_of(...)
  local list = assert(plan({ "openapi", "a.json" }, ...))
  return list[1].config
end

describe("the sources of a command line", function()
  it("are known by kind and place, in order", function()
    local list = plan({ "openapi", "a.json" }, { "lua", "b" }, { "mcp", "npx -y c --key s3cret" },
      { "mcp-config", "d.json" }, { "redis", "redis://u:p@h" }, { "websocket", "wss://h/x" })
    local found = {}
    for i, source in ipairs(list) do
      found[i] = source.kind .. " " .. source.shown
    end
    assert.same({ "openapi a.json", "lua b", "mcp npx", "mcp-config d.json", "redis redis://h", "websocket wss://h/x" },
      found)
    assert.equal("npx -y c --key s3cret", list[3].place)
    assert.equal("https://h/x", plan({ "openapi", "https://u:p@h/x?key=1" })[1].shown)
    assert.same({}, plan({ "bearer", "x" }))
  end)

  it("have the options that follow them, and those before all sources", function()
    local list = plan({ "header", "A: 1" }, { "openapi", "a.json" }, { "header", "B: 2" }, { "namespace", "n" },
      { "openapi", "b.json" }, { "header", "A: 3" })
    assert.same({ A = "1", B = "2" }, list[1].config.headers)
    assert.same({ A = "3" }, list[2].config.headers)
    assert.same({ "n" }, { list[1].config.namespace, list[2].config.namespace })
  end)

  it("are configured by each option", function()
    local config = config_of({ "namespace", "n" }, { "base-url", "https://a.test/v1" }, { "remote-refs" },
      { "ref-root", "/specs" }, { "document-header", "C: 4" }, { "client-id", "i" }, { "scope", "x y" },
      { "proxy", "none" }, { "insecure" }, { "retry", "3" }, { "env-allow", "A" }, { "env-allow", "B_*" })
    assert.same({ "A", "B_*" }, config.env_allow)
    assert.same({ "n", "https://a.test/v1", true, "/specs", { C = "4" }, "i", "x y", false, true, { attempts = 3 } },
      { config.namespace, config.base_url, config.remote_refs, config.ref_root, config.document_headers,
        config.oauth.client_id, config.oauth.scope, config.connection.proxy, config.connection.insecure,
        config.connection.retry })
    assert.equal("http://p:1", config_of({ "proxy", "http://p:1" }).connection.proxy)
  end)

  it("are refused with the option that is wrong", function()
    for message, option in pairs({
      ['--base-url: expected a URL such as https://api.example/v1, got "a.test"'] = { "base-url", "a.test" },
      ["--basic: expected USER:PASSWORD"] = { "basic", "user" },
      ["--header: expected 'NAME: VALUE', got \"A\""] = { "header", "A" },
      ["--document-header: expected 'NAME: VALUE', got \"a b: c\""] = { "document-header", "a b: c" },
      ['--proxy: expected a URL such as http://proxy.example:3128, or none, got "p"'] = { "proxy", "p" },
      ['--retry: expected a whole number from 1 to 100, got "0"'] = { "retry", "0" },
      ['--retry: expected a whole number from 1 to 100, got "101"'] = { "retry", "101" },
      ['--retry: expected a whole number from 1 to 100, got "1.5"'] = { "retry", "1.5" },
      ['--retry: expected a whole number from 1 to 100, got "x"'] = { "retry", "x" },
    }) do
      assert.same({ nil, message }, { plan({ "openapi", "a.json" }, option) })
    end
    for _, number in ipairs({ "1", "100" }) do
      assert.equal(tonumber(number), config_of({ "retry", number }).connection.retry.attempts)
    end
    for option, field in pairs({ ["ca-file"] = "ca_file", cert = "cert_file", key = "key_file" }) do
      local _, message = plan({ "openapi", "a.json" }, { option, "/nowhere/x" })
      assert.equal(("--%s: /nowhere/x: "):format(option), message:sub(1, #option + 16))
      assert.equal("Makefile", config_of({ option, "Makefile" }).connection[field])
    end
  end)
end)

describe("the secrets of a source", function()
  local path

  before_each(function()
    path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("s3cret\r\nmore\n")
    file:close()
  end)

  after_each(function()
    os.remove(path)
  end)

  local function revealed(...)
    local list = assert(plan({ "openapi", "a.json" }, ...))
    local ok, message = pcall(source_options.reveal, list[1])
    return ok and list[1].config or message
  end

  it("are read when they are needed", function()
    assert.same({ type = "bearer", token = "s3cret" }, revealed({ "bearer", "file:" .. path }).auth)
    assert.same({ type = "apiKey", token = "s3cret" }, revealed({ "api-key", "cmd:cat " .. path }).auth)
    local named = revealed({ "api-key", "a=file:" .. path }, { "api-key", "b.c=plain" }, { "bearer", "t" })
    assert.same({ a = "s3cret", ["b.c"] = "plain" }, named.api_keys)
    assert.same({ type = "bearer", token = "t" }, named.auth)
    assert.same({ type = "apiKey", token = "YWI==" }, revealed({ "api-key", "YWI==" }).auth)
    assert.same({ type = "bearer", token = os.getenv("HOME") }, revealed({ "bearer", "env:HOME" }).auth)
    assert.same({ type = "bearer", token = "plain" }, revealed({ "bearer", "plain" }).auth)
    assert.equal("s3cret", revealed({ "client-secret", "file:" .. path }).oauth.client_secret)
    assert.same({ A = "s3cret", B = "plain" }, revealed({ "header", "A: file:" .. path }, { "header", "B: plain" })
      .headers)
    assert.same({ A = "s3cret" }, revealed({ "document-header", "A: file:" .. path }).document_headers)
  end)

  it("may be a user and a password, either of them or both named elsewhere", function()
    assert.same({ type = "basic", username = "u", password = "p:q" }, revealed({ "basic", "u:p:q" }).auth)
    assert.same({ type = "basic", username = "u", password = "s3cret" }, revealed({ "basic", "u:file:" .. path }).auth)
    for _, password in ipairs({ "pw", "p:q", "env:HOME" }) do -- a secret is not read as a reference
      local file = assert(io.open(path, "w"))
      file:write("ann:", password, "\n")
      file:close()
      assert.same({ type = "basic", username = "ann", password = password },
        revealed({ "basic", "file:" .. path }).auth)
    end
  end)

  it("fail with the option that they are of", function()
    assert.equal("--bearer: the environment has no NOT_THERE_AT_ALL", revealed({ "bearer", "env:NOT_THERE_AT_ALL" }))
    assert.equal("--bearer: expected a token of printable characters without blanks", revealed({ "bearer", "a b" }))
    assert.equal("--api-key: `true` printed nothing", revealed({ "api-key", "cmd:true" }))
    assert.equal("--client-secret: the environment has no NOT_THERE_AT_ALL",
      revealed({ "client-secret", "env:NOT_THERE_AT_ALL" }))
    assert.equal("--header A: the environment has no NOT_THERE_AT_ALL",
      revealed({ "header", "A: env:NOT_THERE_AT_ALL" }))
    assert.equal("--document-header A: the environment has no NOT_THERE_AT_ALL",
      revealed({ "document-header", "A: env:NOT_THERE_AT_ALL" }))
    assert.equal("--basic: the environment has no NOT_THERE_AT_ALL", revealed({ "basic", "env:NOT_THERE_AT_ALL" }))
    assert.equal("--basic: the environment has no NOT_THERE_AT_ALL", revealed({ "basic", "u:env:NOT_THERE_AT_ALL" }))
    assert.equal("--basic: expected USER:PASSWORD", revealed({ "basic", "file:" .. path }))
    os.remove(path)
    assert.matches("^%-%-bearer: .*No such file", revealed({ "bearer", "file:" .. path }))
  end)
end)

describe("the token of the environment", function()
  local command = require("spec.support.command")

  local function token(options)
    return command.run(([[OPERATIONS_BEARER=t lua -e 'local list = require("operations.sources.options").plan({ %s })
      local found = {}
      for i, source in ipairs(list) do
        found[i] = source.config.auth and tostring(source.config.auth.token) or "none"
      end
      print(table.concat(found, " "):gsub("function: %%S+", "given"))']]):format(options)).out:match("^[^\n\t]*")
  end

  it("is for the one source that has no other one", function()
    assert.equal("t", token('{ name = "openapi", value = "a" }'))
    assert.equal("none none", token('{ name = "openapi", value = "a" }, { name = "openapi", value = "b" }'))
    assert.equal("given", token('{ name = "openapi", value = "a" }, { name = "bearer", value = "x" }'))
  end)
end)

describe("the option --patch", function()
  with_yaml("takes a list of operations from a file, JSON or YAML", function()
    local path = os.tmpname()
    local function patch_of(text)
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
      local list, message = plan({ "openapi", "a.json" }, { "patch", path })
      return list and list[1].config.patch, message
    end
    assert.same({ { op = "remove", path = "/a" } }, patch_of('[{"op":"remove","path":"/a"}]'))
    assert.same({ { op = "remove", path = "/a" } }, patch_of("- op: remove\n  path: /a\n"))
    for text, message in pairs({ ['{"op":"remove"}'] = "expected a list of operations (RFC 6902)", ["[1"] = path }) do
      local found, why = patch_of(text)
      assert.is_nil(found)
      assert.matches("^%-%-patch: ", why)
      assert.matches(message, why, 1, true)
    end
    os.remove(path)
    assert.matches("No such file", select(2, plan({ "openapi", "a.json" }, { "patch", path })), 1, true)
  end)
end)

describe("the options of sources", function()
  it("load no reader of documents, tools or servers: every command starts with them", function()
    local result = shell.run([[lua -e 'require("operations.sources.options") require("operations.sources.remembered")
      for name in pairs(package.loaded) do
        if name:find("^operations%.openapi") or name:find("^operations%.mcp") or name:find("^operations%.net") then
          print(name)
        end
      end']])
    assert.same({ "", "", 0 }, { result.out, result.err, result.code })
  end)
end)
