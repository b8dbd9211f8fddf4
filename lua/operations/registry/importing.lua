--- Reads the options of importers of every source: which operations are taken, who may call them, and how
--- their inputs and results are checked.
local importing = {}

---@class operations.ImporterOptions
---@field namespace? string  of the operations
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?  without it, the
---  program itself may call the operations, and they are not offered to others
---@field include? string[]|fun(info: table): boolean  takes these operations only
---@field exclude? string[]|fun(info: table): boolean  leaves these out
---@field normalize? "cast"|"force"|"off"
---@field on_mismatch? "warn"|"fail"
---@field validate? "on"|"warn"|"off"  of inputs, before they are sent; default "on"
---@field fill? boolean  false: required properties get no defaults

--- The kinds of these options, for `argument.options`.
importing.kinds = {
  namespace = "string", accessControl = "table or function", include = "table or function",
  exclude = "table or function", normalize = "string", on_mismatch = "string", validate = "string", fill = "boolean",
}

--- The values of those that have few.
importing.choices = {
  normalize = { "cast", "force", "off" }, on_mismatch = { "warn", "fail" }, validate = { "on", "warn", "off" },
}

local function is_in(filter, info, names)
  if type(filter) == "function" then
    return filter(info)
  end
  for _, wanted in ipairs(filter) do
    if names[wanted] then
      return true
    end
  end
  return false
end

--- Do `include` and `exclude` take an operation?
---@param options operations.ImporterOptions
---@param info table  what their functions get
---@param names table<string, true>  by which their lists may name it
---@return boolean
function importing.wants(options, info, names)
  return (options.include == nil or is_in(options.include, info, names))
    and not (options.exclude ~= nil and is_in(options.exclude, info, names))
end

--- Sets how inputs and results of a definition are checked; returns who may call it.
---@param definition operations.Definition
---@param options operations.ImporterOptions
---@return operations.AccessControl?
function importing.finish(definition, options)
  definition.normalize, definition.on_mismatch = options.normalize, options.on_mismatch
  definition.fill, definition.validate = options.fill == false and "none" or "required", options.validate
  local access = options.accessControl
  if type(access) == "function" then
    return access(definition)
  end
  return access
end

-- Tasks of other servers, by the handlers of the operations that start them. The handler itself holds its tasks, which
-- refer to it: LuaJIT never collects a key to which its value leads.
local resumed = setmetatable({}, { __mode = "kv" })

--- The tasks that an operation has started on its server.
---@class operations.ServerTasks
---@field wait fun(task: string, context: operations.Context): operations.Envelope?, operations.Error?
---@field cancel fun(task: string, context: operations.Context): true?, operations.Error?

--- Makes the handler of an operation whose tasks on its server can be taken up again.
---@generic Handler: function
---@param handler Handler
---@param tasks operations.ServerTasks
---@return Handler handler  of its definition
function importing.resumable(handler, tasks)
  local function holding(input, context)
    return handler(input, context, tasks)
  end
  resumed[holding] = tasks
  return holding
end

--- The tasks of an operation.
---@param handler? function  of its definition
---@return operations.ServerTasks?
function importing.tasks_of(handler)
  return handler and resumed[handler]
end

return importing
