--- Policies around handlers: each function here makes a middleware, `function(handler, spec) -> handler`, for the
--- option `middleware` of `operations.registry`. The first one in a list is the outermost.
local argument = require("operations.base.argument")
local runtime = require("operations.base.runtime")

---@class operations.middleware
---@field audit fun(options: operations.AuditOptions): operations.Audit
---@field breaker fun(options?: operations.BreakerOptions): operations.Middleware
---@field cache fun(options?: operations.CacheOptions): operations.Cache
---@field concurrency fun(options?: operations.ConcurrencyOptions): operations.Middleware
---@field confirm fun(ask: function|"caller", options?: operations.ConfirmOptions): operations.Middleware
---@field log fun(write?: fun(line: string)): operations.Middleware
---@field metrics fun(options?: operations.MetricsOptions): operations.Metrics
---@field rate_limit fun(options: operations.RateLimitOptions): operations.Middleware
---@field redis fun(url: string, options?: table): operations.RedisBuckets
---@field retry fun(options?: operations.RetryOptions): operations.Middleware
---@field timeout fun(ms: number): operations.Middleware
---@field trace fun(fn: fun(span: operations.Span), options?: operations.TraceOptions): operations.Middleware
local middleware = {}

-- Loaded on first use: modules with a function `new`.
local parts = {
  audit = "operations.middleware.audit",
  breaker = "operations.middleware.breaker",
  cache = "operations.middleware.cache",
  concurrency = "operations.middleware.concurrency",
  confirm = "operations.middleware.confirm",
  log = "operations.middleware.log",
  metrics = "operations.middleware.metrics",
  rate_limit = "operations.middleware.rate_limit",
  redis = "operations.middleware.redis_buckets",
  retry = "operations.middleware.retry",
  timeout = "operations.middleware.timeout",
  trace = "operations.middleware.trace",
}

local filter_kinds = { namespace = "string", type = "string", tag = "string" }

local function has_tag(spec, wanted)
  for _, tag in ipairs(spec.tags or {}) do
    if tag == wanted then
      return true
    end
  end
  return false
end

local function fits(spec, filter)
  return (filter.namespace == nil or spec.namespace == filter.namespace)
    and (filter.type == nil or spec.type == filter.type)
    and (filter.tag == nil or has_tag(spec, filter.tag))
end

local function is_callable(value)
  local meta = getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
end

--- Combines a list to one middleware that applies only to the operations that a filter names.
---@param filter { namespace: string?, type: string?, tag: string? }|fun(spec: operations.Spec): boolean
---@param list operations.Middleware[]  the first is the outermost
---@return operations.Middleware
function middleware.only(filter, list)
  if type(filter) ~= "function" then
    argument.expect(filter, "table", 1, "only")
    argument.options(filter, filter_kinds, "only")
  end
  argument.expect(list, "table", 2, "only")
  for i, each in ipairs(list) do
    if not is_callable(each) then
      error(("bad argument #2 to 'only' (middleware expected at [%d], got %s)"):format(i, type(each)), 2)
    end
  end
  return function(handler, spec)
    if type(filter) == "function" and not filter(spec) or type(filter) == "table" and not fits(spec, filter) then
      return handler
    end
    for i = #list, 1, -1 do
      handler = list[i](handler, spec)
    end
    return handler
  end
end

return setmetatable(middleware, {
  __index = function(self, name)
    local built, why = true, nil
    if name == "redis" then -- its C module is built only with the headers of hiredis
      built, why = runtime.optional("operations.redis")
    end
    if not built then
      error("middleware.redis needs hiredis: install it (Debian: libhiredis-dev) and build this library again:\n"
        .. why, 2)
    end
    local part = parts[name] and require(parts[name]).new
    rawset(self, name, part)
    return part
  end,
})
