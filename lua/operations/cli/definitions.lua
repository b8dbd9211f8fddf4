--- Reads definitions of Lua files, and registers them. Each problem is told in a line that begins with the file.
local errors = require("operations.base.error")
local output = require("operations.cli.output")
local scanner = require("operations.registry.scanner")
local specs = require("operations.registry.spec")
local system = require("operations.system")

local definitions = {}

local paths = setmetatable({}, { __mode = "k" }) -- of the files that definitions are from

--- The file that a definition is from.
---@param definition operations.Definition
---@return string?  nil: it is from no Lua file
function definitions.path(definition)
  return paths[definition]
end

--- Reads one file; tells its problems.
---@param path string
---@return operations.Definition[] list
---@return boolean whole  there were no problems
function definitions.file(path)
  local list, problems = scanner.load(path)
  for _, problem in ipairs(problems) do
    output.problem(problem)
  end
  for _, definition in ipairs(list) do
    paths[definition] = path
  end
  return list, #problems == 0
end

local function directory(place)
  local files, problems = scanner.files(place)
  if not files then
    return nil, problems
  end
  for _, problem in ipairs(problems) do
    output.problem(problem)
  end
  if #files == 0 and #problems == 0 then
    output.complain("warning: no Lua files (*.lua) in %s", place)
  end
  local list = {}
  for _, path in ipairs(files) do
    for _, definition in ipairs((definitions.file(path))) do
      list[#list + 1] = definition
    end
  end
  return list
end

--- Reads a file or a directory. Files of a directory that have problems are passed over; the one file that was asked
--- for must be right.
---@param place string
---@return operations.Definition[]? list  nil without an error: the problems were told
---@return operations.Error? err  the directory cannot be read
function definitions.read(place)
  if system.kind(place) == "directory" then
    return directory(place)
  end
  local list, whole = definitions.file(place)
  return whole and list or nil
end

-- The refusal of a definition without a handler: the command line registers none later.
local function without_handler(definition)
  local _, err = specs.check(definition)
  return err or errors.new("VALIDATION_ERROR", "handler: expected a function, got nil",
    { { path = "/handler", keyword = "required", message = "expected a function, got nil" } })
end

--- Registers a definition. It must have a handler, unless calls of it go elsewhere.
---@param registry operations.Registry
---@param definition operations.Definition
---@param options? { replace?: boolean, is_routed?: boolean }
---@return string? id
---@return operations.Error? err
function definitions.register(registry, definition, options)
  options = options or {}
  if definition.handler == nil and not options.is_routed then
    return nil, without_handler(definition)
  end
  return registry:register(definition, { replace = options.replace })
end

--- Tells why a definition was not registered.
---@param definition operations.Definition
---@param err operations.Error
function definitions.tell(definition, err)
  local place = ("%s: %s.%s: "):format(paths[definition], definition.namespace, definition.name)
  for _, issue in ipairs(err.details) do
    output.complain("%s%s: %s", place, issue.path, issue.message)
  end
end

return definitions
