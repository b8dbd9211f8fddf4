-- A document of every kind of value, read and written.
local core = require("operations.core")
local json = require("operations.base.json")

local text = '{"array":[1,2.5,-3,"caf\\u00e9 \\ud83d\\ude00",true,false,null,[],{},18446744073709551615],'
  .. '"deep":[[[[{"a":[0]}]]]],"name":"x"}'

local parts = {}
for i = 1, 40 do
  parts[i] = '"' .. ("y"):rep(i * 9) .. '"'
end
local long = "[" .. table.concat(parts, ",") .. "]"

return function()
  local value = assert(json.decode(text))
  local array = value.array
  assert(tostring(array[10]) == "18446744073709551615")
  assert(#array == 10 and array[2] == 2.5 and array[4] == "caf\195\169 \240\159\152\128" and array[7] == json.null)
  assert(value.deep[1][1][1][1].a[1] == 0)
  local again = assert(json.decode(assert(json.encode(value, { sort_keys = true, indent = 2 }))))
  assert(again.array[3] == -3 and again.name == "x")
  assert(json.encode(assert(json.decode(long))) == long)
  local decoder = json.decoder()
  for i = 1, #text, 7 do
    assert(decoder:feed(text:sub(i, i + 6)))
  end
  assert(assert(decoder:finish()).array[4] == array[4])
  local escaped = json.decoder() -- its room grows at the escape, and at the end
  assert(escaped:feed('"\\n' .. long:gsub('"', "") .. '"'))
  assert(assert(escaped:finish()) == "\n" .. long:gsub('"', ""))
  local feed, next_value = core.json_lines(2000)
  feed(long .. "\n{\"id\":1}\n" .. long:sub(1, 100))
  assert(select("#", next_value()) == 5 and next_value().id == 1 and next_value() == nil)
  feed("\n" .. ("z"):rep(3000) .. "\n")
  local _, no_json = next_value()
  assert(no_json.code == "VALIDATION_ERROR" and select(5, next_value()) == 3000)
  feed(nil)
  assert(core.json_members("a", long, "b", nil) == '{"a":' .. assert(json.encode(long)) .. "}")
  local deep = ("[1,"):rep(600) .. '"' .. ("\\n"):rep(600) .. '"' .. ("]"):rep(600)
  local limits = { max_depth = 600 }
  assert(json.encode(assert(json.decode(deep, limits)), limits) == deep)
  local _, err = json.decode("[1, 2")
  assert(err.code == "VALIDATION_ERROR", err.message)
end
