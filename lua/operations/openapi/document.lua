--- An OpenAPI document as a store of nodes: reads it, and resolves `$ref`s in the document or in files beside it.
local errors = require("operations.base.error")
local json = require("operations.base.json")
local json_pointer = require("operations.base.json_pointer")
local limits = require("operations.base.limits")
local location = require("operations.openapi.location")
local media = require("operations.openapi.media")
local members = require("operations.base.members")
local url = require("operations.base.url")
local yaml = require("operations.base.yaml")

local document = {}

---@class operations.openapi.File
---@field root table
---@field location? string  path or URL that its references are relative to
---@field prefix string  of its pointers: the location; "" for the document itself
---@field anchors table<string, operations.openapi.Place>  set when they are collected
---@field collected? boolean
---@field _refs table<string, operations.openapi.Place>

---@class operations.openapi.Place
---@field node any
---@field file operations.openapi.File
---@field pointer string  "#/components/schemas/Pet", with the file in front when it is not the document's own

---@class operations.openapi.Document
---@field file operations.openapi.File
---@field files table<string, operations.openapi.File>  by location
---@field missing table<string, string>  by location: why the file is missing
---@field modern boolean  3.1 and later: schemas may have `$id` and `$anchor`
---@field read fun(location: string): string?, string?
local Document = {}
Document.__index = Document

-- A longer chain of references is treated as a cycle.
local MAX_CHAIN = 64

--- Makes a store of a parsed document.
---@param root table
---@param from? string  the document's path or URL
---@param read? fun(location: string): string?, string?, string?  returns the text at a path or URL of a `$ref`, nil,
---  and its media type if that is known; or nil and a message
---@return operations.openapi.Document
function document.new(root, from, read)
  local modern = not tostring(root.openapi or root.swagger):find("^[23]%.0")
  local self = setmetatable({ modern = modern, files = {}, missing = {} }, Document)
  self.read = read or function(where)
    return nil, ("refers to %s; only files may refer to other files"):format(where)
  end
  self.file = { root = root, location = from, prefix = "", anchors = {}, _refs = {} }
  self.files[from or ""] = self.file
  return self
end

--- Adds a file, or a schema with its own `$id` inside one.
---@param root table
---@param where string
---@return operations.openapi.File
function Document:add(root, where)
  local file = { root = root, location = where, prefix = where, anchors = {}, _refs = {} }
  self.files[where] = file
  return file
end

local function is_named_yaml(from, content_type)
  local path = location.is_url(from) and from:match("^[^?#]*") or from
  return path:lower():find("%.ya?ml$") ~= nil or media.is_yaml(media.essence(content_type))
end

--- JSON begins with a bracket, and so does YAML in flow style, which is read if the name or the type says so.
local function decode(bytes, from, content_type)
  local looks_json = bytes:find("^\239?\187?\191?%s*[{%[]") ~= nil
  local value, err
  if looks_json then
    value, err = json.decode(bytes, { property_order = true })
    if value ~= nil or not is_named_yaml(from, content_type) then
      return value, err and err.message, true
    end
  end
  return yaml.decode(bytes)
end

--- Parses a document, or a file that one refers to.
---@param bytes string
---@param from string  its path or URL, for the message
---@param content_type? string  as its server names it
---@return table? root
---@return operations.Error? err
---@return boolean? is_json  false: it is YAML
function document.parse(bytes, from, content_type)
  local root, message, is_json = decode(bytes, from, content_type)
  if type(root) == "table" then
    return root, nil, is_json == true
  end
  message = message or "expected an OpenAPI document, a JSON or YAML object"
  return nil, errors.new("EXECUTION_ERROR", ("%s: %s"):format(from, message), { kind = "parse", location = from })
end

--- The resource of a schema: `file`, or its own if it has an `$id`.
---@param node table
---@param file operations.openapi.File
---@return operations.openapi.File
function Document:resource(node, file)
  local id = node["$id"]
  if type(id) ~= "string" or node == file.root then
    return file
  end
  local where = location.resolve(file.location or "", (id:gsub("#$", "")))
  local known = self.files[where]
  return known and known.root == node and known or not known and self:add(node, where) or file
end

local function visit(source, node, file, pointer, depth)
  local own = source:resource(node, file)
  if own ~= file then
    own.collected = true
    file, pointer = own, own.prefix .. "#"
  end
  for _, keyword in ipairs({ "$anchor", "$dynamicAnchor" }) do
    local name = node[keyword]
    if type(name) == "string" then
      file.anchors[name] = file.anchors[name] or { node = node, file = file, pointer = pointer }
    end
  end
  for key, child in pairs(node) do
    if type(child) == "table" and depth < limits.json_depth then
      visit(source, child, file, pointer .. "/" .. json_pointer.escape(key), depth + 1)
    end
  end
end

