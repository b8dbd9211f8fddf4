--- The API that the servers of the specs offer, on every host.
local operations = require("operations")
local usage = require("spec.support.usage")

local T = operations.type

local http_api = { server = nil }

local function definitions(notes)
  return {
    { name = "echo", handler = function(input) return input end },
    { name = "add", type = "query", inputSchema = T.object({ a = T.integer(), b = T.integer() }),
      outputSchema = T.integer(), handler = function(input) return input.a + input.b end },
    { name = "size", inputSchema = { type = "string", contentMediaType = "application/octet-stream" },
      handler = function(input) return #input end },
    { name = "notes", type = "query", handler = function() return notes end },
    { name = "sleep", type = "query", inputSchema = T.object({ seconds = T.number(), note = T.optional(T.string()) }),
      handler = function(input)
        local ok, raised = pcall(operations.sleep, input.seconds)
        if not ok then
          notes[input.note or "sleep"] = raised.code
          error(raised, 0)
        end
        return "slept"
      end },
    { name = "count", type = "subscription",
      inputSchema = T.object({ to = T.integer(), delay = T.optional(T.number()), note = T.optional(T.string()) }),
      handler = function(input, context)
        context.defer(function()
          local key = input.note or "count"
          notes[key] = (notes[key] or 0) + 1
        end)
        for i = (tonumber(context.lastEventId) or 0) + 1, input.to do
          context.emit(i, { id = tostring(i) })
          operations.sleep(input.delay or 0)
        end
      end },
    { name = "flood", type = "subscription", inputSchema = T.object({ by = T.string() }),
      handler = function(input, context)
        local emit = input.by == "emit" and context.emit or coroutine.yield
        while true do
          emit("x")
        end
      end },
    { name = "silence", type = "subscription", handler = function() operations.sleep(600) end },
    { name = "fail", type = "subscription", handler = function(_, context)
      context.emit(1)
      error(operations.error("TIMEOUT", "too slow"))
    end },
    { name = "bytes", type = "query", inputSchema = T.object({ pieces = T.integer() }),
      outputSchema = { type = "string", contentMediaType = "application/octet-stream" },
      handler = function(input, context)
        for _ = 1, input.pieces do
          context.sink(("x"):rep(65536))
        end
      end },
    { name = "state", type = "query", handler = function()
        usage.collect()
        return { heap = collectgarbage("count"), running = http_api.server.running }
      end },
    { name = "drain", handler = function(input)
        require("operations.task").detach(function()
          http_api.server:drain(input.grace)
        end)
      end },
    { name = "page", type = "query", _meta = { http = { cache = { maxAge = 1000 } } },
      handler = function() return ("x"):rep(70000) end },
    { name = "pay", inputSchema = T.object({ note = T.string(), wait = T.optional(T.number()) }),
      handler = function(input)
        operations.sleep(input.wait or 0)
        notes[input.note] = (notes[input.note] or 0) + 1
        return operations.http_envelope(notes[input.note], { statusCode = 201, headers = { location = "/1" } })
      end },
    { name = "where", type = "query", handler = function(_, context) return context.metadata.http end },
    { name = "secret", type = "query", accessControl = { requiredScopes = { "admin" } },
      handler = function(_, context) return context.identity.id end },
  }
end

local function authorize(request)
  if not request.token then
    return nil
  elseif request.token == "root" then
    return { id = "root", scopes = { "admin" } }
  end
  return nil, "unknown token"
end

--- Makes the server, at "/api".
---@param options? operations.HttpOptions
---@return operations.Server
function http_api.new(options)
  local registry = operations.registry({ log = function() end })
  for _, definition in ipairs(definitions({})) do
    definition.namespace = "spec"
    assert(registry:register(definition))
  end
  local given = { prefix = "/api", authorize = authorize, anonymous = true, docs = true,
    idempotency = rawget(_G, "ngx") and rawget(_G, "ngx").shared.notes or true,
    origins = { "https://app.example" }, trusted_proxies = { "127.0.0.0/8", "unix:" }, hosts = { "api.example" },
    max_body = 4 * 1024 * 1024, heartbeat = 100, log = function() end }
  for name, value in pairs(options or {}) do
    given[name] = value
  end
  http_api.server = assert(operations.to_http(registry, given))
  return http_api.server
end

return http_api
