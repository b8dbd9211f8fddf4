--- The fields that OAuth sends in bodies and queries (application/x-www-form-urlencoded).
local members = require("operations.base.members")
local url = require("operations.base.url")

local form = {}

--- Writes fields in the order of their names; a list gives one field per item.
---@param fields table<string, string|string[]>
---@return string
function form.encode(fields)
  local texts = {}
  for _, name in ipairs(members.names(fields)) do
    local value = fields[name]
    for _, item in ipairs(type(value) == "table" and value or { value }) do
      texts[#texts + 1] = url.encode(name) .. "=" .. url.encode(item)
    end
  end
  return table.concat(texts, "&")
end

local function decode_text(text)
  return url.decode((text:gsub("%+", " ")))
end

--- Reads fields. Of one that is there twice, which OAuth forbids, there is nothing but its name in the second result.
---@param text string
---@return table<string, string> fields
---@return table<string, true> repeated
function form.decode(text)
  local fields, repeated = {}, {}
  for pair in text:gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    name = decode_text(name)
    if fields[name] or repeated[name] then
      fields[name], repeated[name] = nil, true
    else
      fields[name] = decode_text(value)
    end
  end
  return fields, repeated
end

return form
