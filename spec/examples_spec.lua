local callers = require("spec.support.callers")
local command = require("spec.support.command")
local eventually = require("spec.support.eventually")
local failed = require("operations.task.dictionary")
local free_port = require("spec.support.free_port")
local inside = require("spec.support.inside")
local operations = require("operations")
local samples = require("spec.support.samples")
local system = require("operations.system")
local test_server = require("spec.support.server")
local tokens = require("spec.support.tokens")

local names = assert(system.list("examples"))
table.sort(names)

-- Their specs are elsewhere: below, pages_spec.lua, hosts/example_spec.lua.
local elsewhere = { ["demo.lua"] = true, ["hello.lua"] = true, ["hosts.lua"] = true }

-- It starts a server whose environment is chosen: a sanitizer that is preloaded does not get there.
elsewhere["mcp_server.lua"] = os.getenv("LD_PRELOAD") ~= nil

describe("the example", function()
  for _, name in ipairs(names) do
    if name:find("%.lua$") and not elsewhere[name] then
      it(name .. " prints what its comments say", function()
        local result = command.run_with_server("lua examples/" .. name)
        assert.equal("", result.err)
        assert.equal(samples.promised("examples/" .. name), result.out)
        assert.equal(0, result.code)
      end)
    end
  end
end)

describe("the example's own specs", function()
  it("pass, each of them", function()
    local result = command.run("lua spec/support/runner/busted.lua -o TAP examples/spec")
    assert.equal("", result.err)
    assert.equal(0, result.code)
    assert.is_nil(result.out:find("not ok", 1, true))
    local _, passed = ("\n" .. result.out):gsub("\nok ", "")
    local written = 0
    for _, file in ipairs({ "notes_spec.lua", "api_spec.lua" }) do
      for line in io.lines("examples/spec/" .. file) do
        written = written + (line:find("^  it%(") and 1 or 0)
      end
    end
    assert.equal(written, passed)
  end)

  it("fail when an operation answers with something else", function()
    local broken = "sed 's/id = #notes + 1/id = \"one\"/' examples/spec/notes.lua"
    local spec = "sed \"s|examples/spec/notes|$dir/notes|\" examples/spec/notes_spec.lua"
    local result = command.run(("dir=$(mktemp -d); %s > $dir/notes.lua; %s > $dir/notes_spec.lua; "
      .. "lua spec/support/runner/busted.lua -o TAP $dir; code=$?; rm -r $dir; exit $code"):format(broken, spec))
    assert.not_equal(0, result.code)
    assert.matches("OUTPUT_INVALID: notes.add: the result does not fit its schema: /id", result.out, 1, true)
  end)
end)

describe("the demo", function()
  it("ends well", function()
    local result = command.run_with_server("lua examples/demo.lua")
    assert.equal("", result.err)
    assert.matches("\nThe demo is done%.\n$", result.out)
    assert.equal(0, result.code)
  end)

  it("fails when its server is not what it should be", function()
    local result = command.run("TASKS_URL=http://127.0.0.1:1 lua examples/demo.lua")
    assert.not_equal(0, result.code)
  end)
end)

describe("examples/server/run", function()
  it("ends as its command does and leaves no server behind", function()
    local connect = [[bash -c 'exec 3<>/dev/tcp/127.0.0.1/%s' 2>&1 ]]
    local script = "echo ${TASKS_URL##*:}; " .. connect:format("'${TASKS_URL##*:}'") .. "; exit 7"
    local result = command.run_with_server(script)
    local port = result.out:match("^(%d+)\n$")
    assert.is_string(port)
    assert.equal(7, result.code)
    assert.matches("refused", command.run(connect:format(port)).out)
  end)
end)

