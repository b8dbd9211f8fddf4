--- The specs of a source file: that at the mirrored path, and those of its room.
local lfs = require("lfs")
local sources = require("spec.support.sources")

local specs_of = {}

--- Which spec covers a file that has none at its own path: that of the file, else that of the nearest folder.
specs_of.covered = {
  ["lua/operations/base/data_file.lua"] = "spec/policy/rules_spec.lua",
  ["lua/operations/base/hexadecimal.lua"] = "spec/oauth/crypto_spec.lua",
  ["lua/operations/base/json.lua"] = "spec/json/json_spec.lua",
  ["lua/operations/base/sse.lua"] = "spec/sse/sse_spec.lua",
  ["lua/operations/base/utf8.lua"] = "spec/openapi/charset_spec.lua",
  ["lua/operations/base/version.lua"] = "spec/cli/cli_spec.lua",
  ["lua/operations/base/wire_log.lua"] = "spec/net/http/trace_spec.lua",
  ["lua/operations/calls"] = "spec/calls/map_spec.lua",
  ["lua/operations/calls/redis"] = "spec/calls/redis/reliable_spec.lua",
  ["lua/operations/calls/websocket"] = "spec/calls/websocket/websocket_spec.lua",
  ["lua/operations/cli"] = "spec/cli/cli_spec.lua",
  ["lua/operations/graphql"] = "spec/graphql/document_spec.lua",
  ["lua/operations/health.lua"] = "spec/nvim/health_spec.lua",
  ["lua/operations/hosts"] = "spec/hosts/plain_spec.lua",
  ["lua/operations/hosts/openresty"] = "spec/hosts/openresty_spec.lua",
  ["lua/operations/init.lua"] = "spec/misuse_spec.lua",
  ["lua/operations/jobs"] = "spec/jobs/memory_spec.lua",
  ["lua/operations/mcp/client"] = "spec/mcp/client/client_spec.lua",
  ["lua/operations/mcp/server"] = "spec/mcp/server/stdio_spec.lua",
  ["lua/operations/mcp/protocol"] = "spec/mcp/protocol/message_spec.lua",
  ["lua/operations/middleware"] = "spec/middleware/plain_spec.lua",
  ["lua/operations/net"] = "spec/net/process_spec.lua",
  ["lua/operations/net/tls.lua"] = "spec/server/tls_spec.lua",
  ["lua/operations/net/http"] = "spec/net/http/http_spec.lua",
  ["lua/operations/nvim/serve"] = "spec/nvim/serve/serve_spec.lua",
  ["lua/operations/oauth"] = "spec/oauth/authorizer_spec.lua",
  ["lua/operations/nvim"] = "spec/nvim/command_spec.lua",
  ["lua/operations/openapi"] = "spec/openapi/document_spec.lua",
  ["lua/operations/openapi/out"] = "spec/server/document_spec.lua",
  ["lua/operations/publisher"] = "spec/publisher/publisher_spec.lua",
  ["lua/operations/policy"] = "spec/policy/policy_spec.lua",
  ["lua/operations/registry"] = "spec/registry/registry_spec.lua",
  ["lua/operations/schema"] = "spec/schema/type_spec.lua",
  ["lua/operations/server"] = "spec/server/answering_spec.lua",
  ["lua/operations/sources"] = "spec/cli/sources_spec.lua",
  ["lua/operations/offer/first_events.lua"] = "spec/tools/tools_spec.lua",
  ["lua/operations/sandbox"] = "spec/sandbox/sandbox_spec.lua",
  ["lua/operations/tools"] = "spec/tools/tools_spec.lua",
  ["lua/operations/tools/references.lua"] = "spec/tools/subset_spec.lua",
  ["lua/operations/types"] = "spec/types/types_spec.lua",
  ["lua/operations/task"] = "spec/task/task_spec.lua",
  ["src/base/buffer.c"] = "spec/json/json_spec.lua",
  ["src/base/lines.c"] = "spec/streams/envelopes_spec.lua",
  ["src/base/sha1.c"] = "spec/websocket/websocket_spec.lua",
  ["src/base/utf8_repair.c"] = "spec/sse/sse_spec.lua",
  ["src/crypto"] = "spec/crypto/crypto_spec.lua",
  ["src/core/fields_lua.c"] = "spec/http/fields_spec.lua",
  ["src/core/open.c"] = "spec/value/core_spec.lua",
  ["src/format"] = "spec/format/format_spec.lua",
  ["src/json"] = "spec/json/json_spec.lua",
  ["src/platform"] = "spec/reactor/reactor_spec.lua",
  ["src/platform/child.c"] = "spec/net/process_spec.lua",
  ["src/platform/clock.c"] = "spec/value/core_spec.lua",
  ["src/platform/confine.c"] = "spec/sandbox/confine_spec.lua",
  ["src/platform/fork_page.c"] = "spec/value/core_spec.lua",
  ["src/platform/pipe.c"] = "spec/net/process_spec.lua",
  ["src/platform/random.c"] = "spec/value/core_spec.lua",
  ["src/platform/socket.c"] = "spec/net/stream_spec.lua",
  ["src/platform/wake.c"] = "spec/reactor/relay_spec.lua",
  ["src/reactor"] = "spec/reactor/reactor_spec.lua",
  ["src/reactor/local.c"] = "spec/net/stream_spec.lua",
  ["src/reactor/process.c"] = "spec/net/process_spec.lua",
  ["src/reactor/process_lua.c"] = "spec/net/process_spec.lua",
  ["src/reactor/spawn.c"] = "spec/net/process_spec.lua",
  ["src/reactor/stdio.c"] = "spec/mcp/server/stdio_spec.lua",
  ["src/reactor/stream.c"] = "spec/net/stream_spec.lua",
  ["src/reactor/stream_lua.c"] = "spec/net/stream_spec.lua",
  ["src/regex"] = "spec/regex/regex_spec.lua",
  ["src/registry"] = "spec/registry/registry_spec.lua",
  ["src/sandbox"] = "spec/sandbox/sandbox_spec.lua",
  ["src/schema"] = "spec/schema/init_spec.lua",
  ["src/schema/cast"] = "spec/schema/cast_spec.lua",
  ["src/schema/check"] = "spec/schema/check_spec.lua",
  ["src/schema/compile"] = "spec/schema/compile_spec.lua",
  ["src/schema/issue"] = "spec/schema/issue_spec.lua",
  ["src/schema/program"] = "spec/schema/compile_spec.lua",
  ["src/http"] = "spec/http/request_spec.lua",
  ["src/http/target.c"] = "spec/server/request_head_spec.lua",
  ["src/server"] = "spec/server/answer_bytes_spec.lua",
  ["src/streams"] = "spec/streams/envelopes_spec.lua",
  ["src/streams/sse_lua.c"] = "spec/sse/sse_spec.lua",
  ["src/tls"] = "spec/tls/tls_spec.lua",
  ["src/transfer"] = "spec/net/http/http_spec.lua",
  ["src/transfer/brotli.c"] = "spec/net/http/coding_spec.lua",
  ["src/transfer/coding.c"] = "spec/net/http/coding_spec.lua",
  ["src/transfer/head.c"] = "spec/net/http/head_spec.lua",
  ["src/transfer/connect.c"] = "spec/net/stream_spec.lua",
  ["src/transfer/connect_lua.c"] = "spec/net/stream_spec.lua",
  ["src/value"] = "spec/json/json_spec.lua",
}

