--- The responses that GitHub's document gives as examples, through the pipeline as if a server had sent them. What
--- comes out is the example, or the example with the changes of the change list made to it, and nothing else.
local calls = require("spec.openapi.suite.calls")
local document = require("spec.openapi.suite.document")
local json = require("operations.base.json")
local operations = require("operations")

local examples = {}

--- Calls `fn(status, content_type, value)` for each JSON example of an operation's responses.
local function each_example(root, node, fn)
  for status, response in pairs(node.responses) do
    for content_type, media in pairs(document.dereference(root, response).content or {}) do
      for _, example in pairs(content_type:find("json") and media.examples or {}) do
        fn(tonumber(status), content_type, document.dereference(root, example).value)
      end
    end
  end
end

local function split(path)
  local tokens = {}
  for token in path:gmatch("/([^/]*)") do
    tokens[#tokens + 1] = token:gsub("~1", "/"):gsub("~0", "~")
  end
  return tokens
end

local function key_of(container, token)
  return getmetatable(container) == json.array_mt and tonumber(token) + 1 or token
end

--- Makes the listed changes to a copy; nil when one is not about what stands there.
local function replay(value, changes)
  local root = { value = assert(json.decode(document.text(value))) }
  for _, change in ipairs(changes) do
    local container, key = root, "value"
    for _, token in ipairs(split(change.path)) do
      container = container[key]
      key = key_of(container, token)
    end
    if change.kind == "defaulted" and container[key] ~= nil
      or change.kind ~= "defaulted" and document.text(container[key]) ~= document.text(change.old) then
      return nil
    end
    container[key] = change.new
  end
  return document.text(root.value)
end

--- A registry of the document whose server answers every request with `wire.reply`.
local function connect(path)
  local wire = {}
  local definitions = assert(operations.from_openapi.file(path, {
    namespace = "api",
    http = { request = function() return wire.reply end, open = function() return wire.reply end },
  }))
  local registry = operations.registry({
    on_warning = function(warning) wire.warning = warning end,
    on_change = function(_, changes) wire.changes = changes end,
  })
  assert(registry:register_all(definitions))
  return registry, definitions, wire
end

--- Sends one example through; says what became of it.
local function outcome(registry, id, wire, input, status, content_type, value)
  wire.changes, wire.warning = {}, nil
  wire.reply = { status = status, headers = { ["content-type"] = content_type }, body = document.text(value) }
  local envelope, err = registry:execute(id, input)
  local data
  if status >= 400 then
    assert(err.code == "HTTP_" .. status, err)
    data = err.details.body
  elseif not envelope then
    return "failed", tostring(err)
  else
    data = envelope.data
  end
  if document.text(data) == wire.reply.body then
    return "unchanged"
  end
  local expected = replay(value, wire.changes)
  return expected == document.text(data) and "changed" or "altered", wire.reply.body
end

local function new_counts()
  return { all = 0, unchanged = 0, changed = 0, altered = 0, failed = 0, warned = 0,
    stripped = 0, defaulted = 0, converted = 0 }
end

local LINE = "%-18s %4d   unchanged %4d   changed as listed %4d (%d stripped, %d defaulted, %d converted)"
  .. "   changed otherwise %d   failed %d   do not fit their schema, kept and warned of %d"

---@param places { packages: string }
---@param fail fun(...: string)
function examples.run(places, fail)
  local path = places.packages .. "/@octokit/openapi/generated/api.github.com.json"
  local root = document.read(path)
  local registry, definitions, wire = connect(path)
  local results, errors = new_counts(), new_counts()
  for _, definition in ipairs(definitions) do
    local id = "api." .. definition.name
    local input = assert(calls.input(registry:get_spec(id).inputSchema, { optional = false }))
    each_example(root, document.operation(root, definition), function(status, content_type, value)
      local counts = status < 400 and results or errors
      local what, detail = outcome(registry, id, wire, input, status, content_type, value)
      counts.all, counts[what] = counts.all + 1, counts[what] + 1
      counts.warned = counts.warned + (wire.warning and 1 or 0)
      for _, change in ipairs(wire.changes) do
        counts[change.kind] = counts[change.kind] + 1
      end
      if what == "failed" or what == "altered" then
        fail(id, tostring(status), what, detail:sub(1, 300))
      end
    end)
  end
  for name, c in pairs({ ["examples of results"] = results, ["examples of errors"] = errors }) do
    print(LINE:format(name, c.all, c.unchanged, c.changed, c.stripped, c.defaulted, c.converted, c.altered, c.failed,
      c.warned))
  end
end

return examples
