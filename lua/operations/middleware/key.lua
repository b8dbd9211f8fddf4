--- The key of a call: calls of one key share a bucket, a breaker, a bulkhead.
local identity_key = require("operations.base.identity_key")
local layer = require("operations.middleware.layer")
local number_text = require("operations.base.number_text")

local key = {}

---@alias operations.KeyPart "identity"|"operation"|"namespace"|"address"
---@alias operations.KeyFunction fun(context: operations.Context, spec: operations.Spec): string
---@alias operations.KeyOption operations.KeyPart|operations.KeyPart[]|operations.KeyFunction

local function address(context)
  local metadata = context.metadata
  local http = type(metadata) == "table" and metadata.http
  local found = type(http) == "table" and http.address
  return found and "a" .. number_text.of(found) or "-"
end

-- Parts that depend on the call.
local of_call = {
  address = address,
  identity = function(context)
    local identity = context.identity
    if not identity then
      return address(context)
    end
    return "i" .. identity_key.of(identity) .. (identity.id == nil and address(context) or "")
  end,
}

-- Parts that are the same for all calls of an operation.
local of_spec = {
  operation = layer.id,
  namespace = function(spec)
    return spec.namespace
  end,
}

local function check(parts, name, level)
  for _, part in ipairs(parts) do
    if not of_call[part] and not of_spec[part] then
      error(("bad option 'by' to '%s' (\"identity\", \"address\", \"operation\" or \"namespace\" expected, "
        .. "got %q)"):format(name, tostring(part)), level + 1)
    end
  end
end

local function framed(text)
  return #text .. ":" .. text
end

local function joined(parts, spec)
  local fixed, asked = {}, {}
  for _, part in ipairs(parts) do
    if of_spec[part] then
      fixed[#fixed + 1] = parts[2] and framed(of_spec[part](spec)) or of_spec[part](spec) -- readable where it is alone
    else
      asked[#asked + 1] = of_call[part]
    end
  end
  local prefix = table.concat(fixed)
  if #asked == 0 then
    return function()
      return prefix
    end
  end
  return function(context)
    local text = prefix
    for i = 1, #asked - 1 do
      text = text .. framed(asked[i](context))
    end
    return text .. asked[#asked](context) -- a tail call
  end
end

--- Reads an option `by`.
---@param by operations.KeyOption?
---@param default operations.KeyPart[]
---@param name string  of the public function
---@return fun(spec: operations.Spec): fun(context: operations.Context): string
function key.reader(by, default, name)
  if type(by) == "function" then
    return function(spec)
      return function(context)
        return number_text.of(by(context, spec))
      end
    end
  end
  local parts = by == nil and default or type(by) == "string" and { by } or by
  check(parts, name, 3)
  return function(spec)
    return joined(parts, spec)
  end
end

return key
