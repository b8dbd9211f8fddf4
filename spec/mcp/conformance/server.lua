--- What the official conformance suite wants of a server, by public functions only: `lua server.lua PORT [stdio]`.
--- Names and values are the suite's.
local operations = require("operations")

local PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
local WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

local fixture = { registry = operations.registry() }

local text = { type = "string" }
local none = { type = "object" }

local function object(properties, required)
  return { type = "object", properties = properties, required = required }
end

local function blocks(...)
  return operations.mcp_envelope(nil, { isError = false, content = { ... } })
end

local function said(...)
  return blocks({ type = "text", text = (...):format(select(2, ...)) })
end

local function tool(name, description, handler, inputSchema, task)
  assert(fixture.registry:register({ namespace = "suite", name = name, type = "mutation", description = description,
    inputSchema = inputSchema or none, handler = handler, _meta = { tool = { name = name }, task = task } }))
end

local image = { type = "image", data = PNG, mimeType = "image/png" }
local embedded = { type = "resource", resource = { uri = "test://embedded", mimeType = "text/plain", text = "inside" } }

tool("test_simple_text", "One text", function()
  return said("This is a simple text response for testing.")
end)

tool("test_image_content", "One image", function()
  return blocks(image)
end)

tool("test_audio_content", "One sound", function()
  return blocks({ type = "audio", data = WAV, mimeType = "audio/wav" })
end)

tool("test_embedded_resource", "One resource", function()
  return blocks(embedded)
end)

tool("test_multiple_content_types", "Text, image and resource", function()
  return blocks({ type = "text", text = "Several" }, image, embedded)
end)

tool("test_tool_with_logging", "Logs three times", function(_, context)
  for _, message in ipairs({ "started", "in between", "ended" }) do
    context.log("info", message)
    operations.sleep(0.05)
  end
  return said("logged")
end)

tool("test_tool_with_progress", "Reports progress", function(_, context)
  for _, done in ipairs({ 0, 50, 100 }) do
    context.progress(done, 100)
    operations.sleep(0.05)
  end
  return said("done")
end)

tool("test_error_handling", "Fails", function()
  error("This tool intentionally returns an error for testing")
end)

local function ask_model(context, prompt, key)
  return context.sample({ maxTokens = 100,
    messages = { { role = "user", content = { type = "text", text = prompt } } } }, key)
end

tool("test_sampling", "Asks the model", function(input, context)
  local answer, err = ask_model(context, input.prompt)
  if not answer then
    return nil, err
  end
  return said("LLM response: %s", answer.content.text)
end, object({ prompt = text }, { "prompt" }))

local function tell(action, content)
  return said("action=%s content=%s", action, operations.json.encode(content or operations.null))
end

tool("test_elicitation", "Asks the user", function(input, context)
  return tell(context.elicit(input.message, object({ username = text, email = text }, { "username", "email" })))
end, object({ message = text }, { "message" }))

tool("test_elicitation_sep1034_defaults", "Asks with defaults", function(_, context)
  return tell(context.elicit("Defaults", object({
    name = { type = "string", default = "John Doe" }, age = { type = "integer", default = 30 },
    score = { type = "number", default = 95.5 }, verified = { type = "boolean", default = true },
    status = { type = "string", enum = { "active", "inactive", "pending" }, default = "active" },
  })))
end)

local function titled(...)
  local list = {}
  for i, name in ipairs({ ... }) do
    list[i] = { const = name, title = "Title of " .. name }
  end
  return list
end

tool("test_elicitation_sep1330_enums", "Asks with enums", function(_, context)
  return tell(context.elicit("Enums", object({
    untitledSingle = { type = "string", enum = { "option1", "option2", "option3" } },
    titledSingle = { type = "string", oneOf = titled("value1", "value2", "value3") },
    legacyEnum = { type = "string", enum = { "opt1", "opt2" }, enumNames = { "One", "Two" } },
    untitledMulti = { type = "array", items = { type = "string", enum = { "option1", "option2", "option3" } } },
    titledMulti = { type = "array", items = { anyOf = titled("value1", "value2", "value3") } },
  })))
end)

tool("test_reconnection", "Ends the connection before the call", function(_, context)
  context.hang_up(500)
  operations.sleep(0.1)
  return said("still here")
end)

