--- Twenty jobs over GitHub's document in three forms: each operation a tool; search, describe and call; programs (code
--- mode). Counts the bytes of definitions and results that a model reads, its calls, and the seconds of the processor.
--- What a model would do between two calls is the same program in each form.
--- OPENAPI_DOCUMENT=api.github.com.json lua spec/bench/openapi_code.lua
--- MCP_PROXY=directory: beside npm's @karashiiro/my-cool-proxy there, of which `node` in PATH runs the jobs it can.
package.path = "./?.lua;" .. package.path
local github = require("spec.bench.code_mode.github")
local operations = require("operations")
local tasks = require("spec.bench.code_mode.tasks")

local json = operations.json
local registry = github.registry(assert(os.getenv("OPENAPI_DOCUMENT"), "OPENAPI_DOCUMENT: GitHub's document"))

-- Processor time of this process and its ended children, in seconds: others that run do not count.
local function processor()
  local file = assert(io.open("/proc/self/stat"))
  local fields = {}
  for field in file:read("*a"):match("%) (.*)$"):gmatch("%S+") do
    fields[#fields + 1] = tonumber(field) or 0
  end
  file:close()
  return (fields[12] + fields[13] + fields[14] + fields[15]) / 100
end

local Form = {}
Form.__index = Form

local function form(name, options)
  options.format, options.max_result, options.log = "anthropic", 1e9, function() end
  local tools = assert(operations.to_tools(registry, options))
  return setmetatable({ name = name, tools = tools, definitions = #assert(json.encode(tools.definitions)), calls = 0,
    results = 0, seconds = 0 }, Form)
end

-- One call of a model: the text that it reads.
function Form:use(name, input)
  local start = processor()
  local _, results = self.tools:run({ role = "assistant", content = { { type = "tool_use", id = "1", name = name,
    input = input } } })
  self.seconds = self.seconds + processor() - start
  local text = results[1].content.text
  self.calls, self.results = self.calls + 1, self.results + #text
  return results[1].ok, text
end

-- Runs the program of a job here, as the thoughts of a model between its calls.
local function think(code, call)
  local env = { call = call, null = operations.null, array = operations.array, object = operations.object,
    map = function(list, fn)
      local results, errs = {}, {}
      for i = 1, #list do
        results[i], errs[i] = fn(list[i], i)
      end
      return results, next(errs) and errs or nil
    end }
  setmetatable(env, { __index = _G })
  local chunk
  if setfenv then -- luacheck: ignore 113
    chunk = setfenv(assert(loadstring(code)), env) -- luacheck: ignore 113
  else
    chunk = assert(load(code, "job", "t", env))
  end
  return pcall(chunk)
end

local function value_of(ok, text)
  if not ok then
    return nil, text
  end
  return json.decode(text)
end

local forms = {
  { "every operation a tool", {}, function(self, job)
    return think(job.code, function(id, input)
      return value_of(self:use(self.tools:name_of(id), input))
    end)
  end },
  { "search, describe, call", { search = true }, function(self, job)
    for _, words in ipairs(job.find) do
      self:use("search_operations", { query = words })
    end
    return think(job.code, function(id, input)
      return value_of(self:use("call_operation", { name = self.tools:name_of(id) or id:gsub("%.", "_"),
        arguments = input }))
    end)
  end },
  { "code mode", { code = true }, function(self, job)
    for _, words in ipairs(job.find) do
      self:use("search_operations", { query = words })
    end
    local ok, text = self:use("run_lua", { code = job.code })
    return ok, ok and json.decode(text:match("^[^\n]*")) or text
  end },
}

local function row(self, done)
  print(("%-26s %12d %12d %7d %8.2f %5d"):format(self.name, self.definitions, self.results, self.calls, self.seconds,
    done))
end

print(("%-26s %12s %12s %7s %8s %5s"):format("20 jobs", "definitions", "results", "calls", "seconds", "done"))
local wanted = {}
for _, each in ipairs(forms) do
  local self = form(each[1], each[2])
  for i, job in ipairs(tasks) do
    if job.first then
      each[3](self, { code = job.first, find = job.find })
    end
    local ok, value = each[3](self, { code = job.code, find = job.first and {} or job.find })
    local text = ok and json.encode(value, { sort_keys = true }) or tostring(value)
    wanted[i] = wanted[i] or text
    if not ok or text ~= wanted[i] then
      error(("%s: %s: %s\nnot %s"):format(self.name, job.name, text, wanted[i]), 0)
    end
  end
  row(self, #tasks)
end

-- The peer: a proxy of MCP servers with code mode in Lua. It wants the details of each tool before a program uses it.

local Peer = setmetatable({}, { __index = Form })
Peer.__index = Peer

function Peer:use(name, input)
  local result, err = self.client:request("tools/call", { name = name, arguments = operations.object(input) })
  local texts = {}
  for i, block in ipairs(result and result.content or {}) do
    texts[i] = block.text or ""
  end
  local text = result and table.concat(texts, "\n") or tostring(err)
  self.calls, self.results = self.calls + 1, self.results + #text
  return result ~= nil and not result.isError, text
end

local prelude = [[
local function call(id, input)
  local ok, value = pcall(function() return github[id:gsub("%.", "_")](input):await() end)
  if ok then return value end
  return nil, value
end
local function map(list, fn)
  local results = {}
  for i, item in ipairs(list) do results[i] = fn(item, i) end
  return results
end
]]

function Peer:run(code)
  return self:use("execute", { script = ("%sresult((function()\n%s\nend)())"):format(prelude, code) })
end

function Peer:job(job)
  self:use("list-servers", {})
  self:use("list-server-tools", { luaServerName = "github" })
  local seen = {}
  for id in job.code:gmatch('"(github%.[%w_]+)"') do
    if not seen[id] then
      seen[id] = true
      self:use("tool-details", { luaServerName = "github", luaToolName = (id:gsub("%.", "_")) })
    end
  end
  if job.first then
    self:run(job.first)
  end
  return self:run(job.code)
end

local function compare(modules)
  local config = os.tmpname()
  local file = assert(io.open(config, "w"))
  file:write(json.encode({ transport = "stdio", mcpClients = { github = { type = "stdio", command = arg[-1],
    args = { "spec/bench/code_mode/server.lua" }, env = { OPENAPI_DOCUMENT = os.getenv("OPENAPI_DOCUMENT"),
      LUA_PATH = package.path, LUA_CPATH = package.cpath, PATH = os.getenv("PATH") } } } }))
  file:close()
  local client = assert(operations.from_mcp.connect("proxy", { command = "node", timeout = 120000,
    args = { modules .. "/node_modules/@karashiiro/my-cool-proxy/bin/my-cool-proxy.mjs" },
    env = { CONFIG_PATH = config, HOME = os.getenv("HOME"), PATH = os.getenv("PATH") } }))
  local self = setmetatable({ name = "npm my-cool-proxy", client = client, calls = 0, results = 0, seconds = 0,
    definitions = #json.encode(assert(client:request("tools/list")).tools) }, Peer)
  repeat -- it connects after its own start
    operations.sleep(1)
    local _, text = self:use("list-servers", {})
  until text:find("[*] github", 1, true)
  self.calls, self.results = 0, 0
  local done, start = 0, processor()
  for i, job in ipairs(tasks) do
    local ok, text = self:job(job)
    local shown = text:match("Result:%s*(.*)$") or text -- strings are not quoted
    local value = ok and json.decode(shown)
    local got = json.encode(value ~= nil and value ~= false and value or shown, { sort_keys = true })
    done = done + (got == wanted[i] and 1 or 0)
    if got ~= wanted[i] then
      print(("  not done: %s: %s"):format(job.name, got:sub(1, 160):gsub("%s+", " ")))
    end
  end
  client:close()
  os.remove(config)
  self.seconds = processor() - start
  row(self, done)
end

if os.getenv("MCP_PROXY") then
  operations.run(compare, os.getenv("MCP_PROXY"))
end
