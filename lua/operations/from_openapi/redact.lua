--- Takes credentials out of errors, which people and logs see.
local core = require("operations.core")
local errors = require("operations.error")
local style = require("operations.from_openapi.style")

local redact = {}

-- Shorter texts are no secrets, and would be found everywhere.
local SHORTEST = 4

local function replace(text, secret)
  local position, pieces = 1, {}
  while true do
    local from, to = text:find(secret, position, true)
    if not from then
      pieces[#pieces + 1] = text:sub(position)
      return table.concat(pieces)
    end
    pieces[#pieces + 1] = text:sub(position, from - 1) .. "***"
    position = to + 1
  end
end

local function hide(value, secrets)
  if type(value) == "string" then
    for _, secret in ipairs(secrets) do
      value = replace(value, secret)
    end
  elseif type(value) == "table" then
    local copy = {}
    for key, item in pairs(value) do
      copy[key] = hide(item, secrets)
    end
    return setmetatable(copy, getmetatable(value))
  end
  return value
end

local function add(secrets, text)
  if type(text) == "string" and #text >= SHORTEST then
    secrets[#secrets + 1] = text
    local encoded = style.encode(text)
    secrets[#secrets + 1] = encoded ~= text and encoded or nil
  end
end

-- Longest first: what is part of another must not spoil it.
local function secrets_of(credentials)
  local secrets = {}
  for _, credential in ipairs(credentials) do
    add(secrets, credential.value)
    for _, text in pairs(credential.secrets or {}) do
      add(secrets, text)
    end
  end
  table.sort(secrets, function(a, b)
    return #a > #b
  end)
  return secrets
end

--- An error without the credentials that its message or details quote: a URL's query, a server's answer.
---@param err operations.Error
---@param credentials operations.openapi.Credential[]
---@return operations.Error
function redact.error(err, credentials)
  local secrets = secrets_of(credentials)
  if #secrets == 0 or not core.is_error(err) then
    return err
  end
  return errors.new(err.code, hide(err.message, secrets), hide(err.details, secrets))
end

return redact
