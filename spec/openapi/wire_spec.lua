--- Values as parameters of a request, and back: what `parameter.lua` writes, `wire.lua` reads.
local operations = require("operations")
local relays = require("operations.openapi.relay")
local wire = require("operations.openapi.wire")

local LIST = { type = "array", items = { type = "integer" } }
local OBJECT = { type = "object", properties = { a = { type = "integer" }, b = { type = "string" } } }

-- The plan of an operation with these parameters, and a function that sends an input and gives the request.
local function plan_of(path, parameters, version)
  local sent
  local definition = assert(operations.from_openapi.document({
    [version and "swagger" or "openapi"] = version or "3.1.0", info = { title = "t", version = "1" },
    paths = { [path] = { get = { operationId = "op", parameters = parameters,
      responses = { ["200"] = { description = "" } } } } } },
    { namespace = "api", base_url = "http://api.test/v1", http = { request = function(options)
      sent = options
      return { status = 204, headers = {}, body = "" }
    end, open = function() end } }))[1]
  local registry = operations.registry()
  assert(registry:register(definition))
  local plan = relays.plan_of(registry:origin("api.op"))()
  return plan, function(input)
    assert(registry:execute("api.op", input))
    return sent
  end
end

local function read(plan, sent)
  local target = sent.url:match("^http://api.test/v1(.*)$")
  local headers = {}
  for name, value in pairs(sent.headers) do
    headers[name:lower()] = value
  end
  return wire.read(plan, target:match("^[^?]*"), target:match("%?(.*)$"), headers)
end

describe("parameters on the wire", function()
  local values = { scalar = { { type = "integer" }, 7 }, text = { { type = "string" }, "a b/ü,;=&+%" },
    list = { LIST, { 1, 2, 3 } }, one = { LIST, { 1 } }, object = { OBJECT, { a = 1, b = "x y" } },
    flag = { { type = "boolean" }, true } }
  local styles = { path = { "simple", "label", "matrix" }, query = { "form", "spaceDelimited", "pipeDelimited",
    "deepObject" }, header = { "simple" }, cookie = { "form" } }
  local skipped = { -- OpenAPI defines no such combination, or the text is not told from a delimiter
    ["query spaceDelimited object"] = true, ["query pipeDelimited object"] = true, ["header simple text"] = true,
    ["cookie form list"] = true, ["cookie form object"] = true, ["cookie form text"] = true,
  }

  for location, names in pairs(styles) do
    for _, style in ipairs(names) do
      for _, explode in ipairs({ true, false }) do
        for kind, value in pairs(values) do
          local is_deep = style == "deepObject"
          if not skipped[location .. " " .. style .. " " .. kind] and is_deep == (kind == "object" and is_deep) then
            it(("are read as they are written: %s of a %s by %s, explode %s"):format(kind, location, style,
              tostring(explode)), function()
              local plan, send = plan_of(location == "path" and "/x/{p}" or "/x", { { name = "p", ["in"] = location,
                required = true, style = style, explode = explode, schema = value[1] } })
              local input, raw = read(plan, send({ p = value[2] }))
              assert.same({ p = value[2] }, input, type(raw) == "table" and raw[1] and raw[1].message)
              assert.is_string(raw.p)
            end)
          end
        end
      end
    end
  end

  it("are found in a segment with other text, and as JSON", function()
    local plan, send = plan_of("/files/{name}.{kind}/{range}", {
      { name = "name", ["in"] = "path", required = true, schema = { type = "string" } },
      { name = "kind", ["in"] = "path", required = true, schema = { type = "string" } },
      { name = "range", ["in"] = "path", required = true, schema = { type = "string" } },
      { name = "q", ["in"] = "query", content = { ["application/json"] = { schema = OBJECT } } },
    })
    local given = { name = "a%b", kind = "bin", range = "1...2", q = { a = 1 } }
    assert.same(given, (read(plan, send(given))))
  end)

  it("are refused where they are unknown, repeated or not JSON", function()
    local plan = plan_of("/x", { { name = "n", ["in"] = "query", schema = { type = "integer" } },
      { name = "q", ["in"] = "query", content = { ["application/json"] = { schema = {} } } } })
    local function issues(query)
      local _, found = wire.read(plan, "/x", query, {})
      return found[1].path .. " " .. found[1].message
    end
    assert.equal("/m unknown parameter", issues("m=1"))
    assert.equal("/n is given more than once", issues("n=1&n=2"))
    assert.equal("/q is not JSON", issues("q={"))
  end)

  it("are joined by the separators of Swagger 2.0", function()
    local plan, send = plan_of("/x", { { name = "p", ["in"] = "query", type = "array", collectionFormat = "pipes",
      items = { type = "integer" } } }, "2.0")
    assert.same({ p = { 1, 2 } }, (read(plan, send({ p = { 1, 2 } }))))
  end)
end)
