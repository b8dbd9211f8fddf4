local description = require("operations.people.description")
local operations = require("operations")

describe("the description of an operation", function()
  it("names its input, its result and its requirements", function()
    local registry = operations.registry()
    assert(registry:register({
      namespace = "notes", name = "add", description = "Adds a note.",
      inputSchema = { type = "object", required = { "text" }, properties = { text = { type = "string" } } },
      accessControl = { requiredScopes = { "write" } },
      errorSchemas = { { code = "FULL", description = "no room", schema = true } },
      handler = function() end,
    }))
    local text = description.of(registry:get_spec("notes.add"))
    assert.equal([[
notes.add  mutation  1.0.0

Adds a note.

Input:
  text  string, required

Output:
  any

Errors:
  FULL  no room

Needs:
  all of the scopes write
]], text)
  end)
end)

describe("the parts of a description", function()
  local function of(more, style)
    local spec = { namespace = "a", name = "b", type = "query", version = "2.0.0", inputSchema = true,
      outputSchema = true }
    for key, value in pairs(more) do
      spec[key] = value
    end
    return description.of(spec, style)
  end

  local rest = "\nInput:\n  any\n\nOutput:\n  any\n"

  it("are its id, type and version, and its schemas", function()
    assert.equal("a.b  query  2.0.0\n" .. rest, of({}))
  end)

  it("are the endpoint it stands for, which is no description", function()
    assert.equal("a.b  query  2.0.0\nGET /x\n" .. rest,
      of({ _meta = { method = "GET", path = "/x" }, description = "GET /x" }))
    assert.equal("a.b  query  2.0.0\n\nGET /x\n" .. rest, of({ _meta = { method = "GET" }, description = "GET /x" }))
    assert.equal("a.b  query  2.0.0\n\nx\n" .. rest, of({ _meta = { path = "/x" }, description = "x" }))
  end)

  it("are the title, where it is not the description, and the description", function()
    assert.equal("a.b  query  2.0.0\n\nThe title\n\nThe description\n" .. rest,
      of({ title = "The *title*", description = "The **description**" }))
    assert.equal("a.b  query  2.0.0\n\nThe same\n" .. rest, of({ title = "The same", description = "The same" }))
    assert.equal("a.b  query  2.0.0\n\nThe title\n" .. rest, of({ title = "The title", description = "  " }))
  end)

  it("are deprecated, in colours where some are given", function()
    local style = { paint = function(colour, text)
      return "<" .. colour .. ">" .. text .. "</>"
    end }
    assert.equal("<bold>a.b</>  query  2.0.0  <magenta>deprecated</>\n\n<green>Input:</>\n  any\n\n"
      .. "<green>Output:</>\n  any\n", of({ _meta = { deprecated = true } }, style))
  end)

  it("are the errors, in a column, wrapped", function()
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nErrors:\n  FULL       no room at\n             all\n"
      .. "  NOT_FOUND\n", of({ errorSchemas = { { code = "FULL", description = "no *room*\nat all" },
        { code = "NOT_FOUND" } } }, { width = 24 }))
  end)

  it("are the credentials, one of which is enough", function()
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nAuth:\n  key\n  or basic\n",
      of({ _meta = { security = { "key", "basic" } } }))
  end)

  it("are what the caller needs", function()
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nNeeds:\n  all of the scopes x, y\n  one of the scopes v, w\n"
      .. "  action read on resource note named by /id of the input\n", of({ accessControl = {
        requiredScopes = { "x", "y" }, requiredScopesAny = { "v", "w" }, resourceType = "note", resourceAction = "read",
        resourceId = "/id" } }))
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nNeeds:\n  one of the scopes v\n",
      of({ accessControl = { requiredScopesAny = { "v" } } }))
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nNeeds:\n  action read on resource note\n",
      of({ accessControl = { requiredScopes = {}, requiredScopesAny = {}, resourceType = "note",
        resourceAction = "read" } }))
  end)

  it("are a call to copy", function()
    assert.equal("a.b  query  2.0.0\n" .. rest .. "\nTry:\n  run a.b\n", of({}, { example = "run a.b" }))
  end)
end)
