--- `operations export`: prints the OpenAPI document of what `operations serve` would serve, or the types of operations.
local destination = require("operations.cli.destination")
local exposures = require("operations.cli.exposure")
local operations = require("operations")
local output = require("operations.cli.output")
local files = require("operations.base.files")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")

local export = {
  usage = "operations export [SOURCE...] [OPTIONS] > api.json",
  summary = "Prints the OpenAPI document of the operations of its sources, the same that\n"
    .. "`operations serve` has at /openapi.json; or, with --types, their types.",
  options = {
    { name = "--types", value = "FORMAT", values = { "lua", "typescript", "json-schema" },
      help = "types for editors: lua, typescript or json-schema" },
    { name = "--output", short = "-o", value = "FILE",
      help = "write to FILE; types: {namespace} in it makes several" },
    { name = "--check", help = "exit 1 where FILE of -o is not what would be written" },
    { name = "--version", value = "VERSION", help = "version of OpenAPI: 3.0, 3.1 (default) or 3.2" },
    { name = "--title", value = "TEXT", help = "title of the API (Operations)" },
    { name = "--api-version", value = "TEXT", help = "version of the API (1.0.0)" },
    { name = "--server", value = "URL", many = true, help = "URL of the API (the origin of the document)" },
    { name = "--prefix", value = "/PATH", help = "prefix of all paths, without --server" },
    exposures.option, rules.policy, rules.read_only, rules.transform,
  },
}

local function servers_of(urls)
  local servers = {}
  for i, url in ipairs(urls or {}) do
    servers[i] = { url = url }
  end
  return servers[1] and servers
end

-- Prints, writes or compares the text.
local function give(text, given, path)
  path = path or given.output
  if not path then
    output.text(text, true)
    return output.codes.OK
  end
  local old = files.read(path)
  if given.check and old ~= text then
    output.complain("%s is %s: run the command without --check", path, old and "out of date" or "not there")
    return output.codes.UNKNOWN_ERROR
  elseif old ~= text then
    local place = destination.file(path)
    local _, message = pcall(function()
      place:write(text)
      return place:finish()
    end)
    if place.problem or message then
      return output.usage("%s", tostring(place.problem or message))
    end
  end
  return output.codes.OK
end

local function namespaces_of(registry)
  local list, seen = {}, {}
  for _, spec in ipairs((registry:specs())) do
    list[#list + 1] = not seen[spec.namespace] and spec.namespace or nil
    seen[spec.namespace] = true
  end
  return list
end

-- Types are of all operations, exposed or not: what a program of one's own can call.
local function export_types(parsed)
  local given = parsed.options
  local problems = {}
  local registry, code = sources.registry(parsed, { names = parsed.rest, is_routed = true, problems = problems,
    all = true })
  if not registry or problems[1] then
    return code or output.codes.SOURCE
  end
  local result = output.codes.OK
  local is_split = given.output and given.output:find("{namespace}", 1, true)
  for _, namespace in ipairs(is_split and namespaces_of(registry) or { false }) do
    local text, err = operations.types(registry, { format = given.types,
      namespaces = namespace and { namespace } or nil })
    if not text then
      return output.usage("--types: %s", err.message)
    end
    local name = namespace and namespace:gsub("[^%w_-]", "_")
    local done = give(text, given, name and given.output:gsub("{namespace}", name) or nil)
    result = done ~= output.codes.OK and done or result
  end
  return result
end

---@param parsed operations.cli.Arguments
---@return integer code
function export.run(parsed)
  if parsed.options.check and not parsed.options.output then
    return output.usage("--check needs the file: -o FILE")
  elseif parsed.options.types then
    return export_types(parsed)
  end
  local given, version = parsed.options, parsed.options.version or "3.1"
  if version ~= "3.0" and version ~= "3.1" and version ~= "3.2" then
    return output.usage("--version: expected 3.0, 3.1 or 3.2, got %q", version)
  elseif given.prefix and not given.prefix:find("^/[^?#%s]*[^/?#%s]$") then
    return output.usage("--prefix: expected a path such as /api, got %q", given.prefix)
  end
  local exposure = exposures.new(parsed)
  local problems = {}
  local registry, code = sources.registry(parsed, { exposure = exposure, names = parsed.rest, is_routed = true,
    problems = problems })
  if not registry or problems[1] then -- a document without a part of its operations would pass for the whole
    return code or output.codes.SOURCE
  end
  local server, err = operations.to_http(registry, { prefix = given.prefix, log = sources.logger(given.verbose),
    openapi = { info = { title = given.title, version = given["api-version"] }, servers = servers_of(given.server) } })
  if not server then
    return output.fail(err)
  end
  exposure:tell(registry)
  return give(output.encode(server:openapi(version), true) .. "\n", given)
end

return export
