--- The key of a caller. What is kept for callers (rates, answers, approvals, sessions) is kept by the whole identity:
--- `issuer`, `id` and every other member, with their types. Rights, and claims that are new in each token, are left
--- out: a caller with a renewed token is the same one.
local core = require("operations.core")
local hexadecimal = require("operations.base.hexadecimal")
local json = require("operations.base.json")
local lru = require("operations.base.lru")
local members = require("operations.base.members")
local number_text = require("operations.base.number_text")

local identity_key = {}

local MAX_DEPTH = 16

-- What the key has elsewhere or not at all.
local apart = members.set({ "scopes", "resources", "claims" })

-- Claims of one token or one login (RFC 7519, 7662, 7800, 9068; OpenID Connect; Entra ID; Keycloak; Cognito).
local passing = members.set({ "exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "c_hash", "s_hash", "acr",
  "amr", "sid", "session_state", "scope", "scp", "cnf", "active", "uti", "aio", "rh", "origin_jti", "event_id" })

local write

-- What stands before a text, by its length: a table is faster than to write the number.
local prefixes = {}
for length = 0, 63 do
  prefixes[length] = length .. ":"
end

local function write_table(value, left_out, depth)
  local text, items
  for name, item in next, value do
    local written = not (left_out and left_out[name]) and depth < MAX_DEPTH and write(item, nil, depth + 1)
    if written and text then
      items = items or { text }
      items[#items + 1] = write(name) .. written
    elseif written then
      text = write(name) .. written
    end
  end
  if items then
    table.sort(items)
    text = table.concat(items)
  end
  return "{" .. (text or "") .. "}"
end

-- A text that differs for different values; nil for functions and such.
function write(value, left_out, depth)
  local kind = type(value)
  if kind == "string" then
    return (prefixes[#value] or #value .. ":") .. value
  elseif kind == "number" then
    return (json.encode(value) or number_text.of(value)) .. ";"
  elseif kind == "boolean" or value == core.null then
    return value == core.null and "null;" or tostring(value) .. ";"
  elseif kind == "table" then
    return write_table(value, left_out, depth or 0)
  end
end

-- Keys of the last callers by their texts, for a digest takes longer than to find one.
local known = lru.new(1000, 1048576)

--- The key of a caller: 64 hexadecimal digits.
---@param identity operations.Identity
---@return string
function identity_key.of(identity)
  local claims = identity.claims
  local text = write_table(identity, apart, 0)
  if claims ~= nil then
    text = text .. (type(claims) == "table" and write_table(claims, passing, 0) or write(claims) or "")
  end
  local key = known:get(text)
  if not key then
    key = hexadecimal.of(core.sha256(text))
    known:put(text, key, #text)
  end
  return key
end

local sorted = { sort_keys = true }

--- As `of`, with the caller's rights and all claims: for answers that may depend on them.
---@param identity operations.Identity
---@return string?  nil: the identity has members that are not JSON
function identity_key.with_rights(identity)
  return (json.encode(identity, sorted))
end

return identity_key
