--- `operations call --lua-code`: the Lua program that makes the same call.
local core = require("operations.core")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")
local output = require("operations.cli.output")
local printable = require("operations.base.printable")
local property_order = require("operations.base.property_order")
local loader = require("operations.sources.loader")
local secret = require("operations.sources.secret")

local lua_code = {}

local FIRST = 'local operations = require("operations")'
local WIDTH = 60 -- a longer table is written in lines

local reserved = members.set({ "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
  "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while" })

---@class operations.cli.Code  a piece of Lua among data
---@field code string

local function numbered(bytes)
  return (bytes:gsub(".", function(byte)
    return ("\\%03d"):format(byte:byte())
  end))
end

-- A text as Lua, its unprintable characters as numbers.
local function quoted(text)
  text = text:gsub('["\\]', "\\%0"):gsub("[\n\t]", { ["\n"] = "\\n", ["\t"] = "\\t" })
  return '"' .. printable.replace(text, numbered) .. '"'
end

local function name_of(key)
  return key:find("^[%a_][%w_]*$") and not reserved[key] and key or "[" .. quoted(key) .. "]"
end

local literal

-- The members of an object or the items of a list, in one line or in several.
local function braced(parts, indent)
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #line <= WIDTH - #indent and not line:find("\n", 1, true) then
    return line
  end
  return "{\n" .. indent .. "  " .. table.concat(parts, ",\n" .. indent .. "  ") .. ",\n" .. indent .. "}"
end

-- A value as Lua; the indentation is that of the line it begins in.
function literal(value, indent)
  local kind = core.kind(value)
  if type(value) == "table" and value.code then
    return value.code
  elseif kind == "string" then
    return quoted(value)
  elseif value == core.null then
    return "operations.null"
  elseif kind == "object" or kind == "array" then
    local parts = {}
    for _, key in ipairs(kind == "object" and property_order.names(value) or {}) do
      parts[#parts + 1] = name_of(key) .. " = " .. literal(value[key], indent .. "  ")
    end
    for i, item in ipairs(kind == "array" and value or {}) do
      parts[i] = literal(item, indent .. "  ")
    end
    return parts[1] and braced(parts, indent) or ("operations.%s()"):format(kind)
  end
  return number_text.of(value)
end

-- A secret: a variable of the environment, or a place for the reader to fill in.
local function secret_of(word)
  local variable = word:match("^env:(.+)$")
  return { code = variable and ("os.getenv(%s)"):format(quoted(variable))
    or ("os.getenv(%s)"):format(quoted("TOKEN")) .. " --[[ " .. (secret.is_reference(word) and word:gsub("%]%]", "")
      or "the given one") .. " ]]" }
end

-- Members of configurations whose names differ from the options.
local names = { openapi = { ["base-url"] = "base_url" }, graphql = { ["base-url"] = "endpoint" } }

-- The configuration of a document by the options of the command line, and the options that it leaves out.
local function config_of(kind, order)
  local config, left_out = {}, {}
  for _, option in ipairs(order) do
    local name, value = option.name, option.value
    local header, content = tostring(value):match("^([^:%s]+):%s*(.*)$")
    if name == "base-url" or name == "namespace" or name == "subscriptions" then
      config[names[kind][name] or name] = value
    elseif name == "bearer" then
      config.auth = { type = "bearer", token = secret_of(value) }
    elseif name == "header" and header then
      config.headers = config.headers or {}
      config.headers[header] = secret.is_reference(content) and secret_of(content) or content
    elseif name == "redirect-all" or name == "remote-refs" or name == "lenient" then
      config[name:gsub("-", "_")] = true
    elseif members.contains(lua_code.of_sources, name) then
      left_out[#left_out + 1] = "--" .. name
    end
  end
  return config, left_out
end

--- Options of sources and connections that a program is not given.
lua_code.of_sources = { "basic", "api-key", "document-header", "ref-root", "patch", "no-check", "client-id",
  "client-secret", "scope", "documents", "ca-file", "cert", "key", "proxy",
  "unix-socket", "next-page", "insecure", "retry" }

-- The lines that load a remembered source.
local function of_remembered(source, parsed)
  local profile = parsed.options.profile
  local left_out = {}
  for _, option in ipairs(parsed.order) do
    local is_left = members.contains(lua_code.of_sources, option.name) or option.name == "bearer"
      or option.name == "header" or option.name == "base-url"
    left_out[#left_out + 1] = is_left and "--" .. option.name or nil
  end
  return { ("local source = assert(operations.sources.load(%s%s))"):format(quoted(source.name),
    profile and (", { profile = %s }"):format(quoted(profile)) or ""), "local registry = source.registry" }, left_out
end

-- The lines that read a document of the command line.
local function of_document(source, parsed)
  local config, left_out = config_of(source.kind, parsed.order)
  local from = source.place:find("^https?://") and "url" or "file"
  return { "local registry = operations.registry()",
    ("assert(registry:register_all(assert(operations.from_%s.%s(%s%s))))"):format(source.kind, from,
      quoted(source.place), next(config) and ", " .. literal(config, "") or "") }, left_out
end

-- The arguments of a call; the deadline counts from its beginning.
local function arguments_of(asked, options)
  local context = {}
  context.identity = asked.context.identity
  if options.timeout then
    context.deadline = { code = ("operations.now() + %d"):format(math.ceil(tonumber(options.timeout) * 1000)) }
  end
  local input, has_context = literal(asked.input, ""), next(context) ~= nil
  return quoted(asked.id) .. ((has_context or input ~= "operations.object()") and ", " .. input or "")
    .. (has_context and ", " .. literal(context, "") or "")
end

local function call_lines(asked, options)
  local arguments = arguments_of(asked, options)
  if asked.spec.type == "subscription" then
    return { ("local subscription = assert(registry:subscribe(%s))"):format(arguments),
      "for envelope in subscription do", "  print(operations.json.encode(envelope.data))", "end" }
  elseif options.all or options["max-items"] then
    return { ("for page in assert(registry:pages(%s)) do"):format(arguments),
      "  print(operations.json.encode(page.data))", "end" }
  end
  return { ("local envelope = assert(registry:execute(%s))"):format(arguments),
    "print(operations.json.encode(envelope.data))" }
end

--- Prints the program.
---@param asked operations.cli.Request
---@param parsed operations.cli.Arguments
---@return integer code
function lua_code.run(asked, parsed)
  local source = asked.sources[1]
  if #asked.sources ~= 1 or not source.name and not loader.has_document(source) or parsed.added then
    return output.usage("--lua-code: remember the source first (operations add NAME ...), and call NAME.%s",
      asked.spec.name)
  end
  local lines, left_out = (source.name and of_remembered or of_document)(source, parsed)
  lines = members.joined({ FIRST }, lines, call_lines(asked, parsed.options),
    source.name and { "source:close()" } or {})
  output.text(table.concat(lines, "\n") .. "\n")
  if parsed.options.select then
    left_out[#left_out + 1] = "--select"
  end
  if left_out[1] then
    output.notice("not in the program: %s", table.concat(left_out, ", "))
  end
  return output.codes.OK
end

return lua_code
