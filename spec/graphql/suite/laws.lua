--- Laws, judged by graphql-js: selections are accepted here exactly when they are valid there, what is printed of them
--- is valid, and default selections run on invented values, which fit the output schemas. `make test-graphql` runs it.
local from_graphql = require("operations.graphql")
local json = require("operations.base.json")
local literals = require("operations.graphql.literals")
local lru = require("operations.base.lru")
local operation = require("operations.graphql.operation")
local operations = require("operations")
local parser = require("operations.graphql.parser")
local printer = require("operations.graphql.printer")
local random = require("spec.support.random")
local random_graphql = require("spec.support.random_graphql")
local root_field = require("operations.graphql.root_field")
local schemas = require("operations.graphql.schema")
local sdl = require("operations.graphql.sdl")

local packages = assert(os.getenv("GRAPHQL_PACKAGES"), "GRAPHQL_PACKAGES: the directory of npm's packages")
local SEED = tonumber(os.getenv("GRAPHQL_SEED")) or 4711
local github = packages .. "/@octokit/graphql-schema/schema.graphql"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- What graphql-js says of each request.
local function judged(schema_path, requests)
  local path, lines = os.tmpname(), {}
  for i, request in ipairs(requests) do
    lines[i] = json.encode(request)
  end
  write(path, table.concat(lines, "\n") .. "\n")
  local pipe = assert(io.popen(("%s/node/bin/node spec/graphql/suite/judge.mjs %s <%s"):format(packages, schema_path,
    path)))
  local answers = {}
  for line in pipe:lines() do
    answers[#answers + 1] = json.decode(line)
  end
  pipe:close()
  os.remove(path)
  assert.equal(#requests, #answers, "the judge ended early")
  return answers
end

-- Arguments that a field requires, as the input of its operation, with some others, and as text.
local function arguments_of(schema, field, only_needed)
  local input, texts, declared = {}, {}, {}
  for _, argument in ipairs(field.arguments) do
    local is_needed = argument.type.required and not argument.default
    if is_needed or not only_needed and random.chance(30) then
      input[argument.name] = literals.json(assert(parser.value(random_graphql.literal(schema, argument.type, true))))
    end
    if is_needed then
      texts[#texts + 1] = argument.name .. ": $" .. argument.name
      declared[#declared + 1] = "$" .. argument.name .. ": " .. printer.type(argument.type)
    end
  end
  return input, texts[1] and "(" .. table.concat(texts, ", ") .. ")" or "",
    declared[1] and "(" .. table.concat(declared, ", ") .. ")" or ""
end

-- The root fields of a schema whose values have fields.
local function roots_of(schema)
  local fields = {}
  for _, kind in ipairs({ "query", "mutation" }) do
    for _, field in ipairs(schema:type(schema.roots[kind]).fields) do
      if schemas.has_fields(schema:named(field.type)) then
        fields[#fields + 1] = { kind = kind, field = field }
      end
    end
  end
  return fields
end

-- Compares verdicts on so many random selections of a schema.
local function compare(path, text, count)
  local schema = schemas.new(assert(sdl.reader(text)))
  local fields = roots_of(schema)
  if not fields[1] then
    return 0, 0
  end
  local service = { schema = schema, options = { uploads = {} }, texts = lru.new(1000) }
  local plans, spliced, printed = {}, {}, {}
  for i = 1, count do
    local root = random.pick(fields)
    local field = root.field
    local plan = plans[field] or root_field.plan(service, root.kind, field)
    plans[field] = plan
    local selections = random_graphql.selections(schema, schema:named(field.type))
    local input, arguments, declared = arguments_of(schema, field)
    local key = "select"
    for _, argument in ipairs(field.arguments) do
      key = argument.name == "select" and "_select" or key
    end
    input[key] = selections
    spliced[i] = { query = root.kind .. declared .. " { " .. field.name .. arguments .. selections .. " }" }
    local request, err = plan.request(input)
    printed[i] = request or err
  end
  local ours, place = {}, {}
  for i, request in ipairs(printed) do
    if request.query then
      ours[#ours + 1] = { query = request.query, variables = request.variables, run = true }
      place[i] = #ours
    end
  end
  local wanted, valid = judged(path, spliced), judged(path, ours)
  for i, answer in ipairs(wanted) do
    if answer.errors[1] then
      assert.is_nil(place[i], spliced[i].query .. "\n" .. answer.errors[1])
    else
      assert.is_truthy(place[i], spliced[i].query .. "\n" .. tostring(printed[i]))
      assert.same({}, valid[place[i]].errors, ours[place[i]].query)
    end
  end
  return #ours, count - #ours
end

-- Compares verdicts on so many random operations in a document, and runs those that are accepted: their answers fit
-- their output schemas.
local function compare_documents(path, text, count)
  local schema = schemas.new(assert(sdl.reader(text)))
  local fields, written, inputs = roots_of(schema), {}, {}
  for i = 1, fields[1] and count or 0 do
    local root = random.pick(fields)
    local selections = random_graphql.selections(schema, schema:named(root.field.type))
    local input, arguments, declared = arguments_of(schema, root.field, true)
    inputs[i] = input
    written[i] = { query = ("%s Q%d%s { %s%s%s }"):format(root.kind, i, declared, root.field.name, arguments,
      selections) }
  end
  local document, texts = os.tmpname(), {}
  for i, request in ipairs(written) do
    texts[i] = request.query
  end
  write(document, table.concat(texts, "\n"))
  local definitions = assert(from_graphql.document(text, { documents = document, fields = false, raw = false }))
  os.remove(document)
  local requests, plans, accepted = {}, {}, {}
  for _, definition in ipairs(definitions) do
    local at = tonumber(definition.name:match("%d+"))
    local plan = operation.plan_of(definition.handler)
    local request = plan.request(inputs[at])
    accepted[at], plans[#plans + 1] = true, plan
    requests[#requests + 1] = { query = request.query, variables = request.variables, run = true }
  end
  for i, answer in ipairs(judged(path, written)) do
    local errors = table.concat(answer.errors, "\n")
    if not errors:find("Unknown directive", 1, true) then -- directives of documents are the service's business
      assert.equal(errors == "", accepted[i] == true, texts[i] .. errors)
    end
  end
  for i, answer in ipairs(judged(path, requests)) do
    if not requests[i].query:find("@other", 1, true) then
      assert.same({}, answer.errors, requests[i].query)
      local ok, issues = assert(operations.schema.compile(plans[i].output_schema)):check(answer.data)
      assert.is_true(ok, requests[i].query .. (issues and issues[1] and issues[1].path .. issues[1].message or ""))
    end
  end
  return #requests
end

-- Runs the default selection of each root field.
local function run_all(path, text)
  local definitions = assert(from_graphql.document(text, { raw = false }))
  local schema = schemas.new(assert(sdl.reader(text)))
  local requests, used = {}, {}
  for _, definition in ipairs(definitions) do
    local plan = operation.plan_of(definition.handler)
    if definition.type ~= "subscription" then
      local input = arguments_of(schema, schemas.field(schema:type(schema.roots[definition.type]), plan.field))
      local compiled = assert(operations.schema.compile(plan.input_schema))
      local ok, issues = compiled:check(input)
      assert.is_true(ok, definition.name .. ": " .. tostring(issues and issues[1] and issues[1].message))
      local request = assert(plan.request(input))
      requests[#requests + 1] = { query = request.query, variables = request.variables, run = true }
      used[#requests] = plan
    end
  end
  for i, answer in ipairs(judged(path, requests)) do
    assert.same({}, answer.errors, requests[i].query)
    local plan = used[i]
    local compiled = assert(operations.schema.compile(plan.output_schema))
    local ok, issues = compiled:check(answer.data[plan.field])
    assert.is_true(ok, plan.field .. ": " .. tostring(issues and issues[1] and issues[1].path .. issues[1].message))
  end
  return #requests
end

describe("GitHub's introspection answer", function()
  it("makes the same operations as its SDL", function()
    local pipe = assert(io.popen(("%s/node/bin/node spec/graphql/suite/judge.mjs %s introspect"):format(packages,
      github)))
    local answer = assert(json.decode(pipe:read("*a")))
    pipe:close()
    local by_answer = assert(from_graphql.document(answer))
    local by_sdl = assert(from_graphql.file(github))
    assert.equal(#by_sdl, #by_answer)
    for i, definition in ipairs(by_sdl) do
      local other = by_answer[i]
      assert.same({ definition.name, definition.type, definition.description, definition._meta },
        { other.name, other.type, other.description, other._meta })
      assert.same(definition.inputSchema(), other.inputSchema())
      assert.same(definition.outputSchema(), other.outputSchema())
    end
  end)
end)

describe("graphql-js agrees", function()
  it("with every verdict on 2,500 random selections over GitHub's schema", function()
    random.seed(SEED)
    local good, bad = compare(github, read(github), 2500)
    print(("%d valid, %d refused"):format(good, bad))
    assert.is_true(good > 1200 and bad > 300)
  end)

  it("with every verdict on random selections over 60 generated schemas", function()
    random.seed(SEED)
    local good, bad = 0, 0
    local path = os.tmpname()
    for _ = 1, 60 do
      local text = random_graphql.sdl()
      write(path, text)
      local g, b = compare(path, text, 40)
      good, bad = good + g, bad + b
    end
    os.remove(path)
    print(("%d valid, %d refused"):format(good, bad))
    assert.is_true(good > 1000 and bad > 300)
  end)

  it("that the default selection of every root field of GitHub runs, and its values fit the output schema", function()
    random.seed(SEED)
    print(run_all(github, read(github)), "root fields")
  end)

  it("that those of generated schemas do", function()
    random.seed(SEED)
    local path = os.tmpname()
    for _ = 1, 40 do
      local text = random_graphql.sdl()
      write(path, text)
      run_all(path, text)
    end
    os.remove(path)
  end)

  it("with every verdict on random documents, whose answers fit the exact output schemas", function()
    random.seed(SEED)
    local count, path = compare_documents(github, read(github), 500), os.tmpname()
    for _ = 1, 40 do
      local text = random_graphql.sdl()
      write(path, text)
      count = count + compare_documents(path, text, 20)
    end
    os.remove(path)
    print(("%d operations of documents"):format(count))
    assert.is_true(count > 500)
  end)
end)
