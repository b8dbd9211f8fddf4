--- Documents that Prism cannot serve or not judge, against servers that say what they received: is it the input?
local calls = require("spec.openapi.suite.calls")
local document = require("spec.openapi.suite.document")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local property_order = require("operations.base.property_order")

local echoed = {}

--- Starts the echo server; ends with `child`.
local function start(packages)
  local child = assert(operations.process.spawn({
    "node", "spec/openapi/suite/echo.mjs", env = { NODE_PATH = packages }, shared = true,
  }))
  return child, "http://127.0.0.1:" .. assert(child:read_line())
end

--- What a value becomes when every scalar is text, and what is empty is not sent.
local function texts(value)
  if type(value) ~= "table" then
    return type(value) == "number" and ("%.14g"):format(value) or tostring(value)
  end
  local copy
  for key, item in pairs(value) do
    item = item ~= json.null and texts(item) or nil
    if item then
      copy = copy or setmetatable({}, getmetatable(value))
      copy[key] = item
    end
  end
  return copy
end

-- The order in which the document names the parts of an operation's body.
local function part_names(root, definition)
  local content = (document.operation(root, definition).requestBody or {}).content or {}
  local schema = (content["multipart/form-data"] or {}).schema
  return property_order.names((document.dereference(root, schema) or {}).properties or {})
end

--- The parts that a multipart body should have, by name and text; objects are JSON.
local function parts_of(body, names)
  local parts = json.decode("[]")
  for _, name in ipairs(names) do
    local value = body[name]
    for _, item in ipairs(getmetatable(value) == json.array_mt and value or value ~= nil and { value } or {}) do
      parts[#parts + 1] = { name = name, text = type(item) == "table" and document.text(item) or texts(item) }
    end
  end
  return parts
end

local function without_files(parts)
  for _, part in ipairs(parts) do
    part.filename, part.type = nil, nil
  end
  return parts
end

--- What should arrive. Parameters are told by the locations of the document.
local function expected(definition, input, locations)
  local query, path = {}, definition._meta.path
  for name, value in pairs(input) do
    if locations[name] == "query" then
      query[name] = value
    elseif locations[name] == "path" then
      path = path:gsub("{" .. name .. "}", (texts(value):gsub("%%", "%%%%")))
    end
  end
  return { path = path, query = texts(query) or {}, body = input.body }
end

local function body_difference(body, echo, names)
  if echo.parts then
    return document.text(parts_of(body, names)) ~= document.text(without_files(echo.parts)) and "parts"
  elseif echo.form then
    return document.text(texts(body) or {}) ~= document.text(echo.form) and "form"
  end
  return (body or "") ~= echo.text and "text"
end

local function locations_of(root, definition)
  local found = {}
  for _, parameter in ipairs(document.operation(root, definition).parameters or {}) do
    found[parameter.name] = parameter["in"]
  end
  return found
end

--- Is the request that came in that of the input? Nil, or where they differ.
local function difference(root, definition, input, echo)
  local locations, names = locations_of(root, definition), part_names(root, definition)
  local wanted = expected(definition, input, locations)
  local where = wanted.path ~= echo.path and "path"
    or document.text(wanted.query) ~= document.text(echo.query) and "query" or body_difference(wanted.body, echo, names)
  return where and ("%s: of %s came %s"):format(where, document.text(wanted[where] or wanted.body or ""),
    document.text(echo[where]))
end

local function check(entry, url, options, fail)
  local root = document.read(entry.file)
  local definitions = assert(operations.from_openapi.file(entry.file,
    { base_url = url, namespace = "api", auth = entry.auth }))
  local refused = calls.every(definitions, options, function(envelope, err, input, definition)
    return not envelope and tostring(err)
      or difference(root, definition, input, envelope.data) or nil
  end)
  local count = #definitions
  for _, name in ipairs(members.names(refused)) do
    count = count - 1
    fail(entry.name, name, refused[name]:sub(1, 1000))
  end
  print(("%-20s %4d operations   echoed as sent: %4d, %s, %d items in lists"):format(entry.name, #definitions, count,
    options.optional and "full" or "required only", options.items))
end

---@param places { packages: string, directory: string }
---@param fail fun(...: string)
function echoed.run(places, fail)
  local child, url = start(places.packages)
  local documents = {
    { name = "file-uploads", file = places.packages .. "/@readme/oas-examples/3.0/json/file-uploads.json" },
    { name = "Stripe", file = places.directory .. "/api/stripe.com.json",
      auth = { basicAuth = { username = "key", password = "" } } },
  }
  for _, entry in ipairs(documents) do
    for _, optional in ipairs({ true, false }) do
      check(entry, url, { optional = optional, items = optional and 2 or 1, text = "a&b=c +%5B]\"/ü" }, fail)
    end
  end
  child:stop()
end

return echoed
