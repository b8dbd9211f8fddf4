--- The cases of the schema benchmark: schemas, valid and dirty instances as JSON texts in four key orders.
local json = require("operations.base.json")
local issue_case = require("schema_issue")
local text = require("schema_text")

local cases = {}

local object, list = text.object, text.list

-- JSON Schema, short to write.
local function schema(fields)
  fields["$schema"] = "http://json-schema.org/draft-07/schema#"
  return fields
end

local function array_of(items, least)
  return { type = "array", items = items, minItems = least }
end

local toolcall = schema({
  type = "object",
  additionalProperties = false,
  required = { "query", "path" },
  properties = {
    query = { type = "string", minLength = 1, maxLength = 500 },
    path = { type = "string", minLength = 1 },
    max_results = { type = "integer", minimum = 1, maximum = 1000, default = 50 },
    case_sensitive = { type = "boolean", default = false },
    mode = { type = "string", enum = { "literal", "regex", "word" }, default = "literal" },
    include = { type = "array", items = { type = "string" }, maxItems = 16 },
  },
})

local function toolcall_valid(i)
  return object("query", "lua_rawgeti(L, -1, " .. i .. ")", "path", "/home/user/src/project", "max_results", 100 + i,
    "case_sensitive", i % 2 == 0, "mode", "literal", "include", list("*.c", "*.h"))
end

local function toolcall_dirty(i)
  return object("query", "x" .. i, "path", "/p", "max_results", tostring(100 + i), "case_sensitive", "true",
    "include", list("*.c"), "extra", 1, "more", object("a", 1))
end

local function block(kind, required, properties)
  properties.type = { type = "string", const = kind }
  properties.annotations = {
    type = "object",
    properties = {
      audience = array_of({ type = "string", enum = { "user", "assistant" } }),
      priority = { type = "number", minimum = 0, maximum = 1 },
      lastModified = { type = "string" },
    },
  }
  return { type = "object", properties = properties, required = required }
end

local resource = { type = "object", properties = { uri = { type = "string" }, mimeType = { type = "string" },
  text = { type = "string" } }, required = { "uri", "text" } }

local mcp_result = schema({
  type = "object",
  required = { "content" },
  properties = {
    content = array_of({
      anyOf = {
        block("text", { "type", "text" }, { text = { type = "string" } }),
        block("image", { "type", "data", "mimeType" }, { data = { type = "string" }, mimeType = { type = "string" } }),
        block("audio", { "type", "data", "mimeType" }, { data = { type = "string" }, mimeType = { type = "string" } }),
        block("resource_link", { "type", "uri", "name" }, {
          uri = { type = "string" }, name = { type = "string" }, title = { type = "string" },
          description = { type = "string" }, mimeType = { type = "string" }, size = { type = "integer" },
        }),
        block("resource", { "type", "resource" }, { resource = resource }),
      },
    }),
    isError = { type = "boolean" },
    structuredContent = { type = "object", additionalProperties = true },
    _meta = { type = "object", additionalProperties = true },
  },
})

