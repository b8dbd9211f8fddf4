--- An OpenAPI document as a store of nodes: reads it, finds what a `$ref` points at, in the document itself or in
--- files beside it.
local errors = require("operations.error")
local json = require("operations.json")
local location = require("operations.from_openapi.location")

local document = {}

---@class operations.openapi.File
---@field root table
---@field location? string  path or URL that its references are relative to
---@field _refs table<string, operations.openapi.Place>

---@class operations.openapi.Place
---@field node any
---@field file operations.openapi.File
---@field pointer string  "#/components/schemas/Pet", with the file in front when it is not the document's own

---@class operations.openapi.Document
---@field file operations.openapi.File
---@field read? fun(path: string): string?, string?
local Document = {}
Document.__index = Document

-- A chain of references longer than this is taken for a circle.
local MAX_CHAIN = 64

--- Makes a store of a parsed document.
---@param root table
---@param from? string  where the document came from: a path or a URL
---@param read? fun(path: string): string?, string?  gives the text of a file that a `$ref` names
---@return operations.openapi.Document
function document.new(root, from, read)
  local file = { root = root, location = from, _refs = {} }
  return setmetatable({ file = file, read = read, _files = { [from or ""] = file } }, Document)
end

--- Parses the text of a document.
---@param text string
---@param from string  for the message
---@return table? root
---@return operations.Error? err
function document.parse(text, from)
  local root, err = json.decode(text)
  if type(root) == "table" then
    return root
  end
  local reason = err and err.message or "it holds no object"
  if not text:find("^[\239\187\191%s]*[{%[]") then
    reason = "it is not JSON (YAML is not read; convert the document to JSON)"
  end
  return nil, errors.new("EXECUTION_ERROR", ("%s: %s"):format(from, reason),
    { kind = "parse", location = from })
end

local function load(self, path)
  local file = self._files[path]
  if file then
    return file
  elseif not self.read or path:find("^%a[%w+.-]+:") then
    return nil, ("refers to %s; only files may refer to other files, and URLs are not fetched"):format(path)
  end
  local text, message = self.read(path)
  if not text then
    return nil, "cannot be read: " .. message
  end
  local root, err = document.parse(text, path)
  if not root then
    return nil, "cannot be read: " .. err.message
  end
  file = { root = root, location = path, _refs = {} }
  self._files[path] = file
  return file
end

local function percent_decode(text)
  return (text:gsub("%%(%x%x)", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

--- Follows a JSON Pointer (RFC 6901) from `node`.
---@param node any
---@param pointer string
---@return any
function document.at(node, pointer)
  for token in pointer:gmatch("/([^/]*)") do
    if type(node) ~= "table" then
      return nil
    end
    token = token:gsub("~1", "/"):gsub("~0", "~")
    local child = node[token]
    if child == nil and token:find("^%d+$") then
      child = node[tonumber(token) + 1]
    end
    node = child
  end
  return node
end

--- Escapes one token of a JSON Pointer.
---@param token string|integer
---@return string
function document.token(token)
  return (tostring(token):gsub("~", "~0"):gsub("/", "~1"))
end

local function find(self, ref, file)
  local path, fragment = ref:match("^([^#]*)#?(.*)$")
  local target = file
  if path ~= "" then
    local message
    target, message = load(self, location.resolve(file.location or "", path))
    if not target then
      return nil, message
    end
  end
  fragment = percent_decode(fragment)
  if fragment ~= "" and fragment:sub(1, 1) ~= "/" then
    return nil, "names an anchor; only JSON Pointers are followed"
  end
  local node = document.at(target.root, fragment)
  if node == nil then
    return nil, "points at nothing"
  end
  local prefix = target == self.file and "" or target.location or ""
  return { node = node, file = target, pointer = prefix .. "#" .. fragment }
end

--- What one `$ref` points at, not followed further.
---@param ref string
---@param file operations.openapi.File  the file that holds the reference
---@return operations.openapi.Place? place
---@return string? message
function Document:lookup(ref, file)
  local place = file._refs[ref]
  if place == nil then
    local message
    place, message = find(self, ref, file)
    if not place then
      return nil, ("$ref %q %s"):format(ref, message)
    end
    file._refs[ref] = place
  end
  return place
end

--- Follows a chain of `$ref`s to the node that is meant.
---@param place operations.openapi.Place
---@return operations.openapi.Place? place
---@return string? message
function Document:follow(place)
  for _ = 1, MAX_CHAIN do
    local ref = type(place.node) == "table" and place.node["$ref"]
    if type(ref) ~= "string" then
      return place
    end
    local next_place, message = self:lookup(ref, place.file)
    if not next_place then
      return nil, message
    end
    place = next_place
  end
  return nil, "$ref goes in a circle"
end

--- The place of a member of `place`, references followed.
---@param place operations.openapi.Place
---@param key string|integer
---@return operations.openapi.Place? place  nil without a message when there is none
---@return string? message
function Document:child(place, key)
  local node = type(place.node) == "table" and place.node[key]
  if node == nil or type(node) ~= "table" then
    return nil
  end
  local token = type(key) == "number" and key - 1 or document.token(key)
  local target, message = self:follow({ node = node, file = place.file, pointer = place.pointer .. "/" .. token })
  if target and type(target.node) ~= "table" then
    return nil, ("$ref leads to a %s, expected an object"):format(type(target.node))
  end
  return target, message
end

return document
