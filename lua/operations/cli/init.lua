--- The command line program: finds and runs the command, and turns the outcome into an exit code.
local arguments = require("operations.cli.arguments")
local commands = require("operations.cli.commands")
local hosts = require("operations.hosts")
local output = require("operations.cli.output")
local source_options = require("operations.sources.options")
local stdin = require("operations.cli.stdin")
local suggestion = require("operations.base.suggestion")
local system = require("operations.system")

local cli = {}

-- In two columns.
local function exit_codes()
  local lines, half = {}, math.floor(#output.exits / 2)
  for i = 1, #output.exits - half do
    local left, right = i <= half and output.exits[i], output.exits[half + i]
    lines[i] = ("%-25s%4d  %s\n"):format(left and ("%3d  %s"):format(left[1], left[3]) or "", right[1], right[3])
  end
  return table.concat(lines)
end

local function help()
  local lines = {
    "Usage: operations COMMAND [ARGUMENTS] [OPTIONS]\n\nCalls operations: endpoints of HTTP APIs (OpenAPI), tools of "
      .. "MCP servers,\noperations of other processes and definitions in Lua.\n\nCommands:\n",
  }
  for _, command in ipairs(commands.list) do
    lines[#lines + 1] = ("  %-11s %s\n"):format(command[1], command[2])
  end
  lines[#lines + 1] = "\n`operations COMMAND --help` lists the options, `operations help manual` is the\n"
    .. "manual page.\n\n"
  lines[#lines + 1] = arguments.help(commands.general)
  lines[#lines + 1] = "\nExit codes:\n" .. exit_codes()
  return table.concat(lines)
end

local function command_help(command)
  return table.concat({
    "Usage: ", command.usage, "\n\n", command.summary, "\n\n", command.notes and command.notes .. "\n" or "",
    command.without_sources and "" or ("Sources:\n%s\n%s\n"):format(arguments.help(source_options.list),
      source_options.help),
    "Options:\n", arguments.help(commands.own_options(command)),
  })
end

-- Prints a help text; a terminal gets no lines that are longer than it is wide.
local function show(text)
  local width = system.terminal_size(1)
  output.text(width and require("operations.people.prose").fitted(text, width) or text)
end

local function is_source(name)
  local found = require("operations.sources.remembered").read()
  return found ~= nil and (found.by_name[name] or found.left_out[name]) ~= nil
end

-- A source or an operation is often typed without the command.
local function no_command(name, following)
  local source = name:match("^([%w_-]+)%.") or name
  if commands.find(source) == nil and is_source(source) then
    local is_name = following and following:find("^%a[%w_-]*$")
    local id = source ~= name and name or is_name and name .. "." .. following
    return output.usage("%s is a source and no command: operations %s", source, id and "call " .. id or "list " .. name)
  end
  return output.usage("no command %q%s; see operations --help", name, suggestion.behind(name, commands.list, 1))
end

local function run_command(name, command, argv)
  local parsed, message = arguments.parse(argv, commands.options(command), 2)
  if not parsed then
    local key = command.takes_input and message:match("^unknown option %-%-([^ ]+)")
    return output.usage("%s; %ssee operations %s --help", message,
      key and ("input is given as %s=VALUE, "):format(key) or "", name)
  elseif parsed.options.help and command.takes_input and parsed.rest[1] then
    return commands.find("describe").run({ options = parsed.options, order = parsed.order, rest = { parsed.rest[1] } })
  elseif parsed.options.help then
    show(command_help(command))
    return output.codes.OK
  end
  if parsed.options.quiet then
    output.be_quiet()
  end
  return command.run(parsed)
end

local function show_manual()
  local text = require("operations.cli.manual").text(assert(require("operations.cli.style").of({})))
  if not text then
    return output.usage("the manual page is not beside the Lua files: operations --help")
  end
  output.styled(text)
  return output.codes.OK
end

-- `operations help [COMMAND|manual]`.
local function show_help(topic)
  local command = topic and commands.find(topic)
  if topic == "manual" then
    return show_manual()
  elseif topic and not command then
    return no_command(topic)
  end
  show(command and command_help(command) or help())
  return output.codes.OK
end

local function dispatch(argv)
  local name = argv[1]
  if name == "--help" or name == "-h" or name == "help" then
    return show_help(name == "help" and argv[2])
  elseif name == "--version" then
    output.text(require("operations")._VERSION .. "\n")
    return output.codes.OK
  elseif name == nil then
    io.stderr:write(help())
    return output.codes.USAGE
  end
  local command = commands.find(name)
  if not command then
    return no_command(name, argv[2])
  end
  return run_command(name, command, argv)
end

-- A second interrupt ends the program without cleanup.
local function clean_up(code)
  local ok, raised = pcall(output.close)
  return ok and code or clean_up(output.fail(raised))
end

--- Runs the program.
---@param argv string[]  the arguments after the program's name
---@return integer code  for the shell; doc/command-line.md has the table
function cli.main(argv)
  system.survive_broken_pipes() -- `operations ... | head` must run the cleanup
  hosts.use("plain")
  output.keep_stdout()
  stdin.install()
  local ok, result = pcall(dispatch, argv)
  local code = clean_up(ok and result or output.fail(result))
  output.settle()
  local signal = system.interrupted()
  return signal and 128 + signal or code
end

return cli
