--- MCP servers behind nginx, connected as doc/openresty.md says.
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local inside = require("spec.support.inside")
local operations = require("operations")

local configuration = [[
user root;
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
pid nginx.pid;
error_log error.log notice;
events { worker_connections 64; }
env LUA_PATH; env LUA_CPATH;
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; scgi_temp_path s; uwsgi_temp_path u;
  init_by_lua_block {
    operations = require("operations")
    operations.process.allow(true)
    registry = operations.registry()
    api = assert(operations.to_http(registry))
    for _, fn in ipairs({ function() operations.from_mcp.connect("x", { url = "http://127.0.0.1:1/mcp" }) end,
      function() operations.spawn(print) end }) do
      ngx.log(ngx.NOTICE, "in the master: ", tostring(select(2, pcall(fn))))
    end
  }
  init_worker_by_lua_block {
    operations.from_mcp.connect("words", { command = "$runtime", args = { "server.lua" }, wait = false,
      accessControl = {}, env = { LUA_PATH = os.getenv("LUA_PATH"), LUA_CPATH = [=[$cpath]=] } }):register(registry)
  }
  server {
    listen 127.0.0.1:$port;
    location / { lua_check_client_abort on; content_by_lua_block { api:serve_request() } }
  }
}
]]

-- Notes the end of its stdin, and what it still does then.
local program = [[
local operations = require("operations")
local registry = operations.registry()
registry:register({ namespace = "say", name = "hello", type = "query", handler = function() return "hello" end })
operations.to_mcp(registry):stdio()
operations.sleep(0.5) -- waits longer than it takes to be killed
local file = io.open("noted", "w")
file:write("cleaned up")
file:close()
]]

describe("an MCP server behind nginx", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  it("is connected by a line of init_worker, and has time to end with its worker", function()
    local directory, port = inside.shell("mktemp -d").out:match("%S+"), free_port()
    local function write(name, text)
      local file = assert(io.open(directory .. "/" .. name, "w"))
      file:write(text)
      file:close()
    end
    local function read(name)
      local file = io.open(directory .. "/" .. name)
      local text = file and file:read("*a")
      if file then
        file:close()
      end
      return text
    end
    local root = command.directory()
    local runtime = require("operations.base.runtime").interpreter
    write("server.lua", program)
    write("nginx.conf", (configuration:gsub("%$(%l+)", { port = port, runtime = runtime,
      cpath = ("%s/build/%s/?.so;;"):format(root, runtime) })))
    local nginx = assert(operations.process.spawn({ "nginx", "-p", directory, "-c", "nginx.conf", "-e", "error.log",
      "-g", "daemon off;", cwd = directory, env = { PATH = os.getenv("PATH") .. ":/usr/sbin",
        LUA_PATH = ("%s/lua/?.lua;%s/lua/?/init.lua;;"):format(root, root),
        LUA_CPATH = root .. "/build/luajit/?.so;;" } }))
    operations.run(function()
      local answer = eventually(function()
        local came = operations.http.request({ method = "POST",
          url = ("http://127.0.0.1:%d/words/say_hello"):format(port) })
        return came and came.status == 200 and came
      end)
      assert.equal('"hello"', answer.body)
      os.execute("kill -QUIT " .. nginx.pid)
      nginx:wait()
    end)
    local log, noted = read("error.log"), read("noted")
    os.execute("rm -rf " .. directory)
    assert.equal("cleaned up", noted)
    local _, told = log:gsub("in the master: in init_by_lua nothing can wait or run in the background, for nginx makes "
      .. "its workers afterwards: use init_worker_by_lua", "")
    assert.equal(2, told)
  end)
end)
