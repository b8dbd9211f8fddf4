local command = require("spec.support.command")
local operations = require("operations")
local sample = require("operations.cli.describe")
local tried = require("spec.support.tried")

local T = operations.type
local DOCUMENT = "spec/vectors/openapi/tries.json"

describe("a sample of a call", function()
  local function of(schema, is_http)
    local spec = { namespace = "a", name = "b", type = "query", inputSchema = schema }
    return (sample.command(spec, is_http ~= false):gsub("^operations call a%.b ?", ""))
  end

  it("has the required inputs, the fields of a body by their names", function()
    assert.equal("owner=OWNER title=TITLE", of({ type = "object", required = { "owner", "body" }, properties = {
      owner = { type = "string" }, optional = { type = "string" }, body = { type = "object", required = { "title" },
        properties = { title = { type = "string" }, text = { type = "string" } } } } }))
    assert.equal("", of(true))
    assert.equal("body.title=TITLE", of(T.object({ body = T.object({ title = T.string() }) }), false))
  end)

  it("takes examples and values of enums, quoted for the shell", function()
    assert.equal("a='it'\\''s' b=3 c=low d:='[1,2]' e.f=F g=5", of(T.object({
      a = { type = "string", example = "it's" }, b = { type = "integer", example = 3 }, c = T.enum({ "low", "high" }),
      d = { type = "array", examples = { operations.array({ 1, 2 }) } }, e = T.object({ f = T.string() }),
      g = { type = "integer", minimum = 5 } })))
  end)

  it("quotes names too, so that a document runs nothing in a shell", function()
    assert.equal("'$(b)='x 'a;touch x=''A;TOUCH X' 'c d:=''{}'", of(T.object({ ["a;touch x"] = T.string(),
      ["$(b)"] = { example = "x" }, ["c d"] = { type = "object" } })))
    local spec = { namespace = "a", name = "b;c", type = "query", inputSchema = true }
    assert.equal("operations call 'a.b;c'", sample.command(spec))
  end)

  it("has a placeholder of the right type for unknown values", function()
    assert.equal("a=1 b=1 c=true d:=null e:='{}' f:='{}' g=G", of(T.object({ a = T.integer(), b = T.number(),
      c = T.boolean(), d = { type = "null" }, e = { type = "object" }, f = { properties = {} }, g = {} })))
    assert.equal("a=0 b.x=1 b.y=2 c:=null", of(T.object({ a = { type = "integer", minimum = 0 },
      b = { example = { y = 2, x = 1 } }, c = { const = operations.null } })))
  end)

  it("follows references within its schema, and ends where they do not", function()
    assert.equal("a=5 b=B c=C", of({ type = "object", required = { "a", "b", "c" }, properties = {
      a = { ["$ref"] = "#/$defs/one" }, b = { ["$ref"] = "#/$defs/self" }, c = { ["$ref"] = "https://a.test/x" } },
      ["$defs"] = { one = { ["$ref"] = "#/$defs/two" }, two = { type = "integer", minimum = 5 },
        self = { ["$ref"] = "#/$defs/self" } } }))
  end)

  it("follows up to 16 references, each to the next", function()
    local function after(count)
      local schema = T.object({ a = { ["$ref"] = "#/$defs/s1" } })
      schema["$defs"] = { ["s" .. count] = { type = "integer", minimum = 5 } }
      for i = 1, count - 1 do
        schema["$defs"]["s" .. i] = { ["$ref"] = "#/$defs/s" .. i + 1 }
      end
      return of(schema)
    end
    assert.equal("a=5", after(16))
    assert.equal("a=A", after(17))
  end)

  it("has the body as a whole where none of its fields is required", function()
    assert.equal("body=BODY", of({ type = "object", required = { "body" }, properties = { body = T.string() } }))
    assert.equal("body:='{}'", of({ type = "object", required = { "body" }, properties = { body = { type = "object",
      properties = { a = T.string() } } } }))
  end)

  it("is a command to call or to watch", function()
    local spec = { namespace = "a", name = "b", type = "query", inputSchema = T.object({ c = T.integer() }) }
    assert.equal("operations call a.b c=1", sample.command(spec))
    spec.type, spec.inputSchema = "subscription", true
    assert.equal("operations watch a.b", sample.command(spec))
  end)

  it("names objects in keys up to three within each other, deeper ones in JSON", function()
    local function nested(count)
      return T.object({ a = count == 0 and T.string() or nested(count - 1) })
    end
    assert.equal("a=A", of(nested(0)))
    assert.equal("a.a.a.a=A", of(nested(3)))
    assert.equal("a.a.a.a:='{\"a\":\"A\"}'", of(nested(4)))
    assert.equal("a.a.a.a:='{\"a\":{\"a\":\"A\"}}'", of(nested(5)))
  end)

  it("gives an input that its operation accepts", function()
    assert.same({ {}, 8 }, { tried.document(DOCUMENT) })
  end)

  it("passes --dry-run as it was printed", function()
    local list = "comment lines keys members either settings files numbers"
    local result = command.run(("for name in %s; do line=$(operations describe $name --openapi %s | tail -n 1); "
      .. "eval \"$line --dry-run --openapi %s\" >/dev/null && echo $name; done"):format(list, DOCUMENT, DOCUMENT))
    assert.same({ out = list:gsub(" ", "\n") .. "\n", err = "", code = 0 }, result)
  end)
end)

describe("a text for a body that must be an object", function()
  it("goes to its field of that name", function()
    local call = "operations call comment id=123e4567-e89b-12d3-a456-426614174000 body.id=8 body=Hello --dry-run "
      .. "--openapi "
    assert.matches('\n\n{"id":8,"body":"Hello"}\n$', command.run(call .. DOCUMENT).out)
  end)

  it("is refused where it has none, with how to give the body", function()
    local result = command.run("operations call lines body=Hello --dry-run --openapi " .. DOCUMENT)
    assert.same({ out = "", code = 2,
      err = "operations: body: expected an object: give its fields (tags=...) or body:=JSON\n" }, result)
  end)
end)
