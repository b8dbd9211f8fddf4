--- CPU of a server with TLS for each request, driven by wrk: 64 connections that stay, then a connection with a full
--- handshake for each request. Operations on both runtimes beside Node's https and nginx with the same operation in a
--- content handler; the certificate has a key of P-256. Rounds take turns; figures are medians.
package.path = "./?.lua;" .. package.path
local certificates = require("spec.support.certificates")
local measure = require("spec.bench.measure")
local server_load = require("spec.bench.server_load")
local test_server = require("spec.support.server")

local SECONDS, ROUNDS = 2, 5

local files = { TLS_CERT = certificates.path("localhost.pem"), TLS_KEY = certificates.path("localhost.key") }

local function nginx()
  local server = test_server.start({ app = true, tls = true })
  return { pid = server.pid, url = server.tls:gsub("localhost", "127.0.0.1"), path = "/execute", stop = function()
    server:stop()
  end }
end

local servers = {
  { name = "operations, LuaJIT", server = server_load.ours("luajit", files) },
  { name = "operations, Lua 5.4", server = server_load.ours("lua5.4", files) },
  { name = "Node https", server = server_load.start({ "node", "spec/bench/serve_peer.mjs", "http" }, files) },
  { name = "nginx, execute by hand", server = nginx() },
}

local function compare(what, options)
  local cpu, rate = {}, {}
  for _ = 0, ROUNDS do -- the first one warms up
    for _, entry in ipairs(servers) do
      local requests, micros = server_load.wrk(entry.server, SECONDS, options)
      cpu[entry.name], rate[entry.name] = cpu[entry.name] or {}, rate[entry.name] or {}
      if rate[entry.name].warm then
        table.insert(rate[entry.name], requests)
        table.insert(cpu[entry.name], micros)
      end
      rate[entry.name].warm = true
    end
  end
  local node, by_hand = measure.median(cpu["Node https"]), measure.median(cpu["nginx, execute by hand"])
  for _, entry in ipairs(servers) do
    local micros = measure.median(cpu[entry.name])
    local _, memory = server_load.usage(entry.server.pid)
    print(("%-18s %-24s %7.1f us CPU  %6.0f req/s  %5.1f MB  %.2f of Node https, %.2f of nginx by hand"):format(what,
      entry.name, micros, measure.median(rate[entry.name]), memory / 1024, micros / node, micros / by_hand))
  end
end

compare("kept connections", "")
compare("a handshake each", "-H 'Connection: close'")
for _, entry in ipairs(servers) do
  entry.server.stop()
end
certificates.remove()
