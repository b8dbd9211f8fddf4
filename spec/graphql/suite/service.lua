--- The service of npm's packages (server.mjs) for a suite.
local operations = require("operations")

local service = {}

---@return { url: string, log: fun(): table, stop: fun() }
function service.start()
  local child = assert(operations.process.spawn({ "node", "spec/graphql/suite/server.mjs",
    env_allow = { "GRAPHQL_PACKAGES", "PATH", "HOME" } }))
  local url = "http://127.0.0.1:" .. assert(child:read_line())
  return {
    url = url,
    log = function()
      return operations.json.decode(assert(operations.http.request({ url = url .. "/log" })).body)
    end,
    stop = function()
      child:close_stdin()
      child:wait()
    end,
  }
end

return service
