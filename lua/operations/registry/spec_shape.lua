--- What a spec must look like, as JSON Schema; what is in the schemas is another matter.
local strings = { type = "array", items = { type = "string", minLength = 1 } }
local name = { type = "string", pattern = "^[^\\s\\x00-\\x1f\\x7f]+$" }
local json_schema = { type = { "object", "boolean" } }

return {
  type = "object",
  required = { "namespace", "name" },
  properties = {
    namespace = name,
    name = name,
    version = { type = "string" },
    type = { enum = { "query", "mutation", "subscription" } },
    title = { type = "string" },
    description = { type = "string" },
    tags = strings,
    inputSchema = json_schema,
    outputSchema = json_schema,
    normalize = { enum = { "cast", "force", "off" } },
    accessControl = {
      type = "object",
      properties = {
        requiredScopes = strings,
        requiredScopesAny = strings,
        resourceType = { type = "string", minLength = 1 },
        resourceAction = { type = "string", minLength = 1 },
        resourceId = { type = "string", pattern = "^/" },
      },
      dependentRequired = {
        resourceType = { "resourceAction" },
        resourceAction = { "resourceType" },
        resourceId = { "resourceType" },
      },
      additionalProperties = false,
    },
    errorSchemas = {
      type = "array",
      items = {
        type = "object",
        required = { "code" },
        properties = {
          code = { type = "string", minLength = 1 },
          pattern = { type = "string", format = "regex" },
          description = { type = "string" },
          schema = json_schema,
        },
      },
    },
    _meta = { type = "object" },
  },
  additionalProperties = false,
}
