--- The ids of the operations of a registry, in its order.
---@param registry operations.Registry
---@return string[]
return function(registry)
  local list = {}
  for i, spec in ipairs((registry:specs({ schemas = false }))) do
    list[i] = spec.namespace .. "." .. spec.name
  end
  return list
end
