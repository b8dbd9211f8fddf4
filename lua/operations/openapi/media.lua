--- Media types (RFC 9110, 8.3.1): which ones are JSON, text, or a stream of values.
local media = {}

-- Consecutive answers usually have the same type.
local last_type, last_essence

--- The type without parameters, in lower case: "application/json; charset=utf-8" is "application/json". The first of
--- several headers joined by commas counts.
---@param content_type any
---@return string essence  "" without one
function media.essence(content_type)
  if type(content_type) ~= "string" then
    return ""
  elseif content_type ~= last_type then
    last_type, last_essence = content_type, (content_type:match("^%s*([^;,%s]*)") or ""):lower()
  end
  return last_essence
end

--- The `charset` parameter in lower case.
---@param content_type any
---@return string?
function media.charset(content_type)
  if type(content_type) ~= "string" then
    return nil
  end
  return content_type:lower():match(";%s*charset%s*=%s*\"?([^\";%s]+)")
end

-- Names of streams of JSON texts: as subtypes of application and text, with or without "x-", and as suffixes.
local sequences = {
  ndjson = "lines", jsonl = "lines", jsonlines = "lines", ["json-lines"] = "lines", ["json-seq"] = "sequence",
}

-- "application/stream+json" was the name of lines in Spring; it has a suffix of JSON.
local streams = { ["text/event-stream"] = "events", ["application/stream+json"] = "lines" }

--- How a stream of this type is read: "events" (server-sent events), "lines" (one JSON text per line), "sequence" (RFC
--- 7464), or nil.
---@param essence string
---@return "events"|"lines"|"sequence"|nil
function media.stream_kind(essence)
  if streams[essence] then
    return streams[essence]
  end
  local name = essence:match("^application/(.*)$") or essence:match("^text/(.*)$") or ""
  return sequences[essence:match("[^/]%+([^+]+)$") or (name:gsub("^x%-", ""))]
end

--- Is it JSON: application/json, text/json, or a type with the suffix +json (RFC 6839)?
---@param essence string
---@return boolean
function media.is_json(essence)
  return essence == "application/json" or essence == "text/json"
    or essence:find("[^/]%+json$") ~= nil and not media.stream_kind(essence)
end

local yaml = {
  ["application/yaml"] = true, ["application/x-yaml"] = true, ["text/yaml"] = true, ["text/x-yaml"] = true,
  ["text/vnd.yaml"] = true, ["application/vnd.oai.openapi"] = true,
}

--- Is it YAML: by RFC 9512, or by the names used before it?
---@param essence string
---@return boolean
function media.is_yaml(essence)
  return yaml[essence] == true or essence:find("[^/]%+yaml$") ~= nil
end

local textual = {
  ["application/xml"] = true, ["application/javascript"] = true, ["application/x-www-form-urlencoded"] = true,
}

---@param essence string
---@return boolean
function media.is_text(essence)
  return essence:find("^text/") ~= nil or textual[essence] == true or media.is_yaml(essence)
    or essence:find("%+xml$") ~= nil
end

--- The media types of a `content` map, JSON first, then by name, without extensions.
---@param content any
---@return string[]
function media.names(content)
  local names = {}
  for name, value in pairs(type(content) == "table" and content or {}) do
    if type(name) == "string" and type(value) == "table" and name:find("/", 1, true) then
      names[#names + 1] = name
    end
  end
  table.sort(names, function(a, b)
    local a_json, b_json = media.rank(a), media.rank(b)
    if a_json ~= b_json then
      return a_json < b_json
    end
    return a < b
  end)
  return names
end

--- The rank of a type: plain JSON, other JSON, the rest.
---@param name string
---@return integer
function media.rank(name)
  local essence = media.essence(name)
  if essence == "application/json" then
    return 1
  end
  return media.is_json(essence) and 2 or 3
end

return media
