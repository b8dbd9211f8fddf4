--- Operations of an HTTP API from its OpenAPI document (3.0, 3.1, 3.2, Swagger 2.0; JSON or YAML).
---
--- `document`, `file` and `url` return a list of definitions for `registry:register_all`, and a report of unsupported
--- parts of the document, each `{ pointer, message, operation? }`. A broken operation does not affect the others.
---
--- * Schemas and requests are made on first use, so that a document of a thousand operations loads fast. The report
---   grows accordingly; `config.eager` makes everything at once.
--- * The input is one flat object: parameters by name, and `body`. Duplicate names become `query.id`, `header.id`.
---   Unknown members are refused.
--- * GET, HEAD and QUERY are queries, other methods mutations; responses of `text/event-stream`, NDJSON or JSON lines
---   make subscriptions. If an operation can answer either way, the subscription is `<name>_stream`.
--- * The result is the body; an HTTP error status is an error object `HTTP_<status>` with `details = { statusCode,
---   headers, body }`.
--- * Without `config.accessControl`, `_meta.exposed` is false: the program itself may call the operation, but servers
---   do not offer it to others.
local argument = require("operations.base.argument")
local catalogue = require("operations.openapi.catalogue")
local config = require("operations.openapi.config")
local core = require("operations.core")
local document = require("operations.openapi.document")
local errors = require("operations.base.error")
local limits = require("operations.base.limits")
local loader = require("operations.openapi.loader")
local location = require("operations.openapi.location")
local response = require("operations.openapi.response")
local system = require("operations.system")
local url = require("operations.base.url")

---@class operations.from_openapi
local from_openapi = {}

