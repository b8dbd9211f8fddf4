--- Bodies of multipart/form-data: whatever a caller gives, what is sent can be read again by RFC 2046 and has the same
--- parts: no text, name, type or header can end its part, or begin another.
local core = require("operations.core")
local json = require("operations.base.json")
local mutate = require("spec.fuzz.mutate")
local operations = require("operations")
local support = require("spec.support.openapi")

local document = json.decode([[{
  "paths": {"/a": {"post": {"operationId": "send",
  "requestBody": {"required": true, "content": {"multipart/form-data": {
    "schema": {"properties": {
      "file": {"type": "string", "format": "binary"}, "files": {"type": "array", "items": {"format": "binary"}},
      "object": {"type": "object"}, "list": {"type": "array", "items": {"type": "integer"}}, "deep": {"type": "object"}
    }},
    "encoding": {
      "file": {"contentType": "image/png", "headers": {"X-A": {"schema": {"type": "string"}}}},
      "deep": {"style": "deepObject", "explode": true}
    }
  }}}, "responses": {"200": {"description": ""}}}}}
}]])
local samples = {
  '{"file": "bytes", "list": [1, 2], "object": {"a": 1}, "deep": {"a": {"b": 1}}, "x": "y"}', '{"": "", "a\\"b": "c"}',
  '{"file": {"data": "x", "filename": "a.png", "contentType": "a/b", "headers": {"X-A": "b"}}, "other": {"data": "y"}}',
  '{"files": ["a", {"data": "--", "filename": "\\r\\n"}], "note": "--\\r\\n--operations"}',
}
local words = {
  "file", "files", "data", "filename", "contentType", "headers", "X-A", "Content-Type", "object", "list", "deep",
  "\r\n",
  "\r\n\r\n", "--", "\r\n--operations-", '"', '"; filename="x', "a/b", "a/b; c=\"d\"", "a/b\r\nX: y", "\r", "\n", "\\",
}
local requests = {}
local registry = operations.registry()
assert(registry:register_all(support.api(document, { namespace = "api" }, function(request)
  requests[#requests + 1] = request
  return { status = 200, headers = {}, body = "" }
end).definitions))

-- The parts of a body, each { head, text }.
local function parts_of(body, boundary)
  local parts, delimiter = {}, "\r\n--" .. boundary
  local text, at = "\r\n" .. body, 1
  while true do
    local first, last = text:find(delimiter, at, true)
    assert(first, "no boundary where one is expected")
    assert(at == 1 and first == 1 or at > 1, "bytes before the first part")
    if #parts > 0 then
      parts[#parts] = text:sub(at, first - 1)
    end
    if text:sub(last + 1, last + 2) == "--" then
      assert(text:sub(last + 3) == "\r\n", "bytes behind the last part")
      return parts
    end
    assert(text:sub(last + 1, last + 2) == "\r\n", "a boundary that goes on")
    parts[#parts + 1], at = "", last + 3
  end
end

local function check_part(part, value)
  local head, text = part:match("^(.-\r\n)\r\n(.*)$")
  assert(head, "a part without a head")
  local name = head:match('^Content%-Disposition: form%-data; name="([^"\r\n]*)"')
  assert(name, "a part without a name")
  for line in head:gmatch("(.-)\r\n") do
    assert(line:find("^[%w-]+: [^%c]*$") or line:find("^[^%s:]+: [^%c]*$"), "a line that is no header")
  end
  name = name:gsub("%%0D", "\r"):gsub("%%0A", "\n"):gsub("%%22", '"')
  local given = value[name]
  if type(given) == "string" then
    assert(text == given, "another text than that given")
  end
end

return {
  make = function()
    return mutate.json(samples, words)
  end,
  run = function(input)
    local value = json.decode(input)
    requests = {}
    local envelope, err = registry:execute("api.send", { body = value })
    assert(envelope or operations.is_error(err), "fails without an error object")
    local request = requests[1]
    if not request or type(request.body) ~= "string" then
      return
    end
    local boundary = request.headers["Content-Type"]:match("^multipart/form%-data; boundary=([%w-]+)$")
    assert(core.kind(value) == "object", "a body that is no object is sent")
    for _, part in ipairs(parts_of(request.body, assert(boundary, "no boundary"))) do
      check_part(part, value)
    end
  end,
}
