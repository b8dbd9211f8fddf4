local operations = require("operations")
local random = require("spec.support.random")
local sandboxed = require("spec.support.sandboxed")

local PROGRAMS = 1000

local function encode(value)
  local text, err = operations.json.encode(value, { sort_keys = true })
  return text or error(err, 0)
end

-- What programs call.
local handlers = {}

function handlers.echo(input)
  return input
end

function handlers.fail(input)
  return nil, operations.error("NOT_FOUND", "no " .. encode(input), { input = input })
end

function handlers.raise()
  error("broken", 0)
end

function handlers.wrap(input)
  return { id = 7, list = operations.array({ input }), ratio = 0.1, none = operations.null }
end

function handlers.nothing() end

local function call(id, input)
  return handlers[id](input)
end

-- As a program gets the answer of a call: by value, and never raised.
local function direct_call(id, input)
  local ok, value, err = pcall(call, id, input)
  if not ok then
    value, err = nil, operations.is_error(value) and value or operations.error("EXECUTION_ERROR", value)
  end
  if value ~= nil then
    return operations.json.decode(encode(value))
  end
  return nil, err
end

local function direct_map(list, fn)
  local results, errors = operations.array({}), nil
  for i = 1, #list do
    local value, err = fn(list[i], i)
    if value == nil and err ~= nil then
      errors = errors or {}
      errors[i] = err
    else
      results[i] = value == nil and operations.null or value
    end
  end
  return results, errors
end

-- Texts of programs.

local values = { "1", "-7", "2.5", "9007199254740991", "'text'", "'\195\164'", "true", "false", "null", "array({})",
  "object({})", "array({ 1, 'x', null })", "{ a = 1, b = { c = 'd' } }" }
local ids = { "echo", "fail", "raise", "wrap", "nothing" }

local function some_value(count)
  if count > 0 and random.chance(50) then
    return "v" .. random.upto(count)
  end
  return random.pick(values)
end

local statements = {}

function statements.call(n)
  return ("local v%d, e%d = call('%s', %s)"):format(n, n, random.pick(ids), some_value(n - 1))
end

function statements.map(n)
  return ([[local vN, eN = map({ 1, 2, 3 }, function(x, i) return call('%s', { x, i, %s }) end)
if eN then vN, eN = { #vN, tostring(eN[1]), eN[3].code } end]]):format(random.pick(ids), some_value(n - 1)):gsub("N", n)
end

function statements.compute(n)
  return ("local v%d, e%d = 0 for i = 1, %d do v%d = v%d + i * 2 end"):format(n, n, random.upto(20), n, n)
end

function statements.text(n)
  return ("local v%d, e%d = ('%s'):rep(%d):upper() .. tostring(%s == nil)"):format(n, n, "ab", random.upto(5),
    some_value(n - 1))
end

function statements.table(n)
  return ("local v%d, e%d = { one = %s, list = array({ 1, 2 }), [%q] = %s }"):format(n, n, some_value(n - 1), "k" .. n,
    some_value(n - 1))
end

local function some_program()
  local lines, kinds = {}, { "call", "call", "map", "compute", "text", "table" }
  local count = random.upto(6)
  for n = 1, count do
    lines[#lines + 1] = statements[random.pick(kinds)](n)
    lines[#lines + 1] = ("if e%d then v%d = tostring(e%d) end"):format(n, n, n)
  end
  local all = {}
  for n = 1, count do
    all[n] = ("v%d = v%d"):format(n, n)
  end
  lines[#lines + 1] = "return { " .. table.concat(all, ", ") .. " }"
  return table.concat(lines, "\n")
end

local function run_directly(code)
  local env = { call = direct_call, map = direct_map, null = operations.null, array = operations.array,
    object = operations.object, tostring = tostring }
  local chunk
  if setfenv then -- luacheck: ignore 113
    chunk = setfenv(assert(loadstring(code)), env) -- luacheck: ignore 113
  else
    chunk = assert(load(code, "program", "t", env))
  end
  return encode(operations.json.decode(encode(chunk())))
end

describe("the results of programs in the sandbox", function()
  it("equal those of the same calls made directly", function()
    random.seed(51)
    for i = 1, PROGRAMS do
      local code = some_program()
      local result = sandboxed.run(code, { call = call })
      assert.equal(run_directly(code), result.ok and encode(result.value) or tostring(result.error), i .. ":\n" .. code)
    end
  end)
end)