tool("json_schema_2020_12_tool", "Has a schema of many keywords", function()
  return said("fits")
end, {
  ["$schema"] = "https://json-schema.org/draft/2020-12/schema", type = "object",
  ["$defs"] = { address = { ["$anchor"] = "addressDef", type = "object",
    properties = { street = text, city = text } } },
  properties = { name = text, address = { ["$ref"] = "#/$defs/address" },
    contactMethod = { type = "string", enum = { "phone", "email" } }, phone = text, email = text },
  allOf = { { anyOf = { { required = { "phone" } }, { required = { "email" } } } } },
  ["if"] = { properties = { contactMethod = { const = "phone" } }, required = { "contactMethod" } },
  ["then"] = { required = { "phone" } }, ["else"] = { required = { "email" } },
  additionalProperties = false,
})

tool("test_x_mcp_header", "Has an argument that is a header, too", function()
  return said("fine")
end, object({ region = { type = "string", ["x-mcp-header"] = "Region" }, level = { type = "integer" } }))

tool("test_missing_capability", "Needs sampling", function(_, context)
  local answer, err = ask_model(context, "needed")
  return answer and said("%s", answer.content.text), err
end)

tool("test_streaming_elicitation", "Succeeds", function()
  return said("fine")
end)

tool("test_logging_tool", "Logs", function(_, context)
  context.log("info", "logged")
  return said("fine")
end)

tool("test_trigger_tool_change", "Changes the tools", function()
  local id = "suite.changing"
  if not fixture.registry:unregister(id) then
    fixture.registry:register({ namespace = "suite", name = "changing", type = "query", handler = function()
      return {}
    end, description = "Comes and goes" })
  end
  return said("changed")
end)

tool("test_trigger_prompt_change", "Changes the prompts", function()
  fixture.server:changed("prompts")
  return said("changed")
end)

-- Input over several rounds

local named = object({ name = text }, { "name" })

tool("test_input_required_result_elicitation", "Asks for a name", function(_, context)
  local action, content = context.elicit("What is your name?", named, "user_name")
  return said("Hello, %s!", content and content.name or action)
end)

tool("test_input_required_result_sampling", "Asks the model", function(_, context)
  local answer, err = ask_model(context, "What is the capital of France?", "capital_question")
  return answer and said("%s", answer.content.text), err
end)

tool("test_input_required_result_list_roots", "Asks for the roots", function(_, context)
  local roots, err = context.roots("client_roots")
  if not roots then
    return nil, err
  end
  local names = {}
  for i, root in ipairs(roots) do
    names[i] = root.uri
  end
  return said("roots: %s", table.concat(names, " "))
end)

tool("test_input_required_result_request_state", "Keeps a state", function(_, context)
  local action, content = context.elicit("Confirm", object({ ok = { type = "boolean" } }, { "ok" }), "confirm")
  return said("state-ok %s %s", action, tostring(content and content.ok))
end)

local function several(_, context)
  local answers, failures = context.ask({
    user_name = { method = "elicitation/create", params = { message = "Name?", requestedSchema = named } },
    greeting = { method = "sampling/createMessage", params = { maxTokens = 100,
      messages = { { role = "user", content = { type = "text", text = "Greet" } } } } },
    client_roots = { method = "roots/list" },
  })
  return said("%s; %s", operations.json.encode(answers), next(failures) and "some were not asked" or "all were asked")
end

tool("test_input_required_result_multiple_inputs", "Asks for several things at once", several)
tool("test_input_required_result_capabilities", "Asks for what the client can answer", several)

tool("test_input_required_result_multi_round", "Asks twice", function(_, context)
  local _, first = context.elicit("Name?", named, "step1")
  local _, second = context.elicit("Colour?", object({ color = text }, { "color" }), "step2")
  return said("%s likes %s", first and first.name or "?", second and second.color or "?")
end)

tool("test_input_required_result_tampered_state", "Keeps a state that nobody else can write", function(_, context)
  local action = context.elicit("Confirm", object({ ok = { type = "boolean" } }, { "ok" }), "confirm")
  return said("%s", action)
end)

-- Tasks

tool("greet", "Greets at once", function(input)
  return said("Hello, %s!", input.name)
end, object({ name = text }, { "name" }))

tool("slow_compute", "Takes its time", function(input, context)
  context.progress(0, input.seconds, "computing")
  operations.sleep(input.seconds)
  return said("%s took %s seconds", input.label or "it", tostring(input.seconds))
end, object({ seconds = { type = "number" }, label = text }, { "seconds" }), "optional")

