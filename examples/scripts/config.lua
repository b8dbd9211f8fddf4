-- Reads a configuration in YAML, says everything that is wrong with it at once, and fills in defaults.
--     lua config.lua config.yaml
local operations = require("operations")
local T = operations.type

local schema = assert(operations.schema.compile(T.object({
  server = T.object({ host = T.string(), port = T.integer({ minimum = 1, maximum = 65535, default = 8080 }) }),
  level = T.enum({ "debug", "info", "error" }, { default = "info" }),
  targets = T.array(T.string({ format = "uri" }), { minItems = 1 }),
})))

local file = assert(io.open(arg[1]))
local value, err = operations.yaml.decode(file:read("*a"))
file:close()
if not value then
  io.stderr:write(arg[1], ": ", err.message, "\n")
  os.exit(2)
end

local config = schema:cast(value)
local valid, issues = schema:check(config)
for _, issue in ipairs(valid and {} or issues) do
  io.stderr:write(("%s: %s: %s\n"):format(arg[1], issue.path, issue.message))
end
if not valid then
  os.exit(2)
end
print(operations.show(config))
