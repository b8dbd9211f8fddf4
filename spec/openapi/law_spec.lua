-- Requests have what the input has, and nothing else: what a real server received, of small documents that are full of
-- defaults. `make test-openapi` has the same for the documents of vendors.
local instance = require("spec.support.instance")
local json = require("operations.base.json")
local operations = require("operations")
local server = require("spec.support.server")
local sources = require("spec.support.sources")

-- Headers of every request.
local usual = { accept = true, host = true, ["user-agent"] = true, ["content-type"] = true, ["content-length"] = true,
  ["accept-encoding"] = true, connection = true }

local function sorted(value)
  return json.encode(value, { sort_keys = true })
end

-- The names before "=" in pairs, decoded, each once; of `a[b]` its `a`.
local function names_in(text, separator, names)
  for pair in text:gmatch("[^" .. separator .. "]+") do
    local name = pair:match("^%s*([^=]*)"):gsub("%%(%x%x)", function(digits)
      return string.char(tonumber(digits, 16))
    end)
    names[name:match("^[^%[]*")] = true
  end
  return names
end

local function keys(map)
  local names = {}
  for name in pairs(map) do
    names[name] = true
  end
  return names
end

-- The names of the parameters that a request has, those of the path aside.
local function received(seen)
  local names = names_in(seen.uri:match("%?(.*)$") or "", "&", {})
  for name in pairs(seen.headers) do
    names[name] = not usual[name] and name ~= "cookie" or nil
  end
  return names_in(seen.headers.cookie or "", ";", names)
end

-- The names that it should have.
local function given(input, path)
  local names = {}
  for name in pairs(input) do
    if name ~= "body" and not path:find("{" .. name .. "}", 1, true) then
      names[name:find("^X%-") and name:lower() or name] = true
    end
  end
  return names
end

local function check_body(seen, input)
  local content_type = seen.headers["content-type"] or ""
  if input.body == nil then
    assert.equal("", seen.body)
  elseif content_type:find("json", 1, true) then
    assert.equal(sorted(input.body), sorted(assert(json.decode(seen.body))))
  else
    assert.same(keys(input.body), names_in(seen.body, "&", {}))
  end
end

describe("the request of an operation", function()
  local running = server.around(setup, teardown)

  for version, document in pairs(assert(json.decode(sources.read("spec/vectors/openapi/requests.json")))) do
    for _, is_full in ipairs({ true, false }) do
      it(("has what %s names, and nothing else, %s"):format(is_full and "a full input" or "the least input", version),
        function()
          local registry = operations.registry({ normalize = "off", on_warning = function() end })
          local definitions, report = operations.from_openapi.document(document,
            { base_url = running.url, namespace = "api", eager = true })
          assert.same({}, report)
          assert(registry:register_all(definitions))
          for _, definition in ipairs(definitions) do
            local input = instance.of(definition.inputSchema, { optional = is_full, items = 2 })
            local envelope, err = registry:execute("api." .. definition.name, input)
            assert(envelope, definition.name .. ": " .. tostring(err))
            assert.same(given(input, definition._meta.path), received(envelope.data), definition.name)
            check_body(envelope.data, input)
          end
        end)
    end
  end
end)
