--- An OpenAPI document as a store of nodes: reads it, finds what a `$ref` points at, in the document itself or in
--- files beside it.
local identifiers = require("operations.openapi.identifiers")
local json_pointer = require("operations.base.json_pointer")
local location = require("operations.openapi.location")
local text = require("operations.openapi.text")
local url = require("operations.base.url")

local document = {}

---@class operations.openapi.File
---@field root table
---@field location? string  path or URL that its references are relative to
---@field prefix string  of its pointers: the location, "" for the document itself
---@field anchors table<string, operations.openapi.Place>  once `identifiers.collect` was there
---@field collected? boolean
---@field _refs table<string, operations.openapi.Place>

---@class operations.openapi.Place
---@field node any
---@field file operations.openapi.File
---@field pointer string  "#/components/schemas/Pet", with the file in front when it is not the document's own

---@class operations.openapi.Document
---@field file operations.openapi.File
---@field files table<string, operations.openapi.File>  by location
---@field missing table<string, string>  by location: why there is no file
---@field modern boolean  3.1 and later: schemas may have `$id` and `$anchor`
---@field read fun(location: string): string?, string?
local Document = {}
Document.__index = Document

-- A chain of references longer than this is taken for a circle.
local MAX_CHAIN = 64

local function read_nothing(where)
  return nil, ("refers to %s; only files may refer to other files"):format(where)
end

--- Makes a store of a parsed document.
---@param root table
---@param from? string  where the document came from: a path or a URL
---@param read? fun(location: string): string?, string?  gives the text of what a `$ref` names: of a path or a URL
---@return operations.openapi.Document
function document.new(root, from, read)
  local modern = not tostring(root.openapi or root.swagger):find("^[23]%.0")
  local self = setmetatable({ modern = modern, read = read or read_nothing, files = {}, missing = {} }, Document)
  self.file = { root = root, location = from, prefix = "", anchors = {}, _refs = {} }
  self.files[from or ""] = self.file
  return self
end

--- Adds a file, or a schema inside of one that has an `$id` of its own.
---@param root table
---@param where string
---@return operations.openapi.File
function Document:add(root, where)
  local file = { root = root, location = where, prefix = where, anchors = {}, _refs = {} }
  self.files[where] = file
  return file
end

local function read_file(self, where)
  local bytes, message = self.read(where)
  if not bytes then
    return nil, message
  end
  local root, err = text.parse(bytes, where)
  if not root then
    return nil, "cannot be read: " .. err.message
  end
  return self:add(root, where)
end

--- The file at a location, read when it is asked for the first time. What cannot be read is not tried again: a document
--- may name it a thousand times.
local function load(self, where)
  if not self.files[where] and self.modern then
    identifiers.collect(self)
  end
  if self.files[where] or self.missing[where] then
    return self.files[where], self.missing[where]
  end
  local file, message = read_file(self, where)
  self.missing[where] = message
  return file, message
end

--- Where a JSON Pointer (RFC 6901) leads from the root of a file. What stands behind a `$ref` on the way is found too.
local function descend(self, file, pointer)
  local place = { node = file.root, file = file, pointer = file.prefix .. "#" }
  for raw in pointer:gmatch("/([^/]*)") do
    local token = json_pointer.unescape(raw)
    local node = json_pointer.child(place.node, token)
    if node == nil then
      place = self:follow(place)
      node = place and json_pointer.child(place.node, token)
    end
    if node == nil then
      return nil, "points at nothing"
    end
    place = { node = node, file = place.file, pointer = place.pointer .. "/" .. raw }
  end
  return place
end

local function find(self, ref, file)
  local path, fragment = ref:match("^([^#]*)#?(.*)$")
  if path ~= "" then
    local message
    file, message = load(self, location.resolve(file.location or "", path))
    if not file then
      return nil, message
    end
  end
  fragment = url.decode(fragment)
  if fragment == "" or fragment:sub(1, 1) == "/" then
    return descend(self, file, fragment)
  end
  identifiers.collect(self)
  local place = file.anchors[fragment]
  return place, not place and "names an anchor that is not there" or nil
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
  local pointer = place.pointer .. "/" .. json_pointer.escape(key)
  local target, message = self:follow({ node = node, file = place.file, pointer = pointer })
  if target and type(target.node) ~= "table" then
    return nil, ("$ref leads to a %s, expected an object"):format(type(target.node))
  end
  return target, message
end

return document
