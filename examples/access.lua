--- Operations say what they require; callers without an identity, or without the rights, are refused.
local operations = require("operations")

local registry = operations.registry()

assert(registry:register({
  namespace = "files",
  name = "delete",
  type = "mutation",
  accessControl = {
    requiredScopes = { "files:write" },
    resourceType = "folder",
    resourceAction = "delete",
    resourceId = "/folder",
  },
  handler = function(input)
    return "deleted " .. input.name
  end,
}))

assert(registry:register({
  namespace = "files",
  name = "tidy",
  type = "mutation",
  description = "Anyone may tidy up: what it calls through its env is its own responsibility.",
  handler = function(_, context)
    return assert(context.env.files.delete({ folder = "tmp", name = "old.log" })).data
  end,
}))

local function try(identity)
  local envelope, err = registry:execute("files.delete", { folder = "tmp", name = "a.txt" }, { identity = identity })
  print(envelope and envelope.data or err.code)
end

try(nil) --> ACCESS_DENIED
try({ id = "ada", scopes = { "files:read" } }) --> ACCESS_DENIED
try({ id = "ada", scopes = { "files:write" } }) --> ACCESS_DENIED
try({ id = "ada", scopes = { "files:write" }, resources = { ["folder:home"] = { "delete" } } }) --> ACCESS_DENIED
try({ id = "ada", scopes = { "files:write" }, resources = { ["folder:tmp"] = { "delete" } } }) --> deleted a.txt

print(registry:execute("files.tidy").data) --> deleted old.log
