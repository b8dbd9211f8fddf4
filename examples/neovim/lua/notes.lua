--- A plugin with operations of its own: notes, kept in a file. The user's commands, the user's assistants and other
--- plugins call the same operations.
---   :NoteAdd       asks by a form
---   :Notes         lets the user choose one of the plugin's operations, asks for its input, shows its result
--- `require("notes").setup()` adds them beside the user's own sources.
local nvim = require("operations.nvim")
local operations = require("operations")

local notes = {}

local path

local function read()
  local ok, lines = pcall(vim.fn.readfile, path)
  return ok and operations.json.decode(table.concat(lines, "\n")) or operations.array()
end

local definitions = {
  { namespace = "notes", name = "list", type = "query", title = "All notes", handler = function()
    return read()
  end },
  { namespace = "notes", name = "add", title = "Add a note", inputSchema = { type = "object", required = { "text" },
    properties = { text = { type = "string", minLength = 1, title = "Text" },
      kind = { type = "string", default = "idea", title = "Kind", oneOf = {
        { const = "idea", title = "An idea" }, { const = "task", title = "Something to do" } } } } },
  handler = function(input)
    local list = read()
    table.insert(list, input)
    assert(vim.fn.writefile({ operations.json.encode(list) }, path) == 0, "the notes cannot be written")
    return { count = #list }
  end },
}

-- Calls an operation with an input that the user completes, and shows what it gives.
local function call(spec)
  nvim.form({ title = spec.title, schema = spec.inputSchema, all = true }, function(input)
    if not input then
      return
    end
    local envelope, err = nvim.registry():execute(spec.namespace .. "." .. spec.name, input)
    if not envelope then
      return vim.notify(tostring(err), vim.log.levels.ERROR)
    end
    local text, filetype = nvim.text(envelope)
    nvim.float({ title = spec.title, text = text, filetype = filetype })
  end)
end

--- @param options? { path?: string }  of the file; default: notes.json among Neovim's data
function notes.setup(options)
  path = options and options.path or vim.fn.stdpath("data") .. "/notes.json"
  if notes.remove then
    notes.remove()
  end
  notes.remove = assert(nvim.add_source("notes", { operations = definitions }))
  vim.api.nvim_create_user_command("NoteAdd", function() call(definitions[2]) end, {})
  vim.api.nvim_create_user_command("Notes", function()
    nvim.pick({ prompt = "notes", filter = function(spec) return spec.namespace == "notes" end }, function(spec)
      if spec then
        call(spec)
      end
    end)
  end, {})
end

return notes
