--- operations.command: programs as operations.
local operations = require("operations")
local with_yaml = require("spec.support.with_yaml")(it, pending)

local function registry_of(options)
  local registry = operations.registry({ log = function() end })
  options.namespace, options.name = "spec", "run"
  assert(registry:register(operations.command(options)))
  return registry
end

local function run(options, input, context)
  local envelope, err = registry_of(options):execute("spec.run", input or {}, context)
  if envelope then
    return envelope.data
  end
  return nil, err
end

-- Prints each argument in angle brackets.
local function shown(argv, input, schema)
  local list = { "sh", "-c", 'for each in "$@"; do printf "<%s>" "$each"; done', "sh" }
  for _, each in ipairs(argv) do
    list[#list + 1] = each
  end
  return run({ argv = list, inputSchema = schema }, input)
end

describe("operations.command", function()
  it("passes members of the input as one argument each, without a shell", function()
    assert.equal("<a  b; $(id) 'c'>", shown({ "{text}" }, { text = "a  b; $(id) 'c'" }))
    assert.equal("<--n=3><x{text}y>", shown({ "--n={n}", "x{{text}}y" }, { n = 3 }, { type = "object",
      properties = { n = { type = "integer" } } }))
    assert.equal("<{.Names}><{{json .}}><@{0}>", shown({ "{.Names}", "{{json .}}", "@{0}" }, {}))
  end)

  it("makes a list several arguments, and leaves out groups whose member is missing", function()
    local schema = { type = "object", properties = { files = { type = "array" }, n = { type = "integer" },
      all = { type = "boolean" } } }
    local argv = { { "-n", "{n}" }, { "--all", "{all}" }, { "{files}" } }
    assert.equal("", shown(argv, {}, schema))
    assert.equal("<-n><0><--all><a><b c>", shown(argv, { n = 0, all = true, files = { "a", "b c" } }, schema))
    assert.equal("", shown(argv, { all = false, files = operations.array({}) }, schema))
  end)

  it("refuses texts that the program would take for options", function()
    for _, text in ipairs({ "-x", "--upload-pack=evil" }) do
      local _, err = shown({ "{text}" }, { text = text })
      assert.same({ "VALIDATION_ERROR", "/text" }, { err.code, err.details[1].path })
      assert.equal("<--><" .. text .. ">", shown({ "--", "{text}" }, { text = text }))
      assert.equal("<--to=" .. text .. ">", shown({ "--to={text}" }, { text = text }))
    end
    local list = { type = "object", properties = { files = { type = "array" } } }
    assert.equal("VALIDATION_ERROR", select(2, shown({ "{files}" }, { files = { "a", "-x" } }, list)).code)
    assert.equal("VALIDATION_ERROR", select(2, shown({ "{text}" }, { text = "a\0b" })).code)
  end)

  it("describes its input where the program does not: texts, and nothing else", function()
    local spec = registry_of({ argv = { "true", "{a}", { "--b", "{b}" } } }):get_spec("spec.run")
    assert.same({ "a" }, { spec.inputSchema.required[1], spec.inputSchema.required[2] })
    assert.same({ a = { type = "string" }, b = { type = "string" } }, spec.inputSchema.properties)
    assert.equal("VALIDATION_ERROR", select(2, run({ argv = { "true", "{a}" } }, {})).code)
    assert.equal("VALIDATION_ERROR", select(2, run({ argv = { "true" } }, { other = "x" })).code)
  end)

  it("gives text, lines or JSON", function()
    assert.equal("a\nb\n", run({ argv = { "printf", "a\nb\n" } }))
    assert.same({ "a", "", "b" }, run({ argv = { "printf", "a\n\nb" }, output = "lines" }))
    assert.same({ n = 1 }, run({ argv = { "printf", "{\"n\":1}" }, output = "json" }))
    local _, err = run({ argv = { "printf", "none" }, output = "json" })
    assert.same({ "EXECUTION_ERROR", "parse" }, { err.code, err.details.kind })
  end)

  it("streams lines, and lines of JSON", function()
    local function events(options, input)
      local list = {}
      for envelope in assert(registry_of(options):subscribe("spec.run", input or {})) do
        list[#list + 1] = envelope.data
      end
      return list
    end
    assert.same({ "1", "2" }, events({ argv = { "seq", "2" }, output = "stream" }))
    assert.same({ 1, { a = 2 } }, events({ argv = { "printf", '1\n{"a":2}\n' }, output = "json-stream" }))
    local ok, err = pcall(events, { argv = { "sh", "-c", "echo one; echo why >&2; exit 7" }, output = "stream" })
    assert.same({ false, 7, "why" }, { ok, err.details.exitCode, err.details.stderr })
  end)

  it("gives a member as standard input", function()
    assert.equal("ABC", run({ argv = { "tr", "a-z", "A-Z" }, stdin = "text" }, { text = "abc" }))
    assert.equal('{"a":1}', run({ argv = { "cat" }, stdin = "value",
      inputSchema = { type = "object", properties = { value = { type = "object" } } } }, { value = { a = 1 } }))
    assert.equal("", run({ argv = { "true" }, stdin = "text" }, { text = ("x"):rep(2 ^ 21) }))
  end)

  it("makes exit codes errors, those that are declared with their code", function()
    local script = "echo first >&2; echo last >&2; exit %d"
    local _, err = run({ argv = { "sh", "-c", script:format(3) } })
    assert.same({ "EXECUTION_ERROR", "sh: exit code 3: last", 3, "first\nlast" },
      { err.code, err.message, err.details.exitCode, err.details.stderr })
    _, err = run({ argv = { "sh", "-c", script:format(3) }, errors = { [3] = "NOT_FOUND" } })
    assert.equal("NOT_FOUND", err.code)
    assert.equal("", run({ argv = { "sh", "-c", "exit 1" }, ok = { 0, 1 } }))
    _, err = run({ argv = { "sh", "-c", "kill -9 $$" } })
    assert.equal(9, err.details.signal)
    local spec = registry_of({ argv = { "true" }, errors = { ["4"] = "GONE" } }):get_spec("spec.run")
    assert.equal("GONE", spec.errorSchemas[1].code)
  end)

  it("ends with its time, its call, and where it prints too much", function()
    local _, err = run({ argv = { "sleep", "1000" }, timeout = 30 })
    assert.same({ "TIMEOUT", "sleep: took longer than 30 ms" }, { err.code, err.message })
    assert.equal("TIMEOUT", select(2, run({ argv = { "sleep", "1000" } }, {}, { timeout = 30 })).code)
    assert.equal("size", select(2, run({ argv = { "yes" }, max_output = 1000 })).details.kind)
    assert.equal("command", select(2, run({ argv = { "/no/such/program" } })).details.kind)
  end)

  it("has only the variables that it is given and inherits", function()
    assert.equal("1\n", run({ argv = { "sh", "-c", "echo $OWN$OTHER" }, env = { OWN = 1 }, env_allow = { "PATH" } }))
    assert.equal("/\n", run({ argv = { "pwd" }, cwd = "/" }))
  end)

  it("raises what is wrong in a description", function()
    for text, options in pairs({
      ["argv: table expected"] = {}, ["argv%[1%]"] = { argv = {} }, ["the name of a program"] = { argv = { "{a}" } },
      ["unknown option 'ouput'.*output"] = { argv = { "true" }, ouput = "text" },
      ["none of json"] = { argv = { "true" }, output = "xml" },
      ["{nme} is no member of inputSchema.*name"] = { argv = { "true", "{nme}" }, inputSchema = { properties = {
        name = true } } },
    }) do
      assert.error_matches(function()
        operations.command(options)
      end, text)
    end
  end)
end)

describe("operations.yaml", function()
  with_yaml("reads and writes values", function()
    local value = assert(operations.yaml.decode("a: [1, no, null]\nb: {}\n"))
    assert.equal(operations.null, value.a[3])
    assert.equal('{"a":[1,"no",null],"b":{}}', operations.json.encode(value, { sort_keys = true }))
    assert.same(value, (operations.yaml.decode(operations.yaml.encode(value))))
    local none, err = operations.yaml.decode("a: [")
    assert.same({ nil, "VALIDATION_ERROR" }, { none, err.code })
    assert.equal(operations.null, (operations.yaml.decode("~")))
  end)
end)
