--- The cases that the benchmark and its peer both run: schemas, inputs, what the handler gives and what must come out.
local json = require("operations.base.json")

local cases = {}

local COPIES = 16 -- so that no compiler can take the work out of the loop

local empty = { type = "object", properties = json.decode("{}") }

local input_schema = {
  type = "object",
  properties = {
    title = { type = "string", minLength = 1, maxLength = 200 },
    priority = { type = "string", enum = { "low", "normal", "high", "urgent" } },
    tags = { type = "array", items = { type = "string" }, maxItems = 16 },
    assignee = {
      type = "object",
      properties = { id = { type = "string" }, email = { type = "string" }, notify = { type = "boolean" } },
      required = { "id" },
    },
    estimate = { type = "number", minimum = 0 },
    dryRun = { type = "boolean" },
  },
  required = { "title", "priority", "tags", "assignee" },
}

local output_schema = {
  type = "object",
  properties = {
    id = { type = "string" },
    title = { type = "string" },
    status = { type = "string", enum = { "open", "closed", "archived" } },
    createdAt = { type = "number" },
    score = { type = "number" },
    attempts = { type = "integer", default = 3 },
    done = { type = "boolean" },
    labels = { type = "array", items = { type = "string" } },
    owner = {
      type = "object",
      properties = { id = { type = "string" }, name = { type = "string" } },
      required = { "id", "name" },
    },
    revision = { type = "integer", minimum = 0 },
  },
  required = { "id", "title", "status", "createdAt", "score", "attempts", "done", "labels", "owner", "revision" },
}

local valid_input = [[{"title":"Ship the release","priority":"high","tags":["release","backend","urgent"],
  "assignee":{"id":"user-42","email":"dev@example.com","notify":true},"estimate":3.5}]]
local invalid_input = [[{"title":"","priority":"nope","tags":"x","assignee":{"email":"a"}}]]

local function record(i, attempts, internal)
  return ([[{"id":"task-%d","title":"Ship the release","status":"open","createdAt":%.0f,"score":%.1f,%s"done":false,
    "labels":["release","backend"],"owner":{"id":"user-%d","name":"Ada"},"revision":%d%s}]]):format(
    i, 1763600000000 + i, 0.5 + i, attempts, i, i, internal)
end

local function raw(i)
  return record(i, "", [[,"_internal":"secret"]])
end

local function wanted(i)
  return record(i, [["attempts":3,]], "")
end

local function hundred(make)
  local items = {}
  for i = 0, 99 do
    items[#items + 1] = make(i)
  end
  return "[" .. table.concat(items, ",") .. "]"
end

local function copies(text)
  local list = {}
  for i = 1, COPIES do
    list[i] = assert(json.decode(text))
  end
  return list
end

local access = {
  requiredScopes = { "task:write", "task:read" },
  requiredScopesAny = { "admin", "staff", "task:own" },
  resourceType = "project",
  resourceAction = "update",
}

local identity = {
  id = "ada",
  scopes = { "user", "task:read", "task:write", "task:own" },
  resources = { ["project:7"] = { "read", "update" } },
}

local function case(name, input, output, given, from_handler, expected)
  return {
    name = name,
    input_schema = input,
    output_schema = output,
    inputs = copies(given),
    outputs = copies(from_handler),
    expected = expected and assert(json.decode(expected)),
  }
end

--- Makes the cases of `execute`: { name, input_schema, output_schema, inputs, outputs, expected (nil: an error) }.
function cases.execute()
  local list = {
    case("a_empty", empty, empty, "{}", "{}", "{}"),
    case("a_unknown", empty, true, "{}", "{}", "{}"),
    case("b_moderate", input_schema, output_schema, valid_input, raw(1), wanted(1)),
    case("b_valid", input_schema, output_schema, valid_input, wanted(1), wanted(1)),
    case("b_access", input_schema, output_schema, valid_input, raw(1), wanted(1)),
    case("b_invalid_input", input_schema, output_schema, invalid_input, raw(1), nil),
    case("c_array100", input_schema, { type = "array", items = output_schema }, valid_input, hundred(raw),
      hundred(wanted)),
  }
  list[5].access, list[5].identity = access, identity
  return list
end

return cases