-- The scripts of spec/native/oom that reach a room of src/; of other rooms all are run.
local exhausted = {
  base = "json sse envelopes", core = "open execute http", crypto = "crypto", format = "schema",
  http = "http http_server", json = "json", platform = "process relay local", reactor = "process relay local http",
  redis = "open", regex = "schema", registry = "execute subscribe envelopes", sandbox = "json",
  schema = "schema execute", server = "http_server", sse = "sse", streams = "sse envelopes subscribe", system = "open",
  tls = "tls", transfer = "http upload", value = "json execute schema", websocket = "websocket",
}

-- The specs of other rooms that say something of a file, else of the nearest folder.
local elsewhere = {
  ["lua/operations/calls/redis"] = "spec/calls",
  ["lua/operations/calls/websocket"] = "spec/calls",
  ["lua/operations/hosts/nvim.lua"] = "spec/server/nvim_spec.lua spec/mcp/server/nvim_spec.lua",
  ["lua/operations/hosts/openresty"] = "spec/server/openresty_spec.lua spec/mcp/server/openresty_spec.lua "
    .. "spec/calls/websocket/hosts_spec.lua",
  ["lua/operations/middleware/redis_buckets.lua"] = "spec/server/answer_store_spec.lua",
  ["lua/operations/registry/elsewhere.lua"] = "spec/calls/services_spec.lua",
  ["src/base"] = "spec/json spec/value/json_lines_spec.lua spec/sse spec/streams spec/http spec/redis spec/websocket",
  ["src/core"] = "spec/value spec/registry/registry_spec.lua spec/platform/failure_spec.lua spec/base/sha256_spec.lua",
  ["src/format"] = "spec/schema/suite_spec.lua spec/schema/check_spec.lua spec/schema/compile_spec.lua",
  ["src/http"] = "spec/net/http/header_field_spec.lua spec/server/connection_spec.lua",
  ["src/json"] = "spec/value",
  ["src/platform"] = "spec/reactor spec/net/process_spec.lua spec/net/stream_spec.lua spec/net/http/network_spec.lua",
  ["src/reactor"] = "spec/reactor spec/platform spec/net/process_spec.lua spec/net/stream_spec.lua "
    .. "spec/hosts/plain_spec.lua",
  ["src/redis"] = "spec/calls/redis/redis_spec.lua",
  ["src/regex"] = "spec/schema/suite_spec.lua spec/schema/compile_spec.lua",
  ["src/registry"] = "spec/schema/laws_spec.lua spec/schema/ahead_spec.lua",
  ["src/system"] = "spec/platform",
  ["src/schema"] = "spec/value/integer_spec.lua spec/registry/finish_spec.lua spec/registry/prepare_spec.lua",
  ["src/sse"] = "spec/streams spec/openapi/stream_spec.lua",
  ["src/streams"] = "spec/sse spec/openapi/stream_spec.lua spec/registry/subscription_spec.lua",
  ["src/tls"] = "spec/server/tls_spec.lua",
  ["src/transfer"] = "spec/platform spec/net/stream_spec.lua spec/reactor/reactor_spec.lua",
  ["src/value"] = "spec/json spec/streams spec/schema/cast_spec.lua spec/schema/issue_spec.lua "
    .. "spec/schema/suite_spec.lua",
  ["src/websocket"] = "spec/calls/websocket/websocket_spec.lua",
}

