--- Clients that generators of npm make from our documents call the server: openapi-typescript with openapi-fetch,
--- hey-api and orval, from the documents of 3.1 and 3.0. They are compiled with strict types.
local document = require("spec.openapi.suite.document")
local every_operation = require("spec.support.every_operation")
local operations = require("operations")

local json = operations.json
local clients = {}

local problem = { code = "GONE", details = { at = 2, id = 1 }, status = 410 }

-- What each client gets; that of orval's fetch reads and writes only JSON.
local results = {
  flat = { got = { exact = true, list = { 1, 2.5 }, n = 7, word = "a b&ü" } },
  least = { got = { n = 3, word = "x" } },
  path = { got = { id = "x y-é", q = "?" } },
  put = { got = { body = { 1, 2 }, id = 7 } },
  made = { got = { n = 1 } },
  grown = { id = 1, parts = { { id = 2 } } },
  gone = problem,
  wrong = 422,
  bytes = 5,
  text = "xxx",
  events = 2,
}
local json_only = { bytes = true, text = true, events = true }

local generators = {
  { "fetch", "3.1" }, { "hey", "3.1" }, { "hey", "3.0" }, { "axios", "3.1" },
  { "orval", "3.0" }, -- its fetch takes 4XX, which is in 3.1, for one status
}

local function definitions()
  local list = {}
  for _, definition in ipairs(every_operation()) do
    local id = definition.namespace .. "." .. definition.name
    if not ({ ["tree.named"] = true, ["old.draft"] = true, ["odd/name.a?b=%"] = true })[id] then
      definition.accessControl = nil
      list[#list + 1] = definition
    end
  end
  return list
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function run(line)
  local child = assert(operations.process.spawn({ "sh", "-c", line .. " 2>&1" }))
  local text = {}
  for piece in child:chunks() do
    text[#text + 1] = piece
  end
  local status = child:wait()
  return status.code == 0, table.concat(text)
end

local function expected(name)
  local copy = {}
  for key, value in pairs(results) do
    copy[key] = not (name == "orval" and json_only[key]) and value or nil
  end
  return document.text(copy)
end

local function check(directory, url, name, version, fail)
  local ok, text = run(("spec/openapi/suite/clients/make %s %s %s %s"):format(directory, name, version, url))
  if not ok then
    return fail(name, version, text:sub(-600))
  end
  local last = text:match("([^\n]+)\n$")
  local got = last and json.decode(last)
  if type(got) ~= "table" or document.text(got) ~= expected(name) then
    return fail(name, version, "got " .. text:sub(-600) .. "\nexpected " .. expected(name))
  end
  return true
end

---@param places { clients: string }
---@param fail fun(...: string)
function clients.run(places, fail)
  local registry = operations.registry()
  assert(registry:register_all(definitions()))
  local server, directory = operations.to_http(registry), os.tmpname()
  os.remove(directory)
  assert(run(("mkdir %s && ln -s %s %s/node_modules"):format(directory, places.clients, directory)))
  for _, version in ipairs({ "3.0", "3.1" }) do
    local text = assert(json.encode(server:openapi(version), { keep_order = true }))
    write(("%s/%s.json"):format(directory, version), text)
  end
  local listener = assert(server:listen({ host = "127.0.0.1", port = 0 }))
  local passed = 0
  for _, generator in ipairs(generators) do
    local url = "http://127.0.0.1:" .. listener.port
    passed = passed + (check(directory, url, generator[1], generator[2], fail) and 1 or 0)
  end
  listener:close()
  run("rm -r " .. directory)
  print(("%d of %d generated clients call the server as its document says"):format(passed, #generators))
end

return clients
