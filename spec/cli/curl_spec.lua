local command = require("spec.support.command")
local curl = require("operations.cli.curl")
local exchange = require("operations.cli.exchange")
local http = require("operations.net.http")
local members = require("operations.base.members")
local operations = require("operations")
local random = require("spec.support.random")
local raw_server = require("spec.support.raw_server")

local URL = "curl 'http://a.test/x?y=1'"

local function of(more, request, given)
  local shown = { method = "GET", url = "http://a.test/x?y=1", headers = {} }
  for name, value in pairs(more) do
    shown[name] = value
  end
  local headers = {}
  for _, header in ipairs(shown.headers) do
    headers[header[1]] = header[4] or header[2]
  end
  return curl.command(shown, members.merged({ headers = headers, url = shown.url, method = shown.method }, request),
    given)
end

local function lines(...)
  return table.concat({ ... }, " \\\n  ") .. "\n"
end

local function with_headers(...)
  return of({ headers = { ... } }, { redirects = 0 })
end

describe("a command of curl", function()
  it("has the method, where it is not GET, and the URL", function()
    assert.equal(lines(URL, "--location", "--compressed"), of({}))
    assert.equal(lines("curl http://a.test/", "--compressed"), of({ url = "http://a.test/" }, { redirects = 0 }))
    assert.equal(lines("curl --head http://a.test/", "--location", "--compressed"),
      of({ url = "http://a.test/", method = "HEAD" }))
    assert.equal(lines("curl --request DELETE http://a.test/", "--compressed"),
      of({ method = "DELETE", url = "http://a.test/" }))
    assert.equal(lines("curl --request 'A&touch$IFS.pwned&B' http://a.test/", "--compressed"),
      of({ method = "A&touch$IFS.pwned&B", url = "http://a.test/" }))
  end)

  it("takes no part of the URL for a pattern or as a step up", function()
    assert.equal(lines("curl --globoff 'http://a.test/[1-3]{a,b}'", "--location", "--compressed"),
      of({ url = "http://a.test/[1-3]{a,b}" }))
    assert.equal(lines("curl --path-as-is http://a.test/a/../b", "--location", "--compressed"),
      of({ url = "http://a.test/a/../b" }))
  end)

  it("has the options of the connection", function()
    assert.equal(lines(URL, "--location", "--insecure", "--cacert 'my ca.pem'", "--cert 'c\\:1.pem'", "--key k.pem",
      "--pass '***'", "--proxy 'http://***@proxy.test:1'", "--max-time 2.5", "--compressed"),
      of({}, { insecure = true, ca_file = "my ca.pem", cert_file = "c:1.pem", key_file = "k.pem", key_password = "p",
        proxy = "http://u:p@proxy.test:1" }, { timeout = 2.5 }))
    assert.equal(lines(URL, "--location", "--noproxy '*'", "--compressed"), of({}, { proxy = false }))
  end)

  it("has headers as they are, also empty ones", function()
    assert.equal(lines(URL, "--header 'A: it'\\''s'", "--header 'X$HOME: `x`'", "--header 'Empty;'", "--compressed"),
      with_headers({ "A", "it's" }, { "X$HOME", "`x`" }, { "Empty", "" }))
    assert.equal(lines(URL, "--header 'Accept-Encoding: br'"), with_headers({ "Accept-Encoding", "br" }))
  end)

  it("has the secrets of variables as these, for the shell to put in", function()
    local function secret(name, shown, value, variables)
      return of({ headers = { { name, shown, true, value } } }, { redirects = 0 }, { variables = variables })
        :match("\n  (.-) \\\n")
    end
    assert.equal('--header "Authorization: Bearer $TOKEN"',
      secret("Authorization", "***", "Bearer s3cret", { TOKEN = "s3cret" }))
    assert.equal('--header "X-Key: $KEY"', secret("X-Key", "***", "s3cret", { KEY = "s3cret" }))
    assert.equal('--header "X\\$a-Key: $KEY"', secret("X$a-Key", "***", "s3cret", { KEY = "s3cret" }))
    assert.equal("--header 'Authorization: ***'", secret("Authorization", "***", "Bearer s3cret", { TOKEN = "other" }))
    assert.equal("--header 'Authorization: ***'", secret("Authorization", "***", "Bearer s3cret", { TOKEN = "" }))
    assert.equal("--header 'X-Key: ***'", secret("X-Key", "***", "s3cret", { PART = "s3" }))
    assert.equal('--header "Cookie: a=1; sid=$SID""; b=***"',
      secret("Cookie", "a=1; sid=***; b=***", "a=1; sid=s3cret; b=2", { SID = "s3cret" }))
    assert.equal("--header 'A: s3cret'", of({ headers = { { "A", "s3cret" } } }, { redirects = 0 },
      { variables = { TOKEN = "s3cret" } }):match("\n  (.-) \\\n"))
  end)

  it("has the user and password of variables as --user", function()
    local function user(variables)
      return of({ headers = { { "Authorization", "***", true, "Basic dSQxOnAgdw==" } } }, { redirects = 0 },
        { variables = variables }):match("\n  (.-) \\\n")
    end
    assert.equal('--user "u\\$1:$WORD"', user({ WORD = "p w" }))
    assert.equal('--user "$BOTH"', user({ BOTH = "u$1:p w" }))
    assert.equal("--header 'Authorization: ***'", user({ OTHER = "p" }))
  end)

  it("has a key of the query as its variable, encoded by curl where that changes it", function()
    local shown = { url = "http://a.test/x?y=1&key=***" }
    assert.equal(lines('curl "http://a.test/x?y=1&key=$KEY"', "--compressed"),
      of(shown, { url = "http://a.test/x?y=1&key=s3cret", redirects = 0 }, { variables = { KEY = "s3cret" } }))
    assert.equal(lines("curl 'http://a.test/x?y=1'", '--url-query "key=$KEY"', "--compressed"),
      of(shown, { url = "http://a.test/x?y=1&key=a%2Bb", redirects = 0 }, { variables = { KEY = "a+b" } }))
    assert.equal(lines("curl 'http://a.test/x?y=1&key=***'", "--compressed"),
      of(shown, { url = "http://a.test/x?y=1&key=s3cret", redirects = 0 }, { variables = {} }))
  end)

  it("has a body as text, from a file or from standard input", function()
    local function body(...)
      return of({ method = "PUT", headers = { { "Content-Type", "text/plain" } }, body = ... }, select(2, ...))
    end
    local head = { "curl --request PUT 'http://a.test/x?y=1'", "--header 'Content-Type: text/plain'", "--compressed" }
    assert.equal(lines(head[1], head[2], head[3], "--data-raw @/etc/passwd"), body("@/etc/passwd"))
    assert.equal(lines(head[1], head[2], head[3], "--data-binary @/f"), body(nil, { body = { segments = {
      { path = "/f" } } } }))
    assert.equal(lines(head[1], head[2], head[3], "--data-binary @-"), body(nil, { body = { segments = { {} } } }))
    assert.equal("printf 'a\\000b' |\n" .. lines(head[1], head[2], head[3], "--data-binary @-"), body("a\0b"))
    assert.equal(lines("curl --request POST 'http://a.test/x?y=1'", "--header Content-Type:", "--compressed",
      "--data-raw ''"), of({ method = "POST" }))
  end)
end)

