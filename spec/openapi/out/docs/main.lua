--- What others' programs find in documents: Redocly, Spectral and @readme/openapi-parser no error, Prism between a
--- client and the server no violation. And the registries that documents of npm's packages give are given back by
--- their own. Run by `make test-docs`.
local every_operation = require("spec.support.every_operation")
local free_port = require("spec.support.free_port")
local instance = require("spec.support.instance")
local operations = require("operations")
local random_schema = require("spec.support.random_schema")
local round_trip = require("spec.support.round_trip")

local json = operations.json
local packages = assert(os.getenv("DOCS_PACKAGES"), "DOCS_PACKAGES: where npm installed the checkers")
local documents = assert(os.getenv("OPENAPI_PACKAGES"), "OPENAPI_PACKAGES: where npm installed the documents")
local servers = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")

local info = { title = "Checked", version = "2.0.0", description = "What the checkers read.",
  contact = { name = "Nobody", url = "https://example.com", email = "nobody@example.com" },
  license = { name = "MIT", identifier = "MIT" } }

-- Those that name themselves by `$id` are known to few checkers, older drafts to none.
local exotic = { ["tree.named"] = true, ["old.draft"] = true }
local open = { requiredScopes = operations.array() }

local function by_hand()
  local list = {}
  for _, definition in ipairs(every_operation()) do
    if not exotic[definition.namespace .. "." .. definition.name] then
      list[#list + 1] = definition
    end
  end
  return list
end

local function imported(path)
  return assert(operations.from_openapi.file(documents .. path, { accessControl = open }))
end

local function serve(definitions, options)
  options = options or {}
  options.openapi = { info = info }
  return round_trip.of(definitions, options)
end

local function run(line)
  local pipe = assert(io.popen(line .. " 2>&1; echo $?"))
  local text = pipe:read("*a")
  pipe:close()
  return tonumber(text:match("(%d+)\n$")), text
end

local directory

local function write(name, text)
  local path = directory .. "/" .. name
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

setup(function()
  local _, text = run("mktemp -d")
  directory = text:match("^[^\n]+")
  write("spectral.yaml", 'extends: ["spectral:oas"]\n')
  write("parse.mjs", ([[
    import { createRequire } from "node:module"
    import { pathToFileURL } from "node:url"
    const require = createRequire("%s/")
    const { validate } = await import(pathToFileURL(require.resolve("@readme/openapi-parser")))
    const result = await validate(process.argv[2])
    console.log(JSON.stringify(result.errors ?? []))
    process.exit(result.valid ? 0 : 1)
  ]]):format(packages))
end)

teardown(function()
  os.execute("rm -r " .. directory)
end)

local checkers = {
  redocly = packages .. "/.bin/redocly lint --extends recommended-strict --format stylish %s",
  spectral = packages .. "/.bin/spectral lint --fail-severity error -q -r %s/spectral.yaml %s",
}

local function parse(path)
  local code, text = run(("node %s/parse.mjs %s"):format(directory, path))
  assert(code == 0, text)
end

local function check(trip)
  parse(write("api-3.0.json", trip:text(trip.server, "3.0")))
  for _, version in ipairs({ "3.1", "3.2" }) do
    local path = write("api-" .. version .. ".json", trip:text(trip.server, version))
    local code, text = run("cd " .. directory .. " && " .. checkers.redocly:format(path))
    assert(code == 0, text)
    code, text = run(checkers.spectral:format(directory, path))
    assert(code == 0, text)
    if version == "3.1" then -- the parser knows no 3.2
      parse(path)
    end
  end
end

local pipe = assert(io.popen("find " .. documents .. "/@readme/oas-examples/*/json "
  .. documents .. "/@octokit/openapi/generated/api.github.com.json -name '*.json' | sort"))
local all = pipe:read("*a")
pipe:close()

-- A client of server-everything.
local function everything()
  return assert(operations.from_mcp.connect("everything", { command = "node", args = {
    servers .. "/@modelcontextprotocol/server-everything/dist/index.js", "stdio" }, accessControl = open,
    log = function() end }))
end

describe("documents", function()
  local trip

  after_each(function()
    trip:close()
  end)

  it("of operations written by hand have no error for the checkers", function()
    trip = serve(by_hand(), { authorize = function() end })
    check(trip)
  end)

  it("of an imported API have no error for the checkers", function()
    trip = serve(imported("/@readme/oas-examples/3.0/json/petstore.json"))
    check(trip)
  end)

  it("of the tools of an MCP server have no error for the checkers, and give the tools back", function()
    local client = everything()
    local registry = operations.registry()
    assert(client:register(registry))
    trip = serve(registry)
    check(trip)
    local back = trip:read("3.1")
    trip:compare_specs(back)
    assert.is_true(trip:text(trip.server, "3.1") == trip:text(assert(operations.to_http(back, trip.options)), "3.1"))
    client:close()
  end)

  local paths, calls = {}, 0
  for path in all:gmatch("[^\n]+") do
    paths[#paths + 1] = path
    it(("of %s give it back"):format(path:match("[^/]*/json/.*$") or path:match("[^/]*$")), function()
      local definitions = assert(operations.from_openapi.file(path, { accessControl = open }))
      trip = round_trip.of(definitions, { log = function() end })
      local back = trip:read("3.1")
      trip:compare_specs(back)
      assert(trip:text(trip.server, "3.1") == trip:text(assert(operations.to_http(back, trip.options)), "3.1"), path)
      calls = calls + #definitions
    end)
  end

  teardown(function()
    print(("\n%d documents, %d operations: the same after a round trip"):format(#paths, calls))
    assert(#paths > 30 and calls > 1500)
  end)
end)

-- An instance of a schema; nil where none is found.
local function instance_of(schema)
  schema = type(schema) == "function" and schema() or schema -- of a large document, made when it is needed
  local compiled = schema ~= nil and schema ~= true and operations.schema.compile(schema)
  local ok, value = pcall(instance.of, schema, {})
  return compiled and ok and compiled:check(value) and value or nil
end

-- The operations of a foreign API, which answer here: with an instance of what they say they answer, where one is
-- found. `seen.last` is the input that came last.
local function answering(definitions, seen)
  local list = {}
  for _, definition in ipairs(definitions) do
    if definition.type ~= "subscription" then
      local output = instance_of(definition.outputSchema)
      definition.handler = function(input)
        seen.last = json.encode(input, { sort_keys = true, max_depth = 2000 })
        return output
      end
      list[#list + 1] = definition
    end
  end
  return list
end

describe("a document of foreign operations, called over HTTP,", function()
  local sum = { all = 0, succeeded = 0, failed = 0 }

  -- Calls both registries; what arrives at handlers is the same, too.
  local function compare(definitions, pick, n)
    local seen = {}
    local trip = round_trip.of(answering(definitions, seen), {})
    local ok, counts = pcall(trip.compare_calls, trip, trip:read("3.1"), pick, n, function()
      local last = seen.last
      seen.last = nil
      return last
    end)
    trip:close()
    assert(ok, counts)
    for name, count in pairs(counts) do
      sum[name] = sum[name] + count
    end
  end

  it("of the tools of an MCP server gives handlers the same inputs and callers the same answers", function()
    local client = everything()
    compare(client.operations, random_schema.generator(20), 20)
    client:close()
    assert.is_true(sum.all > 100 and sum.succeeded > 20, sum.succeeded)
  end)

  it("gives handlers the same inputs and callers the same answers", function()
    local pick = random_schema.generator(19)
    for path in all:gmatch("[^\n]+") do
      local is_large = path:find("api.github.com", 1, true)
      compare(assert(operations.from_openapi.file(path, { accessControl = open })), pick, is_large and 2 or 8)
    end
    print(("\n%d calls over HTTP of foreign APIs, %d succeeded: the same"):format(sum.all, sum.succeeded))
    assert.is_true(sum.all >= 1000 and sum.succeeded > sum.all / 4, sum.succeeded)
  end)
end)

-- Prism checks requests and answers of a server by its document, and passes both on.
local function start_prism(path, url)
  local port = free_port()
  local child = assert(operations.process.spawn({ "node", documents .. "/.bin/prism", "proxy", path, url,
    "-h", "127.0.0.1", "-p", tostring(port), "--errors", shared = true }))
  repeat
    local line = assert(child:read_line(), "prism ended")
  until line:find("Prism is listening", 1, true)
  operations.spawn(function()
    while child:read_line() do end -- a full pipe would hold it up
  end)
  return "http://127.0.0.1:" .. port, child
end

-- The request of an input as the document shows it; nil where the input cannot be said so.
local function request_of(path, method, operation, value)
  local query, headers, body = {}, {}, nil
  for _, parameter in ipairs(operation.parameters or {}) do
    local given = type(value) == "table" and value[parameter.name]
    if parameter["in"] == "path" then
      path = path:gsub("{" .. parameter.name .. "}", "7")
    elseif type(given) ~= "table" and given ~= nil and given ~= false and given ~= json.null then
      query[#query + 1] = ("%s=%s"):format(parameter.name, (tostring(given):gsub("[^%w.-]", function(byte)
        return ("%%%02X"):format(byte:byte())
      end)))
    end
  end
  if operation.requestBody then
    local media = next(operation.requestBody.content)
    headers["Content-Type"] = media
    body = media == "application/json" and json.encode(value) or tostring(value)
  end
  return { method = method:upper(), url = path .. (query[1] and "?" .. table.concat(query, "&") or ""),
    headers = headers, body = body, timeout = 20000 }
end

describe("prism", function()
  it("sees no violation of the document in any JSON operation, whatever the input", function()
    local trip = serve(by_hand())
    local document = trip.server:openapi("3.1")
    local url, child = start_prism(write("prism.json", trip:text(trip.server, "3.1")), trip.url)
    local pick, calls, refused = random_schema.generator(11), 0, 0
    for path, item in pairs(document.paths) do
      for method, operation in pairs(item) do
        local own = operation["x-operation"] -- paths of jobs have none
        local spec = own and trip.registry:get_spec(own.id)
        for i = 1, (not spec or spec.type == "subscription" or path:find("%%")) and 0 or 8 do
          local ok, value = pcall(instance.of, spec.inputSchema, { optional = i % 2 == 0 })
          local bad = not ok or i % 4 == 0
          value = bad and random_schema.value(pick, 2) or value
          local request = request_of(path, method, operation, value)
          request.url = url .. request.url
          local answer = assert(operations.http.request(request))
          local said = json.decode(answer.body) or {}
          local text = answer.body
          assert(not (type(said) == "table" and tostring(said.type):find("#VIOLATIONS", 1, true)),
            ("%s %s: %s"):format(request.method, request.url, text))
          calls = calls + 1
          refused = refused + (answer.status >= 400 and 1 or 0)
        end
      end
    end
    print(("\nprism: %d calls, %d of them refused, no violation"):format(calls, refused))
    assert.is_true(calls > 100 and refused > 10)
    child:stop()
    trip:close()
  end)
end)