describe("examples/nginx and examples/gateway", function()
  local missing = inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  local definitions = command.directory() .. "/examples/definitions"
  local started = {}

  local function copy(from, to, replace)
    local source = assert(io.open(from))
    local text = replace(source:read("*a"))
    source:close()
    local file = assert(io.open(to, "w"))
    file:write(text)
    file:close()
  end

  -- Starts nginx with an example's configuration at free ports, in a directory of its own.
  local function start(name, ports, more)
    local directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
    local function placed(text)
      return (text:gsub("127%.0%.0%.1:(%d+)", function(port)
        return "127.0.0.1:" .. ports[port]
      end):gsub("/srv/api/definitions", definitions):gsub("/srv/gateway", directory))
    end
    for _, file in ipairs({ "examples/gateway/gateway.lua", "examples/gateway/otlp.lua",
      "examples/gateway/notes.openapi.json", "examples/tasks.openapi.json" }) do
      copy(file, directory .. "/" .. file:match("[^/]*$"), placed)
    end
    copy("examples/" .. name, directory .. "/nginx.conf", function(text)
      if text:find("\n *ssl_certificate ") then
        test_server.make_certificate(directory .. "/cert.pem", directory .. "/key.pem")
      end
      return "user root;\n" .. placed(text):gsub("worker_processes auto", "worker_processes 4")
    end)
    local root = command.directory()
    local env = { PATH = os.getenv("PATH") .. ":/usr/sbin", API_TOKEN = "secret",
      LUA_CPATH = root .. "/build/luajit/?.so;;", LUA_PATH = ("%s/lua/?.lua;%s/lua/?/init.lua;;"):format(root, root) }
    for variable, value in pairs(more or {}) do
      env[variable] = value
    end
    local child = assert(operations.process.spawn({ "nginx", "-p", directory, "-c", "nginx.conf", "-g", "daemon off;",
      env = env }))
    started[#started + 1] = { child = child, directory = directory }
    return "http://127.0.0.1:" .. ports["8080"]
  end

  after_each(function()
    for _, running in ipairs(started) do
      running.child:stop({ close = 0 })
      os.execute("rm -rf " .. running.directory)
    end
    started = {}
  end)

  -- The answer, once the server is there.
  local function get(url, headers)
    return eventually(function()
      local answer = operations.http.request({ url = url, headers = headers })
      return answer and answer.status ~= 502 and answer
    end)
  end

  it("serves operations inside of nginx", function()
    operations.run(function()
      local url = start("nginx/nginx.conf", { ["8080"] = free_port() }) .. "/demo/greet?name=Ada"
      assert.equal(401, get(url).status)
      local headers = { Authorization = "Bearer secret" }
      assert.equal('"Hello, Ada!"', get(url, headers).body)
      headers.Host = "api.example"
      assert.equal(200, get(url, headers).status)
      headers.Host = "other.example"
      assert.equal(403, get(url .. "&key=hush", headers).status)
      local streams = url:gsub("greet.*$", "countdown?from=1&pause=0")
      headers.Host = nil
      assert.matches("event: end", get(streams, headers).body, 1, true)
      assert.equal(401, assert(operations.http.request({ url = url:gsub("demo.*$", "mcp"), method = "POST" })).status)
      local log = eventually(function()
        local text = inside.shell("cat " .. started[1].directory .. "/access.log").out
        return text:find('"/mcp"', 1, true) and text
      end)
      local lines = {}
      for line in log:gmatch("[^\n]+") do
        local entry = assert(operations.json.decode(line))
        lines[#lines + 1] = ("%d %s %s %s %s"):format(entry.status, entry.path, entry.operation, entry.identity,
          entry.code)
        assert.is_true(#entry.requestId > 0)
      end
      assert.same({ "401 /demo/greet   ACCESS_DENIED", "200 /demo/greet demo.greet token ",
        "200 /demo/greet demo.greet token ", "403 /demo/greet   ACCESS_DENIED",
        "200 /demo/countdown demo.countdown token ", "401 /mcp   ACCESS_DENIED" }, lines)
      assert.is_nil(log:find("hush", 1, true))
    end)
  end)

  it("keeps MCP sessions over its workers", function()
    operations.run(function()
      local url = start("nginx/nginx.conf", { ["8080"] = free_port() })
      local headers = { Authorization = "Bearer secret" }
      get(url .. "/readyz", headers)
      -- Each request comes over a connection of its own, so that any worker may take it.
      local function send(session, body, method)
        return assert(operations.http.request({ url = url .. "/mcp", method = method or "POST",
          body = body and operations.json.encode(body), headers = { Authorization = headers.Authorization,
            ["mcp-session-id"] = session, connection = "close", ["content-type"] = "application/json",
            accept = "application/json, text/event-stream" } }))
      end
      for _ = 1, 4 do
        local session = send(nil, { jsonrpc = "2.0", id = 1, method = "initialize", params = {
          protocolVersion = "2025-11-25", capabilities = {}, clientInfo = { name = "spec", version = "1" } } })
          .headers["mcp-session-id"]
        for i = 2, 10 do
          local answer = send(session, { jsonrpc = "2.0", id = i, method = "tools/call",
            params = { name = "demo_greet", arguments = { name = "Ada" } } })
          assert.equal(200, answer.status)
          assert.matches("Hello, Ada!", answer.body, 1, true)
        end
        assert.equal(204, send(session, nil, "DELETE").status)
        assert.equal(404, send(session, { jsonrpc = "2.0", id = 99, method = "ping" }).status)
      end
    end)
  end)

  it("is a proxy in front of operations serve", function()
    operations.run(function()
      local port = tostring(free_port())
      local lines = {}
      local served = assert(operations.process.spawn({ command.interpreter(), "lua/operations/cli/main.lua", "serve",
        "--lua", definitions, "--port", port, "--allow-host", "api.example", "--trusted-proxy", "127.0.0.1",
        "--token", "secret", env = command.environment(), on_stderr = function(line)
          lines[#lines + 1] = line
        end }))
      local tls = free_port()
      local plain = start("nginx/proxy.conf", { ["8080"] = free_port(), ["8081"] = port,
        ["8443"] = tls })
      local url = "https://api.example:" .. tls
      local function curl(arguments)
        return inside.shell(("curl -s -k --max-time 20 --interface 127.0.0.2 --resolve api.example:%s:127.0.0.1 "
          .. "-H 'Authorization: Bearer secret' %s"):format(tls, arguments)).out
      end
      local function status(arguments)
        return curl("-o /dev/null -w '%{http_code}' " .. arguments .. " '" .. url .. "/demo/greet?name=Ada'")
      end
      eventually(function()
        return curl("'" .. url .. "/healthz'") == "ok\n"
      end)
      assert.equal('"Hello, Ada!" 2', curl("--http2 -w ' %{http_version}' '" .. url .. "/demo/greet?name=Ada'"))
      assert.matches('data: {"left":0}\n\nevent: end\n', curl("'" .. url .. "/demo/countdown?from=1&pause=0'"), 1,
        true)
      assert.matches("\ncontent%-encoding: gzip", curl("-o /dev/null -D - -H 'Accept-Encoding: gzip' '" .. url
        .. "/openapi.json'"))
      assert.equal("308 https://api.example/x", curl("-o /dev/null -w '%{http_code} %{redirect_url}' "
        .. "-H 'Host: api.example' '" .. plain .. "/x'"))
      assert.equal("200", status("-H 'Origin: https://api.example'"))
      assert.equal("403", status("-H 'Origin: http://api.example'"))
      assert.equal("403", status("-H 'Host: other.example'"))
      assert.equal("200", status("-H 'X-Forwarded-For: 1.1.1.1, 192.0.2.7' -H 'X-Forwarded-Host: evil.example' "
        .. "-H 'X-Forwarded-Prefix: //evil' -H 'Forwarded: for=1.1.1.1' -H 'X-Request-Id: spoofed'"))
      served:stop({ close = 0 })
      local entry = table.concat(lines, "\n"):match("[^\n]*spoofed[^\n]*")
      assert.matches('"address":"127.0.0.2"', entry, 1, true)
    end)
  end)

  -- The tasks API and a collector of traces, which a spec can break; what they saw.
  local function upstream()
    local seen = { lists = 0, gets = 0, spans = {}, traces = {} }
    local registry = operations.registry({ log = function() end })
    assert(registry:register_all({
      { namespace = "up", name = "list", type = "query", _meta = { http = { method = "GET", path = "/tasks" } },
        handler = function(_, context)
          seen.lists = seen.lists + 1
          seen.traces[#seen.traces + 1] = context.traceparent:match("^00%-(%x+)")
          return operations.http_envelope(operations.array(), { statusCode = 200,
            headers = { ["cache-control"] = "max-age=60" } })
        end },
      { namespace = "up", name = "get", type = "query", _meta = { http = { method = "GET", path = "/tasks/{id}" } },
        inputSchema = operations.type.object({ id = operations.type.string() }), handler = function()
          seen.gets = seen.gets + 1
          return nil, operations.error("TRANSPORT_LOST", "broken")
        end },
      { namespace = "up", name = "traces", type = "mutation",
        _meta = { http = { method = "POST", path = "/v1/traces" } }, handler = function(input)
          local resource = input.resourceSpans[1]
          for _, span in ipairs(resource.scopeSpans[1].spans) do
            seen.spans[#seen.spans + 1] = span
          end
          return {}
        end },
    }))
    seen.server = assert(operations.to_http(registry, { log = function() end }))
    seen.url = "http://127.0.0.1:" .. assert(seen.server:listen({ port = 0 })).port
    return seen
  end

  it("is a gateway for several APIs and an MCP server, with the tokens of an issuer", function()
    operations.run(function()
      local key = tokens.key("EdDSA", "one")
      local behind = operations.registry({ log = function() end })
      assert(behind:register_all({
        { namespace = "up", name = "notes", type = "query", _meta = { http = { method = "GET", path = "/notes" } },
          handler = function() return operations.array({ { text = "one" } }) end },
        { namespace = "up", name = "jwks", type = "query", _meta = { http = { method = "GET", path = "/jwks" } },
          handler = function() return { keys = { key.jwk } } end },
      }))
      local api = assert(operations.to_http(behind, { log = function() end }))
      local up = "http://127.0.0.1:" .. assert(api:listen()).port
      local words = operations.registry({ log = function() end })
      assert(words:register({ namespace = "say", name = "hello", type = "query", handler = function()
        return "hello"
      end }))
      local mcp = operations.to_mcp(words, { log = function() end })
      local url = start("gateway/nginx.conf", { ["8080"] = free_port() }, { UPSTREAM_URL = up, NOTES_URL = up,
        ISSUER = up, MCP_URL = "http://127.0.0.1:" .. assert(mcp:listen()).port .. "/mcp" })
      local now = os.time()
      local token = key:token({ iss = up, aud = "gateway", sub = "ada", exp = now + 600, iat = now,
        scope = "notes words" })
      local headers = { Authorization = "Bearer " .. token }
      assert.equal('[{"text":"one"}]', get(url .. "/notes", headers).body)
      assert.same({ 401, 403 }, { get(url .. "/notes").status, get(url .. "/tasks", headers).status })
      local answer = eventually(function() -- each worker connects by itself
        local came = operations.http.request({ method = "POST", url = url .. "/words/say_hello", headers = headers })
        return came.status == 200 and came
      end)
      assert.equal('"hello"', answer.body)
      eventually(function()
        return get(url .. "/readyz").body == "ready\nupstreams connected: 1\n"
      end)
      -- Workers are replaced and killed while calls keep coming: none is lost that had not begun.
      local nginx, turn = started[#started].child.pid, 0
      local calling = callers.start(function()
        turn = turn + 1
        local is_post = turn % 2 == 0
        local came, err = operations.http.request({ method = is_post and "POST" or "GET", headers = headers,
          url = url .. (is_post and "/words/say_hello" or "/notes") })
        if came and came.status ~= 200 and came.status ~= 429 then
          return came.status .. " " .. came.body
        end
        return err and not err.mayHaveRun and tostring(err) or nil
      end)
      for _, signal in ipairs({ "HUP %d", "KILL $(pgrep -P %d | head -n 1)", "HUP %d" }) do
        command.run("kill -" .. signal:format(nginx))
        calling.more_answers()
      end
      assert.is_nil(calling.finish())
      key:remove()
      mcp:close()
      api:close()
    end)
  end)

  it("is a gateway: limits, keeps, counts and traces calls, and spares a server that fails", function()
    operations.run(function()
      local up = upstream()
      local url = start("gateway/nginx.conf", { ["8080"] = free_port() },
        { UPSTREAM_URL = up.url, OTLP_URL = up.url })
      local headers = { Authorization = "Bearer secret" }
      assert.equal(401, get(url .. "/tasks").status)
      for _ = 1, 6 do
        assert.equal("[]", get(url .. "/tasks", headers).body)
      end
      assert.is_true(up.lists >= 1 and up.lists <= 2, up.lists) -- one for each worker
      local statuses, list = {}, {}
      for i = 1, 200 do
        list[i] = i
      end
      assert(operations.map(list, function()
        local answer = assert(operations.http.request({ url = url .. "/tasks/1", headers = headers }))
        statuses[answer.status] = answer
        return true
      end))
      assert.equal('"default";q=20;w=1', statuses[429].headers["ratelimit-policy"])
      assert.is_string(statuses[429].headers["retry-after"])
      assert.is_string(statuses[503].headers["retry-after"])
      assert.is_true(up.gets <= 2 * (5 + 32), up.gets) -- five open it; calls that are under way end
      assert.equal(401, get(url .. "/metrics").status)
      local text = get(url .. "/metrics", headers).body
      assert.matches('operations_calls_total{operation="tasks.list",code="OK"} 6\n', text, 1, true)
      assert.matches('operations_calls_total{operation="tasks.get",code="RATE_LIMITED"} %d', text)
      assert.matches('operations_calls_total{operation="tasks.get",code="UNAVAILABLE"} %d', text)
      local span = eventually(function()
        for _, each in ipairs(up.spans) do
          if each.traceId == up.traces[1] then
            return each
          end
        end
      end)
      assert.same({ "tasks.list", 16, "000000" }, { span.name, #span.spanId, span.endTimeUnixNano:sub(-6) })
      up.server:close()
    end)
  end)
end)

describe("examples/systemd", function()
  local verify = command.run("command -v systemd-analyze").code == 0 and it or pending
  for _, name in ipairs({ "serve@8080", "worker@1" }) do
    verify(("has a template of which %s is a unit that systemd understands"):format(name), function()
      local result = command.run(([[
        unit=$(mktemp -d)/operations-%s.service
        sed 's,/usr/local/bin/operations,/bin/true,' examples/systemd/operations-%s.service >$unit
        systemd-analyze verify --man=no $unit; code=$?; rm -r $(dirname $unit); exit $code]]):format(
        name, name:match("^.*@")))
      assert.equal("", result.err)
      assert.equal(0, result.code)
    end)
  end
end)

describe("examples/monitoring", function()
  local function read(name)
    local file = assert(io.open("examples/monitoring/" .. name))
    local text = file:read("*a")
    file:close()
    return text
  end

  -- The expressions of the dashboard, as Prometheus gets them.
  local function expressions()
    local list = {}
    for _, panel in ipairs(assert(operations.json.decode(read("dashboard.json"))).panels) do
      for _, target in ipairs(panel.targets) do
        list[#list + 1] = target.expr:gsub("%$__rate_interval", "5m"):gsub("%$job", ".*")
      end
    end
    return list
  end

  -- What a server shows that has had everything that is counted.
  local function figures()
    return operations.run(function()
      local middleware, gate = operations.middleware, false
      local metrics = middleware.metrics()
      local lost = operations.error("TRANSPORT_LOST", "x", { kind = "connect" })
      lost.retryable, lost.mayHaveRun = true, false
      local registry = operations.registry({ log = function() end, middleware = { metrics, middleware.cache(),
        middleware.retry({ attempts = 2, delay = 0 }), middleware.breaker({ failures = 2, of = 2 }),
        middleware.concurrency({ limit = 1 }) } })
      assert(registry:register_all({
        { namespace = "a", name = "fails", type = "query", handler = function() return nil, lost end },
        { namespace = "b", name = "waits", type = "mutation", handler = function()
          while not gate do
            operations.sleep(0)
          end
        end },
      }))
      local server = assert(operations.to_http(registry, { mcp = operations.to_mcp(registry), metrics = metrics,
        log = function() end, upstreams = { { state = "lost" } } }))
      local listener = assert(server:listen())
      local function get(path, method)
        return assert(operations.http.request({ method = method, url = ("http://127.0.0.1:%d%s"):format(listener.port,
          path) })).body
      end
      for _ = 1, 3 do
        get("/a/fails")
      end
      local waiting = { operations.spawn(get, "/b/waits", "POST"), operations.spawn(get, "/b/waits", "POST") }
      failed.failures.answers = failed.failures.answers or { refused = 1 }
      local text = eventually(function()
        local shown = get("/metrics")
        return shown:find("operations_calls_waiting", 1, true) and shown
      end)
      gate = true
      for _, each in ipairs(waiting) do
        each:wait()
      end
      server:close()
      return text
    end)
  end

  it("names only metrics that /metrics has, and all of them", function()
    local shown, named = {}, {}
    for name in figures():gmatch("# TYPE (%S+)") do
      shown[name] = true
    end
    local text = table.concat(expressions(), "\n") .. read("alerts.yml")
    for word in text:gmatch("operations_[%l_]+") do
      local name = word:gsub("_bucket$", ""):gsub("_sum$", ""):gsub("_count$", "")
      assert.is_true(shown[name], name)
      named[name] = true
    end
    for name in pairs(shown) do
      assert.is_true(named[name], name)
    end
  end)

  it("is accepted by Prometheus, each expression", function()
    if not inside.has("promtool") then
      return pending("promtool is not installed (Debian: prometheus)")
    end
    local directory = inside.shell("mktemp -d").out:match("%S+")
    local lines = { "groups:\n  - name: dashboard\n    rules:" }
    for i, expression in ipairs(expressions()) do
      lines[#lines + 1] = ("      - record: panel:%d\n        expr: %s"):format(i,
        operations.json.encode(expression))
    end
    local file = assert(io.open(directory .. "/dashboard.yml", "w"))
    file:write(table.concat(lines, "\n"), "\n")
    file:close()
    local result = inside.shell(("cp examples/monitoring/*.yml %s; cd %s; echo x >token; promtool check rules "
      .. "dashboard.yml alerts.yml 2>&1 && promtool check config scrape.yml 2>&1; echo code $?; rm -r %s"):format(
      directory, directory, directory))
    assert.matches("code 0\n$", result.out)
    assert.equal(#expressions(), tonumber(result.out:match("dashboard.yml\n *SUCCESS: (%d+) rules")), result.out)
  end)
end)