local function mcp_valid(i)
  local blocks = {}
  for n = 1, 4 do
    blocks[#blocks + 1] = object("type", "text", "text", "match " .. n .. " of " .. i)
    blocks[#blocks + 1] = object("type", "resource_link", "uri", "file:///src/" .. n .. ".c", "name", n .. ".c",
      "mimeType", "text/x-c", "size", 1000 + n)
  end
  blocks[#blocks + 1] = object("type", "image", "data", "iVBORw0KGgo=", "mimeType", "image/png", "annotations",
    object("audience", list("user"), "priority", 0.5))
  blocks[#blocks + 1] = object("type", "resource", "resource", object("uri", "file:///a", "text", "b"))
  return object("content", text.of(list, blocks), "isError", false,
    "structuredContent", object("matches", i, "files", list("a.c", "b.c"), "done", true))
end

local function mcp_dirty(i)
  local blocks = {}
  for n = 1, 4 do
    blocks[#blocks + 1] = object("type", "text", "text", i + n, "extra", true)
    blocks[#blocks + 1] = object("type", "resource_link", "uri", "file:///src/" .. n .. ".c", "name", n .. ".c",
      "mimeType", "text/x-c", "size", tostring(1000 + n), "junk", n)
  end
  blocks[#blocks + 1] = object("type", "image", "data", "iVBORw0KGgo=", "mimeType", "image/png", "width", 10)
  blocks[#blocks + 1] = object("type", "resource", "resource", object("uri", "file:///a", "text", "b"), "junk", i)
  return object("content", text.of(list, blocks), "isError", "false", "more", 1,
    "structuredContent", object("matches", i, "files", list("a.c", "b.c"), "done", true))
end

local function coordinates(depth, least)
  local inner = array_of({ type = "number" }, 2)
  for level = 1, depth do
    inner = array_of(inner, level == depth and least or nil)
  end
  return inner
end

local bbox = array_of({ type = "number" }, 4)

local function geometry(kind, depth, least)
  return { type = "object", required = { "type", "coordinates" }, properties = {
    type = { type = "string", enum = { kind } }, coordinates = coordinates(depth, least), bbox = bbox } }
end

local shapes = { geometry("Point", 0), geometry("LineString", 1, 2), geometry("Polygon", 2), geometry("MultiPoint", 1),
  geometry("MultiLineString", 2), geometry("MultiPolygon", 3) }

local function one_of_shapes(first)
  local branches = { first }
  for _, shape in ipairs(shapes) do
    branches[#branches + 1] = shape
  end
  branches[#branches + 1] = first and { type = "object", required = { "type", "geometries" }, properties = {
    type = { type = "string", enum = { "GeometryCollection" } }, geometries = array_of({ oneOf = shapes }) } } or nil
  return { oneOf = branches }
end

local geojson = schema({
  type = "object",
  required = { "type", "features" },
  properties = {
    type = { type = "string", enum = { "FeatureCollection" } },
    bbox = bbox,
    features = array_of({
      type = "object",
      required = { "type", "properties", "geometry" },
      properties = {
        type = { type = "string", enum = { "Feature" } },
        id = { oneOf = { { type = "number" }, { type = "string" } } },
        properties = { oneOf = { { type = "null" }, { type = "object" } } },
        geometry = one_of_shapes({ type = "null" }),
        bbox = bbox,
      },
    }),
  },
})

local kinds = { "city", "town", "village" }

local function geojson_valid(i)
  local features = {}
  for n = 1, 1000 do
    features[n] = object("type", "Feature", "id", n, "properties",
      object("name", "Point " .. n, "population", n * 977 % 900000, "kind", kinds[n % 3 + 1]), "geometry",
      object("type", "Point", "coordinates",
        list((n * 7919 + i) % 360000 / 1000 - 180, n * 104729 % 180000 / 1000 - 90)))
  end
  return object("type", "FeatureCollection", "features", text.of(list, features))
end

local records = schema({
  type = "array",
  minItems = 1,
  items = {
    type = "object",
    additionalProperties = false,
    required = { "id", "name", "email", "active", "score", "role", "age", "created" },
    properties = {
      id = { type = "integer", minimum = 1 },
      name = { type = "string", minLength = 1, maxLength = 80 },
      email = { type = "string", maxLength = 254 },
      active = { type = "boolean" },
      score = { type = "number", minimum = 0, maximum = 100 },
      role = { type = "string", enum = { "admin", "editor", "viewer" } },
      age = { type = "integer", minimum = 0, maximum = 150 },
      created = { type = "string" },
    },
  },
})

local roles = { "admin", "editor", "viewer" }

local function record(n, i, dirty)
  local age = 18 + n % 60
  local fields = { "id", n, "name", "User " .. n, "email", "user" .. n .. "@example.com",
    "score", (n * 37 + i) % 10000 / 100, "role", roles[n % 3 + 1], "age", dirty and n % 2 == 0 and tostring(age) or age,
    "created", "2024-01-02T00:00:00Z", "active", n % 2 == 0 }
  if dirty then
    fields[#fields + 1], fields[#fields + 2] = "junk", n
  end
  return text.of(object, fields)
end

local function records_of(i, dirty)
  local rows = {}
  for n = 1, 1000 do
    rows[n] = record(n, i, dirty)
  end
  return text.of(list, rows)
end

local hex = "0123456789abcdef"

local pattern = schema({
  type = "object",
  required = { "id", "slug", "version", "date" },
  additionalProperties = false,
  properties = {
    id = { type = "string", pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" },
    slug = { type = "string", pattern = "^[a-z0-9]+(?:-[a-z0-9]+)*$" },
    version = { type = "string", pattern = "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)$" },
    date = { type = "string", pattern = "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$" },
  },
})

local function pattern_valid(i)
  local digit = hex:sub(i % 16 + 1, i % 16 + 1)
  return object("id", "3f2b8c1e-9a4d-4e7b-8f60-1c2d3e4f5a6" .. digit, "slug", "json-schema-in-lua", "version",
    "10.20." .. i, "date", ("2024-06-%02d"):format(i % 28 + 1))
end

local function copies(make, count, rotated)
  local texts = {}
  for i = 1, make and count or 0 do
    texts[i] = text.write(make(i), i % 4, not rotated and (i % 4 + 1) * 7919)
  end
  return setmetatable(texts, json.array_mt)
end

--- Makes the cases: { name, schema, valid = texts, dirty = texts (perhaps none) }.
---@param rotated? boolean four orders of keys in all, instead of one for each object, drawn from four seeds
function cases.all(rotated)
  local function case(name, definition, valid, dirty, count)
    return { name = name, schema = definition, valid = copies(valid, count or 64, rotated),
      dirty = copies(dirty, count or 64, rotated) }
  end
  return {
    case("toolcall", toolcall, toolcall_valid, toolcall_dirty),
    case("mcp_result", mcp_result, mcp_valid, mcp_dirty),
    case("geojson", geojson, geojson_valid, nil, 4),
    case("github_issue", issue_case.schema, issue_case.valid, issue_case.dirty),
    case("records", records, function(i) return records_of(i) end, function(i) return records_of(i, true) end, 4),
    case("pattern", pattern, pattern_valid, nil),
  }
end

return cases
