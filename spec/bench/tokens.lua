--- Access tokens verified, whole: form, signature, claims, identity; beside npm's jose in Node, with the same keys and
--- tokens, in turns. One after the other, as the requests of one connection have them.
local command = require("spec.support.command")
local core = require("operations.core")
local json = require("operations.base.json")
local operations = require("operations")

local SECONDS, ROUNDS = tonumber(os.getenv("TOKEN_SECONDS")) or 0.5, 3

local jose = assert(operations.process.spawn({ "node", "spec/bench/tokens.mjs", tostring(SECONDS),
  env = command.environment() }))
local made = assert(json.decode(jose:read_line() or error(jose:stderr())))
local authorize = operations.oauth.resource_server({ issuer = "https://login.example",
  audience = "https://api.example", jwks = { keys = made.keys } })

local function ours(alg)
  local request = { headers = {}, token = made.tokens[alg] }
  for _ = 1, 200 do
    assert(authorize(request).id == "ada")
  end
  local count, start, cpu = 0, core.now(), os.clock()
  repeat
    for _ = 1, 20 do
      assert(authorize(request))
    end
    count = count + 20
  until core.now() - start >= SECONDS * 1000
  return { rate = count / (core.now() - start) * 1000, cpu = (os.clock() - cpu) / count * 1e6 }
end

local function theirs(alg)
  assert(jose:write(alg .. "\n"))
  return assert(json.decode(jose:read_line() or error(jose:stderr())))
end

local function middle(list, name)
  table.sort(list, function(a, b)
    return a[name] < b[name]
  end)
  return list[math.floor(#list / 2) + 1][name]
end

print(("%-8s%14s%14s%12s%12s%8s"):format("", "ours, 1/s", "jose, 1/s", "us of CPU", "jose, us", "times"))
for _, alg in ipairs({ "RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA" }) do
  local own, other = {}, {}
  for i = 1, ROUNDS do
    own[i], other[i] = ours(alg), theirs(alg)
  end
  local a, b = middle(own, "cpu"), middle(other, "cpu")
  print(("%-8s%14.0f%14.0f%12.1f%12.1f%8.2f"):format(alg, middle(own, "rate"), middle(other, "rate"), a, b, b / a))
end
jose:close_stdin()
jose:wait()
