--- `operations install`: adds remembered sources to the MCP servers of another program.
local clients = require("operations.sources.clients")
local directories = require("operations.base.directories")
local files = require("operations.base.files")
local json = require("operations.base.json")
local marked = require("operations.base.marked")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local person = require("operations.cli.person")
local property_order = require("operations.base.property_order")
local sources = require("operations.cli.sources")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")

local install = {
  usage = "operations install CLIENT SOURCE... [OPTIONS]",
  summary = "Adds `operations mcp SOURCE...` to the MCP servers of a program: claude, cursor,\n"
    .. "gemini, mcphub, opencode, vscode or zed. Shows the change and asks; the file as\n"
    .. "it was stays beside the new one, with the ending .backup.",
  options = {
    { name = "--name", value = "NAME", help = "of the server there (operations)" },
    { name = "--replace", help = "replace a server with this name" },
    { name = "--yes", short = "-y", help = "do not ask" },
  }, without_sources = true,
}

-- The program as others start it, who may have another PATH.
local function program()
  local own = arg and arg[0] or ""
  return own:find("/operations$") and directories.absolute(own) or "operations"
end

-- The text of a file, and its content with the order of its members; nil and a message if it cannot be kept.
local function read(path)
  if not system.kind(path) then
    return nil, marked.object()
  end
  local text, message = files.read(path)
  if not text then
    return nil, nil, message
  end
  local content, err = json.decode(text, { keep_order = true })
  if text:find("^%s*$") then
    content = marked.object()
  end
  if type(content) ~= "table" then
    return nil, nil, ("%s cannot be changed without losing its comments (%s); add this by hand:"):format(path,
      err and err.message or "no object")
  end
  return text, content
end

local function put(object, name, value)
  local names = property_order.names(object)
  names[#names + 1] = object[name] == nil and name or nil
  object[name] = value
  property_order.set(object, names)
end

local function write(path, text, before)
  local real = system.real_path(path) or path
  local ok, message = system.make_private_directory(real:match("^(.*)/"))
  if ok and before then
    ok, message = system.write_private(real .. ".backup", before)
  end
  if ok then
    ok, message = system.write_private(real, text)
  end
  return ok, message
end

-- The reason for refusing the words; nil when they are right.
local function problem_of(client, names, named)
  if not client or not members.contains(clients.names, client) then
    return ("install: expected one of %s, got %q%s"):format(table.concat(clients.names, ", "), client or "",
      suggestion.behind(client or "", clients.names))
  elseif not names[1] then
    return "install: expected the names of sources behind " .. client
  end
  for _, name in ipairs(names) do
    local source, message = named:get(name)
    if not source then
      return "install: " .. message
    end
  end
end

-- Writes the change, if the person agrees.
local function agree(path, key, name, content, before, options)
  if not options.yes and not output.can_ask() then
    output.complain("%s is not changed: -y writes it", path)
    return output.codes.ABORTED
  elseif not options.yes and not person.confirm(("write this under %s of %s?"):format(key, path)) then
    output.complain("not written")
    return output.codes.ABORTED
  end
  local ok, message = write(path, assert(json.encode(content, { indent = 2, keep_order = true })) .. "\n", before)
  if not ok then
    output.complain("%s", message)
    return output.codes.SOURCE
  end
  output.notice("%s has the server %s%s", path, name, before and ("; as it was: %s.backup"):format(path) or "")
  return output.codes.OK
end

---@param parsed operations.cli.Arguments
---@return integer code
function install.run(parsed)
  local client, names, options = table.remove(parsed.rest, 1), parsed.rest, parsed.options
  local named, code = sources.named(parsed)
  if not named then
    return code
  end
  local problem = problem_of(client, names, named)
  if problem then
    return output.usage("%s", problem)
  end
  local name = options.name or "operations"
  local path, key, entry = clients.target(client, members.joined({ program(), "mcp" }, names))
  local before, content, flaw = read(path)
  local servers = content and (content[key] == nil and marked.object() or content[key])
  if content and type(servers) ~= "table" then
    return output.usage("install: %s of %s is not an object", key, path)
  elseif servers and servers[name] ~= nil and not options.replace then
    return output.usage("install: there is a server %s in %s: give --replace, or --name", name, path)
  elseif flaw then
    output.complain("%s", flaw)
  end
  output.text(assert(json.encode({ [name] = entry }, { indent = 2, keep_order = true })) .. "\n")
  if not content then
    return output.codes.SOURCE
  end
  put(servers, name, entry)
  put(content, key, servers)
  return agree(path, key, name, content, before, options)
end

return install
