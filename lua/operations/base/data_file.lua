--- Files of data that people write: JSON, YAML, or Lua that returns it.
local errors = require("operations.base.error")
local files = require("operations.base.files")
local json = require("operations.base.json")
local yaml = require("operations.base.yaml")

local data_file = {}

-- A Lua file is run, as a program that requires it would.
local function run(path)
  local chunk, message = loadfile(path)
  if not chunk then
    return nil, message
  end
  local ok, value = pcall(chunk)
  if ok and value ~= nil then
    return value
  end
  return nil, ok and "it returns nothing" or tostring(value)
end

local function decode_by(decode)
  return function(path)
    local text, message = files.read(path)
    if not text then
      return nil, message
    end
    return decode(text)
  end
end

local read_yaml = decode_by(yaml.decode)
local readers = { json = decode_by(json.decode), yaml = read_yaml, yml = read_yaml, lua = run }

--- Reads a file by its name: `.json`, `.yaml`, `.yml`, or `.lua`, which is run.
---@param path string
---@return any value  nil: it cannot be read
---@return string? message  with the path
function data_file.read(path)
  local reader = readers[(path:match("%.(%a+)$") or ""):lower()]
  if not reader then
    return nil, path .. ": a file .json, .yaml, .yml or .lua expected"
  end
  local value, problem = reader(path)
  if value ~= nil then
    return value
  end
  problem = errors.is_error(problem) and problem.message or tostring(problem)
  return nil, problem:find(path, 1, true) and problem or path .. ": " .. problem
end

return data_file
