--- Servers that others wrote, from npm: every tool of theirs is called. `make test-mcp` runs this.
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local operations = require("operations")
local tried = require("spec.support.tried")

local modules = assert(os.getenv("MCP_SERVERS"), "MCP_SERVERS: where npm installed the servers")

local function program(package)
  return ("%s/@modelcontextprotocol/server-%s/dist/index.js"):format(modules, package)
end

local function shell(line)
  local pipe = assert(io.popen(line))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

-- A client whose operations are in a registry that takes no result that misses its schema.
local function connect(name, config)
  config.log = function() end
  config.sampling = function()
    return { role = "assistant", model = "spec", content = { type = "text", text = "sampled" } }
  end
  config.roots = { { uri = "file:///tmp", name = "tmp" } }
  config.elicitation = {
    form = function()
      return { action = "accept", content = { name = "Ada" } }
    end,
    url = function()
      return { action = "decline" }
    end,
  }
  local client = assert(operations.from_mcp.connect(name, config))
  local registry = operations.registry({ on_warning = function(warning)
    error(warning.operationId .. ": " .. warning.issues[1].message)
  end })
  assert(client:register(registry))
  assert.same({}, client.problems)
  for _, spec in ipairs((registry:specs())) do
    assert.is_nil(select(2, tried.input(spec, false)), spec.name) -- the call that `operations describe` prints
  end
  return client, registry
end

