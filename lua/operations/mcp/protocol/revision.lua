--- The revisions of MCP that we speak, newest first, and the two eras they fall into: *legacy* has a handshake,
--- sessions and requests from the server; *modern* has neither, each request says everything about itself.
local revision = {}

revision.known = { "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }

revision.MODERN, revision.LEGACY = "2026-07-28", "2025-11-25"

--- Errors that only a server of the modern era answers with.
revision.modern_errors = { [-32020] = true, [-32021] = true, [-32022] = true }

local is_known = {}
for _, name in ipairs(revision.known) do
  is_known[name] = true
end

--- Do we speak this revision?
---@param name any
---@return boolean
function revision.is_known(name)
  return is_known[name] == true
end

--- Is this one of the modern era? Revisions are dates.
---@param name string
---@return boolean
function revision.is_modern(name)
  return name >= revision.MODERN
end

--- The newest revision that is in a peer's list and known here.
---@param list any  of names
---@param modern? boolean  of that era only
---@return string?
function revision.common(list, modern)
  local theirs = {}
  for _, name in ipairs(type(list) == "table" and list or {}) do
    theirs[name] = true
  end
  for _, name in ipairs(revision.known) do
    if theirs[name] and (modern == nil or revision.is_modern(name) == modern) then
      return name
    end
  end
end

return revision