-- Collects the `$id`s and anchors of every file read so far, each file once. Few documents have references that need
-- them.
local function collect(source)
  local new = {}
  for _, file in pairs(source.files) do
    if not file.collected then
      new[#new + 1] = file
    end
  end
  for _, file in ipairs(new) do
    file.collected = true
    local id = file.root["$id"]
    if type(id) == "string" then
      local where = location.resolve(file.location or "", id)
      source.files[where] = source.files[where] or file
    end
    visit(source, file.root, file, file.prefix .. "#", 0)
  end
end

local function read_file(self, where)
  local bytes, message, content_type = self.read(where)
  if not bytes then
    return nil, message
  end
  local root, err = document.parse(bytes, where, content_type)
  if not root then
    return nil, "cannot be read: " .. err.message
  end
  return self:add(root, where)
end

--- The file at a location, read on first use. A file that cannot be read is not tried again: a document may refer to it
--- a thousand times.
local function load(self, where)
  if not self.files[where] and self.modern then
    collect(self)
  end
  if self.files[where] or self.missing[where] then
    return self.files[where], self.missing[where]
  end
  local file, message = read_file(self, where)
  self.missing[where] = message
  return file, message
end

--- Resolves a JSON Pointer (RFC 6901) in a file, also through `$ref`s on the way; `depth` is the number of references
--- being followed through this one.
local function descend(self, file, pointer, depth)
  local place = { node = file.root, file = file, pointer = file.prefix .. "#" }
  for raw in pointer:gmatch("/([^/]*)") do
    local token = json_pointer.unescape(raw)
    local node = json_pointer.child(place.node, token)
    if node == nil then
      place = self:follow(place, depth + 1)
      node = place and json_pointer.child(place.node, token)
    end
    if node == nil then
      return nil, "points to nothing"
    end
    place = { node = node, file = place.file, pointer = place.pointer .. "/" .. raw }
  end
  return place
end

local function find(self, ref, file, depth)
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
    return descend(self, file, fragment, depth)
  end
  collect(self)
  local place = file.anchors[fragment]
  return place, not place and "names an unknown anchor" or nil
end

--- The target of one `$ref`, without following that further.
---@param ref string
---@param file operations.openapi.File  the file that contains the reference
---@param depth? integer  references being followed through this one
---@return operations.openapi.Place? place
---@return string? message
function Document:lookup(ref, file, depth)
  local place = file._refs[ref]
  if place == nil then
    local message
    place, message = find(self, ref, file, depth or 0)
    if not place then
      return nil, ("$ref %q %s"):format(ref, message)
    end
    file._refs[ref] = place
  end
  return place
end

--- Follows a chain of `$ref`s to its end.
---@param place operations.openapi.Place
---@param depth? integer  references being followed through this one
---@return operations.openapi.Place? place
---@return string? message
function Document:follow(place, depth)
  for _ = 1, (depth or 0) < MAX_CHAIN and MAX_CHAIN or 0 do
    local ref = type(place.node) == "table" and place.node["$ref"]
    if type(ref) ~= "string" then
      return place
    end
    local next_place, message = self:lookup(ref, place.file, depth)
    if not next_place then
      return nil, message
    end
    place = next_place
  end
  return nil, "$ref is circular"
end

-- Is there a reference in a node, at any depth?
local function refers(node, depth)
  if type(node) ~= "table" or depth > limits.json_depth then
    return false
  elseif type(node["$ref"]) == "string" then
    return true
  end
  for _, member in pairs(node) do
    if refers(member, depth + 1) then
      return true
    end
  end
  return false
end

--- Follows a path item or an operation. Members beside its `$ref` replace those of the target; lists of parameters are
--- joined. Members that refer to something from another file cannot be merged and are reported.
---@param place operations.openapi.Place
---@param report fun(pointer: string, message: string)
---@return operations.openapi.Place? place
---@return string? message
function Document:follow_merged(place, report)
  local target, message = self:follow(place)
  local node = place.node
  if not target or type(node) ~= "table" or type(target.node) ~= "table" or type(node["$ref"]) ~= "string" then
    return target, message
  end
  local beside = members.copy(node)
  beside["$ref"] = nil
  if next(beside) == nil then
    return target
  elseif target.file ~= place.file and refers(beside, 0) then
    report(place.pointer, "members beside $ref have references, but $ref leads to another file; they are left out")
    return target
  end
  local merged = members.merged(target.node, beside)
  if type(target.node.parameters) == "table" and type(beside.parameters) == "table" then
    merged.parameters = members.joined(target.node.parameters, beside.parameters)
  end
  return { node = merged, file = target.file, pointer = target.pointer }
end

--- The place of a member of `place`, which may be a reference.
---@param place operations.openapi.Place
---@param key string|integer
---@return operations.openapi.Place?  nil without this member
function Document.member(_, place, key)
  local node = place.node[key]
  if node == nil then
    return nil
  end
  local name = type(key) == "number" and key - 1 or json_pointer.escape(key)
  return { node = node, file = place.file, pointer = place.pointer .. "/" .. name }
end

--- The place of a member of `place`, with references followed.
---@param place operations.openapi.Place
---@param key string|integer
---@return operations.openapi.Place? place  nil without a message if it is absent
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

--- Adds the parameters of a path item or operation to a list; a later one with the same id replaces the earlier one.
---@param owner operations.openapi.Place
---@param list { [integer]: operations.openapi.Place, index: table<string, integer> }
---@param id_of fun(node: table): string?, string?  nil and the reason for an ignored parameter
---@param report fun(pointer: string, message: string)
function Document:add_parameters(owner, list, id_of, report)
  local array = type(owner.node) == "table" and owner.node.parameters
  for i = 1, type(array) == "table" and #array or 0 do
    local pointer, id = owner.pointer .. "/parameters/" .. i - 1, nil
    local place, message = self:follow({ node = array[i], file = owner.file, pointer = pointer })
    if place and type(place.node) == "table" then
      id, message = id_of(place.node)
    end
    if id then
      list.index[id] = list.index[id] or #list + 1
      list[list.index[id]] = place
    else
      report(pointer, message or "expected a parameter")
    end
  end
end

return document
