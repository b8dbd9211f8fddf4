--- The types of a registry's operations, for editors and checkers: annotations of Lua, TypeScript or JSON Schema.
---
--- Other rooms use two modules, whose interface is stable:
---   * `operations.types.tree`: `tree.of(specs, namespaces?)` makes an `operations.types.Tree` of whole specs, in their
---     order. Its `operations` have `input`, `output` (of each event, for a subscription) and `error`; `named` has each
---     type with a name once: an object with `fields`, or an alias with `type`. A type is a table with a `kind`; `ref`
---     refers to a named type by its table.
---   * `operations.types.words`: `words.written(type, words)` walks a type for a printer; `words.of(language)` makes
---     the words of a language in which a list of T is `T[]`.
--- A printer is a module with `text(tree)`, entered in `printers`.
local argument = require("operations.base.argument")
local errors = require("operations.base.error")
local json_schema = require("operations.types.json_schema")
local lua = require("operations.types.lua")
local tree = require("operations.types.tree")
local typescript = require("operations.types.typescript")

local types = {}

---@class operations.TypesOptions
---@field format? "lua"|"typescript"|"json-schema"  default "lua"
---@field namespaces? string[]  default: all

local option_kinds = { format = "string", namespaces = "table" }
local printers = { lua = lua, typescript = typescript, ["json-schema"] = json_schema }

--- Prints the types. The same operations give the same bytes; names follow the order of the operations.
---@param registry operations.Registry
---@param options? operations.TypesOptions
---@return string? text
---@return operations.Error? err  VALIDATION_ERROR: an unknown format
function types.of(registry, options)
  argument.object(registry, "specs", "registry", 1, "types")
  argument.optional(options, "table", 2, "types")
  argument.options(options or {}, option_kinds, "types")
  local format = options and options.format or "lua"
  if not printers[format] then
    return nil, errors.new("VALIDATION_ERROR",
      ("format: expected lua, typescript or json-schema, got %q"):format(format))
  end
  return printers[format].text(tree.of((registry:specs()), options and options.namespaces))
end

return types
