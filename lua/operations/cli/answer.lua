--- Prints an answer: selects the requested part, formats it, and writes it to its destination.
local blocks = require("operations.cli.blocks")
local core = require("operations.core")
local destination = require("operations.cli.destination")
local members = require("operations.base.members")
local output = require("operations.cli.output")
local property_order = require("operations.base.property_order")
local schema_place = require("operations.people.schema_place")
local selection = require("operations.base.selection")
local styles = require("operations.cli.style")
local suggestion = require("operations.base.suggestion")

local answer = {}

local formats = { "json", "yaml", "table", "csv", "ndjson" }

---@type operations.cli.Option[]
answer.options = {
  { name = "--envelope", help = "print the whole envelope, also of an HTTP error" },
  { name = "--select", value = "PATH", help = "print a part: items[0].name, /items/0, or id,name" },
  { name = "--format", short = "-f", value = "NAME", values = formats,
    help = "json, yaml, table, csv or ndjson (a line per item)" },
  { name = "--raw", help = "print strings without quotes" },
  { name = "--pretty", help = "indent the JSON (the default on a terminal)" },
  { name = "--compact", help = "one line of JSON (the default elsewhere)" },
  { name = "--cast", help = "convert the answer to its schema" },
  styles.option,
}

---@type operations.cli.Option[]
answer.file_options = {
  { name = "--output", short = "-o", value = "FILE", help = "write the answer to FILE; - is standard output" },
  { name = "--remote-name", short = "-O", help = "write it to a file with the server's name for it" },
}

---@class operations.cli.Answer
---@field options table<string, any>
---@field format? string             chosen by the user
---@field place? operations.cli.Destination  the file, if any
---@field is_plain boolean           it is printed unchanged
---@field schema any                 of the output: the columns of tables
---@field _steps? operations.cli.Step[]
---@field _style operations.cli.Style
---@field _has_warned? boolean  of a part that no item of a list has
local Answer = {}
Answer.__index = Answer

local function check_format(name)
  if not members.contains(formats, name) then
    return ("--format: expected json, yaml, table, csv or ndjson, got %q%s"):format(name,
      suggestion.behind(name, formats))
  end
end

--- Reads the options; opens nothing yet.
---@param options table<string, any>  of parsed arguments
---@return operations.cli.Answer?
---@return string? message
function answer.new(options)
  local message = options.format and check_format(options.format)
  if message then
    return nil, message
  elseif options.pretty and options.compact then
    return nil, "--pretty and --compact exclude each other"
  elseif options.output and options["remote-name"] then
    return nil, "--output and --remote-name exclude each other"
  end
  local steps, style
  style, message = styles.of(options)
  if not style then
    return nil, message
  elseif options.select then
    steps, message = selection.parse(options.select)
    if not steps then
      return nil, message
    end
  end
  return setmetatable({ options = options, format = options.format, place = nil, schema = nil,
    is_plain = not (options.envelope or steps or options.format or options.cast), _steps = steps, _style = style,
    _raw_stdout = options.output == "-" }, Answer)
end

--- Opens the file for the answer, if there is one.
---@param exchange? operations.cli.Exchange
---@return boolean? ok
---@return string? message
function Answer:open(exchange)
  local message
  if self.options["remote-name"] then
    self.place, message = destination.named(function()
      local head = exchange and exchange.head
      local name = self.file_name or head and destination.remote_name(head.headers["content-disposition"], head.url)
      return name, not name and "the server names no file: -o FILE names one" or nil
    end, exchange)
  elseif self.options.output and not self._raw_stdout then
    self.place, message = destination.file(self.options.output, exchange)
  end
  return message == nil, message
end

--- Is the answer shown on a terminal?
---@return boolean
function Answer:is_for_people()
  local options = self.options
  return output.is_terminal() and not (options.output or options["remote-name"])
end

--- The destination of bytes that are printed as they arrive.
---@return operations.cli.Destination
function Answer:stream()
  self.place = self.place or destination.stdout(self._raw_stdout)
  return self.place
end

local function print_json(self, value, pretty)
  local options = self.options
  if options.pretty or options.compact then
    pretty = options.pretty
  elseif pretty == nil then
    pretty = not self.place and output.is_terminal()
  end
  local text = output.encode(value, pretty) .. "\n"
  if self.place then
    self.place:write(text)
  else
    output.json(text, self._style)
  end
end

local function print_text(self, text)
  if self.place then
    self.place:write(text)
  else
    output.text(text, true)
  end
