--- `operations add`, `remove`, `sources`, `trust`: manage named sources.
local cache = require("operations.sources.cache")
local core = require("operations.core")
local credentials = require("operations.sources.credentials")
local directories = require("operations.base.directories")
local limits = require("operations.base.limits")
local members = require("operations.base.members")
local operations = require("operations")
local output = require("operations.cli.output")
local project = require("operations.sources.project")
local remembered = require("operations.sources.remembered")
local source_options = require("operations.sources.options")
local sources = require("operations.cli.sources")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")
local trust = require("operations.people.trust")

local source_commands = {}

-- Adding.

source_commands.add = {
  usage = "operations add NAME [FILE|URL] [OPTIONS]",
  summary = "Remembers a source under a name: NAME.OPERATION calls it from then on.\n"
    .. "FILE|URL is an OpenAPI document, a GraphQL service (URL/graphql, FILE.graphql),\n"
    .. "Lua files or a Redis; other sources are given by their option. Secrets are\n"
    .. "references: env:NAME, file:PATH, cmd:COMMAND.\n"
    .. "With --profile the options apply only to that profile.",
  options = {
    { name = "--replace", help = "replace a source with this name" },
    { name = "--from", value = "CLIENT:SERVER", help = "an MCP server that another program has configured" },
  },
}

-- Loaded when they are used.
local function mcp_servers()
  return require("operations.sources.mcp_servers")
end

-- The programs whose files list MCP servers are known to a part that few commands need.
local function clients()
  return require("operations.sources.clients")
end

local function no_client(name)
  return ("--from: expected one of %s, got %q%s"):format(table.concat(clients().names, ", "), name,
    suggestion.behind(name, clients().names))
end

-- Tells what cannot be read of a program's files.
local function servers_of(name)
  local list, problems = clients().list(name)
  for _, err in ipairs(problems) do
    output.complain("%s", err.message)
  end
  return list
end

