--- YAML texts: a value or a message, and a value that JSON can write is read from that JSON again, by this reader too.
local json = require("operations.base.json")
local mutate = require("spec.fuzz.mutate")
local yaml = require("operations.base.yaml")

local samples = {
  "openapi: 3.0.0\ninfo: {title: A, version: 1.0}\npaths:\n  /a:\n    get: &g\n      responses: {200: {x: y}}\n"
    .. "    post:\n      <<: *g\n      summary: >-\n        folded\n        text\n",
  "- ~\n- null\n- true\n- -0x1F\n- 0o17\n- 010\n- .5\n- 1e3\n- -.inf\n- 12:30\n- 2001-12\n- !!str 1\n- !!int \"7\"\n",
  "? a\n: [1, 2, {b: c}, *x]\n", "&x [a, &y b, *y, *y]\n", "---\n%YAML 1.2\n...\n",
  "a: |\n  literal\n   more\nb: 'it''s'\n",
  '{"a": "\\u00e9\\n\\x41", "b": [1.50, -3, 9007199254740993, 123456789012345678901]}', "swagger: 2.0\n", "# nothing\n",
  "a: &a\n  b: *a\n", "<<: [{a: 1}, {b: 2, a: 3}]\nc: 4\n", "%TAG !e! tag:e.test,2000:\n--- !e!x\n- !local y\n",
}
local words = {
  ": ", "- ", "? ", "&a ", "*a", "<<: ", "!!str ", "!!float ", "!!null ", "|", ">", "---\n", "...\n", "\n  ", "\n",
  "  ",
  "[", "]", "{", "}", ",", "#", "~", "null", "true", "1_000", "0x", "0o8", "+1.", "-", ".", "e9", "9e999", "\t",
  "\239\187\191",
  "\194\133", "!<tag:yaml.org,2002:bool> ",
}
-- Of these the two differ: versions, which are texts, and line ends of YAML 1.1, which libyaml knows.
local unlike = { '"swagger"', '"openapi"', '"version"', "\194\133", "\226\128[\168\169]" }

local function is_like_yaml(text)
  for _, pattern in ipairs(unlike) do
    if text:find(pattern) then
      return false
    end
  end
  return true
end

local sorted = { sort_keys = true }

return {
  make = function()
    return mutate.text(samples, words)
  end,
  run = function(input)
    local value, message = yaml.decode(input)
    if value == nil then
      assert(type(message) == "string" and message ~= "", "a failure without a message")
      return
    end
    assert(message == nil, "a value and a message")
    local text, err = json.encode(value, sorted)
    assert(text or type(err.message) == "string")
    if text and is_like_yaml(text) then
      assert(json.encode(json.decode(text), sorted) == text, "JSON reads another value")
      local again = yaml.decode(text)
      assert(again == nil or json.encode(again, sorted) == text, "its JSON is read as another value")
    end
  end,
}
