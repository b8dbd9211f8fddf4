local description = require("operations.offer.description")
local operations = require("operations")

describe("the description of an operation", function()
  it("says what it takes, gives and needs", function()
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