-- The options for a server of another program, CLIENT:SERVER, and its name; or nil and a message.
local function order_of_client(text)
  local client, name = text:match("^([^:]*):(.+)$")
  if not client or not members.contains(clients().names, client) then
    return nil, client and no_client(client) or ("--from: expected CLIENT:SERVER, got %q"):format(text)
  end
  local names = {}
  for _, server in ipairs(servers_of(client)) do
    names[#names + 1] = server.name
    if server.name == name then
      local order, reason = clients().order(server)
      return order, reason and ("add: %s in %s cannot be taken over: %s; --mcp-config %s uses the file as it is")
        :format(name, server.file, reason, server.file)
    end
  end
  return nil, ("add: %s has no server %q%s; operations sources --from %s lists them"):format(client, name,
    suggestion.behind(name, names), client)
end

local path_options = members.set({ "openapi", "graphql", "documents", "lua", "command", "mcp-config", "ref-root",
  "ca-file", "cert", "key", "patch", "unix-socket" })

-- The members for options; or nil and a message.
local function entry_of(order)
  local entry = {}
  for _, option in ipairs(order) do
    local known, value = remembered.options[option.name], option.value
    if known then
      local problem = remembered.secret_problem(option.name, value)
      if problem then
        return nil, ("--%s: %s"):format(option.name, problem)
      end
      if path_options[option.name] and not value:find("^%a[%w+.-]*://") then
        value = directories.absolute(value)
      end
      if known.many then
        entry[option.name] = entry[option.name] or operations.array()
        table.insert(entry[option.name], value)
      else
        entry[option.name] = value
      end
    end
  end
  return entry
end

local function count_kinds(entry)
  local count = 0
  for _, kind in ipairs(source_options.kinds) do
    count = count + (entry[kind] and 1 or 0)
  end
  return count
end

local function save(change)
  local path, message = remembered.change(change)
  if not path then
    output.complain("%s", message)
    return output.codes.SOURCE
  end
  return output.codes.OK
end

local function add_profile(name, profile, entry, all)
  local known = all.by_name[name]
  if not known then
    return output.usage("add: no source %q to give a profile%s", name, suggestion.behind(name, all.names))
  elseif count_kinds(entry) > 0 then
    return output.usage("add: a profile changes how a source is reached, not what it is: leave %s out", "the source")
  end
  local code = save(function(list)
    list[name] = list[name] or members.merged(known.entry)
    list[name].profiles = list[name].profiles or operations.object()
    list[name].profiles[profile] = operations.object(entry)
  end)
  if code == output.codes.OK then
    output.notice("remembered the profile %s of %s: --profile %s uses it", profile, name, profile)
  end
  return code
end

-- Does the server of a source want a user to log in, without a terminal for it?
local function wants_login(err)
  return type(err) == "table" and type(err.details) == "table" and err.details.error == "login_required"
end

-- Loads the source as it will be remembered. Returns what it has, for the user; or nil and the exit code.
local function try(parsed, name, entry)
  local order = remembered.order({ name = name, entry = entry, base = "/" })
  local list, message = source_options.plan(order)
  if not list then
    return nil, output.usage("%s", message)
  end
  list[1].name = name
  local needs_login = false
  local registry, code = sources.of(list, { verbose = parsed.options.verbose, reliable = entry.reliable,
    refresh = true, all = true, may_fail = entry.mcp and function(err)
      needs_login = wants_login(err)
      return needs_login
    end })
  if not registry then
    return nil, code
  elseif needs_login then
    cache.remove(cache.key(list[1])) -- the list of its operations is not empty but unknown
    return ("its server wants a user to log in; operations login %s does that"):format(name)
  end
  local count = #registry:specs({ schemas = false })
  return ("%d operation%s; operations list %s shows them"):format(count, count == 1 and "" or "s", name)
end

-- The error in the words of the command.
local function problem_of(parsed)
  local name = parsed.rest[1]
  if not name or #parsed.rest > 2 then
    return ("add: expected NAME and FILE|URL, got %d words"):format(#parsed.rest)
  elseif not remembered.is_name(name) then
    return ("add: expected a name of letters, digits, _ and -, got %q"):format(name)
  end
end

---@param parsed operations.cli.Arguments
---@return integer code
function source_commands.add.run(parsed)
  local from, order, wrong = parsed.options.from, parsed.order, nil
  if from and not parsed.rest[1] then
    parsed.rest[1] = from:match(":(.+)$")
  end
  local problem, name, place = problem_of(parsed), parsed.rest[1], parsed.rest[2]
  if from and not problem then
    order, wrong = order_of_client(from)
    order = order and members.joined(order, parsed.order)
  end
  if problem or wrong then
    return output.usage("%s", problem or wrong)
  end
  if place then
    order = members.joined({ { name = source_options.kind_of(place), value = place } }, order)
  end
  local entry, message = entry_of(order)
  local all, broken = remembered.read()
  if not entry then
    return output.usage("%s", message)
  elseif not all then
    output.complain("%s", broken)
    return output.codes.SOURCE
  elseif parsed.options.profile then
    return add_profile(name, parsed.options.profile, entry, all)
  elseif count_kinds(entry) ~= 1 then
    return output.usage("add: expected one source, such as operations add %s https://api.example/openapi.json, got %d",
      name, count_kinds(entry))
  elseif all.by_name[name] and not parsed.options.replace then
    return output.usage("add: there is a source %s in %s: give --replace, or another name", name,
      all.by_name[name].file)
  end
  local has, code = try(parsed, name, entry)
  if not has then
    return code
  end
  code = save(function(list)
    local before = list[name] or {}
    list[name] = members.merged(entry, { profiles = before.profiles })
  end)
  if code == output.codes.OK then
    output.notice("remembered %s: %s", name, has)
  end
  return code
end

-- Removing.

source_commands.remove = {
  usage = "operations remove NAME...",
  summary = "Forgets remembered sources, their part of the cache and their logins.",
  options = {}, without_sources = true,
}

---@param parsed operations.cli.Arguments
---@return integer code
function source_commands.remove.run(parsed)
  local named, code = sources.named(parsed)
  if not named then
    return code
  elseif #parsed.rest == 0 then
    return output.usage("remove: expected the NAME of a source")
  end
  local found, message = {}
  for i, name in ipairs(parsed.rest) do
    found[i], message = named:get(name)
    if not found[i] then
      return output.usage("remove: %s", message)
    elseif found[i].file == project.file() then
      return output.usage("remove: %s is in %s: edit that file", name, found[i].file)
    end
  end
  return save(function(list)
    for _, source in ipairs(found) do
      cache.remove(cache.key(source))
      list[source.name] = nil
      local removed = credentials.forget(source)
      if removed ~= "" then
        output.notice("removed %s of %s", removed, source.name)
      end
    end
  end)
end

-- Listing.

source_commands.sources = {
  usage = "operations sources [OPTIONS]",
  summary = "Lists the remembered sources, or the MCP servers that another program has\n"
    .. "configured.",
  options = {
    { name = "--json", help = "an array, for programs" },
    { name = "--states", help = "connect to MCP servers, and show their states" },
    { name = "--from", value = "CLIENT", help = "claude, cursor, gemini, mcphub, opencode, vscode or zed",
      values = { "claude", "cursor", "gemini", "mcphub", "opencode", "vscode", "zed" } },
  },
}

-- Lists the servers of another program.
local function list_of_client(client, as_json)
  if not members.contains(clients().names, client) then
    return output.usage("%s", no_client(client))
  end
  local rows, lines = operations.array(), {}
  for i, server in ipairs(servers_of(client)) do
    local order, reason = clients().order(server)
    rows[i] = { name = server.name, place = server.place, file = server.file, reason = reason }
    lines[i] = ("%s  %s  (%s%s)\n"):format(server.name, server.place, server.file,
      order and "" or "; cannot be taken over: " .. reason)
  end
  if as_json then
    output.data(rows)
  elseif rows[1] then
    output.text(table.concat(lines))
  else
    output.notice("%s has no MCP server configured", client)
  end
  return output.codes.OK
end

-- Connects to the MCP servers of sources. Returns the states, those of each source by its name:
-- { name, state, reason }.
local function states_of(list)
  local opened, states = {}, {}
  for _, source in ipairs(list) do
    if source.kind == "mcp" or source.kind == "mcp-config" then
      mcp_servers().behind(source, nil, { face = sources.face, log = sources.logger(), on_source = function(client)
        opened[source.name] = client
      end })
    end
  end
  local ends_at = core.now() + limits.mcp_wait
  for name, client in pairs(opened) do
    client:wait(math.max(ends_at - core.now(), 0), true)
    states[name] = operations.array()
    for i, server in ipairs(client.names or { client.name }) do
      local state, reason = client.state, client.reason
      if client.names then
        state, reason = client:state(server)
      end
      states[name][i] = { name = server, state = state, reason = reason and tostring(reason) or nil }
    end
  end
  return states
end

local function row_of(source)
  local held = cache.open(cache.key(source))
  return {
    name = source.name, kind = source.kind, place = source.shown, file = source.file,
    operations = held and held.meta.count or nil,
    profiles = operations.array(members.names(source.entry.profiles or {})),
  }
end

local function line_of(row, width)
  local notes = {}
  if row.operations then
    notes[1] = ("%d operation%s"):format(row.operations, row.operations == 1 and "" or "s")
  end
  for _, server in ipairs(row.states or {}) do
    notes[#notes + 1] = (row.kind == "mcp-config" and server.name .. " " or "") .. server.state
  end
  if row.profiles[1] then
    notes[#notes + 1] = "profiles " .. table.concat(row.profiles, ", ")
  end
  if row.file:find("%.operations%.json$") then
    notes[#notes + 1] = "of " .. row.file
  end
  return ("%s%s  %s %s%s\n"):format(row.name, (" "):rep(width - #row.name), row.kind, row.place,
    #notes > 0 and "  (" .. table.concat(notes, "; ") .. ")" or "")
end

---@param parsed operations.cli.Arguments
---@return integer code
function source_commands.sources.run(parsed)
  if parsed.options.from then
    return list_of_client(parsed.options.from, parsed.options.json)
  end
  local named, code = sources.named(parsed)
  if not named then
    return code
  end
  local list, rows, lines, width = {}, operations.array(), {}, 0
  for i, name in ipairs(named.names) do
    local message
    list[i], message = named:get(name)
    if not list[i] then
      output.complain("%s", message)
      return output.codes.SOURCE
    end
  end
  local states = parsed.options.states and states_of(list) or {}
  for i, source in ipairs(list) do
    rows[i], width = row_of(source), math.max(width, #source.name)
    rows[i].states = states[source.name]
  end
  if parsed.options.json then
    output.data(rows)
    return output.codes.OK
  end
  for i, row in ipairs(rows) do
    lines[i] = line_of(row, width)
  end
  if #lines == 0 then
    output.complain("no source is remembered: operations add NAME FILE|URL")
  else
    output.text(table.concat(lines))
  end
  return output.codes.OK
end

-- Trusting.

source_commands.trust = {
  usage = "operations trust [DIR|FILE] [OPTIONS]",
  summary = "Shows what the files that came with a directory would run, and allows it:\n"
    .. "the sources of a project's .operations.json, and the servers of an mcp.json for\n"
    .. "Neovim. Commands and Lua files run with your rights, so read them first. After\n"
    .. "a change of any of the files, trust them again.",
  options = {
    { name = "--revoke", help = "withdraw the trust" },
    { name = "--show", help = "only show what would run" },
  }, without_sources = true,
}

-- The files to trust; or nil and the reason.
local function files_of(place)
  local path = place and directories.absolute(place):gsub("(.)/%.?$", "%1") or project.file()
  if not path then
    return nil, "there is no .operations.json here or above"
  elseif system.kind(path) ~= "directory" then
    return { path }
  end
  local list = project.files(path)
  return list[1] and list, ("there is no .operations.json and no mcp.json in %s"):format(path)
end

local function trust_file(path, options)
  if options.revoke then
    return trust.revoke(path)
  end
  local subject, message
  if project.is_file(path) then
    subject, message = remembered.subject(path)
  elseif system.kind(path) then
    subject = project.other(path)
  else
    subject, message = nil, path .. ": No such file or directory"
  end
  if not subject then
    return nil, message
  end
  output.subject(subject)
  if options.show then
    return true
  end
  return subject:trust()
end

---@param parsed operations.cli.Arguments
---@return integer code
function source_commands.trust.run(parsed)
  if #parsed.rest > 1 then
    return output.usage("trust: expected at most one DIR or FILE, got %d", #parsed.rest)
  end
  local paths, problem = files_of(parsed.rest[1])
  if not paths then
    return output.usage("trust: %s", problem)
  end
  for _, path in ipairs(paths) do
    local ok, message = trust_file(path, parsed.options)
    if not ok then
      output.complain("%s", message)
      return output.codes.SOURCE
    elseif not parsed.options.show then
      output.notice(parsed.options.revoke and "%s is not trusted any more" or "%s is trusted as it is now", path)
    end
  end
  return output.codes.OK
end

return source_commands
