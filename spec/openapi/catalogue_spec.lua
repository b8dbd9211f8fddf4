--- A document that is fetched again, from a server that a spec changes.
local core = require("operations.core")
local eventually = require("spec.support.eventually")
local listener = require("operations.server.listener")
local operations = require("operations")

local function document(names)
  local paths = {}
  for _, name in ipairs(names) do
    paths["/" .. name] = { get = { operationId = name, responses = { ["200"] = { description = "" } } } }
  end
  return operations.json.encode({ openapi = "3.1.0", info = { title = "t", version = "1" }, paths = paths },
    { sort_keys = true })
end

-- A server of the document `api.names`; `api.status` and `api.body` replace its answer.
local function with(refresh, fn)
  operations.run(function()
    local api = { names = { "a", "b" }, fetches = 0, confirmed = 0 }
    local opened = assert(listener.listen({ port = 0 }, function(request)
      if request.target ~= "/openapi.json" then
        return { status = 200, headers = { ["content-type"] = "application/json" },
          body = '"' .. request.target .. '"' }
      end
      api.fetches = api.fetches + 1
      local body = api.body or document(api.names)
      local etag = not api.untagged and '"' .. operations.base64.encode(core.sha256(body)) .. '"' or nil
      if etag and request.headers["if-none-match"] == etag then
        api.confirmed = api.confirmed + 1
        return { status = 304, headers = { etag = etag }, body = "" }
      end
      return { status = api.status or 200, body = body,
        headers = { ["content-type"] = "application/json", etag = etag } }
    end))
    local _, _, catalogue = assert(operations.from_openapi.url(("http://127.0.0.1:%d/openapi.json"):format(opened.port),
      { namespace = "api", accessControl = {}, refresh = refresh }))
    fn(api, catalogue)
    catalogue:close()
    opened:close()
  end)
end

local function ids(registry)
  local list = {}
  for i, spec in ipairs(registry:specs({ schemas = false })) do
    list[i] = spec.namespace .. "." .. spec.name
  end
  table.sort(list)
  return table.concat(list, " ")
end

describe("a catalogue", function()
  it("is followed by registries, lists of tools and documents, in the background", function()
    with(0.02, function(api, catalogue)
      local registry = operations.registry()
      assert.same({ "api.a", "api.b" }, assert(catalogue:register(registry)))
      local server = assert(operations.to_http(registry, { mcp = true }))
      local revisions = 0
      registry:on_revision(function()
        revisions = revisions + 1
      end)
      eventually(function() return api.confirmed > 2 end)
      assert.equal(0, revisions) -- nothing has changed
      api.names = { "b", "c", "long_name" }
      eventually(function() return ids(registry) == "api.b api.c api.long_name" end)
      local paths = server:openapi().paths
      assert.same({ nil, "table" }, { paths["/api/a"], type(paths["/api/c"]) })
      assert.equal("/c", assert(registry:execute("api.c", {})).data)
      server:close()
    end)
  end)

  it("keeps what there was where the document cannot be fetched, read or registered", function()
    with(3600, function(api, catalogue)
      local registry = operations.registry()
      assert(registry:register({ namespace = "api", name = "mine", handler = function() end }))
      assert(catalogue:register(registry))
      for _, wrong in ipairs({ { status = 500 }, { body = "{" }, { body = '{"openapi":"9.0"}' },
        { names = { "a", "mine" } } }) do
        for _, name in ipairs({ "status", "body", "names" }) do
          api[name] = wrong[name]
        end
        api.names = api.names or { "a", "b", "c" }
        for _ = 1, 2 do -- it is tried again
          local changes, err = catalogue:refresh()
          assert.is_nil(changes)
          assert.equal(err, catalogue.failure)
          assert.equal("api.a api.b api.mine", ids(registry))
        end
      end
      api.status, api.body, api.names = nil, nil, { "a", "c" }
      assert.same({ added = { "api.c" }, removed = { "api.b" } }, catalogue:refresh())
      assert.is_nil(catalogue.failure)
      assert.equal("api.a api.c api.mine", ids(registry))
      assert.equal(2, #catalogue.operations)
    end)
  end)

  it("compares the bytes of a server without ETag, and fetches once for many callers", function()
    with(3600, function(api, catalogue)
      api.untagged = true
      local told = 0
      catalogue:on_change(function() told = told + 1 end)
      catalogue:refresh()
      assert.equal(0, told)
      api.names = { "x" }
      local before = api.fetches
      assert(operations.all({ function() return catalogue:refresh() end, function() return catalogue:refresh() end }))
      assert.same({ 1, 1 }, { told, api.fetches - before })
    end)
  end)

  it("registers what a function makes of the definitions, each time, until it is closed", function()
    with(3600, function(api, catalogue)
      local registry = operations.registry()
      assert(catalogue:register(registry, function(definitions)
        local some = {}
        for _, definition in ipairs(definitions) do
          some[#some + 1] = definition.name ~= "b" and definition or nil
        end
        return some
      end))
      assert.equal("api.a", ids(registry))
      api.names = { "a", "b", "c" }
      catalogue:refresh()
      assert.equal("api.a api.c", ids(registry))
      catalogue:close()
      api.names = { "z" }
      catalogue:refresh()
      assert.equal("api.a api.c", ids(registry))
    end)
  end)

  it("has an interval above 0", function()
    for _, seconds in ipairs({ 0, -1, 0 / 0, math.huge }) do
      assert.has_error(function()
        operations.from_openapi.url("http://127.0.0.1:1/", { refresh = seconds })
      end)
    end
  end)
end)
