--- nginx with examples/nginx/nginx.conf, in which only its port, its operations and its access are replaced: the suite
--- sends no token.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local operations = require("operations")
local stream = require("operations.net.stream")

local nginx = {}

local FIXTURE = 'require("spec.mcp.conformance.server")'

-- In the order of the file: what is there once, and what stands in its place.
local replaced = {
  { "worker_processes auto;", "worker_processes <workers>;\nuser root;\n<variables>" },
  { "  init_by_lua_block {\n", "  init_worker_by_lua_block {\n    require(\"operations\").spawn("
    .. FIXTURE .. ".offer_others)\n  }\n  init_by_lua_block {\n" },
  { "operations.registry()\n", FIXTURE .. ".registry\n" },
  { 'registry:register_all(assert(operations.scanner.scan("/srv/api/definitions")))\n', "\n" },
  { 'authorize = function(request)\n.-\n      end,\n', "\n" },
  { "mcp = true,", "mcp = " .. FIXTURE .. ".server," },
  { "127.0.0.1:8080", "127.0.0.1:<port>" },
}

local function adapted(text, values)
  for _, pair in ipairs(replaced) do
    local pattern = pair[1]:find(".-", 1, true) and pair[1]:gsub("[()]", "%%%0") or pair[1]:gsub("%p", "%%%0")
    local count
    text, count = text:gsub(pattern, (pair[2]:gsub("%%", "%%%%")))
    assert(count == 1, ("%d times in examples/nginx/nginx.conf: %s"):format(count, pair[1]))
  end
  return (text:gsub("<(%l+)>", values))
end

local function free_port()
  local listener = assert(stream.listen("127.0.0.1", 0, function() end))
  local port = listener.port
  listener:close()
  return port
end

--- Starts it and waits until it answers.
---@param workers integer
---@param variables table<string, string>  of its environment
---@return string url
---@return fun() stop
function nginx.start(workers, variables)
  local directory, root, port = os.tmpname(), command.directory(), free_port()
  os.remove(directory)
  assert(os.execute("mkdir " .. directory))
  local source = assert(io.open("examples/nginx/nginx.conf"))
  local file = assert(io.open(directory .. "/nginx.conf", "w"))
  local env = { PATH = os.getenv("PATH") .. ":/usr/sbin", LUA_CPATH = root .. "/build/luajit/?.so;;",
    LUA_PATH = ("%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua;;"):format(root, root, root) }
  local named = {}
  for name, value in pairs(variables) do
    env[name], named[#named + 1] = value, ("env %s;"):format(name)
  end
  file:write(adapted(source:read("*a"), { workers = workers, port = port, variables = table.concat(named, " ") }))
  source:close()
  file:close()
  local child = assert(operations.process.spawn({ "nginx", "-p", directory, "-c", "nginx.conf", "-g", "daemon off;",
    env = env }))
  local url = "http://127.0.0.1:" .. port
  eventually(function()
    return operations.http.request({ url = url .. "/readyz" })
  end)
  return url .. "/mcp", function()
    child:stop({ close = 0 })
    os.execute("rm -rf " .. directory)
  end
end

return nginx
