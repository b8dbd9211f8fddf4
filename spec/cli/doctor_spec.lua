local shell_api = require("spec.support.shell_api")

describe("operations doctor", function()
  local api = shell_api.during(setup, teardown)

  -- What it prints of the sources that `script` adds, behind the lines about the machine.
  local function examined(script, arguments)
    local result = api:run(script .. "; operations doctor " .. (arguments or ""))
    return result.out:match("\n(\n.*)$"):gsub("%%", ""):gsub("\n  +", "\n"), result
  end

  it("shows versions, the terminal and the files", function()
    local result = api:run("HTTPS_PROXY=http://u:secret@proxy.test:1 operations doctor")
    assert.matches("^operations [%w.-]+, Lua[%w .-]+, libcurl [^\n]+\nno terminal\nconfig: /%S+/operations\n"
      .. "cache: /%S+/operations\nstate: /%S+/operations\nHTTPS_PROXY: http://[^\n]*proxy.test:1\n$", result.out)
    assert.is_nil(result.out:find("secret", 1, true))
    assert.equal("operations: no source is remembered: operations add NAME FILE|URL\n", result.err)
    assert.equal(0, result.code)
  end)

  it("says which sources and secrets are there, whether the API takes the credentials, and whose they are", function()
    local text, result = examined(("KEY=abcdefgh; export KEY; operations add shop %s --bearer env:KEY "
      .. "--header 'X-Team: api' --header 'X-Key: env:KEY' -q"):format(api.document))
    assert.matches("^\nshop  openapi /%S+\nok      %d+ operations\nok      %-%-bearer: env:KEY was found\n"
      .. "ok      %-%-header: env:KEY was found\n"
      .. "ok      the API takes the credentials, which are of ada %(GET /shell/me%)\n$", text)
    assert.equal(0, result.code)
  end)

  it("ends with the exit code of what is wrong", function()
    local text, result = examined("operations add shop " .. api.document .. " --bearer env:NONE -q")
    assert.matches("\nfailed  --bearer: env:NONE: the environment has no NONE\n", text, 1, true)
    assert.equal(4, result.code)
    text, result = examined("operations add shop " .. api.document .. " --base-url " .. api.url .. "/shell/denied -q")
    assert.matches("\nfailed  the API wants credentials: 401\n$", text)
    assert.equal(4, result.code)
    text, result = examined("operations add shop " .. api.document .. " --base-url http://127.0.0.1:1 -q")
    assert.matches("\nfailed  [^\n]*connect[^\n]*\n$", text)
    assert.equal(13, result.code)
  end)

  it("tries the named sources only, also those behind one that fails", function()
    local text, result = examined([[echo 'return { namespace = "a", name = "b", handler = print }' >a.lua
      cp a.lua b.lua; cp a.lua c.lua; for name in a b c; do operations add $name $name.lua -q; done; rm a.lua]], "a b")
    assert.matches("^\na  lua %S+\nfailed  it cannot be loaded\n\nb  lua %S+\nok      1 operation\n$", text)
    assert.equal(12, result.code)
    text, result = examined("true", "nobody")
    assert.matches("\nnobody\nfailed  no source \"nobody\"", text, 1, true)
    assert.equal(12, result.code)
  end)
end)
