--- `operations request`: sends any request to the API of a source, with its base URL, credentials and connection.
local input = require("operations.people.input")
local invocation = require("operations.cli.invocation")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local remembered = require("operations.sources.remembered")
local sources = require("operations.cli.sources")

local any_request = {}

any_request.request = {
  usage = "operations request SOURCE METHOD /PATH [INPUT...] [OPTIONS]",
  summary = "Sends a request to the API of an OpenAPI source, for what its document does not\n"
    .. "have. The input of GET, HEAD, DELETE and OPTIONS is the query, of other methods\n"
    .. "the JSON body. Without SOURCE, --openapi names the document.",
  options = invocation.request_options,
  notes = input.help,
}

local methods = members.set({ "GET", "HEAD", "DELETE", "OPTIONS", "PUT", "POST", "PATCH", "TRACE" })
local queries = members.set({ "GET", "HEAD", "DELETE", "OPTIONS", "TRACE" })

-- The names in the input of a query, each once; or nil and a message.
local function names_of(words)
  local items, message = input.read(words)
  if not items then
    return nil, message
  end
  local names, seen = {}, {}
  for _, item in ipairs(items) do
    local whole = type(item.whole) == "table" and members.names(item.whole) or {}
    for _, name in ipairs(item.key and { item.key } or whole) do
      names[#names + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  return names
end

-- Takes the source, the method and the path from the words; or returns a message.
local function take(parsed)
  local words = parsed.rest
  if not sources.are_given(parsed) then
    parsed.names = { table.remove(words, 1) }
  end
  local method, path = (table.remove(words, 1) or ""):upper(), table.remove(words, 1) or ""
  if not methods[method] then
    return ("request: expected %sMETHOD /PATH, got %q as the method"):format(parsed.names and "SOURCE " or "", method)
  elseif not path:find("^/") or path:find("[#%s%c]") then
    return ("request: expected a path such as /users?page=2, got %q"):format(path)
  end
  local names, message = {}, nil
  if queries[method] then
    names, message = names_of(words)
  end
  path = path:gsub("[{}]", { ["{"] = "%7B", ["}"] = "%7D" })
  parsed.added = { method = method, path = path, names = names, has_body = not queries[method] }
  table.insert(words, 1, method .. " " .. path)
  return message
end

---@param parsed operations.cli.Arguments
---@return integer code
function any_request.request.run(parsed)
  local problem = take(parsed)
  if problem then
    return output.usage("%s", problem)
  end
  local all = parsed.names and remembered.read()
  local known = all and all.by_name[parsed.names[1]]
  if known and not known.entry.openapi then
    return output.usage("request: %s is no OpenAPI document, so it has no paths", parsed.names[1])
  end
  return invocation.call.run(parsed)
end

return any_request
