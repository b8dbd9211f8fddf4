--- Operations of a program, and beside them (notes_spec.lua) how they are tested: with busted, through the registry.
local operations = require("operations")
local T = operations.type

local note = T.object({ id = T.integer(), text = T.string(), words = T.integer() })
local notes = {}

return {
  {
    namespace = "notes",
    name = "add",
    type = "mutation",
    inputSchema = T.object({ text = T.string({ minLength = 1 }) }),
    outputSchema = note,
    accessControl = { requiredScopes = { "notes:write" } },
    handler = function(input, context)
      local counted, err = context.env.text.count_words({ text = input.text }) -- an operation of another file
      if not counted then
        return nil, err
      end
      local added = { id = #notes + 1, text = input.text, words = counted.data }
      notes[added.id] = added
      return added
    end,
  },
  {
    namespace = "notes",
    name = "get",
    type = "query",
    inputSchema = T.object({ id = T.integer() }),
    outputSchema = note,
    errorSchemas = { { code = "NOT_FOUND", description = "There is no such note." } },
    handler = function(input)
      if not notes[input.id] then
        return nil, operations.error("NOT_FOUND", "no note " .. input.id)
      end
      return notes[input.id]
    end,
  },
  {
    namespace = "notes",
    name = "all",
    type = "subscription",
    outputSchema = note,
    handler = function()
      for _, found in ipairs(notes) do
        coroutine.yield(found)
      end
    end,
  },
}