describe("the variables of a command of curl", function()
  it("are those that options and remembered sources name", function()
    local home = os.getenv("HOME")
    assert.equal(home, curl.variables({ bearer = "env:HOME" }).HOME)
    assert.equal(home, curl.variables({ header = { "A: env:HOME" } }).HOME)
    assert.equal(home, curl.variables({ basic = "user:env:HOME" }).HOME)
    assert.equal(home, curl.variables({}, { { headers = { A = "env:HOME" } } }).HOME)
    assert.is_nil(curl.variables({ bearer = "env:HOME/x", other = 7 }).HOME)
    assert.is_nil(curl.variables({}, {}).HOME)
  end)
end)

-- The law: a shell that runs the command sends the same request.

local methods = { "get", "post", "put", "patch", "delete" }
local additional = { "A&touch$IFS.pwned&B", "QUERY", "`touch`", "a'b", "$HOME", "x|y", "#", "*" }

local pieces = { "a", "b c", "'", '"', "$HOME", "$(touch pwned)", "`touch pwned`", ";", ",", "&", "|", "@",
  "@/etc/hostname", "<", "[1-3]", "{a,b}", "\\", "\\n", "!", "~", "%41", "%", "+", "=", "?", "#", "é", "\226\128\174",
  "*", "--", "-rf", "(", "/", ":", "***" }

