--- Inputs made of samples: texts whose bytes change, and JSON whose values do.
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local random = require("spec.support.random")

local mutate = {}

local MAX_BYTES = 4096

local bytes = { "\0", "\n", "\r\n", "\t", " ", "\255", "\195", "\226\130\172", "\240\159\152\128", "%", "\\", '"', "'" }

local function some_bytes(words)
  local dice = random.upto(3)
  if dice == 1 then
    return string.char(random.upto(256) - 1)
  end
  return random.pick(dice == 2 and bytes or words)
end

local function edit(text, samples, words)
  local at = random.upto(#text + 1)
  local past = at + random.upto(random.chance(80) and 3 or 40) - 1
  local before, cut, after = text:sub(1, at - 1), text:sub(at, past - 1), text:sub(past)
  local dice = random.upto(6)
  if dice == 1 then
    return before .. after -- cut out
  elseif dice == 2 then
    return before .. cut .. cut .. after -- doubled
  elseif dice == 3 then
    local other = random.pick(samples)
    return before .. other:sub(random.upto(#other + 1)) -- the beginning of one, the end of another
  elseif dice == 4 then
    return before .. some_bytes(words) .. after -- replaced
  elseif dice == 5 and random.chance(20) then
    return before .. some_bytes(words):rep(random.upto(200)) .. cut .. after
  end
  return before .. some_bytes(words) .. cut .. after
end

--- One of the samples with some of its bytes changed.
---@param samples string[]
---@param words string[]  what is put in, beside any bytes
---@return string
function mutate.text(samples, words)
  local text = random.pick(samples)
  for _ = 1, random.upto(6) - 1 do
    text = edit(text, samples, words)
  end
  return text:sub(1, MAX_BYTES)
end

local scalars = {
  json.null, true, false, 0, -1, 1, 2, 0.5, 1e308, 2 ^ 53, 400, "", "a", "0", "\0", "\195\164", " ", "/", "#/", "~1",
  "2026-11-23T10:00:00Z", ("x"):rep(300),
}

--- Any small JSON value.
---@param words string[]  names and texts
---@param depth integer
---@return any
function mutate.value(words, depth)
  local dice = random.upto(depth > 0 and 10 or 7)
  if dice <= 4 then
    return random.pick(scalars)
  elseif dice <= 7 then
    return random.pick(words)
  end
  local is_list, value = dice == 8, {}
  for i = 1, random.upto(4) - 1 do
    value[is_list and i or random.pick(words)] = mutate.value(words, depth - 1)
  end
  return is_list and marked.array(value) or marked.object(value)
end

-- Every place in a value, { container, key }, in an order that is the same in every process.
local function places(value, list)
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    list[#list + 1] = { value, key }
    if type(value[key]) == "table" then
      places(value[key], list)
    end
  end
  return list
end

local function change(root, words)
  local list = places(root, {})
  local place = random.pick(list)
  local container, key = place[1], place[2]
  local dice = random.upto(6)
  if dice == 1 then
    if container == root then
      root[1] = mutate.value(words, 3)
    elseif type(key) == "number" then
      table.remove(container, key)
    else
      container[key] = nil
    end
  elseif dice == 2 and type(key) == "string" then
    container[random.pick(words)] = container[key]
  elseif dice == 3 then
    local other = random.pick(list)
    container[key] = json.decode(json.encode(other[1][other[2]]) or "null") -- a copy
  else
    container[key] = mutate.value(words, 3)
  end
end

--- One of the samples with some of its values changed.
---@param samples string[]  JSON texts
---@param words string[]  names and texts that are put in
---@return string  JSON
function mutate.json(samples, words)
  local root = { json.decode(random.pick(samples)) }
  for _ = 1, random.upto(5) - 1 do
    change(root, words)
  end
  return json.encode(root[1]) or "null"
end

return mutate