--- The specs of other rooms, folders among them, that say something of a file.
---@param path string
---@return string[]
function specs_of.elsewhere(path)
  local list, place = {}, path
  while place and not elsewhere[place] do
    place = place:match("^(.*)/[^/]*$")
  end
  for name in (elsewhere[place] or ""):gmatch("%S+") do
    list[#list + 1] = name
  end
  return list
end

--- The scripts that let allocations fail in a C file, nearest first; none: all of them.
---@param path string
---@return string[]
function specs_of.exhausted(path)
  local scripts = {}
  for name in (exhausted[path:match("^src/([^/]+)/")] or ""):gmatch("%S+") do
    scripts[#scripts + 1] = "spec/native/oom/" .. name .. ".lua"
  end
  return scripts
end

--- The spec of a source file, or nil: "src/x/y_lua.c" -> "spec/x/y_spec.lua", where that exists.
---@param path string
---@return string?
function specs_of.file(path)
  local name = path:gsub("^src/(.*)%.c$", "%1"):gsub("^lua/operations/(.*)%.lua$", "%1")
  for _, own in ipairs({ "spec/" .. name .. "_spec.lua", "spec/" .. name:gsub("_lua$", "") .. "_spec.lua" }) do
    if lfs.attributes(own) then
      return own
    end
  end
  while path and not specs_of.covered[path] do
    path = path:match("^(.*)/[^/]*$")
  end
  return specs_of.covered[path]
end

--- The folders of specs of a file's room: that at the mirrored path, and that of its spec; never all of spec/.
---@param path string
---@return string[]
function specs_of.rooms(path)
  local own = "spec/" .. path:gsub("^src/", ""):gsub("^lua/operations/", ""):gsub("/?[^/]*$", "")
  while not lfs.attributes(own) do
    own = own:match("^(.*)/[^/]*$")
  end
  local other = assert(specs_of.file(path), path .. " has no spec"):match("^(.*)/[^/]*$")
  local rooms = {}
  for _, folder in ipairs({ own, other }) do
    folder = folder:gsub("/$", "")
    if folder ~= "spec" and folder ~= rooms[1] then
      rooms[#rooms + 1] = folder
    end
  end
  return rooms
end

--- The specs outside of a file's room that require a Lua file, or whose source file does.
---@param path string
---@return string[]
function specs_of.users(path)
  local requires, rooms = ('require("%s")'):format(sources.module(path)), specs_of.rooms(path)
  local users, added = {}, {}
  local function add(spec)
    for _, room in ipairs(rooms) do
      if added[spec] or spec:match("^(.*)/[^/]*$") == room then -- a folder in it is another room
        return
      end
    end
    added[spec], users[#users + 1] = true, spec
  end
  for _, spec in ipairs(sources.list("spec", "_spec.lua")) do
    if sources.read(spec):find(requires, 1, true) then
      add(spec)
    end
  end
  for _, source in ipairs(sources.list("lua", ".lua")) do
    if sources.read(source):find(requires, 1, true) then
      add(specs_of.file(source))
    end
  end
  return users
end

return specs_of
