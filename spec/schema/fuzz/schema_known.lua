--- Where operations and ajv differ, and why.  The laws of cast know no exception.
local schema_known = {}

local function has(value, test)
  if type(value) ~= "table" then
    return false
  end
  for key, member in pairs(value) do
    if test(key, member) or has(member, test) then
      return true
    end
  end
  return false
end

local function has_keyword(schema, name)
  return has(schema, function(key)
    return key == name
  end)
end

local function requires_empty_name(case)
  return has(case.schema, function(key, value)
    return (key == "required" or key == "dependentRequired") and has({ value }, function(_, name)
      return name == ""
    end)
  end)
end

local function has_huge_multiple(case)
  return has_keyword(case.schema, "multipleOf") and has(case.values, function(_, value)
    return type(value) == "number" and math.abs(value) >= 1e21
  end)
end

local function uses(...)
  local names = { ... }
  return function(case)
    for _, name in ipairs(names) do
      if has_keyword(case.schema, name) then
        return true
      end
    end
    return false
  end
end

local function peer_fails(text)
  return function(case)
    return type(case.theirs) == "string" and case.theirs:find(text, 1, true) ~= nil
  end
end

-- { reason, test of a case }: the first that applies explains it, when the referee agrees.
local reasons = {
  { "ajv's code does not run: it sets properties of undefined", peer_fails("Cannot set properties of") },
  { "ajv's code does not run: it names a variable that is not there", peer_fails("is not defined") },
  { "ajv does not look for the property \"\" that is required", requires_empty_name },
  { "ajv divides by parseInt, which reads 5e299 as 5", has_huge_multiple },
  { "ajv does not count what `contains` and failed branches evaluated as 2020-12 does",
    uses("unevaluatedItems", "unevaluatedProperties") },
  { "ajv takes [] when every item would fit `contains`", uses("contains") },
}

function schema_known.reason(case)
  for _, entry in ipairs(reasons) do
    if entry[2](case) then
      return entry[1]
    end
  end
end

return schema_known
