--- Every operation of every document, with all that its schema names and with what is required only: does Prism accept
--- the request?
local bodies = require("spec.openapi.suite.bodies")
local calls = require("spec.openapi.suite.calls")
local core = require("operations.core")
local document = require("spec.openapi.suite.document")
local documents = require("spec.openapi.suite.documents")
local known = require("spec.openapi.suite.known")
local operations = require("operations")
local prism = require("spec.openapi.suite.prism")

local accepted = {}

local LINE = "%-20s %4d operations   accepted: %4d full, %4d required only"
  .. "   refused: %3d of %3d spoiled, %2d without credentials   %3.0f s"

local function load(server, path, auth)
  return operations.from_openapi.file(path, { base_url = server.url, namespace = "api", auth = auth })
end

--- What was not taken over must be on the list, and what is on the list must have been found.
local function check_report(entry, report, fail)
  local expected = {}
  for pointer in pairs(known[entry.name] or {}) do
    expected[pointer] = pointer:sub(1, 1) == "#" or nil
  end
  for _, problem in ipairs(report) do
    if not expected[problem.pointer] then
      fail(entry.name, problem.pointer, problem.message)
    end
    expected[problem.pointer] = nil
  end
  for pointer in pairs(expected) do
    fail(entry.name, pointer, "is on the list of exceptions, yet all is well")
  end
end

local function count_accepted(entry, definitions, optional, refusal, fail)
  local refused = calls.every(definitions, { optional = optional }, refusal)
  local exceptions, count = known[entry.name] or {}, 0
  for _, definition in ipairs(definitions) do
    local reason = refused[definition.name]
    count = count + (reason and 0 or 1)
    if reason and not exceptions[definition.name] then
      fail(entry.name, definition.name, definition._meta.method .. " " .. definition._meta.path, reason)
    elseif not reason and optional and exceptions[definition.name] then
      fail(entry.name, definition.name, "is on the list of exceptions, yet is accepted")
    end
  end
  return count
end

--- Without credentials Prism must refuse something; else it looked at none.
local function count_unauthorized(server, path, refusal)
  local count = 0
  for _ in pairs(calls.every(load(server, path), { optional = false }, refusal)) do
    count = count + 1
  end
  return count
end

--- Wrong requests that Prism lets in must be on the list; else it does not look.
local function count_spoiled(entry, definitions, refusal, fail)
  local let_in, sent = calls.spoiled(definitions, refusal)
  for _, name in ipairs(let_in) do
    if not (known[entry.name] or {})[name .. ", spoiled"] then
      fail(entry.name, name, "a wrong request is accepted")
    end
  end
  return sent - #let_in, sent
end

--- Request bodies that the document gives as examples.
local function check_bodies(entry, definitions, path, refusal, fail)
  local accepted_bodies, refused = bodies.send(document.read(path), definitions, refusal, function(name, message)
    if not (known[entry.name] or {})[name] then
      fail(entry.name, name, message)
    end
  end)
  if accepted_bodies + refused > 0 then
    print(("%-20s %4d examples of bodies accepted, %d refused by us and by Prism"):format("", accepted_bodies, refused))
  end
end

local function check(entry, server, path, fail)
  local definitions, report = load(server, path, entry.auth)
  if not definitions then
    return fail(entry.name, tostring(report))
  end
  local function refusal(...)
    return prism.refusal(server, ...)
  end
  local start = core.now()
  local full = count_accepted(entry, definitions, true, refusal, fail)
  local least = count_accepted(entry, definitions, false, refusal, fail)
  check_report(entry, report, fail) -- some of it is found when it is needed
  local spoiled, sent = count_spoiled(entry, definitions, refusal, fail)
  local unauthorized = entry.auth and count_unauthorized(server, path, refusal)
  print(LINE:format(entry.name, #definitions, full, least, spoiled, sent, unauthorized or 0,
    (core.now() - start) / 1000))
  if path:find("%.json$") then
    check_bodies(entry, definitions, path, refusal, fail)
  end
  if #definitions ~= entry.operations then
    fail(entry.name, ("%d operations, expected %d"):format(#definitions, entry.operations))
  elseif unauthorized == 0 then
    fail(entry.name, "requests without credentials are accepted")
  end
end

--- Starts Prism for a document, with what is to be added to it; the copy goes when Prism has read it.
local function start(packages, entry)
  local path = packages .. "/" .. entry.file
  local copy = entry.more and os.tmpname()
  if copy then
    local root, file = document.read(path), assert(io.open(copy, "w"))
    for key, value in pairs(entry.more) do
      root[key] = value
    end
    file:write(document.text(root))
    file:close()
  end
  local running = prism.start(packages .. "/.bin/prism", copy or path)
  return running, function()
    running.ready()
    return copy and os.remove(copy)
  end
end

--- Runs them all; the largest document's server starts at once and is waited for last.
---@param places { packages: string }
---@param fail fun(...: string)
function accepted.run(places, fail)
  local only, list = os.getenv("DOCUMENT"), {}
  for _, entry in ipairs(documents) do
    list[#list + 1] = (not only or only == entry.name) and entry or nil
  end
  assert(list[1], "no such document")
  local slow, slow_ready = start(places.packages, list[#list])
  for i, entry in ipairs(list) do
    local running, ready = slow, slow_ready
    if i < #list then
      running, ready = start(places.packages, entry)
    end
    ready()
    check(entry, running, places.packages .. "/" .. entry.file, fail)
    running.stop()
  end
end

return accepted
