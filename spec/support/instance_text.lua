--- Strings for schemas: by `format`, by `pattern`, by length. What comes out is checked by the caller.
local pattern_text = require("operations.people.pattern_text")

local instance_text = {}

local formats = {
  ["date-time"] = "2024-02-29T12:34:56Z",
  date = "2024-02-29",
  time = "12:34:56Z",
  duration = "P1DT2H",
  email = "ada@example.com",
  ["idn-email"] = "ada@example.com",
  hostname = "www.example.com",
  ["idn-hostname"] = "www.example.com",
  ipv4 = "192.0.2.1",
  ipv6 = "2001:db8::1",
  uri = "https://example.com/a?b=c",
  url = "https://example.com/a?b=c",
  iri = "https://example.com/a?b=c",
  ["uri-reference"] = "/a?b=c",
  ["iri-reference"] = "/a?b=c",
  ["uri-template"] = "/a/{b}",
  uuid = "123e4567-e89b-12d3-a456-426614174000",
  ["json-pointer"] = "/a/0",
  ["relative-json-pointer"] = "1/a",
  regex = "^a+$",
  byte = "Ynl0ZXM=",
}

local function characters(text)
  local _, count = text:gsub("[^\128-\191]", "")
  return count
end

local function first_characters(text, count)
  local at = 1
  for _ = 1, count do
    at = text:match("^[^\128-\191][\128-\191]*()", at) or at
  end
  return text:sub(1, at - 1)
end

--- A string for a schema of type string. The n-th differs from the others where nothing but length is asked for.
---@param schema table
---@param n integer
---@param free string  where the schema says no more
---@return string
function instance_text.of(schema, n, free)
  local least, most = schema.minLength or 0, schema.maxLength or math.huge
  if type(schema.pattern) == "string" then
    return pattern_text.of(schema.pattern, math.max(least, math.min(most, 1)))
  end
  local text = formats[schema.format] or free
  if n > 1 and not formats[schema.format] then
    text = text .. n
  elseif n > 1 then
    text = text:gsub("%d(%D*)$", (n - 1) % 10 .. "%1")
  end
  if characters(text) < least then
    text = text .. ("x"):rep(least - characters(text))
  end
  return characters(text) > most and first_characters(text, most) or text
end

return instance_text
