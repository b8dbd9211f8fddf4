local command = require("spec.support.command")
local core = require("operations.core")
local curl = require("operations.cli.curl")

local function of(more, body, variables)
  local shown = { method = "GET", url = "http://a.test/x?y=1", headers = {} }
  for name, value in pairs(more) do
    shown[name] = value
  end
  local headers = {}
  for _, header in ipairs(shown.headers) do
    headers[header[1]] = header[4] or header[2]
  end
  return curl.command(shown, { headers = headers }, body, variables)
end

local function lines(...)
  return table.concat({ ... }, " \\\n  ") .. "\n"
end

describe("a command of curl", function()
  it("names the method, where it is not GET, and the URL", function()
    assert.equal("curl 'http://a.test/x?y=1'\n", of({}))
    assert.equal("curl http://a.test/\n", of({ url = "http://a.test/" }))
    assert.equal("curl --request POST http://a.test/\n", of({ method = "POST", url = "http://a.test/" }))
  end)

  it("quotes what a shell would read otherwise", function()
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'A: it'\\''s'"), of({ headers = { { "A", "it's" } } }))
    assert.equal("it's; $HOME `x` \"\n",
      command.run("printf '%s\\n' " .. of({ url = "it's; $HOME `x` \"" }):gsub("^curl ", "")).out)
  end)

  it("has the secrets of variables as these, for the shell to put in", function()
    local headers = { { "Authorization", "Bearer ***", true, 'Bearer s3cret "x"' } }
    assert.equal(lines("curl 'http://a.test/x?y=1'", '--header "Authorization: Bearer $TOKEN \\"x\\""'),
      of({ headers = headers }, nil, { TOKEN = "s3cret" }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'Authorization: Bearer ***'"),
      of({ headers = headers }, nil, { TOKEN = "other" }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'Authorization: Bearer ***'"),
      of({ headers = headers }, nil, { TOKEN = "" }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'A: s3cret'"),
      of({ headers = { { "A", "s3cret" } } }, nil, { TOKEN = "s3cret" }))
  end)

  it("has the body as text or of a file", function()
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--data-binary '{\"a\":1}'"), of({ body = '{"a":1}' }, { a = 1 }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--data-binary @/tmp/f"), of({ body = "x" }, { path = "/tmp/f" }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--data-binary @-"), of({ body = "x" }, { reader = print }))
    assert.equal("curl 'http://a.test/x?y=1'\n", of({}, { a = 1 }))
  end)

  it("has a form's fields, in order, and leaves its Content-Type to curl", function()
    local headers = { { "Content-Type", "multipart/form-data; boundary=x" }, { "A", "b" } }
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'A: b'", "--form-string a=1", "--form-string b=true",
      "--form-string c=x", "--form-string c=y", "--form 'd={\"k\":1};type=application/json'",
      "--form 'f=@/tmp/f;type=image/png;filename=g.png'", "--form g=@/tmp/g", "--form h=@-",
      "--form h=@-"), of({ headers = headers }, { a = 1, b = true, c = { "x", "y" }, d = { k = 1 },
      f = { path = "/tmp/f", contentType = "image/png", filename = "g.png" }, g = { path = "/tmp/g" },
      h = { { reader = print }, { reader = print } } }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'Content-Type: application/x-www-form-urlencoded'",
      "--data-binary a=1"), of({ headers = { { "Content-Type", "application/x-www-form-urlencoded" } }, body = "a=1" },
      { a = 1 }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--header 'Content-Type: multipart/form-data'",
      "--data-binary x"), of({ headers = { { "Content-Type", "multipart/form-data" } }, body = "x" }, "x"))
  end)

  it("writes null in a field as JSON", function()
    assert.equal(lines("curl 'http://a.test/x?y=1'", "--form-string a=null"),
      of({ headers = { { "content-type", "multipart/form-data" } } }, { a = core.null }))
  end)
end)

describe("the variables of a command of curl", function()
  it("are those that options and remembered sources name", function()
    local home = os.getenv("HOME")
    assert.equal(home, curl.variables({ bearer = "env:HOME" }).HOME)
    assert.equal(home, curl.variables({ header = { "A: env:HOME" } }).HOME)
    assert.equal(home, curl.variables({}, { { headers = { A = "env:HOME" } } }).HOME)
    assert.is_nil(curl.variables({ bearer = "env:HOME/x", other = 7 }).HOME)
    assert.is_nil(curl.variables({}, {}).HOME)
  end)
end)
