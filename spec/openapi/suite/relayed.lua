--- Every operation of GitHub's document by a client of that document, at Prism and at a server with `paths = "source"`
--- in front of Prism: are the answers the same? `ONLY_EVERY=20` takes each twentieth operation.
local calls = require("spec.openapi.suite.calls")
local core = require("operations.core")
local operations = require("operations")
local prism = require("spec.openapi.suite.prism")

local relayed = {}

-- What matters of an answer; Prism invents some values anew for each request.
local compared = { "content-type", "content-length", "link", "location", "etag", "retry-after" }

-- A client that keeps what it got, by its request.
local function keeping(base, got)
  return { request = function(options)
    options.redirects = 0
    local reply, err = operations.http.request(options)
    if err and err.details and err.details.kind == "reset" then
      reply, err = operations.http.request(options) -- Prism closes idle connections, at times just when one is used
    end
    local key = options.method .. " " .. options.url:sub(#base + 1)
    local seen = { reply and reply.status or tostring(err) }
    for _, name in ipairs(reply and compared or {}) do
      seen[#seen + 1] = name .. ": " .. tostring(reply.headers[name])
    end
    seen[#seen + 1] = reply and reply.body or ""
    got[key] = table.concat(seen, "\n"):gsub(base:gsub("%W", "%%%0"), "")
    return reply, err
  end, open = operations.http.open }
end

local function call_all(path, base, every)
  local got = {}
  local definitions = assert(operations.from_openapi.file(path, { base_url = base, namespace = "api",
    http = keeping(base, got), validate = "off" }))
  local some = {}
  for i = 1, #definitions, every do
    some[#some + 1] = definitions[i]
  end
  for _, optional in ipairs({ true, false }) do
    calls.every(some, { optional = optional }, function() end)
  end
  return got, #some
end

--- A server in front of an API.
---@param path string  of its document
---@param url string
---@return operations.Server
---@return string url
function relayed.gateway(path, url)
  local registry = operations.registry()
  assert(registry:register_all(assert(operations.from_openapi.file(path, { base_url = url, namespace = "up",
    accessControl = {} }))))
  local server = assert(operations.to_http(registry, { paths = "source", upstream_errors = "all",
    log = function() end }))
  return server, "http://127.0.0.1:" .. assert(server:listen({ port = 0 })).port
end

---@param places { packages: string }
---@param fail fun(...: string)
function relayed.run(places, fail)
  local path = places.packages .. "/@octokit/openapi/generated/api.github.com.json"
  local running = prism.start(places.packages .. "/.bin/prism", path)
  running.ready()
  local server, url = relayed.gateway(path, running.url)
  local start, every = core.now(), tonumber(os.getenv("ONLY_EVERY")) or 1
  local direct, count = call_all(path, running.url, every)
  local through = call_all(path, url, every)
  local same, all = 0, 0
  for key, answer in pairs(direct) do
    all = all + 1
    if through[key] == answer then
      same = same + 1
    else
      fail("GitHub", key, ("directly %s, through the server %s"):format(answer:sub(1, 300),
        tostring(through[key]):sub(1, 600)))
    end
  end
  print(("GitHub, relayed      %4d operations   %4d of %4d answers are the same   %3.0f s"):format(count, same, all,
    (core.now() - start) / 1000))
  server:close()
  running.stop()
end

return relayed
