--- The command line program: finds the command, runs it, and turns what happened into an exit code.
local arguments = require("operations.cli.arguments")
local cleanup = require("operations.cli.cleanup")
local host = require("operations.cli.host")
local hosts = require("operations.hosts")
local output = require("operations.cli.output")
local system = require("operations.system")

local cli = {}

-- Commands are loaded when they are called: starting is most of what a short call costs.
local commands = {
  { "list", "what there is" },
  { "describe", "what an operation takes, gives and needs" },
  { "call", "call a query or mutation" },
  { "watch", "follow a subscription" },
  { "worker", "serve operations to other processes" },
}

local general = {
  { name = "--help", help = "show this" },
  { name = "--version", help = "print the version" },
}

local function help()
  local lines = {
    "Usage: operations COMMAND [ARGUMENTS] [OPTIONS]\n\nCalls, from the shell, what has an OpenAPI document, is a tool "
      .. "of an MCP server, runs in other processes or is written in Lua.\n\nCommands:\n",
  }
  for _, command in ipairs(commands) do
    lines[#lines + 1] = ("  %-9s %s\n"):format(command[1], command[2])
  end
  lines[#lines + 1] = "\n`operations COMMAND --help` tells more.\n\n" .. arguments.help(general)
  lines[#lines + 1] = [[

Exit codes:
  0 done   1 unknown error   2 wrong usage   3 no such operation   4 access denied   5 invalid input   6 timeout
  7 aborted   8 the handler, or an MCP server's tool, failed   9 an error that the operation declares
  10 HTTP status 4xx   11 other HTTP error status   12 a source could not be loaded   130 interrupted
]]
  return table.concat(lines)
end

local function command_help(command)
  local sources = require("operations.cli.sources")
  return table.concat({
    "Usage: ", command.usage, "\n\n", command.summary, "\n\n", command.notes and command.notes .. "\n" or "",
    "Sources:\n", arguments.help(sources.options), "\n", sources.help, "\nOptions:\n",
    arguments.help(command.options), arguments.help({ general[1] }),
  })
end

local function find(name)
  for _, command in ipairs(commands) do
    if command[1] == name then
      return require("operations.cli." .. name)
    end
  end
end

local function all_options(command)
  local all = { general[1] }
  for _, list in ipairs({ command.options, require("operations.cli.sources").options }) do
    for _, option in ipairs(list) do
      all[#all + 1] = option
    end
  end
  return all
end

local function usage(format, ...)
  output.complain(format, ...)
  return output.codes.USAGE
end

local function run_command(name, command, argv)
  local parsed, message = arguments.parse(argv, all_options(command), 2)
  if not parsed then
    return usage("%s; see operations %s --help", message, name)
  elseif parsed.options.help then
    output.text(command_help(command))
    return output.codes.OK
  end
  return command.run(parsed)
end

local function dispatch(argv)
  local name = argv[1]
  if name == "--help" or name == "-h" or name == "help" then
    local command = argv[2] and find(argv[2])
    output.text(command and command_help(command) or help())
    return output.codes.OK
  elseif name == "--version" then
    output.text(require("operations")._VERSION .. "\n")
    return output.codes.OK
  elseif name == nil then
    io.stderr:write(help())
    return output.codes.USAGE
  end
  local command = find(name)
  if not command then
    return usage("no command %q; see operations --help", name)
  end
  return run_command(name, command, argv)
end

-- Who interrupts this as well wants no more time to be given to what is ended.
local function clean_up(code)
  local ok, raised = pcall(cleanup.run)
  return ok and code or clean_up(output.fail(raised))
end

--- Runs the program.
---@param argv string[]  the arguments after the program's name
---@return integer code  for the shell; README.md has the table
function cli.main(argv)
  system.survive_broken_pipes() -- `operations ... | head` is to clean up
  hosts.use(host)
  local ok, result = pcall(dispatch, argv)
  local code = clean_up(ok and result or output.fail(result))
  output.settle()
  local signal = system.interrupted()
  return signal and 128 + signal or code
end

return cli
