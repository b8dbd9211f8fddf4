local dkjson = require("dkjson")
local http = require("operations.net.http")
local operations = require("operations")
local stream = require("operations.net.stream")
local test_server = require("spec.support.server")

describe("a tunnel through a proxy", function()
  local server = test_server.around(setup, teardown, { tls = true })

  -- Runs fn(url, asked) beside a proxy that answers CONNECT so, and then passes on what comes; `asked` has the heads.
  local function with_proxy(answer, fn)
    operations.run(function()
      local asked, held = {}, {} -- luacheck: ignore 241 (a stream that nobody holds is closed)
      local listener = assert(stream.listen("127.0.0.1", 0, function(near)
        local head, far = "", nil
        held[#held + 1] = near
        near:each_chunk(function(bytes)
          if far then
            far:offer(bytes or "", true)
            return
          end
          head = head .. (bytes or "")
          local port = head:match("^CONNECT [^:]+:(%d+) .*\r\n\r\n$")
          if not port then
            return
          end
          asked[#asked + 1] = head
          operations.spawn(function()
            far = assert(stream.connect("127.0.0.1", tonumber(port)))
            held[#held + 1] = far
            far:each_chunk(function(back)
              near:offer(back or "", true)
            end)
            near:offer(answer, true)
          end)
        end)
      end))
      local ok, raised = pcall(fn, "http://127.0.0.1:" .. listener.port, asked)
      listener:close()
      for _, one in ipairs(held) do
        one:close()
      end
      assert(ok, raised)
    end)
  end

  local function get(proxy, headers, method, body)
    return http.request({ url = server.tls .. "/echo?x=1", ca_file = server.ca_file, proxy = proxy, headers = headers,
      timeout = 20000, method = method, body = body })
  end

  it("shows the proxy where it leads, and nothing of the request; the answer has nothing of the proxy's", function()
    with_proxy("HTTP/1.1 200 Connected\r\nX-Proxy: here\r\nContent-Type: text/proxy\r\n\r\n", function(proxy, asked)
      for _ = 1, 2 do
        local answer = assert(get(proxy, { ["X-Secret"] = "s3cret" }))
        local seen = dkjson.decode(answer.body)
        assert.same({ 200, "/echo?x=1", "s3cret" }, { answer.status, seen.uri, seen.headers["x-secret"] })
        assert.is_nil(answer.headers["x-proxy"])
        assert.are_not.equal("text/proxy", answer.headers["content-type"])
      end
      assert.equal(1, #asked) -- the tunnel is kept
      assert.matches("^CONNECT localhost:%d+ HTTP/1.1\r\n", asked[1])
      assert.is_nil(asked[1]:find("secret", 1, true) or asked[1]:find("echo", 1, true))
    end)
  end)

  it("carries requests that must not be sent twice", function()
    with_proxy("HTTP/1.1 200 Connected\r\n\r\n", function(proxy, asked)
      for i = 1, 3 do
        local seen = dkjson.decode(assert(get(proxy, nil, "POST", "body " .. i)).body)
        assert.same({ "POST", "body " .. i }, { seen.method, seen.body })
      end
      assert.equal(1, #asked)
    end)
  end)

  it("that the proxy refuses is a failure to connect", function()
    for _, answer in ipairs({ "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno", "HTTP/1.1 502 x\r\n\r\n",
      "HTTP/1.1 300 x\r\n\r\n" }) do
      with_proxy(answer, function(proxy)
        local got, err = get(proxy)
        assert.is_nil(got)
        assert.same({ "connect", false }, { err.details.kind, err.mayHaveRun })
      end)
    end
  end)
end)
