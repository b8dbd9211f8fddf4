--- Names of imported operations: usable as Lua identifiers, stable, unique.
local name = {}

local UNDERSCORE = ("_"):byte()

--- Keeps letters, digits and underscores; everything else becomes one underscore.
---@param text string
---@return string  "" if nothing remains
function name.sanitize(text)
  local words = text:gsub("[^A-Za-z0-9_]+", "_")
  if words:byte(1) ~= UNDERSCORE and words:byte(-1) ~= UNDERSCORE then
    return words
  end
  return (words:gsub("^_+", ""):gsub("_+$", ""))
end

--- A name for an operation without operationId: GET /users/{id} is get_users_by_id.
---@param method string
---@param path string
---@return string
function name.of_path(method, path)
  local words = { method:lower() }
  for segment in path:gmatch("[^/]+") do
    local text = segment:gsub("{([^{}]*)}", "_by_%1_")
    words[#words + 1] = name.sanitize(text)
  end
  local text = name.sanitize(table.concat(words, "_"):gsub("__+", "_"))
  return #words == 1 and text .. "_root" or text
end

--- The namespace of a document: its title, in lower case.
---@param title any
---@return string
function name.namespace(title)
  local text = type(title) == "string" and name.sanitize(title):lower() or ""
  return text ~= "" and text or "api"
end

--- A name in `$defs` for the schema at a pointer: its last significant part.
---@param pointer string  after its file, if it is not in the document itself
---@return string
function name.of_schema(pointer)
  local last = pointer:match("/([^/]*)$") or pointer:match("([^/#]+)#?$") or "schema"
  if last == "schema" or last:find("^%d+$") then
    last = pointer:match("#?/?(.*)$")
  end
  return (last:gsub("~[01]", "_"):gsub("[^A-Za-z0-9._-]+", "_"))
end

--- The operationId for an id, valid in a URL and as a component's name: other characters become "_".
---@param id string
---@return string
function name.of_component(id)
  return (id:gsub("[^A-Za-z0-9._-]+", "_"))
end

--- Makes a function that returns each name once: the second "list" is the other name given, or else "list_2".
---@return fun(wanted: string, other?: string): string, boolean  the name, and whether it was changed
function name.counter()
  local taken = {}
  return function(wanted, other)
    local base = taken[wanted] and other or wanted
    local text, n = base, 1
    while taken[text] do
      n = n + 1
      text = base .. "_" .. n
    end
    taken[text] = true
    return text, text ~= wanted
  end
end

return name
