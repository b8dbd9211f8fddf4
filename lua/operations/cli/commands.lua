--- The commands of the program: their purpose and their modules.
local members = require("operations.base.members")
local source_options = require("operations.sources.options")

local commands = {}

-- A command is loaded when it runs: most of a short call's time is starting. The third value is a file with several
-- commands.
commands.list = {
  { "list", "list operations" },
  { "describe", "show the input, output and errors of an operation" },
  { "call", "call a query or mutation", "invocation" },
  { "watch", "follow a subscription", "invocation" },
  { "task", "wait for a call that was left running on its server", "invocation" },
  { "request", "send any request to the API of a source", "any_request" },
  { "add", "remember a source under a name", "source_commands" },
  { "sources", "list the remembered sources", "source_commands" },
  { "remove", "forget a remembered source", "source_commands" },
  { "install", "add sources to the MCP servers of an editor or assistant" },
  { "login", "log in to a remembered source", "sign_in_commands" },
  { "logout", "forget the token of a remembered source", "sign_in_commands" },
  { "trust", "allow the sources of a project's file", "source_commands" },
  { "doctor", "try the remembered sources; show versions, terminal, files" },
  { "completion", "print a script that completes in bash, zsh or fish", "completion" },
  { "serve", "serve operations as an HTTP API and an MCP server" },
  { "export", "print the OpenAPI document of operations" },
  { "mcp", "serve operations as an MCP server on stdin and stdout", "mcp_server" },
  { "worker", "serve operations to other processes" },
  { "jobs", "list, show, repeat and drop the jobs of workers", "queued_jobs" },
  { "policy", "what a file of rules does to operations" },
}

--- Options of every command.
commands.general = {
  { name = "--help", help = "show this help" },
  { name = "--version", help = "print the version" },
}

--- Options that each command lists as its own.
commands.shared = { commands.general[1],
  { name = "--quiet", short = "-q", help = "print no progress, warnings or notices" } }

local modules = { complete = "completion" } -- of commands, by their names; complete is for scripts, not shown in help
for _, command in ipairs(commands.list) do
  modules[command[1]] = command[3] or command[1]
end

--- A command.
---@param name string
---@return table? command  usage, summary, options, run; without_sources: it takes no options for sources
function commands.find(name)
  local module = modules[name] and require("operations.cli." .. modules[name])
  return module and (module[name] or module)
end

--- The options of a command that its help lists as its own.
---@param command table
---@return operations.cli.Option[]
function commands.own_options(command)
  return members.joined(command.options, commands.shared)
end

--- The options of a command.
---@param command table
---@return operations.cli.Option[]
function commands.options(command)
  return members.joined(command.options, command.without_sources and {} or source_options.list, commands.shared)
end

return commands
