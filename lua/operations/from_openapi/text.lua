--- The text of a document as a table: JSON, or YAML.
local errors = require("operations.error")
local json = require("operations.json")
local yaml = require("operations.from_openapi.yaml")

local text = {}

--- JSON begins with a bracket, and so does YAML in flow style, which is read when the name says so.
local function read(bytes, from)
  local looks_json = bytes:find("^\239?\187?\191?%s*[{%[]") ~= nil
  local value, err
  if looks_json then
    value, err = json.decode(bytes)
    if value ~= nil or not from:find("%.ya?ml$") then
      return value, err and err.message
    end
  end
  return yaml.decode(bytes)
end

--- Parses a document, or a file that one refers to.
---@param bytes string
---@param from string  its path or URL, for the message
---@return table? root
---@return operations.Error? err
function text.parse(bytes, from)
  local root, message = read(bytes, from)
  if type(root) == "table" then
    return root
  end
  return nil, errors.new("EXECUTION_ERROR", ("%s: %s"):format(from, message or "it holds no object"),
    { kind = "parse", location = from })
end

return text