local function text()
  local parts = {}
  for i = 1, random.upto(4) do
    parts[i] = random.pick(pieces)
  end
  return table.concat(parts)
end

local function long_text()
  local more = random.pick({ "", "\n", "\r\n", "\ttab", "\0", "\27[8m", "\127", "\255" })
  return random.pick({ "", "@", "<", "--" }) .. text() .. more .. text()
end

local function utf8_text()
  local found = long_text():gsub("[%z\255]", "")
  return found
end

local headers = { "X-Plain", "X$HOME", "X`touch`", "X-Auth-Token", "x'y" }

local function parameters()
  local list = { { name = "p", ["in"] = "path", required = true, schema = { type = "string" } } }
  for _, name in ipairs({ "q", "q[1-3]", "{a,b}", "it's", "$HOME" }) do
    list[#list + 1] = { name = name, ["in"] = "query", schema = { type = "string" } }
  end
  for _, name in ipairs(headers) do
    list[#list + 1] = { name = name, ["in"] = "header", schema = { type = "string" } }
  end
  list[#list + 1] = { name = "r", ["in"] = "query", allowReserved = true, schema = { type = "string" } }
  list[#list + 1] = { name = "sid", ["in"] = "cookie", schema = { type = "string" } }
  return list
end

local names = { "plain", "semi;colon", "com,ma", "a=b", 'quo"te', "@at", "<less", "it's", "$HOME", "sp ace" }

local function content(media_type, schema)
  return { required = true, content = { [media_type] = { schema = schema } } }
end

local function form_body()
  local properties = { file = { type = "string", format = "binary" }, list = { type = "array",
    items = { type = "string" } }, object = { type = "object" } }
  for _, name in ipairs(names) do
    properties[name] = { type = "string" }
  end
  return { type = "object", properties = properties }
end

local function bodies()
  return {
    none = false, json = content("application/json", true), text = content("text/plain", { type = "string" }),
    form = content("application/x-www-form-urlencoded", form_body()),
    multipart = content("multipart/form-data", form_body()),
    bytes = content("application/octet-stream", { type = "string", format = "binary" }),
  }
end

local kinds = { "none", "json", "text", "form", "multipart", "bytes" }

local function document(address)
  local paths = {}
  for kind, body in pairs(bodies()) do
    local item = { parameters = parameters(), additionalOperations = {} }
    for i, method in ipairs(members.joined(methods, additional)) do
      local place = i > #methods and item.additionalOperations or item
      place[method] = { operationId = kind .. i, requestBody = body or nil, responses = { ["200"] = { description = "",
        content = { ["application/octet-stream"] = {} } } } }
    end
    paths["/" .. kind .. "/{p}/it's"] = item
  end
  return { openapi = "3.2.0", info = { title = "Curl", version = "1" }, servers = { { url = address } }, paths = paths }
end

local function file_value(path)
  return random.pick({ { path = path }, { path = path, filename = text():gsub("/", "") .. "x" },
    { path = path, contentType = "text/plain; charset=utf-8" }, { data = utf8_text(), filename = "d;e,f" },
    { data = "x", headers = { ["X-Part"] = 'a"b;c,d' } } })
end

local function form_value(path)
  local value = { list = { utf8_text(), text() }, object = { a = utf8_text() } }
  for _ = 1, random.upto(3) do
    value[random.pick(names)] = utf8_text()
  end
  value.file = path and random.chance(70) and file_value(path) or nil
  return value
end

local function body_value(kind, path)
  if kind == "json" then
    return random.pick({ utf8_text(), { path = path }, { [utf8_text()] = { 1, utf8_text() } }, 7 })
  elseif kind == "text" then
    return long_text()
  elseif kind == "form" then
    local value = form_value()
    value.file = utf8_text()
    return value
  elseif kind == "multipart" then
    return form_value(path)
  elseif kind == "bytes" then
    return random.pick({ long_text(), { path = path }, { path = path, contentType = "a/b" } })
  end
end

local function input_of(kind, path)
  local input = { p = "x" .. text(), body = body_value(kind, path) }
  for _, name in ipairs({ "q", "q[1-3]", "{a,b}", "it's", "$HOME" }) do
    input[name] = random.chance(40) and text() or nil
  end
  for _, name in ipairs(headers) do
    input[name] = random.chance(40) and "v" .. text() .. "v" or nil
  end
  input.r = random.chance(40) and random.pick({ "[1-3]", "x[a-c]/../{d,e}", "a=b?c" }) or nil
  input.sid = random.chance(40) and "c" .. text():gsub("[ ;,\"\\\128-\255]", "") or nil
  return input
end

-- A request as bytes, without what is new in each: the boundary, and what names the client.
local function comparable(bytes)
  local line, head, body = bytes:match("^(.-\r\n)(.-\r\n)\r\n(.*)$")
  local boundary = head:match("boundary=([^\r\n]+)")
  local list = {}
  for field in head:gmatch("[^\r\n]+") do
    local name = field:match("^([^:]+):"):lower()
    if not (name == "user-agent" or name == "host" or name == "transfer-encoding"
      or boundary and name == "content-length") then
      list[#list + 1] = field:gsub("^[^:]+:", string.lower)
    end
  end
  table.sort(list)
  local all = line .. table.concat(list, "\n") .. "\n\n" .. body
  return boundary and all:gsub(boundary:gsub("%p", "%%%0"), "BOUNDARY") or all
end

describe("a shell that runs a command of curl", function()
  local server, directory, path, registry, held

  setup(function()
    server = raw_server.start()
    directory = os.tmpname()
    os.remove(directory)
    path = directory .. "/it's a;file,name\"$HOME"
    assert(os.execute("mkdir " .. directory))
    local file = assert(io.open(path, "wb"))
    file:write("bytes of a file\0\r\n")
    file:close()
    local client = {}
    function client.request(request)
      held = members.copy(request)
      return http.request(request)
    end
    function client.open(request)
      held = members.copy(request)
      return http.open(request)
    end
    registry = operations.registry({ on_warning = function() end })
    for _, definition in ipairs(assert(operations.from_openapi.document(document(server.url),
      { namespace = "c", http = client }))) do
      assert(registry:register(definition))
    end
  end)

  teardown(function()
    server:stop()
    os.execute("rm -rf " .. directory)
  end)

  -- Runs commands, each printing what the server got, one after the other.
  local function run(commands)
    local script = { "cd " .. directory }
    for i, text_of in ipairs(commands) do
      script[#script + 1] = ("{ %s} >%s/%d 2>%s/%d.err </dev/null"):format(text_of:gsub("curl ", "curl --silent ", 1),
        directory, i, directory, i)
    end
    local file = assert(io.open(directory .. "/script", "wb"))
    file:write(table.concat(script, "\n"), "\n")
    file:close()
    command.run("sh " .. directory .. "/script")
    local answers = {}
    for i = 1, #commands do
      local answer = assert(io.open(directory .. "/" .. i, "rb"))
      answers[i] = answer:read("*a")
      answer:close()
    end
    return answers
  end

  it("sends the same request, for 200 generated inputs", function()
    random.seed(41)
    local sent, commands = {}, {}
    for i = 1, 200 do
      local kind = kinds[i % #kinds + 1]
      local id = "c." .. kind .. random.upto(#methods + #additional)
      local input, given = input_of(kind, path), {}
      for name, value in pairs(input) do
        given[name ~= "body" and value or ""] = true
      end
      sent[i] = assert(registry:execute(id, input)).data
      commands[i] = curl.command(exchange.shown(held, {}, given), held)
    end
    local got = run(commands)
    for i = 1, #commands do
      assert(got[i] ~= "", commands[i])
      assert.equal(comparable(sent[i]), comparable(got[i]), commands[i])
    end
    assert.equal("", command.run("find . " .. directory .. " -name '*pwned*' -newer " .. directory .. "/script").out)
  end)
end)
