--- Writes a request as a curl command for a shell.
local core = require("operations.core")
local json = require("operations.base.json")
local members = require("operations.base.members")

local curl = {}

local function quote(text)
  if text:find("^[%w_./:=@%%+,-]+$") then
    return text
  end
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- The environment variable that contains a secret, for the shell to expand.
local function variable_in(value, variables)
  for name, content in pairs(variables) do
    local from, to = value:find(content, 1, true)
    if content ~= "" and from then
      return value:sub(1, from - 1) .. "$" .. name .. value:sub(to + 1)
    end
  end
end

local function double_quote(text)
  return '"' .. text:gsub('[\\"`]', "\\%0") .. '"'
end

local function header_words(shown, request, variables, skip)
  local words = {}
  for _, header in ipairs(shown.headers) do
    local name, value, is_secret = header[1], header[2], header[3]
    local from = is_secret and variable_in(request.headers[name], variables)
    if not skip[name:lower()] then
      words[#words + 1] = "--header " .. (from and double_quote(name .. ": " .. from) or quote(name .. ": " .. value))
    end
  end
  return words
end

local function file_word(value)
  local path = value.path or "-"
  return path .. (value.contentType and ";type=" .. value.contentType or "")
    .. (value.filename and ";filename=" .. value.filename or "")
end

local function form_word(name, value)
  if core.kind(value) == "object" and (value.path or value.reader) then
    return "--form " .. quote(name .. "=@" .. file_word(value))
  elseif type(value) == "table" then
    local text = assert(json.encode(value, { sort_keys = true }))
    return "--form " .. quote(name .. "=" .. text .. ";type=application/json")
  end
  return "--form-string " .. quote(name .. "=" .. (type(value) == "string" and value or json.encode(value)))
end

local function form_words(body)
  local words = {}
  for _, name in ipairs(members.names(body)) do
    local value = body[name]
    for _, item in ipairs(core.kind(value) == "array" and value or { value }) do
      words[#words + 1] = form_word(name, item)
    end
  end
  return words
end

local function body_words(shown, body, is_form)
  if is_form then
    return form_words(body)
  elseif core.kind(body) == "object" and (body.path or body.reader) then
    return { "--data-binary " .. quote("@" .. (body.path or "-")) }
  end
  return shown.body and { "--data-binary " .. quote(shown.body) } or {}
end

--- The command that sends a request.
---@param shown operations.cli.ShownRequest
---@param request table  the request to show
---@param body any  of the operation's input
---@param variables? table<string, string>  secrets that the user gave by environment variables
---@return string
function curl.command(shown, request, body, variables)
  local content_type = ""
  for _, header in ipairs(shown.headers) do
    content_type = header[1]:lower() == "content-type" and header[2] or content_type
  end
  local is_form = content_type:find("^multipart/form%-data") ~= nil and core.kind(body) == "object"
  local words = { "curl" .. (shown.method ~= "GET" and " --request " .. shown.method or "") .. " " .. quote(shown.url) }
  local more = { header_words(shown, request, variables or {}, { ["content-type"] = is_form or nil }),
    body_words(shown, body, is_form) }
  for _, list in ipairs(more) do
    for _, word in ipairs(list) do
      words[#words + 1] = word
    end
  end
  return table.concat(words, " \\\n  ") .. "\n"
end

-- Adds the variables named in texts, at any depth.
local function add_variables(found, value)
  if type(value) == "table" then
    for _, item in pairs(value) do
      add_variables(found, item)
    end
    return
  end
  local name = type(value) == "string" and value:match("env:([%a_][%w_]*)$")
  if name then
    found[name] = os.getenv(name)
  end
end

--- The values of environment variables that options name for secrets.
---@param options table<string, any>  of parsed arguments
---@param references? table  members of a remembered source
---@return table<string, string>
function curl.variables(options, references)
  local found = { OPERATIONS_BEARER = os.getenv("OPERATIONS_BEARER") }
  add_variables(found, options)
  add_variables(found, references)
  return found
end

return curl
