--- An MCP server over stdio that behaves badly: `lua hostile.lua [MODE]`. How, is the name of the tool that is called,
--- or MODE where the handshake or the list is what is bad.
local mode = arg[1] or "none"
local calls, held, cancelled_id = {}, {}, nil

local function put(text)
  io.stdout:write(text)
  io.stdout:flush()
end

local function reply(id, result)
  put(('{"jsonrpc":"2.0","id":%s,"result":%s}\n'):format(id, result))
end

local function content(text)
  return '{"content":[{"type":"text","text":"' .. text .. '"}]}'
end

local function structured(json)
  return '{"content":[],"structuredContent":' .. json .. "}"
end

-- The next line, its id and its method: our peer's messages have them once, outside of what we echo.
local function take()
  local line = io.read("*l")
  if line then
    return line, line:match('"id":("?[%w-]+"?)'), line:match('"method":"([%w/_-]+)"')
  end
end

function calls.echo(id, line)
  reply(id, content(line:match('"message":"(.-)"') or ""))
end

function calls.bytewise(id)
  for byte in ('{"jsonrpc":"2.0","id":%s,"result":%s}\r\n'):format(id, content("slow")):gmatch(".") do
    put(byte)
  end
  put("\n")
end

function calls.coalesced(id)
  local log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'
  put(log:rep(3) .. ('{"jsonrpc":"2.0","id":%s,"result":%s}\n'):format(id, content("together")) .. log:rep(3))
end

function calls.large(id)
  reply(id, content(("x"):rep(8 * 1024 * 1024)))
end

function calls.endless(id)
  put(('{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"'):format(id))
  for _ = 1, 128 do
    put(("x"):rep(1024 * 1024))
  end
  put('"}]}}\n')
end

function calls.complaining(id)
  for _ = 1, 8 do
    io.stderr:write(("e"):rep(1024 * 1024), "\n")
  end
  reply(id, content("said"))
end

function calls.nul(id)
  reply(id, structured('"a\\u0000b"'))
end

function calls.numbers(id)
  reply(id, structured("[9007199254740993,18446744073709551616,-1e400,1e-400]"))
end

function calls.infinite(id)
  for _ = 1, 1000 do
    put('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}\n')
  end
  reply(id, structured('{"a":1e400,"b":"\255"}'))
end

function calls.deep(id)
  reply(id, structured(("["):rep(20000) .. ("]"):rep(20000)))
end

function calls.coded(id)
  put(('{"jsonrpc":"2.0","id":%s,"error":{"code":"bad","message":"x"}}\n'):format(id))
end

function calls.uncountable(id)
  put(('{"jsonrpc":"2.0","id":%s,"error":{"code":1e300,"message":"x"}}\n'):format(id))
end

function calls.versionless(id)
  put(('{"id":%s,"result":{"content":[]}}\n'):format(id))
end

