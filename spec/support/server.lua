--- A test server: nginx with its Lua module on free loopback ports, in a temporary directory of its own.
---
--- To add a route, add a file to spec/support/server/: `spec/support/server/NAME.lua` answers every request whose path
--- is `/NAME` or begins with `/NAME/`. It runs as nginx's content handler (`ngx.say`, `ngx.flush(true)`, `ngx.sleep`,
--- `ngx.req.socket(true)` for what nginx would not say by itself); nothing has to be registered.
--- `/connections` is nginx's own count of them (stub_status), `/small` a fixed answer without Lua,
--- `/streams/NAME.events` and `/streams/NAME.lines` files of its `html/streams`, as server-sent events and JSON lines.
--- What handlers share lives in `ngx.shared.notes`; a spec reads a note at `/note/KEY`.
---
---   local server = require("spec.support.server").start()
---   ... server.url .. "/echo" ...
---   server:stop()
---
--- With `app = true` it is an application of ours instead: a master and its workers that have the library (built for
--- LuaJIT), handlers in spec/support/app/.
---
--- It stops when the process that started it ends in whatever way: a shell waits on a pipe from it.
local command = require("spec.support.command")
local free_port = require("spec.support.free_port")

local server = {}

---@class spec.Server
---@field url string  "http://127.0.0.1:PORT"
---@field other string  the same server under another origin
---@field tls? string  "https://localhost:PORT", with `tls = true`
---@field ca_file? string  the certificate to trust for it
---@field directory string  temporary; removed at the end
---@field pid integer
local Server = {}
Server.__index = Server

local here = debug.getinfo(1, "S").source:match("^@(.*)server%.lua$")
local nginx = "PATH=$PATH:/usr/sbin nginx"

local template = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
$process
pid nginx.pid;
error_log error.log info;
worker_rlimit_nofile 20000;
events { worker_connections 16000; }
http {
  access_log off;
  lua_package_path "$path;;";
  lua_shared_dict notes 1m;
  $lua
  lua_check_client_abort on;
  reset_timedout_connection on;
  lingering_close off;
  tcp_nodelay on;
  keepalive_requests 1000000;
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  default_type text/plain;
  server {
    listen 127.0.0.1:$port backlog=4096;
    listen 127.0.0.1:$other backlog=4096;
    $tls $directives
    $locations
    location = /small { default_type application/json; return 200 '{"id":1,"title":"write the docs","done":false}'; }
    location = /connections { stub_status; }
    location /.well-known/ { content_by_lua_file $handlers/oauth.lua; }
    location ^~ /streams/ { root html; types { text/event-stream events; application/jsonl lines; } }
    location ~ ^/(?<handler>[a-z_]+) { content_by_lua_file $handlers/$handler.lua; }
  }
}
]]

local tls_lines = "listen 127.0.0.1:%d ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem;"

local app = {
  process = "user root;\nmaster_process on;\nworker_processes %d;\nenv LUA_PATH;\n%s",
  path = "%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua",
  lua = [[
  lua_package_cpath "%s/build/luajit/?.so;;";
  lua_code_cache %s;
  lua_socket_log_errors on;
  init_by_lua_block {
    require("operations.net.http")
    %s
    pcall(require("operations").sleep, 0.01) -- the master cannot wait; what it tried is of no use to its workers
  }
  init_worker_by_lua_block {
    local operations = require("operations")
    operations.spawn(function()
      operations.sleep(0.01)
      ngx.shared.notes:set("worker", "ready")
    end)
  }]],
  -- Phases that cannot wait.
  locations = [[
    location = /log_phase { log_by_lua_file $handlers/log_phase.lua; return 200 "said"; }
    location = /header_phase { header_filter_by_lua_file $handlers/header_phase.lua; return 200 "said"; }]],
}

local function shell(line)
  local result = os.execute(line)
  return result == true or result == 0
end

local function read(path)
  local file = io.open(path)
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  file:close()
end

local function temporary_directory()
  local pipe = assert(io.popen("mktemp -d"))
  local directory = pipe:read("*l")
  pipe:close()
  return directory
end

local function absolute(path)
  if path:sub(1, 1) == "/" then
    return path
  end
  return command.directory() .. "/" .. path
end