-- Calls every tool: `inputs` has one for each, `calls` the order where it matters.
local function call_all(client, registry, inputs, order)
  local left = {}
  for _, definition in ipairs(client.operations) do
    left[definition.name] = definition._meta.tool and true or nil
  end
  for _, name in ipairs(order) do
    local envelope, err = registry:execute(client.name .. "." .. name, inputs[name] or {})
    assert(envelope, name .. ": " .. tostring(err))
    assert.is_true(operations.is_response_envelope(envelope))
    assert.equal("mcp", envelope.meta.source)
    assert.is_false(envelope.meta.isError, name)
    assert.is_true(#envelope.meta.content > 0, name)
    left[name] = nil
  end
  assert.same({}, left)
end

local everything = {
  ["echo"] = { message = "hi" }, ["get-annotated-message"] = { messageType = "error", includeImage = true },
  ["get-structured-content"] = { location = "Chicago" }, ["get-sum"] = { a = 1, b = 2 },
  ["gzip-file-as-resource"] = { name = "a.gz", data = "data:text/plain,hello", outputType = "resource" },
  ["trigger-long-running-operation"] = { duration = 0.2, steps = 2 }, ["simulate-research-query"] = { topic = "tea" },
  ["trigger-sampling-request"] = { prompt = "hi" }, ["trigger-url-elicitation"] = { url = "https://example.com/" },
}

local everything_order = {
  "echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-structured-content",
  "get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging", "toggle-simulated-logging",
  "toggle-subscriber-updates", "toggle-subscriber-updates", "trigger-long-running-operation", "get-roots-list",
  "trigger-elicitation-request", "trigger-url-elicitation", "trigger-sampling-request", "simulate-research-query",
}

-- A server that listens, until `stop` is called.
local function listen(mode)
  local port = free_port()
  local child = assert(operations.process.spawn({ "node", program("everything"), mode, env = { PORT = port } }))
  eventually(function()
    return operations.http.request({ url = "http://127.0.0.1:" .. port .. "/nowhere" })
  end)
  return child, "http://127.0.0.1:" .. port
end

describe("server-everything", function()
  for transport, mode in pairs({ stdio = false, ["Streamable HTTP"] = "streamableHttp", ["HTTP+SSE"] = "sse" }) do
    it("has every tool called over " .. transport, function()
      local child, config = nil, { command = "node", args = { program("everything"), "stdio" } }
      if mode then
        local url
        child, url = listen(mode)
        config = { url = url .. (mode == "sse" and "/sse" or "/mcp") }
      end
      local client, registry = connect("everything", config)
      call_all(client, registry, everything, everything_order)
      local resources = assert(registry:execute("everything.resources.list")).data.resources
      assert.is_true(#resources >= 7)
      for _, resource in ipairs(resources) do
        assert(registry:execute("everything.resources.read", { uri = resource.uri }))
      end
      assert.equal(4, #assert(registry:execute("everything.prompts.list")).data.prompts)
      assert(registry:execute("everything.prompts.get", { name = "simple-prompt" }))
      local departments = assert(client:complete("completable-prompt", "department"))
      assert.same({ "Engineering", "Sales", "Marketing", "Support" }, departments)
      assert(client:set_log_level("debug"))
      assert(client:ping())
      client:close()
      if child then
        child:stop({ close = 0 })
      end
    end)
  end
end)

describe("server-filesystem", function()
  it("has every tool called", function()
    local directory = shell("mktemp -d"):match("%S+")
    local client, registry = connect("files", { command = "node", args = { program("filesystem"), directory } })
    local function path(name)
      return { path = directory .. "/" .. name }
    end
    client:set_roots({ { uri = "file://" .. directory } })
    shell(("printf 'R0lGODlhAQABAAAAACw=' | base64 -d >%s/a.gif"):format(directory))
    call_all(client, registry, {
      write_file = { path = directory .. "/a.txt", content = "one\ntwo\n" }, read_file = path("a.txt"),
      read_text_file = { path = directory .. "/a.txt", head = 1 }, read_media_file = path("a.gif"),
      read_multiple_files = { paths = { directory .. "/a.txt", directory .. "/a.gif" } },
      edit_file = { path = directory .. "/a.txt", edits = { { oldText = "one", newText = "1" } } },
      create_directory = path("sub"), list_directory = { path = directory },
      list_directory_with_sizes = { path = directory }, directory_tree = { path = directory, excludePatterns = {} },
      move_file = { source = directory .. "/a.txt", destination = directory .. "/sub/b.txt" },
      search_files = { path = directory, pattern = "**/*.txt" }, get_file_info = path("sub/b.txt"),
    }, {
      "write_file", "read_file", "read_text_file", "read_media_file", "read_multiple_files", "edit_file",
      "create_directory", "list_directory", "list_directory_with_sizes", "directory_tree", "move_file", "search_files",
      "get_file_info", "list_allowed_directories",
    })
    assert.is_true(assert(registry:execute("files.read_file", path("none"))).meta.isError)
    client:close()
    shell("rm -r " .. directory)
  end)
end)

describe("server-memory", function()
  it("has every tool called", function()
    local file = os.tmpname()
    os.remove(file)
    local client, registry = connect("memory", {
      command = "node", args = { program("memory") }, env = { MEMORY_FILE_PATH = file .. ".jsonl" },
    })
    local relation = { from = "ada", to = "charles", relationType = "knows" }
    call_all(client, registry, {
      create_entities = { entities = {
        { name = "ada", entityType = "person", observations = {} },
        { name = "charles", entityType = "person", observations = { "engines" } },
      } },
      create_relations = { relations = { relation } }, search_nodes = { query = "ada" },
      open_nodes = { names = { "ada" } },
      add_observations = { observations = { { entityName = "ada", contents = { "notes" } } } },
      delete_observations = { deletions = { { entityName = "ada", observations = { "notes" } } } },
      delete_relations = { relations = { relation } }, delete_entities = { entityNames = { "ada" } },
    }, {
      "create_entities", "create_relations", "add_observations", "read_graph", "search_nodes", "open_nodes",
      "delete_observations", "delete_relations", "delete_entities",
    })
    assert.equal(1, #assert(registry:execute("memory.read_graph")).data.entities)
    client:close()
    os.remove(file .. ".jsonl")
  end)
end)

describe("a server on the official SDK of the modern era", function()
  it("is asked, called, gives input to, and followed", function()
    local client, registry = connect("modern", { command = "node", args = { "spec/mcp/suite/modern.mjs", modules } })
    assert.equal("2026-07-28", client.version)
    assert.equal("modern", client.server.name)
    assert.equal(3, assert(registry:execute("modern.add", { a = 1, b = 2 })).data.sum)
    assert.equal("Hello Ada", assert(registry:execute("modern.greet")).data[1].text)
    local read = assert(registry:execute("modern.resources.read", { uri = "memo://a" })).data
    assert.equal("a memo", read.contents[1].text)
    assert.equal(1, #assert(registry:execute("modern.prompts.get", { name = "ask" })).data.messages)
    assert(registry:execute("modern.grow"))
    eventually(function()
      return registry:get("modern.grown")
    end)
    client:close()
  end)
end)
