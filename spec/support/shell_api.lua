--- The document of an API with answers of every kind (spec/support/server/shell.lua), for specs of the command line.
local command = require("spec.support.command")
local json = require("operations.base.json")
local server = require("spec.support.server")

local shell_api = {}

local function content(media_type, schema)
  return { [media_type] = { schema = schema } }
end

local function get(id, schema, parameters)
  return { get = { operationId = id, parameters = parameters,
    responses = { ["200"] = { description = "", content = content("application/json", schema or true) } } } }
end

local function post(id, body)
  return { post = { operationId = id, requestBody = body,
    responses = { ["200"] = { description = "", content = content("application/json", true) } } } }
end

local function query(name, schema)
  return { name = name, ["in"] = "query", schema = schema or { type = "string" } }
end

local item = { type = "object", properties = { name = { type = "string" }, id = { type = "integer" },
  extra = { type = "boolean" } } }

local issue = { type = "object", required = { "title" }, additionalProperties = false, properties = {
  title = { type = "string" }, count = { type = "integer" }, labels = { type = "array", items = { type = "string" } },
  owner = { type = "object", properties = { name = { type = "string" } } },
  lines = { type = "array", items = { type = "object", properties = { n = { type = "integer" } } } },
} }

local function paths()
  return {
    ["/shell/bytes"] = get("bytes", { type = "string", format = "binary" }, { query("name") }),
    ["/shell/text"] = get("text"),
    ["/shell/latin"] = get("latin"),
    ["/shell/large"] = get("large"),
    ["/shell/short"] = get("short"),
    ["/shell/broken"] = get("broken"),
    ["/shell/unmodified"] = get("unmodified"),
    ["/shell/slow"] = get("slow"),
    ["/shell/mute"] = get("mute"),
    ["/shell/empty"] = get("empty"),
    ["/shell/error"] = get("error"),
    ["/shell/page"] = get("page", item, { query("status", { type = "integer" }), query("more", { type = "integer" }) }),
    ["/shell/denied"] = get("denied"),
    ["/shell/me"] = get("me"),
    ["/shell/items"] = get("items", { type = "array", items = item },
      { query("page", { type = "integer" }), query("wrapped"), query("broken") }),
    ["/shell/thing"] = get("thing", { type = "object", properties = { id = { type = "string" },
      state = { type = "string", default = "open" } } }),
    ["/echo/{owner}"] = { post = { operationId = "create", parameters = {
        { name = "owner", ["in"] = "path", required = true, schema = { type = "string" } }, query("note") },
      requestBody = { content = content("application/json", issue) },
      responses = { ["201"] = { description = "", content = content("application/json", true) } } } },
    ["/echo/file"] = post("upload", { required = true, content = content("application/octet-stream",
      { type = "string", format = "binary" }) }),
    ["/echo/form"] = post("attach", { required = true, content = content("multipart/form-data", {
      type = "object", required = { "file" }, properties = {
        file = { type = "string", format = "binary" }, title = { type = "string" } } }) }),
    ["/echo/base64"] = post("encoded", { required = true, content = content("application/json", {
      type = "object", properties = { data = { type = "string", contentEncoding = "base64" } } }) }),
  }
end

---@class spec.ShellApi
---@field document string  a file
---@field url string
local Api = {}
Api.__index = Api

local function start(self)
  self.server, self.document = server.start(), os.tmpname()
  self.url = self.server.url
  local file = assert(io.open(self.document, "w"))
  file:write(assert(json.encode({ openapi = "3.1.0", info = { title = "Shell", version = "1" },
    servers = { { url = self.url } }, paths = paths() }, { sort_keys = true })))
  file:close()
  return self
end

--- Starts the server and writes the document.
---@return spec.ShellApi
function shell_api.start()
  return start(setmetatable({}, Api))
end

--- The same, from the setup of a block of specs to its teardown.
---@param setup function  busted's, which only spec files see
---@param teardown function
---@return spec.ShellApi
function shell_api.during(setup, teardown)
  local self = setmetatable({}, Api)
  setup(function() start(self) end)
  teardown(function() self:stop() end)
  return self
end

-- Removes the directory of the last run.
function Api:clear()
  if self.directory then
    os.execute("rm -rf " .. self.directory)
  end
end

--- Runs a script in an empty directory; `call NAME ...` in it is `operations call shell.NAME ... --openapi DOCUMENT`.
---@param script string
---@param stdin? string
---@return { out: string, err: string, code: integer, files: string }  the names of the files that are there then
function Api:run(script, stdin)
  self:clear()
  local here = os.tmpname()
  os.remove(here)
  assert(os.execute("mkdir " .. here))
  local functions = [[tree=$PWD; cd %s
operations() { LD_PRELOAD=$SANITIZER %s $tree/lua/operations/cli/main.lua "$@"; }
call() { name=$1; shift; operations call shell.$name "$@" --openapi %s; }
]]
  local result = command.run(functions:format(here, command.interpreter(), self.document) .. script, stdin)
  local pipe = assert(io.popen("ls -A " .. here))
  result.files = pipe:read("*a")
  pipe:close()
  self.directory = here
  return result
end

--- The content of a file that the last run left.
function Api:file(name)
  local file = assert(io.open(self.directory .. "/" .. name, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function Api:stop()
  self.server:stop()
  os.remove(self.document)
  self:clear()
end

return shell_api
