--- URLs for programs: encoding, parsing, resolving.
local argument = require("operations.base.argument")
local core = require("operations.core")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local url = require("operations.base.url")

---@class operations.url
local address = {}

--- Percent-encodes everything but unreserved characters (RFC 3986, 2.3): for a segment of a path, or a value.
---@param text string
---@return string
function address.encode(text)
  argument.expect(text, "string", 1, "encode")
  return url.encode(text)
end

--- Decodes percent-encoding. A "+" stays.
---@param text string
---@return string
function address.decode(text)
  argument.expect(text, "string", 1, "decode")
  return url.decode(text)
end

--- The parts of an absolute URL, as they are written.
---@param text string
---@return operations.Url?  nil when it is not an absolute URL with an authority
function address.parse(text)
  argument.expect(text, "string", 1, "parse")
  return url.parse(text)
end

--- Resolves a reference against an absolute URL (RFC 3986, 5.2).
---@param base string
---@param reference string
---@return string?  nil when `base` is not absolute
function address.resolve(base, reference)
  argument.expect(base, "string", 1, "resolve")
  argument.expect(reference, "string", 2, "resolve")
  return url.resolve(base, reference)
end

local function text_of(name, value, level)
  local kind = type(value)
  if kind == "number" then
    return number_text.of(value)
  elseif kind == "string" then
    return value
  elseif kind == "boolean" then
    return tostring(value)
  end
  error(("bad value of %q (string, number or boolean expected, got %s)"):format(tostring(name), kind), level + 1)
end

--- A query, or a form as `application/x-www-form-urlencoded`: names sorted; a list is several pairs, null none.
---@param values table<string, string|number|boolean|table>
---@param level? integer  as for `error`
---@return string
function address.query(values, level)
  level = level or 2
  argument.expect(values, "table", 1, "query", level + 1)
  local pairs_of = {}
  for _, name in ipairs(members.names(values)) do
    local value = values[name]
    for _, each in ipairs(type(value) == "table" and value or { value }) do
      if each ~= core.null then
        pairs_of[#pairs_of + 1] = url.encode(name) .. "=" .. url.encode(text_of(name, each, level + 1))
      end
    end
  end
  return table.concat(pairs_of, "&")
end

return address