-- The text of the file that the program names, which may be a FIFO; or nil and a message.
local function read_file(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  local size = file:seek("end") -- read at once, into a buffer of this size
  local known = size and size > 0 and file:seek("set") and size < limits.document
  local bytes, reason = file:read((known and size or limits.document) + 1)
  file:close()
  if bytes and #bytes > limits.document then
    return nil, ("%s: larger than %d bytes"):format(path, limits.document)
  end
  return bytes or not reason and "" or nil, reason and ("%s: %s"):format(path, reason)
end

local function is_below(path, directory)
  local prefix = directory:gsub("/$", "") .. "/"
  return path:sub(1, #prefix) == prefix
end

-- The function that reads the files that a document refers to: regular ones below `config.ref_root`, or below the
-- document's directory. Returns the text; or nil and the reason.
local function file_reader(options, path)
  local directory = options.ref_root or path:match("^(.*/)") or "."
  local root
  return function(where)
    root = root or system.real_path(directory)
    if where:find("%z") then
      return nil, "names a file with a zero byte"
    end
    local real, message = system.real_path(where)
    if real and not (root and is_below(real, root)) then
      return nil, ("refers to %s, outside of %s; config.ref_root (--ref-root) names the directory that $refs may read")
        :format(where, directory)
    end
    local bytes
    if real then
      bytes, message = system.read_regular(real, limits.document)
    end
    return bytes, not bytes and "cannot be read: " .. message or nil
  end
end

local function headers_for(address, base, options)
  local headers, names = { Accept = "application/json, application/yaml;q=0.9, */*;q=0.5" }, {}
  local own = base and url.parse(base)
  if own and url.origin(own) == url.origin(url.parse(address)) then
    for name, value in pairs(options.document_headers or options.headers or {}) do
      headers[name], names[#names + 1] = value, name
    end
  end
  return headers, names
end

-- What is kept of a document that was fetched, to ask for a changed one only.
---@class operations.openapi.Known
---@field etag? string
---@field modified? string
---@field digest string

-- The error of a document that is refused. `auth` is not sent for it, so the option that is needed is named.
local function refusal(reply)
  local err = response.failure(reply)
  if reply.status == 401 or reply.status == 403 then
    err.message = err.message .. "; config.document_headers has the credentials of a document"
  end
  return err
end

-- The text at an address, its URL after redirects, its type and what to keep of it; or nil and the error; false where
-- it is still the known one. `base` is the URL of the document, if it has one. Credentials are for the API and are not
-- sent for its document; `config.document_headers`, or `config.headers`, are sent to the document's own origin only.
local function fetch(address, base, options, known)
  local headers, names = headers_for(address, base, options)
  if known then
    headers["If-None-Match"], headers["If-Modified-Since"] = known.etag, not known.etag and known.modified or nil
  end
  local reply, err = options.http.request({
    method = "GET", url = address, headers = headers, timeout = options.timeout, credentials = names,
    max_body = limits.document, jar = options.jar, ca_file = options.ca_file, proxy = options.proxy,
    unix_socket = options.unix_socket,
  })
  if not reply then
    return nil, err
  elseif known and reply.status == 304 then
    return false
  elseif not response.is_success(reply.status) then
    return nil, refusal(reply)
  end
  local body = reply.body or ""
  local now_known = options.refresh and { etag = reply.headers.etag, modified = reply.headers["last-modified"],
    digest = core.sha256(body) } or nil
  if known and known.digest == now_known.digest then
    return false
  end
  return body, reply.url or address, reply.headers["content-type"], now_known
end

--- The function that reads `$ref`s: URLs with `config.remote_refs`, files by `read` if the document is one.
local function reader(options, base, read)
  return function(where)
    if location.is_url(where) then
      if not options.remote_refs then
        return nil, ("refers to %s; config.remote_refs = true would fetch it"):format(where)
      end
      local bytes, err, content_type = fetch(where, base, options)
      return bytes, not bytes and "cannot be read: " .. err.message or nil, content_type
    elseif not read or where:find("^%a[%w+.-]+:") then
      return nil, ("refers to %s; only files may refer to other files"):format(where)
    end
    return read(where)
  end
end

--- Makes definitions of a parsed document. The document is not changed, and must not change afterwards.
---@param doc table
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.document(doc, options)
  argument.expect(doc, "table", 1, "document")
  local checked = config.check(options)
  local from = checked.location and location.file_path(checked.location)
  local base = from and location.is_url(from) and from or nil
  return loader.load(doc, checked, from, reader(checked, base, from and not base and file_reader(checked, from) or nil))
end

-- Loads the document in a file; `read` reads the files that it refers to.
local function load_file(path, checked, read)
  local bytes, message = read_file(path)
  if not bytes then
    return nil, errors.new("EXECUTION_ERROR", message, { kind = "file", location = path })
  end
  local root, err = document.parse(bytes, path)
  if not root then
    return nil, err
  end
  return loader.load(root, checked, path, reader(checked, nil, read))
end

--- Reads a document from a file, JSON or YAML; `$ref`s may lead to files beside and below it (`config.ref_root`).
---@param path string
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.file(path, options)
  argument.expect(path, "string", 1, "file")
  local checked = config.check(options)
  return load_file(path, checked, file_reader(checked, path))
end

--- The files that the `$ref`s of a document in a file name, also those that are missing or that `ref_root` excludes.
---@param path string
---@param ref_root? string
---@return string[]? paths
---@return operations.Error? err
function from_openapi.files(path, ref_root)
  argument.expect(path, "string", 1, "files")
  argument.optional(ref_root, "string", 2, "files")
  local checked = config.check({ eager = true, base_url = "http://localhost", ref_root = ref_root })
  local read, list = file_reader(checked, path), {}
  local definitions, err = load_file(path, checked, function(where)
    list[#list + 1] = where
    return read(where)
  end)
  return definitions and list, not definitions and err or nil
end

--- Fetches a document; relative server URLs are resolved against its final URL. Its `$ref`s to other URLs are fetched
--- with `config.remote_refs`.
---@param address string  http or https
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
---@return operations.openapi.Catalogue? catalogue  with `refresh`: registries that it registers follow the document
function from_openapi.url(address, options)
  if type(address) ~= "string" or not location.is_url(address) then
    error("bad argument #1 to 'url' (an http or https URL expected)", 2)
  end
  local checked = config.check(options)
  local function load(known)
    local bytes, where, content_type, now_known = fetch(address, address, checked, known)
    if not bytes then
      return bytes, where
    end
    local root, err = document.parse(bytes, where, content_type)
    if not root then
      return nil, err
    end
    local list, report = loader.load(root, checked, where, reader(checked, address))
    return list, report, now_known
  end
  local list, report, known = load()
  if not list or not checked.refresh then
    return list, report
  end
  return list, report, catalogue.new(address, checked.refresh, { operations = list, problems = report, known = known },
    load)
end

return from_openapi
