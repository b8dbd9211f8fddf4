--- Servers are replaced behind nginx while calls keep coming, as doc/scaling.md says.
local callers = require("spec.support.callers")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local free_port = require("spec.support.free_port")
local inside = require("spec.support.inside")
local is_running = require("spec.support.running")
local operations = require("operations")

local configuration = [[
user root;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  scgi_temp_path scgi; uwsgi_temp_path uwsgi;
  upstream operations { server 127.0.0.1:$server; keepalive 32; }
  server {
    listen 127.0.0.1:$front;
    location / {
      proxy_pass http://operations;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
    }
  }
}
]]

describe("operations serve behind nginx", function()
  if not inside.has("nginx") then
    pending("nginx is not installed")
    return
  end

  local front, directory, nginx, servers

  before_each(function()
    front, servers = free_port(), {}
    directory = inside.shell("mktemp -d").out:match("%S+")
  end)

  after_each(function()
    for _, server in ipairs(servers) do
      server:stop()
    end
    if nginx then
      nginx:stop()
    end
    os.execute("rm -rf " .. directory)
  end)

  local function is_ready(port)
    local answer = operations.http.request({ url = ("http://127.0.0.1:%d/readyz"):format(port) })
    return answer ~= nil and answer.status == 200
  end

  local function start_server()
    local port = free_port()
    local server = assert(operations.process.spawn({ command.interpreter(), "lua/operations/cli/main.lua", "serve",
      "--lua", "examples/definitions", "--no-auth", "--port", tostring(port), env = command.environment(),
      on_stderr = function() end }))
    table.insert(servers, server)
    eventually(function()
      return is_ready(port)
    end)
    return server, port
  end

  local function configure(port)
    local file = assert(io.open(directory .. "/nginx.conf", "w"))
    file:write((configuration:gsub("%$(%l+)", { front = front, server = port })))
    file:close()
  end

  -- nginx's present worker: it has one, but while it is reloaded.
  local function worker()
    return inside.shell("pgrep -P " .. nginx.pid).out:match("%d+")
  end

  -- The next worker talks to another server; the one of before has ended when this returns.
  local function switch_to(port)
    local before = worker()
    configure(port)
    os.execute("kill -HUP " .. nginx.pid)
    eventually(function()
      return not is_running(before)
    end)
  end

  -- On a connection of its own: nginx closes kept ones when it is reloaded, whether a request is on its way or not.
  local function post()
    local answer, err = operations.http.request({ method = "POST", body = '{"name":"Ada"}',
      url = ("http://127.0.0.1:%d/demo/greet"):format(front),
      headers = { ["content-type"] = "application/json", connection = "close" } })
    return err and tostring(err) or answer.body ~= '"Hello, Ada!"' and answer.status .. " " .. answer.body or nil
  end

  it("is replaced without a lost call", function()
    operations.run(function()
      local server, port = start_server()
      configure(port)
      nginx = assert(operations.process.spawn({ "nginx", "-p", directory, "-c", "nginx.conf", "-g", "daemon off;",
        env = { PATH = os.getenv("PATH") .. ":/usr/sbin" } }))
      eventually(function()
        return is_ready(front)
      end)
      local calling = callers.start(post)
      for _ = 1, 4 do
        local new, new_port = start_server()
        switch_to(new_port)
        os.execute("kill -TERM " .. server.pid)
        assert.same({ signal = 15 }, server:wait())
        server = new
        calling.more_answers()
      end
      assert.is_nil(calling.finish())
    end)
  end)
end)
