--- Misuse of functions: what they raise.
local assert = require("luassert")

--- Asserts that each function of a table raises the message that is its key.
---@param cases table<string, fun()>
---@param place? string  a part of the place that is to be blamed: "registry_spec"
return function(cases, place)
  for message, misuse in pairs(cases) do
    local ok, raised = pcall(misuse)
    assert.is_false(ok, message)
    assert.matches(message, raised, 1, true)
    assert.matches(place or "", raised, 1, true)
  end
end