--- Makes a certificate that nobody vouches for, and its key.
---@param certificate string  path
---@param key string  path
function server.make_certificate(certificate, key)
  assert(shell(("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout '%s' -out '%s' "
    .. "-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost >/dev/null 2>&1"):format(key, certificate)),
    "openssl could not make a certificate")
end

local function configure(directory, options)
  local port, other, tls_port = free_port(), free_port(), options.tls and free_port()
  local values = {
    port = port,
    other = other,
    handlers = absolute(here .. "server"),
    path = absolute(here .. "server") .. "/?.lua",
    process = "user root;\nmaster_process off;",
    lua = "",
    locations = "",
    tls = tls_port and tls_lines:format(tls_port) or "",
    directives = options.directives or "",
  }
  if options.app then
    local root = absolute(here .. "../.."):gsub("/%./", "/")
    values.handlers = absolute(here .. "app")
    values.process = app.process:format(options.workers or 1, options.main or "")
    values.path = app.path:format(root, root, root)
    values.lua = app.lua:format(root, options.code_cache == false and "off" or "on", options.init or "")
    values.locations = app.locations:gsub("%$handlers", values.handlers)
  end
  write(directory .. "/nginx.conf", (template:gsub("%$(%l+)", values)))
  return {
    directory = directory,
    url = "http://127.0.0.1:" .. port,
    other = "http://127.0.0.1:" .. other,
    port = port,
    tls = tls_port and "https://localhost:" .. tls_port,
    ca_file = tls_port and directory .. "/cert.pem",
  }
end

-- Waits for a line from stop() or for the end of this process, then ends nginx and removes the directory. A line,
-- because servers that were started later have inherited the other end of the pipe: it does not close before they end.
-- What nobody has reaped does not run any more.
local watcher = [[read -r _
runs() { case "$(cat /proc/$pid/stat 2>/dev/null)" in '' | *') Z '*) return 1 ;; esac; }
kill $pid 2>/dev/null
n=0; while runs && [ $n -lt 100 ]; do sleep 0.02; n=$((n+1)); done
kill -KILL $pid 2>/dev/null; rm -rf '$directory']]

-- The server listens before its first process ends, and says its pid a moment later.
local function wait_for_pid(directory)
  for _ = 1, 500 do
    local pid = tonumber(read(directory .. "/nginx.pid") or "")
    if pid then
      return pid
    end
    shell("sleep 0.01")
  end
  error("nginx did not say its pid")
end

--- Starts a server and waits until it accepts connections.
---@param options? { tls?: boolean, directives?: string, app?: boolean, workers?: integer, code_cache?: boolean,
---  main?: string, init?: string }  of the application: `main`, directives; `init`, what runs before it forks
---@return spec.Server
function server.start(options)
  local directory = temporary_directory()
  local start = ("%s -p '%s' -c nginx.conf </dev/null >'%s/start.log' 2>&1"):format(nginx, directory, directory)
  if options and options.tls then
    server.make_certificate(directory .. "/cert.pem", directory .. "/key.pem")
  end
  for attempt = 1, 10 do -- another process may take the port first
    local self = configure(directory, options or {})
    if shell(start) then
      self.pid = wait_for_pid(directory)
      self._watcher = assert(io.popen((watcher:gsub("%$(%l+)", self)), "w"))
      return setmetatable(self, Server)
    elseif attempt == 10 then
      error("nginx did not start: " .. (read(directory .. "/start.log") or ""))
    end
  end
end

--- Ends the server at once, in the middle of whatever it sends.
function Server:kill()
  shell("kill -KILL " .. self.pid)
end

--- Ends the server and removes its directory. Stopping twice does nothing.
function Server:stop()
  if self._watcher then
    self._watcher:write("\n")
    self._watcher:close()
    self._watcher = nil
  end
end

--- What nginx wrote to its error log.
---@return string
function Server:log()
  return read(self.directory .. "/error.log") or ""
end

--- A server for the specs of a block, from its first one to its last.
---@param setup fun(fn: function)  busted's functions, which only spec files see
---@param teardown fun(fn: function)
---@param options? table
---@return spec.Server  started by the first spec
function server.around(setup, teardown, options)
  local self = setmetatable({}, Server)
  setup(function()
    for name, value in pairs(server.start(options)) do
      self[name] = value
    end
  end)
  teardown(function()
    self:stop()
  end)
  return self
end

return server