tool("failing_job", "Fails after a second", function()
  operations.sleep(1)
  error("this job fails")
end, none, "required")

tool("protocol_error_job", "Fails as a request", function()
  operations.sleep(0.5)
  error(operations.error("MCP_-32603", "broken", { rpcCode = -32603 }), 0)
end, none, "optional")

local confirmation = object({ confirm = { type = "boolean" } }, { "confirm" })

tool("confirm_delete", "Asks before it deletes", function(input, context)
  local action, content = context.elicit("Delete?", confirmation)
  return said("%s: %s", input.filename or "?", action == "accept" and content.confirm and "deleted" or "kept")
end, object({ filename = text }), "optional")

tool("multi_input", "Asks two questions at once", function(_, context)
  local answers = context.ask({
    one = { method = "elicitation/create", params = { message = "One?", requestedSchema = confirmation } },
    two = { method = "elicitation/create", params = { message = "Two?", requestedSchema = confirmation } },
  })
  return said("%s and %s", answers.one.action, answers.two.action)
end, none, "optional")

tool("test_tool_with_task", "Asks, then takes its time", function(_, context)
  local _, content = context.elicit("Name?", object({ name = text }, { "name" }), "user_name")
  context.as_task()
  operations.sleep(0.5)
  return said("Hello, %s!", content and content.name or "?")
end, none, "late")

--- Offers what other servers have, too: an API with an OpenAPI document, and an MCP server. Their URLs come from
--- spec/mcp/conformance/others.lua.
function fixture.offer_others()
  local document, upstream = os.getenv("CONFORMANCE_OPENAPI"), os.getenv("CONFORMANCE_MCP")
  if fixture.has_others or not document then
    return
  end
  fixture.has_others = true
  local everybody = { requiredScopes = {} }
  local pets = assert(operations.from_openapi.url(document, { namespace = "pets", accessControl = everybody }))
  assert(fixture.registry:register_all(pets))
  fixture.client = assert(operations.from_mcp.connect("upstream", { url = upstream, accessControl = everybody }))
  assert(fixture.client:register(fixture.registry))
  fixture.server:offer(fixture.client)
end

local server = operations.to_mcp(fixture.registry, { name = "conformance", version = "1.0.0", ttl = 1000 })
fixture.server = server

server:resource({ uri = "test://static-text", name = "Static text", description = "A text", mimeType = "text/plain",
  read = function()
    return "This is the content of the static text resource."
  end })
server:resource({ uri = "test://static-binary", name = "Static image", description = "An image", mimeType = "image/png",
  read = function()
    return { bytes = operations.base64.decode(PNG), mimeType = "image/png" }
  end })
server:resource({ uri = "test://watched-resource", name = "Watched", description = "Changes", mimeType = "text/plain",
  read = function()
    return "watched"
  end })
server:resource({ uriTemplate = "test://template/{id}/data", name = "Template", description = "Data of an id",
  mimeType = "application/json", read = function(input)
    return { id = input.id, templateTest = true }
  end })

server:prompt({ name = "test_simple_prompt", description = "Simple", get = function()
  return "This is a simple prompt for testing."
end })
server:prompt({ name = "test_prompt_with_arguments", description = "With arguments", arguments = { "arg1", "arg2" },
  get = function(input)
    return ("Prompt with arguments: arg1='%s', arg2='%s'"):format(input.arg1, input.arg2)
  end })
server:prompt({ name = "test_prompt_with_embedded_resource", description = "With a resource",
  arguments = { "resourceUri" }, get = function(input)
    return {
      { role = "user", content = { type = "resource", resource = { uri = input.resourceUri, mimeType = "text/plain",
        text = "Embedded resource content for testing." } } },
      { role = "user", content = "Please process the embedded resource above." },
    }
  end })
server:prompt({ name = "test_prompt_with_image", description = "With an image", get = function()
  return { { role = "user", content = image }, { role = "user", content = "Please analyze the image above." } }
end })
server:prompt({ name = "test_input_required_result_prompt", description = "Asks the user", get = function(_, context)
  local action, content = context.elicit("What is the context?", object({ context = text }, { "context" }),
    "user_context")
  return "Context: " .. (content and content.context or action)
end })

return fixture
