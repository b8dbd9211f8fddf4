--- Symbols from language servers, as operations.
local buffers = require("operations.nvim.serve.buffers")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local marks = require("operations.base.marked")
local task = require("operations.task")
local text = require("operations.nvim.serve.text")

local symbols = {}

local NAME = 1024 -- bytes

-- Whether functions take the client as an argument depends on the version.
local methods = vim.fn.has("nvim-0.11") == 1

local function ask(client, name, ...)
  if methods then
    return client[name](client, ...)
  end
  return client[name](...)
end

-- The clients, of a buffer or all, that support a method.
local function clients_for(method, buffer)
  local all
  if vim.lsp.get_clients then
    all = vim.lsp.get_clients({ bufnr = buffer })
  else
    all = buffer and vim.lsp.buf_get_clients(buffer) or vim.lsp.get_active_clients()
  end
  local list = {}
  for _, client in pairs(all) do
    list[#list + 1] = ask(client, "supports_method", method) and client or nil
  end
  table.sort(list, function(a, b)
    return a.id < b.id
  end)
  return list
end

-- Asks a client, waits for its answer.
local function request(client, method, params, buffer)
  return task.await(function(wake)
    local sent, id = ask(client, "request", method, params, function(err, result)
      wake(result, err)
    end, buffer)
    if not sent then
      wake(nil, { message = "the language server has ended" })
    end
    return function()
      if id then
        pcall(ask, client, "cancel_request", id)
      end
    end
  end)
end

local function range_of(symbol)
  return symbol.range or symbol.location and symbol.location.range
end

-- Adds a symbol and its children, each with the name of its container.
local function add(list, symbol, container)
  local range = range_of(symbol)
  if #list >= limits.nvim_items or type(symbol.name) ~= "string" then
    return
  end
  local name, place = text.shown(symbol.name, NAME), symbol.location and symbol.location.uri
  list[#list + 1] = { name = name, container = container,
    kind = vim.lsp.protocol.SymbolKind[symbol.kind] or tostring(symbol.kind),
    line = range and range.start.line + 1, end_line = range and range["end"].line + 1,
    path = place and text.shown(vim.uri_to_fname(place), NAME) or nil }
  for _, child in ipairs(symbol.children or {}) do
    add(list, child, name)
  end
end

local function collect(method, params, buffer)
  local clients, list, problem = clients_for(method, buffer), marks.array(), nil
  for _, client in ipairs(clients) do
    local result, err = request(client, method, params, buffer or vim.api.nvim_get_current_buf())
    problem = problem or err
    for _, symbol in ipairs(type(result) == "table" and result or {}) do
      add(list, symbol, type(symbol.containerName) == "string" and text.shown(symbol.containerName, NAME) or nil)
    end
  end
  if not clients[1] then
    return nil, errors.new("NOT_FOUND", "no language server answers " .. method .. " here")
  elseif problem and not list[1] then
    return nil, errors.new("LANGUAGE_SERVER", text.shown(tostring(problem.message or problem), NAME))
  end
  return { symbols = list, more = #list >= limits.nvim_items }
end

local function of_buffer(input)
  local buffer, err = buffers.find(input.buffer)
  if not buffer then
    return nil, err
  end
  return collect("textDocument/documentSymbol", { textDocument = { uri = vim.uri_from_bufnr(buffer) } }, buffer)
end

local function find(input)
  return collect("workspace/symbol", { query = input.query })
end

symbols.definitions = {
  { namespace = "symbols", name = "list", type = "query", title = "Symbols of a buffer", handler = of_buffer,
    description = "The functions, classes and other symbols of a buffer, as its language server sees them.",
    inputSchema = { type = "object", properties = { buffer = buffers.schema } } },
  { namespace = "symbols", name = "find", type = "query", title = "Find symbols", handler = find,
    description = "Symbols of the workspace by name, from all language servers that run.",
    inputSchema = { type = "object", required = { "query" }, properties = { query = { type = "string" } } } },
}

return symbols
