--- The operations of the editor's sources as tools of CodeCompanion, Avante and mcphub.nvim: users keep their
--- assistant, and have the MCP servers, HTTP APIs and operations of plugins that `require("operations.nvim")` knows.
---   require("codecompanion").setup({ extensions = { operations = { callback = require("beside").codecompanion } } })
---   require("avante").setup({ custom_tools = require("beside").avante })
---   require("beside").mcphub()
--- What MCP servers and APIs have is offered if setup() says so: `mcp = { accessControl = {} }`, and the same for an
--- API.
local nvim = require("operations.nvim")
local operations = require("operations")

local beside = {}

-- The tools of the registry, as functions of OpenAI's format; they follow changes of the registry.
local function tools_of(confirm)
  return assert(operations.to_tools(nvim.registry(), { format = "openai", confirm = confirm }))
end

-- Calls a tool in a task, which does not block the editor. `done` gets a text, and whether the call failed.
local function call(tools, name, arguments, done)
  return operations.spawn(function()
    local answer = { role = "assistant", tool_calls = { { id = "1", type = "function", ["function"] = { name = name,
      arguments = operations.json.encode(nvim.from_vim(arguments or {})) } } } }
    local _, results = tools:run({ choices = { { message = answer } } })
    done(results[1].content.text, not results[1].ok)
  end)
end

local function each(tools, fn)
  for _, definition in ipairs(tools.definitions) do
    local described = definition["function"]
    local spec = nvim.registry():get_spec(tools:id_of(described.name))
    fn(described, not spec or spec.type ~= "query", (spec or {}).title or described.name)
  end
end

-- Calls `refresh` now, and when the operations of a source have changed.
local function follow(refresh)
  local is_due = false
  nvim.on_state(function()
    if not is_due then
      is_due = true
      vim.schedule(function()
        is_due = false
        refresh()
      end)
    end
  end)
  refresh()
end

--- An extension of CodeCompanion: each operation is a tool, and the group `operations` has them all. Those that change
--- something ask first, as CodeCompanion's own.
---@return { setup: fun() }
function beside.codecompanion()
  return { setup = function()
    local config = require("codecompanion.config").interactions.chat.tools
    local tools, ours = tools_of(), {}
    follow(function()
      for name in pairs(ours) do
        config[name] = nil
      end
      ours = {}
      each(tools, function(described, changes, title)
        ours[described.name], config[described.name] = true, { description = title, callback = function()
          return { name = described.name, schema = nvim.to_vim({ type = "function", ["function"] = described }),
            opts = { require_approval_before = changes },
            cmds = { function(_, arguments, given)
              call(tools, described.name, arguments, function(text, failed)
                given.output_cb({ status = failed and "error" or "success", data = text })
              end)
            end },
            output = {
              success = function(self, output, meta) meta.tools.chat:add_tool_output(self, output[#output]) end,
              error = function(self, output, meta) meta.tools.chat:add_tool_output(self, output[#output]) end,
            } }
        end, opts = { require_approval_before = changes } }
      end)
      config.groups = config.groups or {}
      config.groups.operations = { description = "Operations of the editor's sources", tools = vim.tbl_keys(ours),
        opts = { collapse_tools = true } }
    end)
  end }
end

-- A property of a schema as Avante describes it.
local function field_of(name, schema, is_optional)
  local kind = type(schema) == "table" and type(schema.type) == "string" and schema.type or "object"
  local field = { name = name, type = kind, optional = is_optional, description = type(schema) == "table"
    and schema.description or nil, choices = type(schema) == "table" and nvim.to_vim(schema.enum) or nil }
  if kind == "object" and type(schema) == "table" and schema.properties then
    field.fields = beside.fields(schema)
  elseif kind == "array" then
    field.items = field_of("item", schema.items or {}, true)
  end
  return field
end

--- The properties of a schema as fields of Avante's tools.
---@param schema table
---@return table[]
function beside.fields(schema)
  local fields, required = {}, {}
  for _, name in ipairs(schema.required or {}) do
    required[name] = true
  end
  for _, name in ipairs(operations.schema.properties(schema)) do
    fields[#fields + 1] = field_of(name, schema.properties[name], not required[name])
  end
  return fields
end

-- Avante calls tools without asking: we ask about those that change something.
local function confirm(asked)
  return operations.await(function(wake)
    vim.ui.select({ "No", "Yes" }, { prompt = ("Call %s %s?"):format(asked.operationId,
      operations.json.encode(asked.input, { sort_keys = true })) }, function(choice) wake(choice == "Yes") end)
  end)
end

local for_avante

--- `custom_tools` of Avante.
---@return table[]
function beside.avante()
  for_avante = for_avante or tools_of(confirm)
  local list = {}
  each(for_avante, function(described)
    list[#list + 1] = { name = described.name, description = described.description,
      param = { type = "table", fields = beside.fields(described.parameters) },
      returns = { { name = "result", type = "string", description = "what the operation gives" },
        { name = "error", type = "string", description = "why it failed", optional = true } },
      func = function(arguments, given)
        call(for_avante, described.name, arguments, function(text, failed)
          given.on_complete(not failed and text or nil, failed and text or nil)
        end)
      end }
  end)
  return list
end

--- Adds the native server `operations` to mcphub.nvim, which asks before each call.
function beside.mcphub()
  local hub, tools = require("mcphub"), tools_of()
  local server = hub.add_server("operations", { displayName = "Operations of the editor's sources" })
  follow(function()
    local list = {}
    each(tools, function(described)
      list[#list + 1] = { name = described.name, description = described.description,
        inputSchema = nvim.to_vim(described.parameters), handler = function(request, response)
          call(tools, described.name, request.params, function(text, failed)
            if failed then
              response:error(text)
            else
              response:text(text):send()
            end
          end)
        end }
    end)
    server.capabilities.tools = list
  end)
end

return beside
