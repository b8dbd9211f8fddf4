--- Every style of parameter against httpbin, which says what it read: is it what OpenAPI's tables of styles say?
--- Expected texts are written here once more, undecoded, from the tables "Style Values" and "Style Examples".
local document = require("spec.openapi.suite.document")
local free_port = require("spec.support.free_port")
local json = require("operations.base.json")
local members = require("operations.base.members")
local operations = require("operations")
local property_order = require("operations.base.property_order")
local url = require("operations.base.url")

local styles = {}

-- All of the document's parameters have these names and types.
local values = {
  primitive = "a b&c=d%20", array = json.decode('["x y", "z?"]'),
  object = { description = "1+1", name = "Ada; #", foo = "f&o", bar = "b=r" },
}

--- The value of a parameter; an object has the order of its schema.
local function value_of(name, schema)
  local properties = schema.properties or {}
  return name == "object" and property_order.carry(members.copy(values.object), properties) or values[name]
end

--- The members of an object and the items of an array as a flat list: name, value, ...; or name=value, ...
local function flat(value, joint)
  local list = {}
  for _, item in ipairs(value) do
    list[#list + 1] = item
  end
  for _, name in ipairs(#value == 0 and property_order.names(value) or {}) do
    list[#list + 1] = joint and name .. joint .. value[name] or name
    list[#list + 1] = not joint and value[name] or nil
  end
  return list
end

local function prefixed(list, prefix)
  local copy = {}
  for i, item in ipairs(list) do
    copy[i] = prefix .. item
  end
  return table.concat(copy)
end

local paths = {}

function paths.simple(_, value, explode)
  return table.concat(flat(value, explode and "="), ",")
end

function paths.label(_, value, explode)
  return explode and prefixed(flat(value, "="), ".") or "." .. table.concat(flat(value), ",")
end

function paths.matrix(name, value, explode)
  if not explode then
    return ";" .. name .. "=" .. table.concat(flat(value), ",")
  elseif #value > 0 then
    return prefixed(flat(value), ";" .. name .. "=")
  end
  return prefixed(flat(value, "="), ";")
end

local function one(value)
  return type(value) == "table" and value or { value }
end

local separators = { form = ",", spaceDelimited = " ", pipeDelimited = "|" }

--- The query arguments as httpbin shows them: a list where a name came more than once.
local function add_query(args, parameter, value)
  local name, style = parameter.name, parameter.style or "form"
  local explode = parameter.explode == nil and style == "form" or parameter.explode
  if style == "deepObject" and type(value) == "table" then
    for key, item in pairs(#value == 0 and value or { [""] = value }) do -- arrays are not in the table
      args[name .. "[" .. key .. "]"] = item
    end
  elseif not explode then
    args[name] = table.concat(flat(one(value)), separators[style])
  elseif type(value) == "table" and #value == 0 then
    for key, item in pairs(value) do
      args[key] = item
    end
  else
    args[name] = value
  end
end

local function object_text(value)
  local parts = {}
  for i, name in ipairs(property_order.names(value)) do
    parts[i] = ("%s:%s"):format(document.text(name), document.text(value[name]))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

--- The parts of a form: before 3.1 `style` is for urlencoded bodies alone.
local function form(schema, encoding)
  local fields = {}
  for name, property in pairs(schema.properties) do
    local how, value = encoding and encoding[name], value_of(name, property)
    if how then
      add_query(fields, { name = name, style = how.style, explode = how.explode }, value)
    else
      fields[name] = name == "object" and object_text(value) or value
    end
  end
  return fields
end

local function form_of(root, operation)
  local media = operation.requestBody and operation.requestBody.content["multipart/form-data"]
  return media and form(media.schema, root.openapi:find("^3%.1") and media.encoding) or {}
end

--- What httpbin should say of a call with all parameters of an operation.
local function expected(root, definition)
  local operation, path = document.operation(root, definition), definition._meta.path:gsub("#.*", "")
  local wanted = { args = {}, headers = {}, cookies = {}, path = path, form = form_of(root, operation) }
  for _, parameter in ipairs(operation.parameters or {}) do
    local name, value = parameter.name, value_of(parameter.name, parameter.schema)
    if parameter["in"] == "query" then
      add_query(wanted.args, parameter, value)
    elseif parameter["in"] == "cookie" then
      add_query(wanted.cookies, parameter, value)
    elseif parameter["in"] == "header" then
      wanted.headers[name:gsub("^%l", string.upper)] = paths.simple(name, one(value), parameter.explode)
    else
      local text = paths[parameter.style or "simple"](name, one(value), parameter.explode)
      wanted.path = wanted.path:gsub("{" .. name .. "}", (text:gsub("%%", "%%%%")))
    end
  end
  return wanted
end

local input_of

function input_of(schema)
  local input = {}
  for name, property in pairs(schema.properties) do
    input[name] = name == "body" and input_of(property) or values[name]
  end
  return input
end

-- httpbin's reader of cookies does not decode them, and keeps the first of a name.
local function cookies_of(echo)
  local cookies = {}
  for name, text in pairs(echo.cookies or {}) do
    cookies[name] = url.decode(text)
  end
  return cookies
end

local function first(value)
  return type(value) == "table" and value[1] or value
end

local function difference(wanted, echo)
  for name, text in pairs(wanted.headers) do
    if echo.headers[name] ~= text then
      return ("header %s: expected %q, got %q"):format(name, text, tostring(echo.headers[name]))
    end
  end
  local cookies = cookies_of(echo)
  for name, value in pairs(wanted.cookies) do
    if cookies[name] ~= first(value) then
      return ("cookie %s: expected %q, got %q"):format(name, first(value), tostring(cookies[name]))
    end
  end
  local path = echo.url and url.decode(echo.url:match("^http://[^/]+([^?]*)")) or wanted.path
  for what, pair in pairs({ path = { wanted.path, path }, args = { wanted.args, echo.args or {} },
    form = { wanted.form, echo.form or {} } }) do
    if document.text(pair[1]) ~= document.text(pair[2]) then
      return ("%s: expected %s, got %s"):format(what, document.text(pair[1]), document.text(pair[2]))
    end
  end
end

local function start()
  local port = free_port()
  local child = assert(operations.process.spawn({
    "/usr/bin/python3", "-c", ("from httpbin import app; app.run(port=%d, threaded=True)"):format(port), shared = true,
  }))
  local address = "http://127.0.0.1:" .. port
  while not operations.http.request({ url = address .. "/get" }) do
    operations.sleep(0.1)
  end
  return child, address
end

local function check(path, address, fail)
  local definitions = assert(operations.from_openapi.file(path, { base_url = address, namespace = "api" }))
  local registry = operations.registry({ normalize = "off", on_warning = function() end })
  assert(registry:register_all(definitions))
  local root, count = document.read(path), 0
  for _, definition in ipairs(definitions) do
    local id = "api." .. definition.name
    local envelope, err = registry:execute(id, input_of(registry:get_spec(id).inputSchema))
    local wanted = expected(root, definition)
    local reason = err and tostring(err) or difference(wanted, envelope.data)
    if reason then
      fail("parameters-style " .. root.openapi, definition.name, reason)
    end
    count = count + (reason and 0 or 1)
  end
  print(("%-20s %4d operations   read by httpbin as meant: %4d"):format("parameters-style " .. root.openapi:sub(1, 3),
    #definitions, count))
end

---@param places { packages: string }
---@param fail fun(...: string)
function styles.run(places, fail)
  local child, address = start()
  for _, version in ipairs({ "3.0", "3.1" }) do
    check(places.packages .. "/@readme/oas-examples/" .. version .. "/json/parameters-style.json", address, fail)
  end
  child:stop()
end

return styles
