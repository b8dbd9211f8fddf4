--- `operations export`: prints the OpenAPI document of what `operations serve` would serve.
local exposures = require("operations.cli.exposure")
local operations = require("operations")
local output = require("operations.cli.output")
local rules = require("operations.cli.rules")
local sources = require("operations.cli.sources")

local export = {
  usage = "operations export [SOURCE...] [OPTIONS] > api.json",
  summary = "Prints the OpenAPI document of the operations of its sources, the same that\n"
    .. "`operations serve` has at /openapi.json.",
  options = {
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

---@param parsed operations.cli.Arguments
---@return integer code
function export.run(parsed)
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
  output.data(server:openapi(version), true)
  return output.codes.OK
end

return export
