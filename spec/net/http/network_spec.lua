local network = require("spec.support.network")

describe("in a network of its own", function()
  local missing = network.missing()
  if missing then
    pending(missing)
    return
  end

  local function prints(program)
    local result = network.run(program)
    assert.equal("", result.err)
    assert.equal(0, result.code)
    return result.out
  end

  it("public_only takes the public address, and no redirect from there to a private one", function()
    assert.equal("200\nconnect\nconnect\nconnect\n200\n", prints([[
      local http = require("operations.net.http")
      local server = require("spec.support.server").start({ directives = "listen 1.2.3.4:80;" })
      local private = server.url .. "/echo"
      local function ask(path, public_only)
        local url = "http://1.2.3.4" .. path
        local response, err = http.request({ url = url, public_only = public_only, timeout = 9000 })
        print(response and response.status or err.details.kind)
      end
      ask("/echo", true)
      ask("/redirect?to=" .. private, true)
      ask("/redirect?to=" .. private:gsub("127.0.0.1", "localhost"), true)
      ask("/redirect?to=" .. private:gsub("127.0.0.1", "[::ffff:127.0.0.1]"), true)
      ask("/redirect?to=" .. private, false)
      server:stop()
    ]]))
  end)

  it("public_only knows the ranges of both families", function()
    assert.equal("all told\n", prints([[
      local http = require("operations.net.http")
      local refused = {
        "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.2", "169.254.1.1", "172.31.255.255",
        "192.0.2.1", "192.168.255.255", "198.19.255.255", "224.0.0.1", "255.255.255.255",
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0",
        "127.255.255.255", "169.254.0.0", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0",
        "192.0.0.255", "192.0.2.0", "192.0.2.255", "192.88.99.0", "192.88.99.255", "192.168.0.0",
        "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
        "203.0.113.255", "224.0.0.0", "255.255.255.255",
        "[::1]", "[fe80::1]", "[4000::1]", "[2002:a00:1::]", "[2001:1::1]", "[2001:db8::1]", "[::ffff:10.0.0.1]",
        "[1fff::1]", "[::ffff:255.255.255.255]", "[2001::1]", "[2001:ff::1]", "[2002:7f00:1::]",
      }
      local tried = {
        "1.2.3.5", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "223.255.255.255",
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
        "192.0.1.255", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
        "223.255.255.255",
        "[::ffff:1.2.3.5]", "[2000::1]", "[3fff::1]", "[2a00::1]", "[2002:102:305::]", "[2001:200::1]", "[2001:dff::1]",
      }
      local function check(host, is_refused)
        local _, err = http.request({ url = "http://" .. host .. ":9/", public_only = true, timeout = 200 })
        local found = err.message:find("not part of the public internet", 1, true) ~= nil
        if found ~= is_refused then
          print(host, found and "refused" or "tried")
        end
      end
      for _, list in ipairs({ refused, tried }) do
        for _, host in ipairs(list) do
          check(host, list == refused)
          local a, b, c, d = host:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
          if a then -- mapped, and by 6to4
            check("[::ffff:" .. host .. "]", list == refused)
            check(("[2002:%02x%02x:%02x%02x::]"):format(a, b, c, d), list == refused)
          end
        end
      end
      print("all told")
    ]]))
  end)

  it("cancelling does not wait for a resolver that is silent, nor does the end of the program", function()
    local began = os.time()
    assert.equal("ABORTED\n", prints([[
      local http = require("operations.net.http")
      local task = require("operations.task")
      task.run(function()
        local child = task.spawn(http.request, { url = "http://slow.test/" })
        task.sleep(0.1)
        child:cancel()
        local _, err = child:wait()
        print(err.code)
      end)
    ]]))
    assert.is_true(os.time() - began < 25) -- it would answer after 30 seconds
  end)

  it("a name whose server does not answer is given up in time", function()
    assert.equal("timeout\tconnect\n", prints([[
      local _, err = require("operations.net.http").request({ url = "http://slow.test/", connect_timeout = 100 })
      print(err.details.kind, err.details.phase)
    ]]))
  end)
end)
