--- JSON of 10 MB, made here, read and written by operations.json and by lua-cjson in one run.
--- Prints CPU seconds (median) and the ratio: above 1 means that operations.json is the faster one.
local json = require("operations.base.json")
local cjson = require("cjson")

local ROUNDS = tonumber((...)) or 5
local SIZE = 10 * 1000 * 1000

local function median(times)
  table.sort(times)
  return times[math.floor(#times / 2) + 1]
end

--- CPU seconds of two functions, run in turns.
local function race(ours, theirs)
  local times = { {}, {} }
  for _ = 1, ROUNDS do
    for i, run in ipairs({ ours, theirs }) do
      collectgarbage()
      local start = os.clock()
      run()
      table.insert(times[i], os.clock() - start)
    end
  end
  return median(times[1]), median(times[2])
end

local function report(name, ours, theirs)
  print(("%-16s %7.3f s   lua-cjson %7.3f s   ratio %.2f"):format(name, ours, theirs, theirs / ours))
end

local function record(i)
  return {
    id = i * 7919,
    name = ("Item %d of the list"):format(i),
    description = 'It says "hello"\nand goes on for a while, as descriptions do; caf\195\169.',
    price = i * 0.37,
    weight = math.random(),
    active = i % 3 == 0,
    parent = json.null,
    tags = { "red", "green", "blue", "tag" .. i % 50 },
    position = { x = math.random() * 100, y = i % 1000 / 8, layers = { 1, 2, 3, i } },
  }
end

local function sparse(i)
  return { id = i, labels = {}, meta = {}, delta = { extra = {} }, list = { {}, {} } }
end

local function number()
  return (math.random() - 0.5) * 10 ^ math.random(-20, 20)
end

local function text(i)
  return ("plain text number %d, and some more of it "):format(i):rep(i % 5 + 1)
end

--- The text of an array of make(1), make(2), ... of about SIZE bytes.
local function document(make)
  local items, size = {}, 0
  while size < SIZE do
    local item = assert(json.encode(make(#items + 1)))
    items[#items + 1] = item
    size = size + #item + 1
  end
  return "[" .. table.concat(items, ",") .. "]"
end

for _, kind in ipairs({ { "records", record }, { "empties", sparse }, { "doubles", number }, { "strings", text } }) do
  local source = document(kind[2])
  local value = assert(json.decode(source))
  report("decode " .. kind[1], race(function()
    return json.decode(source)
  end, function()
    return cjson.decode(source)
  end))
  report("encode " .. kind[1], race(function()
    return json.encode(value)
  end, function()
    return cjson.encode(value)
  end))
end
