--- The page at `/docs`, where people read about operations and call them: our own, or an installed component. Its files
--- are public and contain nothing of the registry; the page fetches the document. Files are read once, and only those
--- listed here are served.
local base_files = require("operations.base.files")
local caching = require("operations.server.caching")
local errors = require("operations.base.error")

local page = {}

---@class operations.PageFile
---@field body string
---@field headers table<string, string>

---@class operations.Page
---@field files table<string, operations.PageFile>  by path below the server's prefix: "/docs", "/docs/page.js"
local Page = {}
Page.__index = Page

local types = { html = "text/html; charset=utf-8", js = "text/javascript; charset=utf-8",
  css = "text/css; charset=utf-8", png = "image/png" }

local STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
  .. "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

local HTML = [[
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API</title>
%s
]]

-- Components that can replace our page: the folder that has them, their files, HTML, start script, and what their
-- content security policy allows beyond ours.
local components = {
  { files = { "swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png" }, folders = { "" },
    html = [[<link rel="icon" href="docs/favicon-32x32.png"><link rel="stylesheet" href="docs/swagger-ui.css">
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script><script src="docs/init.js"></script>]],
    script = 'SwaggerUIBundle({ url: "openapi.json", dom_id: "#page" })\n',
    policy = STRICT:gsub("img%-src", "img-src 'self'") },
  { files = { "standalone.js" }, folders = { "", "dist/browser/" },
    html = [[<div id="page"></div>
<script src="docs/standalone.js"></script><script src="docs/init.js"></script>]],
    script = 'Scalar.createApiReference("#page", { url: "openapi.json", withDefaultFonts: false, telemetry: false })\n',
    policy = STRICT:gsub("style%-src 'self'", "style-src 'self' 'unsafe-inline'") },
}

local own = { "index.html", "page.css", "page.js", "view.js", "form.js", "call.js", "dom.js" }

local function page_file(name, body, policy)
  return { body = body, headers = {
    ["content-type"] = types[name:match("%w+$")], ["cache-control"] = "no-cache", etag = caching.tag_of(body),
    ["content-security-policy"] = policy, ["referrer-policy"] = "no-referrer",
  } }
end

local function own_files()
  local files = {}
  for _, name in ipairs(own) do
    local body = base_files.own("operations/server/page/" .. name)
    if not body then
      return nil, errors.new("UNAVAILABLE", ("the page's file operations/server/page/%s is not where package.path "
        .. "leads; install it beside the Lua files"):format(name))
    end
    files[name == "index.html" and "/docs" or "/docs/" .. name] = page_file(name, body, STRICT)
  end
  return files
end

-- The files of a component, if the folder has all of them.
local function component_files(component, folder)
  local files = {}
  for _, name in ipairs(component.files) do
    local body = base_files.read(folder .. name)
    if not body then
      return nil
    end
    files["/docs/" .. name] = page_file(name, body, component.policy)
  end
  files["/docs"] = page_file("index.html", HTML:format(component.html), component.policy)
  files["/docs/init.js"] = page_file("init.js", component.script, component.policy)
  return files
end

local function installed_files(directory)
  for _, component in ipairs(components) do
    for _, folder in ipairs(component.folders) do
      local files = component_files(component, directory .. "/" .. folder)
      if files then
        return files
      end
    end
  end
  local flaw = { path = "/docs/directory", keyword = "contains", message = ("docs.directory: neither swagger-ui-dist "
    .. "nor @scalar/api-reference is in %s"):format(directory) }
  return nil, errors.new("VALIDATION_ERROR", flaw.message, { flaw })
end

--- Answers a request for one of the page's files.
---@param request operations.ServerRequest
---@param path string  below the server's prefix, raw
---@return operations.ServerResponse?  nil: it is for no file of the page
function Page:answer(request, path)
  local found, method = self.files[path], request.method
  if not found then
    return nil
  elseif method ~= "GET" and method ~= "HEAD" then
    return { status = method == "OPTIONS" and 204 or 405, headers = { allow = "GET, HEAD, OPTIONS" }, body = "" }
  end
  local headers = {}
  for name, value in pairs(found.headers) do
    headers[name] = value
  end
  if caching.has_tag(request.headers["if-none-match"], headers.etag) then
    return { status = 304, headers = headers, body = "" }
  end
  return { status = 200, headers = headers, body = found.body }
end

--- Checks the option `docs` of `to_http`; raises on misuse.
---@param docs any
function page.check(docs)
  if type(docs) ~= "table" then
    return
  elseif type(docs.directory) ~= "string" then
    error(("bad option 'docs.directory' to 'to_http' (string expected, got %s)"):format(type(docs.directory)), 4)
  end
  for key in pairs(docs) do
    if key ~= "directory" then
      error(("bad option 'docs.%s' to 'to_http' (unknown)"):format(tostring(key)), 4)
    end
  end
end

--- Reads the files of a page.
---@param docs true|{ directory: string }  our own, or that of a directory from npm: swagger-ui-dist or
---  @scalar/api-reference
---@return operations.Page?
---@return operations.Error? err  VALIDATION_ERROR: nothing known is in the directory; UNAVAILABLE: our own files are
---  not installed
function page.new(docs)
  local files, err
  if docs == true then
    files, err = own_files()
  else
    files, err = installed_files(docs.directory)
  end
  return files and setmetatable({ files = files }, Page), err
end

return page
