--- The API of examples/tasks.openapi.json, for nginx's Lua module. It knows nothing of operations.
local cjson = require("cjson")

local tasks = {}

local store = ngx.shared.tasks

local function save(task)
  store:set(task.id, cjson.encode(task))
  return task
end

--- What is there when the server starts.
function tasks.seed()
  store:set("last", 2)
  save({ id = 1, title = "Read the design", priority = "high", done = true })
  save({ id = 2, title = "Water the plants", priority = "low", done = false })
end

local function answer(status, text)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.print(text)
end

local function refuse(status, message)
  answer(status, cjson.encode({ message = message }))
end

local function wanted(task, done)
  return done == nil or tostring(task.done) == done
end

function tasks.list()
  local arguments = ngx.req.get_uri_args()
  local limit, texts = tonumber(arguments.limit) or 20, {}
  for id = 1, store:get("last") do
    local text = store:get(id)
    if text and #texts < limit and wanted(cjson.decode(text), arguments.done) then
      texts[#texts + 1] = text
    end
  end
  answer(200, "[" .. table.concat(texts, ",") .. "]")
end

function tasks.create()
  ngx.req.read_body()
  local ok, body = pcall(cjson.decode, ngx.req.get_body_data() or "")
  if not ok or type(body) ~= "table" or type(body.title) ~= "string" then
    return refuse(400, "the body has no title")
  end
  local task = { id = store:incr("last", 1), title = body.title, priority = body.priority or "normal", done = false }
  save(task)
  answer(201, cjson.encode(task))
end

function tasks.get(id)
  local text = store:get(tonumber(id))
  if not text then
    return refuse(404, "there is no task " .. id)
  end
  answer(200, text)
end

local function send_event(id)
  ngx.print("event: task\nid: ", id, "\ndata: ", store:get(id), "\n\n")
  ngx.flush(true)
end

--- Sends the tasks that are there, then new ones for as long as was asked.
function tasks.watch()
  ngx.header["Content-Type"] = "text/event-stream"
  local sent = 0
  local deadline = ngx.now() + (tonumber(ngx.var.arg_seconds) or 0)
  repeat
    while sent < store:get("last") do
      sent = sent + 1
      send_event(sent)
    end
    ngx.sleep(0.02)
  until ngx.now() >= deadline
end

return tasks
