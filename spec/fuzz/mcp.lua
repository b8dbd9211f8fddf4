--- What an MCP server sends: bytes cut anywhere give the same messages, a client over them ends every call with a
--- result or an error object, and everything that it answers or asks is itself a message of JSON-RPC.
local duplex = require("operations.mcp.client.duplex")
local clients = require("operations.mcp.client.client")
local config = require("operations.mcp.client.config")
local errors = require("operations.base.error")
local fake_host = require("spec.support.fake_host")
local json = require("operations.base.json")
local message = require("operations.mcp.protocol.message")
local mutate = require("spec.fuzz.mutate")
local operations = require("operations")
local random = require("spec.support.random")
local reader = require("operations.mcp.protocol.reader")

local MAX_LINE = 2000

-- What a server may send; @ stands for the id of the request that it answers.
local answers = {
  '{"jsonrpc": "2.0", "id": @, "result": {"protocolVersion": "2025-06-18",'
    .. ' "capabilities": {"tools": {}, "logging": {}},'
    .. ' "serverInfo": {"name": "s", "version": "1"}, "instructions": "i"}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"tools": [{"name": "t", "description": "d",'
    .. ' "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties":'
    .. ' {"a": {"type": "integer"}}}, "annotations":'
    .. ' {"readOnlyHint": true}}]}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"content": [{"type": "text", "text": "x"}, {"type": "resource", "resource":'
    .. ' {"uri": "a:b", "text": "y"}}], "structuredContent": {"a": 1}, "isError": false}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"resources": [{"uri": "a:b", "name": "n"}]}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"resultType": "input_required", "requestState": "s", "inputRequests": {"k":'
    .. ' {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object"}}}}}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"resultType": "task", "taskId": "t", "status": "working", "ttlMs": null,'
    .. ' "pollIntervalMs": 5, "statusMessage": "m", "createdAt": "c", "lastUpdatedAt": "u"}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"taskId": "t", "status": "input_required", "inputRequests": {"k":'
    .. ' {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object"}}}}}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"taskId": "t", "status": "completed", "result": {"content": []},'
    .. ' "_meta": {"operations/progress": {"progress": 1, "total": 2}}}}',
  '{"jsonrpc": "2.0", "id": @, "result": {"taskId": "t", "status": "failed", "error": {"code": 1, "message": "m"}}}',
  '{"jsonrpc": "2.0", "id": @, "error": {"code": -32601, "message": "no", "data": {"supported": ["2026-07-28"]}}}',
  '{"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}',
  '{"jsonrpc": "2.0", "id": "r", "method": "elicitation/create", "params": {"message": "m", "requestedSchema":'
    .. ' {"type": "object", "properties": {"a": {"type": "string", "default": "b"}}}}}',
  '{"jsonrpc": "2.0", "id": 8, "method": "roots/list"}', '{"jsonrpc": "2.0", "id": 9, "method": "ping"}',
  '{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": @, "progress": 1, "total": 2}}',
  '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}',
  '{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}',
  '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "r"}}',
  '[{"jsonrpc": "2.0", "id": @, "result": {}}, {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}]',
}
local usual = {
  initialize = answers[1], ["server/discover"] = answers[2], ["tools/list"] = answers[3], ["tools/call"] = answers[4],
}
local words = {
  "jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message", "data", "tools", "tools/list",
  "ping",
  "inputSchema", "outputSchema", "type", "object", "$ref", "#", "content", "text", "structuredContent", "isError",
  "name",
  "nextCursor", "uri", "blob", "annotations", "resultType", "task", "taskId", "status", "working", "completed",
  "failed", "cancelled", "inputRequests", "pollIntervalMs", "statusMessage", "progressToken",
  "_meta",
  "2025-06-18", "2026-07-28", "1999-01-01", "notifications/progress", "\\ud800", "\255", "1e999", "{", "}", "[",
  "]", ",",
}

