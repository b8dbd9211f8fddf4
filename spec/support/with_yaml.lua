--- Specs that read YAML: pending, with the reason, where lyaml is not installed.
local runtime = require("operations.base.runtime")

--- `it` where YAML can be read.
---@param it fun(title: string, body: function)  busted's
---@param pending fun(title: string)  busted's
---@return fun(title: string, body: function)
return function(it, pending)
  if runtime.optional("yaml") then
    return it
  end
  return function(title)
    pending(title .. " (lyaml is not installed)")
  end
end
