--- The request bodies that a document gives as examples, sent: Prism must be of the opinion of our own validation.
local calls = require("spec.openapi.suite.calls")
local document = require("spec.openapi.suite.document")
local operations = require("operations")

local bodies = {}

--- The JSON examples of an operation's request body, by name.
local function examples_of(root, operation)
  local found = {}
  local content = document.dereference(root, operation.requestBody or {}).content or {}
  local media = content["application/json"] or {}
  for name, example in pairs(media.examples or { default = media.example and { value = media.example } }) do
    found[name] = document.dereference(root, example).value
  end
  return found
end

local function list(root, registry, definitions)
  local all = {}
  for _, definition in ipairs(definitions) do
    local id = definition.namespace .. "." .. definition.name
    for name, body in pairs(examples_of(root, document.operation(root, definition))) do
      local input = calls.input(registry:get_spec(id).inputSchema, { optional = false })
      input.body = body
      all[#all + 1] = { id = id, name = definition.name .. ", " .. name, input = input, handler = definition.handler }
    end
  end
  return all
end

--- Sends every example, also one that our validation refuses.
---@param root table  the document
---@param definitions operations.Definition[]
---@param refusal fun(envelope?: operations.Envelope, err?: operations.Error): string?
---@param disagree fun(name: string, message: string)
---@return integer accepted
---@return integer refused  by both
function bodies.send(root, definitions, refusal, disagree)
  local registry = operations.registry({ normalize = "off", on_warning = function() end })
  assert(registry:register_all(definitions))
  local accepted, refused = 0, 0
  calls.each(list(root, registry, definitions), function(example)
    local envelope, err = registry:execute(example.id, example.input)
    local flaw = err and err.code == "VALIDATION_ERROR" and tostring(err)
    if flaw then
      envelope, err = example.handler(example.input, {})
    end
    local reason = refusal(envelope, err)
    if (flaw ~= false and flaw ~= nil) ~= (reason ~= nil) then
      disagree(example.name, flaw and "accepted by Prism: " .. flaw or "refused by Prism: " .. reason)
    end
    accepted, refused = accepted + (reason and 0 or 1), refused + (reason and flaw and 1 or 0)
  end)
  return accepted, refused
end

return bodies
