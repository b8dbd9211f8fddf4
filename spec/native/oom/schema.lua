-- A schema of many keywords is compiled; values are checked and cast.
local core = require("operations.core")

local schema = {
  ["$defs"] = {
    node = {
      type = "object",
      properties = { name = { type = "string", pattern = "^(?!-)[a-z]+$" }, next = { ["$ref"] = "#/$defs/node" } },
      required = { "name" },
    },
  },
  type = "object",
  properties = {
    list = { type = "array", items = { ["$ref"] = "#/$defs/node" }, uniqueItems = true, maxItems = 5 },
    count = { type = "integer", minimum = 0, default = 7 },
    kind = { enum = { "a", "b", 3 } },
    either = { anyOf = { { type = "string" }, { type = "integer" } } },
  },
  patternProperties = { ["^x-"] = true },
  additionalProperties = false,
  required = { "list" },
}

local records = {}
for i = 1, 100 do
  records[i] = { name = "abc", id = i }
end

return function()
  local compiled = assert(core.schema_compile(schema))
  local node = { name = "abc", next = { name = "def" } }
  local ok, issues = compiled:check({ list = { node, { name = "ghi" } }, kind = "b", either = 1, ["x-y"] = 1 })
  assert(ok == true, issues and issues[1] and issues[1].message)
  ok, issues = compiled:check({ list = { { name = "ABC" }, { next = 1 } }, kind = "c", other = 1 })
  assert(ok == false and #issues >= 4)
  local value, changes = compiled:cast({ list = { node }, count = "12", excess = 1 })
  -- Where there is no memory to look deeper, a value stays as it is.
  local is_cast = value.count == 12 and value.excess == nil and #changes == 2
  assert(value.list[1].next.name == "def" and (is_cast or value.count == "12" and value.excess == 1))
  value = compiled:cast({ list = { node, node }, count = "12", excess = 1 }, "cast", false)
  assert(value.list[2].next.name == "def" and (value.count == 12 or value.excess == 1))
  value = compiled:cast({ count = "x", kind = "z" }, "force")
  assert(value.kind == "z" or (value.count == 7 and value.kind == "a" and (value.list == nil or #value.list == 0)))
  local list = assert(core.schema_compile({ type = "array", items = {
    type = "object", properties = { name = { type = "string", default = "x" } }, required = { "name" } } }))
  local operation = core.registry():operation({ namespace = "a", name = "b" }, nil, list)
  local envelope = core.http_envelope(records, { statusCode = 200 })
  local ahead = assert(operation:ahead(envelope))
  while ahead:step() do -- luacheck: ignore 542
  end
  assert(#operation:finish(envelope, ahead).data == 100)
end
