local code = require("operations.offer.code")
local guide = require("operations.offer.guide")
local operations = require("operations")

local json = operations.json

describe("a program of a model", function()
  local registry

  local function add(name, kind, handler)
    assert(registry:register({ namespace = "a", name = name, type = kind, handler = handler }))
  end

  before_each(function()
    registry = operations.registry()
    add("echo", "query", function(input)
      return input.value
    end)
    add("wrap", "mutation", function(input)
      return { got = input, list = operations.array({ input.value }) }
    end)
    add("fail", "query", function(input)
      return nil, operations.error("FAILED", "it failed", { value = input.value })
    end)
    add("nothing", "query", function() end)
  end)

  local function run(text, more)
    local program = { registry = registry, guide = guide.new(registry), options = {}, code = text, id = "run",
      sight = code.sight(registry, {}, { sees = function()
        return true
      end, id_of = function() end }), context = function()
        return {}
      end, tell = function(err)
        return err
      end }
    for key, value in pairs(more or {}) do
      program[key] = value
    end
    return code.run(program)
  end

  describe("gives what direct calls give", function()
    local seed = 51

    local function random(most)
      seed = (seed * 1103515245 + 12345) % 2 ^ 31
      return math.floor(seed / 2 ^ 16) % most + 1
    end

    local scalars = { "null", "true", "false", "0", "-1", "9007199254740992", "-9007199254740992", "0.1", "1e300",
      "-0.5",
      '""', '"caf\195\169"', '"\\"\\\\\\n\\0\\27"', '"\240\159\142\178"', '"null"',
      ("%q"):format(("x"):rep(3000)) }

    -- A value as Lua text.
    local function literal(depth)
      local kind = random(depth > 0 and 6 or 3)
      if kind <= 3 then
        return scalars[random(#scalars)]
      elseif kind == 4 then
        return random(2) == 1 and "array({})" or "object({})"
      end
      local parts = {}
      for i = 1, random(4) do
        local name = kind ~= 5 and ("[%q] = "):format("k" .. i .. (i == 2 and " \195\169" or "")) or ""
        parts[i] = name .. literal(depth - 1)
      end
      return "{ " .. table.concat(parts, ", ") .. " }"
    end

    local ids = { "a.echo", "a.wrap", "a.fail", "a.nothing", "a.missing", "a.echo", "a.wrap" }

    local statements = {
      function()
        return ("keep(call(%q, { value = %s }))"):format(ids[random(#ids)], literal(3))
      end,
      function()
        return ("keep(call(%q, { value = results[#results] == nil and null or results[#results] }))"):format(
          ids[random(#ids)])
      end,
      function()
        return ("local list, errs = map({ %s, %s, %s }, function(item, i) return call(%q, { value = item, i = i }) "
          .. "end)\nfor i = 1, 3 do keep(list[i], errs and errs[i]) end"):format(literal(1), literal(1), literal(1),
          ids[random(#ids)])
      end,
      function()
        return ("for i = 1, %d do local data, err = call(%q, { value = i / %d }) if err then keep(nil, err) break end "
          .. "keep(data) end"):format(random(3), ids[random(#ids)], random(4))
      end,
    }

    local function program()
      local lines = { "local results = {}", "local function keep(data, err)",
        "  if err then data = { err.code, err.message, err.details == nil and null or err.details } end",
        "  results[#results + 1] = data",
        "end" }
      for _ = 1, random(6) do
        lines[#lines + 1] = "do " .. statements[random(#statements)]() .. " end"
      end
      return table.concat(lines, "\n") .. "\nreturn array(results)"
    end

    -- The same text in this process, whose calls are those of the registry.
    local function direct(text)
      local function call(id, input)
        if not registry:get(id) then
          return nil, operations.error("OPERATION_NOT_FOUND", ('unknown operation "%s"'):format(id))
        end
        local envelope, err = registry:execute(id, input)
        if not envelope then
          return nil, err
        elseif envelope.data == nil then
          return operations.null
        end
        return envelope.data
      end
      local env = { call = call, null = operations.null, array = operations.array, object = operations.object,
        map = function(list, fn)
          local results, errs = {}, {}
          for i = 1, #list do
            results[i], errs[i] = fn(list[i], i)
          end
          return results, errs
        end }
      local chunk
      if setfenv then -- luacheck: ignore 113
        chunk = setfenv(assert(loadstring(text)), env) -- luacheck: ignore 113
      else
        chunk = assert(load(text, "program", "t", env))
      end
      return assert(json.encode(chunk(), { sort_keys = true }))
    end

    it("for 1,000 generated programs", function()
      local texts = {}
      for i = 1, 1000 do
        texts[i] = program()
      end
      assert(operations.map(texts, function(text)
        local result = assert(run(text))
        if not result.ok then
          error(tostring(result.error) .. "\n" .. text, 0)
        end
        local got, wanted = json.encode(result.value, { sort_keys = true }), direct(text)
        if got ~= wanted then
          error(("%s\ngives %s\nnot %s"):format(text, got, wanted), 0)
        end
        return true
      end, { limit = 4 }))
    end)
  end)

  it("gets a failed tool of another MCP server as an error", function()
    add("tool", "query", function()
      return operations.mcp_envelope({ n = 1 }, { isError = true, content = { { type = "text", text = "no such file" },
        { type = "image", data = "AA==", mimeType = "image/png" } } })
    end)
    local result = assert(run([[local data, err = call("a.tool")
      return { data == nil, err.code, err.message, err.details }]]))
    assert.same({ true, "TOOL_ERROR", "no such file", { n = 1 } }, result.value)
  end)

  it("gets bytes as base64", function()
    add("bytes", "query", function()
      return "\255\0"
    end)
    assert.same({ base64 = "/wA=" }, assert(run('return call("a.bytes")')).value)
  end)

  it("says in a rehearsal which request it would send", function()
    registry:register_all((operations.from_openapi.file("examples/tasks.openapi.json", { namespace = "tasks" })))
    local result = assert(run('return call("tasks.create", { body = { title = "x" } })', { dry_run = true }))
    assert.same({ dryRun = true, id = "tasks.create", method = "POST", path = "/tasks",
      input = { body = { title = "x" } } }, result.value)
  end)

  it("has no options that the sandbox would refuse", function()
    for _, given in ipairs({ 0, 2 ^ 41, 0 / 0, 1 / 0 }) do
      for _, name in ipairs({ "max_calls", "wait" }) do
        local ok, raised = pcall(operations.to_tools, registry, { format = "anthropic", code = { [name] = given } })
        assert.is_false(ok)
        assert.matches("'" .. name .. "' to 'code' %(a number from 1 to 2^40 expected", raised)
      end
    end
  end)

  it("runs only where it is a text", function()
    local result, err = run(nil)
    assert.is_nil(result)
    assert.equal("VALIDATION_ERROR", err.code)
  end)

  it("has the calls of its functions checked by the registry, whatever they are given", function()
    local result = assert(run([[local codes = {}
      for i, arguments in ipairs({ { "a.echo", 5 }, { "a.echo", "x" }, { 7 }, {}, { "a.echo", array({ 1 }) } }) do
        local _, err = call(arguments[1], arguments[2])
        codes[i] = err and err.code or "ok"
      end
      return codes]]))
    for _, outcome in ipairs(result.value) do
      assert.is_string(outcome)
    end
    assert.equal("OPERATION_NOT_FOUND", result.value[3])
  end)

  it("reads no address of this process", function()
    local done = {}
    local result = assert(run([[local texts = {}
      for i, name in ipairs({ {}, null, 7, "a" .. ("\195\169"):rep(150) }) do
        texts[i] = tostring(select(2, call(name))) .. tostring(select(2, describe(name)))
      end
      return texts]], { done = function(id)
      done[#done + 1] = id
    end }))
    local cut = "a" .. ("\195\169"):rep(99)
    for i, shown in ipairs({ "object", "null", "integer", cut }) do
      assert.matches('^OPERATION_NOT_FOUND: unknown operation "' .. shown .. '"', result.value[i])
      assert.matches('VALIDATION_ERROR: unknown operation "' .. shown .. '"', result.value[i])
    end
    assert.same({ "object", "null", "integer", cut }, done)
  end)

  it("is described where it raises what no call gives", function()
    local text = code.failure(assert(run([[error({ code = "VALIDATION_ERROR", message = "no",
      details = { { path = {}, message = {} }, 7, { path = "/a", message = "b" } } })]])))
    assert.equal("VALIDATION_ERROR: line 1: no\n- /a: b", text)
    assert.equal("EXECUTION_ERROR: no", code.failure(assert(run('error("program:99999999999999999999: no", 0)'))))
  end)

  it("reports each call that ended", function()
    local done = {}
    assert(run('call("a.echo", { value = 1 }) call("a.fail") call("a.none")', { done = function(id, outcome)
      done[#done + 1] = id .. " " .. outcome
    end }))
    assert.same({ "a.echo ok", "a.fail FAILED", "a.none OPERATION_NOT_FOUND" }, done)
  end)

  it("is described by its calls and its output when it fails", function()
    local result = assert(run([[call("a.echo") print("so far")
      for i = 1, 30 do call("a.fail", { i = i }) end error("no")]]))
    local text = code.failure(result)
    assert.matches("^EXECUTION_ERROR: line 2: no", text)
    assert.matches("\nand 11 more\n", text)
    assert.matches("It printed:\nso far$", text)
  end)
end)
