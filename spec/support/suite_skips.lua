--- The tests of the official suite that are not passed, each with its reason. A test is named as the report of
--- `make suite` names it; `runtime = "luajit"` holds it to that runtime.
local skips = {}

-- "42000000000000000000000" and the like.
local bignum = "an integer that 64 bits do not hold is decoded to a string, so that no digit of it is lost; as a "
  .. "string it is no integer"
local content = "contentEncoding and contentMediaType only annotate, which draft 7 allows and later drafts ask for: a "
  .. "value that is not what it says is for the application to refuse"

local list = {
  { test = "/optional/bignum: integer: a bignum is an integer", reason = bignum },
  { test = "/optional/bignum: integer: a negative bignum is an integer", reason = bignum },
  { test = "/optional/bignum: number: a bignum is a number", reason = bignum },
  { test = "/optional/bignum: number: a negative bignum is a number", reason = bignum },
  { test = "/optional/bignum: string: a bignum is not a string", reason = bignum },
  { test = "/optional/bignum: minimum integer comparison: comparison works for very", reason = bignum },
  { test = "draft7/optional/content: validation of string-encoded content based on media type: an", reason = content },
  { test = "draft7/optional/content: validation of binary string-encoding: an invalid base64", reason = content },
  { test = "draft7/optional/content: validation of binary-encoded media type documents: a validly", reason = content },
  { test = "draft7/optional/content: validation of binary-encoded media type documents: an inv", reason = content },
  { test = "draft4/optional/zeroTerminatedFloats", reason = "1.0 is an integer in every draft here, as drafts 6 and "
    .. "later have it: LuaJIT has no other way, and one value means the same on both runtimes" },
}

local luajit = rawget(_G, "jit") ~= nil

--- Why the test `label` may fail, or nil.
function skips.reason(label)
  for _, entry in ipairs(list) do
    if label:find(entry.test, 1, true) and (not entry.runtime or luajit) then
      return entry.reason
    end
  end
end

skips.list = list

return skips