end

-- The member names of an object or of a list's items, in the order of --select or of the schema.
local function known_names(self)
  local tokens, names = {}, {}
  for _, step in ipairs(self._steps or {}) do
    for i, part in ipairs(type(step) == "table" and step or {}) do
      names[i] = part.name
    end
    tokens[#tokens + 1] = step == true and 0 or step
  end
  if names[1] then
    return names
  end
  local places = schema_place.find(self.schema, tokens)
  for _, list in ipairs({ places, schema_place.find(self.schema, tokens, 0) }) do
    for _, schema in ipairs(list) do
      for _, name in ipairs(property_order.names(type(schema.properties) == "table" and schema.properties or {})) do
        names[#names + 1] = name
      end
    end
  end
  return names
end

local writers = {}

function writers.json(self, value, pretty)
  print_json(self, value, pretty)
end

function writers.yaml(self, value)
  print_text(self, require("operations.base.yaml_writer").encode(value))
end

function writers.table(self, value)
  local is_shown = not self.place and output.is_terminal()
  local text, left_out = require("operations.cli.grid").text(is_shown and output.readable(value) or value,
    known_names(self), is_shown and output.width() or nil)
  print_text(self, text)
  if left_out[1] then
    output.notice("no place for the column%s %s: --select or another --format shows %s", left_out[2] and "s" or "",
      table.concat(left_out, ", "), left_out[2] and "them" or "it")
  end
end

function writers.csv(self, value)
  print_text(self, require("operations.cli.grid").csv(value, known_names(self)))
end

function writers.ndjson(self, value)
  for _, item in ipairs(core.kind(value) == "array" and value or { value }) do
    self:item(item)
  end
end

--- Prints a value on its own line.
---@param value any
function Answer:item(value)
  if self.options.raw and type(value) == "string" then
    print_text(self, value .. "\n")
  else
    print_json(self, value, self.options.pretty or false)
  end
end

--- Prints a value as a line of JSON, whatever the options.
---@param value any
function Answer:line(value)
  local text = output.encode(value) .. "\n"
  if self.place then
    self.place:write(text)
  else
    output.json(text, self._style)
  end
end

-- The only file in a tool's answer, to be saved; or nil, or nil and an error message.
local function file_of(list)
  local files = blocks.files(list)
  if #files > 1 then
    return nil, ("the answer has %d files: --select '[N]' picks one of its %d blocks"):format(#files, #list)
  end
  return files[1]
end

-- Prints content blocks for people, or saves the file in them. Returns true when all is printed, or an error message.
local function print_blocks(self, value)
  local list = not self.format and not self.options.envelope and blocks.of(value)
  if not list then
    return false
  elseif self.place then
    local file, message = file_of(list)
    if not file then
      return message or false
    end
    self.file_name = file.name and destination.remote_name(nil, "x://x/" .. file.name)
    self.place:write(file.bytes)
    return true
  end
  local options = self.options
  local for_people = options.raw or output.is_terminal() and not options.pretty and not options.compact
  local text = for_people and blocks.text(list)
  if text then
    output.text(text, true)
  end
  return text and true or false
end

--- The selected part of a value; or nil and a message. Warns once of a part that no item of a list has.
---@param value any
---@return any
---@return string? message
function Answer:select(value)
  if not self._steps then
    return value
  end
  local found, message, doubt = selection.get(self._steps, value)
  if doubt and not self._has_warned then
    self._has_warned = true
    output.notice("warning: %s", doubt)
  end
  return found, message
end

--- Prints a value.
---@param value any
---@param source? string  of the envelope
---@param pretty? boolean  indent JSON; nil: on a terminal
---@return string? problem  why it cannot be printed as requested
function Answer:value(value, source, pretty)
  local message
  value, message = self:select(value)
  return message or self:print(value, source, pretty)
end

--- Prints a value whose part is already selected.
---@param value any
---@param source? string
---@param pretty? boolean
---@return string? problem
function Answer:print(value, source, pretty)
  local done = source == "mcp" and print_blocks(self, value)
  if type(done) == "string" then
    return done
  elseif not done and self.options.raw and type(value) == "string" and (self.format or "json") == "json" then
    print_text(self, value .. "\n")
  elseif not done then
    writers[self.format or "json"](self, value, pretty)
  end
end

--- Prints a value as JSON, whatever the options select.
---@param value any
---@param pretty? boolean
function Answer:whole(value, pretty)
  print_json(self, value, pretty)
end

return answer
