local command = require("spec.support.command")
local server = require("spec.support.server")

describe("connections", function()
  local api, document

  setup(function()
    api = server.start({ tls = true })
    document = os.tmpname()
    local file = assert(io.open(document, "w"))
    file:write(([[{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" }, "servers": [ { "url": "%s" } ],
      "paths": { "/echo": { "get": { "operationId": "echo", "responses": { "200": { "description": "",
        "content": { "application/json": {} } } } } } } }]]):format(api.tls))
    file:close()
  end)

  teardown(function()
    api:stop()
    os.remove(document)
  end)

  local function call(options)
    return command.run(("operations call a.echo --openapi %s %s"):format(document, options))
  end

  it("trust the certificates of their options, or any", function()
    local result = call("")
    assert.equal(13, result.code)
    assert.matches("certificate", result.err)
    assert.equal(0, call("--ca-file " .. api.ca_file).code)
    assert.equal(0, call("--insecure").code)
  end)

  it("check certificates behind a server that is open to other machines", function()
    local result = command.run(([[out=$(mktemp); operations serve --openapi %s --expose '*' --no-auth --host 0.0.0.0 \
      --public --port 0 >$out 2>/dev/null & server=$!
      while kill -0 $server && ! grep -q http $out; do sleep 0.05; done
      curl -s "http://127.0.0.1:$(grep -o '[0-9]*$' $out)/a/echo"; kill $server; rm $out]]):format(document))
    assert.matches('"kind":"tls"', result.out, 1, true)
  end)

  it("use the proxy of their options", function()
    local result = call("--insecure --proxy http://127.0.0.1:1")
    assert.equal(13, result.code)
    assert.matches("127.0.0.1 port 1", result.err, 1, true)
    assert.equal(0, command.run(("https_proxy=http://127.0.0.1:1; export https_proxy; operations call a.echo "
      .. "--insecure --proxy none --openapi %s"):format(document)).code)
  end)

  it("are to a socket of this machine, for the document and the calls", function()
    local path = os.tmpname()
    os.remove(path)
    local jobs = command.start("spec/support/jobs_server.lua", path)
    assert(jobs:read_line())
    local words = "--openapi http://docker.test/openapi.json --unix-socket " .. path
    local result = command.run("operations call shop.items cursor=9 --select 'items[0].id' " .. words)
    assert.same({ "9\n", "", 0 }, { result.out, result.err, result.code })
    assert.matches("  --unix-socket " .. path .. " ", command.run("operations call shop.items --curl " .. words).out,
      1, true)
    assert.equal("10\n", command.run("operations call shop.items --all -f ndjson --select items --next-page "
      .. "cursor=/next " .. words .. " | wc -l").out)
    result = command.run("operations call shop.rows --all --next-page page:page " .. words)
    assert.same({ 'id,name\n1,"item\n1"\n2,"item\n2"\n3,"item\n3"\n', "", 0 }, { result.out, result.err, result.code })
    result = command.run("operations list --openapi http://docker.test/openapi.json --unix-socket /nowhere")
    assert.equal(13, result.code)
    jobs:stop({ close = 2000 })
    os.remove(path)
  end)

  it("say which option is wrong", function()
    for options, message in pairs({
      ["--ca-file /nowhere"] = "--ca-file: /nowhere: No such file or directory",
      ["--cert /nowhere"] = "--cert: /nowhere: No such file or directory",
      ["--key /nowhere"] = "--key: /nowhere: No such file or directory",
      ["--proxy here"] = '--proxy: expected a URL such as http://proxy.example:3128, or none, got "here"',
      ["--next-page next"] = '--next-page: expected /POINTER, NAME=/POINTER, page:NAME or offset:NAME, got "next"',
      ["--next-page of:x"] = '--next-page: expected /POINTER, NAME=/POINTER, page:NAME or offset:NAME, got "of:x"',
      ["--retry often"] = '--retry: expected a whole number from 1 to 100, got "often"',
      ["--base-url foo"] = '--base-url: expected a URL such as https://api.example/v1, got "foo"',
      ["--colour maybe"] = "unknown option --colour (did you mean --color?); input is given as colour=VALUE, "
        .. "see operations call --help",
    }) do
      local result = call(options)
      assert.equal("operations: " .. message .. "\n", result.err)
      assert.equal(2, result.code)
    end
  end)

  it("read credentials from where they are", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write("from a file\n")
    file:close()
    local result = call("--header 'X-One: env:ONE'")
    assert.equal("operations: cannot load " .. document .. "\noperations: --header X-One: the environment has no ONE\n",
      result.err)
    result = command.run(("ONE=1; export ONE; operations call a.echo --openapi %s --insecure --header 'X-One: env:ONE' "
      .. "--header 'X-Two: file:%s' --header 'X-Three: cmd:echo 3'"):format(document, path))
    os.remove(path)
    assert.matches('"x-one":"1"', result.out, 1, true)
    assert.matches('"x-two":"from a file"', result.out, 1, true)
    assert.matches('"x-three":"3"', result.out, 1, true)
  end)
end)