-- What libraries for logging write to stdout; $id is the id of the request.
local log_lines = [[
{"level":30,"time":1700000000000,"pid":7,"hostname":"h","msg":"handling"}
{"level":30,"id":$id,"msg":"handling"}
{"level":30,"id":$id,"method":"tools/call","params":{}}
{"level":50,"id":$id,"error":"it failed","result":{}}
{"level":"error","message":"it failed","error":{"code":1,"message":"x"}}
{"id":$id,"load":NaN}
{"id":$id,"message":"half a
[{"level":30,"id":$id},[$id],"x",null]
"a text"
$id
null
{}
Listening on $id
]]

function calls.logging(id)
  local lines = log_lines:gsub("%$id", id)
  local half = math.floor(#lines / 2)
  put(lines:sub(1, half))
  os.execute("sleep 0.05") -- two reads of our peer
  put(lines:sub(half + 1))
  put('{"level":30,"id":' .. id .. ',"data":"' .. ("x"):rep(2 * 1024 * 1024) .. '"}\n')
  reply(id, content("logged"))
end

function calls.chatting(id)
  put(('{"level":30,"msg":"x"}\n'):rep(20000) .. "[" .. ("1,"):rep(20000) .. "1]\n")
  reply(id, content("chatted"))
end

-- Asks with the id that the client's own request has.
function calls.colliding(id)
  put(('{"jsonrpc":"2.0","id":%s,"method":"ping"}\n'):format(id))
  reply(id, structured(take()))
end

function calls.asking(id)
  put('{"jsonrpc":"2.0","id":"q","method":"no/such"}\n')
  reply(id, structured(take()))
end

function calls.flooding(id)
  local progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}\n'
  for i = 1, 20000 do
    io.stdout:write(progress:format('"nobody"', i))
  end
  reply(id, content("over"))
  put(progress:format(id, 1))
end

-- Answers when it is told that nobody waits any more.
function calls.late(id)
  cancelled_id = id
end

function calls.reversed(id, line)
  table.insert(held, 1, { id = id, text = line:match('"message":"(.-)"') })
  if #held == 3 then
    for _, one in ipairs(held) do
      reply(one.id, content(one.text))
    end
    held = {}
  end
end

function calls.half(id)
  put(('{"jsonrpc":"2.0","id":%s,"result":{"cont'):format(id))
  os.exit(4)
end

-- Sends an invalid message, and then nothing.
function calls.mute()
  put("this was all\n")
end

-- Leaves a process behind that holds the pipes.
function calls.wrapper()
  os.execute("sleep 60 & echo $! >&2")
  os.exit(5)
end

local good = '{"name":"echo","inputSchema":{"type":"object"}}'
local lists = {
  bad_tools = '"tools":[' .. table.concat({
    good, '{"name":"schemaless"}', '{"name":"nothing","inputSchema":null}', "7", "null", '{"inputSchema":{}}',
    '{"name":"foreign","inputSchema":{"$schema":"https://example.com/dialect","type":"object"}}',
    '{"name":"dangling","inputSchema":{"properties":{"a":{"$ref":"#/$defs/none"}}}}',
    '{"name":"remote","inputSchema":{"$ref":"http://127.0.0.1:9/schema.json"}}',
    '{"name":"wrong","inputSchema":{"type":"objekt"}}', good, (good:gsub("echo", "last")),
  }, ",") .. "]",
  typed = '"tools":[{"name":"nul","inputSchema":{"type":"object"},"outputSchema":{"type":"object",'
    .. '"properties":{"a":{"type":"integer"}},"required":["a"]}}]',
  null_cursor = '"tools":[' .. good .. '],"nextCursor":null',
}

-- A tool for each way to behave badly.
if mode == "all" then
  local tools = {}
  for name in pairs(calls) do
    tools[#tools + 1] = (good:gsub("echo", name))
  end
  table.sort(tools)
  lists.all = '"tools":[' .. table.concat(tools, ",") .. "]"
end

-- The empty cursor leads to the second page.
local function list_of(line)
  if mode == "empty_cursor" and not line:find('"cursor":""', 1, true) then
    return '"tools":[' .. good .. '],"nextCursor":""'
  elseif mode == "empty_cursor" then
    return '"tools":[' .. good:gsub("echo", "second") .. "]"
  end
  return lists[mode] or '"tools":[' .. good .. "]"
end

local function initialize(id)
  if mode == "early" then
    put('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"before"}}\n')
    put('{"jsonrpc":"2.0","id":"p","method":"ping"}\n')
    take()
  end
  reply(id, ('{"protocolVersion":"%s","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"1"}}')
    :format(mode == "ancient" and "1999-01-01" or mode == "old" and "2024-11-05" or "2025-11-25"))
end

local function handle(line, id, method)
  if method == "initialize" then
    initialize(id)
  elseif method == "tools/list" then
    reply(id, "{" .. list_of(line) .. "}")
  elseif method == "tools/call" then
    calls[line:match('"name":"([%w_]+)"')](id, line)
  elseif method == "notifications/cancelled" and cancelled_id then
    reply(cancelled_id, content("too late"))
  elseif id and method then
    put(('{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n'):format(id))
  end
end

if mode == "late" then
  os.execute("sleep 0.3")
elseif mode == "banner" then
  put("Welcome to the server!\n{\"level\":30,\"msg\":\"starting\"}\n{\"half\": \n\27[1mready\27[0m\n")
end
for line, id, method in take do
  if mode ~= "silent" then
    handle(line, id, method)
  end
end
