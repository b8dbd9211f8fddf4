--- Schemas by themselves: check says what is wrong, cast moves a value towards the schema without losing anything.
local operations = require("operations")
local T = operations.type

local person = T.object({
  name = T.string({ minLength = 1, maxLength = 20 }),
  age = T.integer({ minimum = 0 }),
  emails = T.default(T.array(T.string({ format = "email" })), operations.array({})),
})

-- What the builder makes is plain JSON Schema.
print(operations.json.encode(person.properties.age, { sort_keys = true })) --> {"minimum":0,"type":"integer"}

local schema = assert(operations.schema.compile(person))

local ok, issues = schema:check({ name = "", age = -1 })
print(ok) --> false
for _, issue in ipairs(issues) do
  print(issue.path, issue.message)
end
--> /age	expected a number of at least 0, got -1
--> /name	expected at least 1 character, got 0

local value, changes = schema:cast({ name = "Ada", age = "36", password = "secret" })
print(operations.json.encode(value, { sort_keys = true })) --> {"age":36,"emails":[],"name":"Ada"}
local kinds = {}
for _, change in ipairs(changes) do
  kinds[change.path] = change.kind
end
print(kinds["/age"], kinds["/emails"], kinds["/password"]) --> converted	defaulted	stripped
