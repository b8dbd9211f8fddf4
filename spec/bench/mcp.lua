--- The MCP client beside the official TypeScript client (npm, @modelcontextprotocol/sdk), on the same servers in the
--- same run, in turns; each client is a process of its own. CPU time per call is that of the client process alone: on a
--- busy machine it says more than calls per second. Medians of ROUNDS, of the ratios too: what else the machine does is
--- much the same for the two clients of a round. The servers do little more than read and write messages, as what they
--- need for a call is in the calls per second of both clients: over stdio a C program, over HTTP nginx, connections are
--- kept. What libcurl and the libraries it was built with take of the memory is told by a C program on it alone.
local command = require("spec.support.command")
local json = require("operations.base.json")
local measure = require("spec.bench.measure")
local operations = require("operations")
local test_server = require("spec.support.server")

local SECONDS, ROUNDS = tonumber(os.getenv("MCP_SECONDS")) or 1, 5
local runtime = rawget(_G, "jit") and "luajit" or "lua5.4"
local CC = "cc -O2 -std=c99 -D_GNU_SOURCE -Isrc -o %s "
local NATIVE, CURL = os.tmpname(), os.tmpname()

assert(os.execute((CC .. "spec/bench/mcp_native.c src/json/json.c src/json/number.c src/json/write.c src/base/lines.c "
  .. "src/base/buffer.c"):format(NATIVE)))
assert(os.execute((CC .. "spec/bench/http_native.c -lcurl"):format(CURL)))

-- Nobody asks whether the client is still there: nginx would have to look for each request.
local LOCATION = "location = /mcp { lua_check_client_abort off; content_by_lua_file %s/spec/bench/mcp_http.lua; }"

local function client_of(program, place)
  local all = { env = command.environment() }
  for _, list in ipairs({ program, { tostring(SECONDS) }, place }) do
    for _, word in ipairs(list) do
      all[#all + 1] = word
    end
  end
  local child = assert(operations.process.spawn(all))
  local line = child:read_line()
  child:wait()
  return line and assert(json.decode(line)) or error("a client failed: " .. child:stderr())
end

local figures = {
  { "calls/s, one by one", function(found) return found.one.rate end },
  { "calls/s, 32 in flight", function(found) return found.many.rate end },
  { "CPU us per call, one by one", function(found) return found.one.cpu end, inverse = true },
  { "CPU us per call, 32 in flight", function(found) return found.many.cpu end, inverse = true },
  { "resident MB", function(found) return found.resident end, inverse = true },
  { "ms to the first list", function(found) return found.start end, inverse = true },
}

local function values_of(list, value)
  local values = {}
  for i, found in ipairs(list) do
    values[i] = value(found)
  end
  return values
end

-- How many times better ours are, round by round.
local function ratios_of(ours, theirs, inverse)
  local ratios = {}
  for i, mine in ipairs(ours) do
    ratios[i] = inverse and theirs[i] / mine or mine / theirs[i]
  end
  return ratios
end

local function compare(name, place)
  local ours, theirs = {}, {}
  for round = 1, ROUNDS do
    ours[round] = client_of({ runtime, "spec/bench/mcp_client.lua" }, place)
    theirs[round] = client_of({ "node", "spec/bench/mcp_peer.mjs" }, place)
  end
  for _, figure in ipairs(figures) do
    local mine, peer = values_of(ours, figure[2]), values_of(theirs, figure[2])
    local ratio = measure.median(ratios_of(mine, peer, figure.inverse))
    print(("%-8s %-30s %9.1f   TypeScript %9.1f   %6.2f times"):format(name, figure[1], measure.median(mine),
      measure.median(peer), ratio))
  end
  print(("%-8s %-30s %9.1f   of it, CPU of the client"):format(name, "ms to the first list",
    measure.median(values_of(ours, function(found) return found.share end))))
end

local function print_floor(url)
  local pipe = assert(io.popen(("%s %s 32 %g"):format(CURL, url, SECONDS)))
  local _, _, resident = pipe:read("*n", "*n", "*n")
  pipe:close()
  print(("%-8s %-30s %9.1f   of it, bare libcurl"):format("HTTP", "resident MB", resident))
end

operations.run(function()
  compare("stdio", { "stdio", NATIVE })
  local server = test_server.start({ directives = LOCATION:format(command.directory()) })
  compare("HTTP", { "http", server.url .. "/mcp" })
  print_floor(server.url .. "/mcp")
  server:stop()
end)
os.remove(NATIVE)
os.remove(CURL)