local function check_outcome(value, err, what)
  assert(value ~= nil or errors.is_error(err), what .. " fails without an error object")
end

-- What comes of bytes in pieces of up to `largest`.
local function read(bytes, largest)
  local found, at = {}, 1
  local feed = reader.lines(MAX_LINE, function(_, value, err, _, warning)
    found[#found + 1] = err and "problem" or json.encode(value, { sort_keys = true }) or "no text"
    found[#found + 1] = warning
  end, function(_, first, last, whole)
    found[#found + 1] = "dropped " .. whole
    found[#found + 1] = tostring(reader.id(first, last))
  end)
  while at <= #bytes do
    local size = largest and random.upto(largest) or #bytes
    feed(bytes:sub(at, at + size - 1))
    at = at + size
  end
  feed(nil)
  return table.concat(found, "\n")
end

-- A connection over which the lines of a script come, one for each request that is sent; where it is empty, the usual
-- answer, if it is a good server's.
local Script = duplex.class()

local function answer(self, text)
  local sent = assert(json.decode(text), "a text that is no JSON is sent")
  local kind, problem = message.kind(sent)
  assert(kind, problem)
  assert(not text:find("\n", 1, true), "a message of two lines is sent")
  self._at = self._at + 1
  local line = self._lines[self._at]
  if line == nil or line == "" then
    line = self._lines.good and usual[sent.method]
  end
  if line and kind == "request" then
    operations.spawn(function()
      operations.sleep(0.001)
      self._feed((line:gsub("@", tostring(sent.id), 1)) .. "\n")
    end)
  end
  return true
end

Script._write, Script._post = answer, answer

function Script:close()
  self:lost(errors.new("ABORTED", "closed"))
end

local function open_script(lines)
  return function(_, events)
    local self = duplex.init(setmetatable({ _lines = lines, _at = 0 }, Script), events)
    self._feed = reader.lines(MAX_LINE, self.take, function() end, self)
    return self
  end
end

local function talk(lines)
  local options = config.check("s", {
    command = "none", log = function() end, roots = { "file:///a" }, timeout = 1000, probe_timeout = 500,
    sampling = function()
      return { role = "assistant", content = { type = "text", text = "x" }, model = "m" }
    end,
    elicitation = function()
      return { action = "accept", content = {} }
    end,
  })
  local client, err = clients.connect("s", options, open_script(lines))
  check_outcome(client, err, "connect")
  if client then
    local registry = operations.registry({ log = function() end, on_warning = function() end })
    for i, definition in ipairs(client.operations) do
      local ids, why = registry:register_all({ definition })
      assert(ids, tostring(why))
      if i < 3 and definition.type ~= "subscription" then
        local envelope, failure = registry:execute(ids[1], {})
        check_outcome(envelope, failure, ids[1])
      end
    end
    client:close()
  end
end

return {
  make = function()
    local lines = { tostring(random.upto(1000000)) }
    for i = 1, random.upto(8) do
      local pool = random.chance(50) and { answers[math.min(i, 4)] } or answers
      local line = random.chance(50) and "" or random.chance(30) and mutate.text(pool, words)
        or random.chance(70) and mutate.json({ (random.pick(pool):gsub("@", '"@"')) }, words) or random.pick(pool)
      lines[#lines + 1] = line:gsub('"@"', "@")
    end
    return table.concat(lines, "\n")
  end,
  run = function(input)
    local seed, bytes = input:match("^(%d+)\n(.*)$")
    random.seed(tonumber(seed) or 1)
    local whole = read(bytes or "", nil)
    assert(read(bytes or "", 1) == whole and read(bytes or "", 40) == whole, "cut bytes are read differently")
    local lines = { good = random.chance(90) }
    for line in ((bytes or "") .. "\n"):gmatch("([^\n]*)\n") do
      lines[#lines + 1] = line
    end
    operations.use_host(fake_host.new(1000))
    operations.run(talk, lines)
  end,
}
