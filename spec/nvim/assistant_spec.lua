local inside = require("spec.support.inside")

local CHAT = [[
notified: the assistant is at work: :AssistantStop
## You
Plan my day
Turn 1
  calls spec.echo
  calls tasks.list
  spec.echo: hello
  tasks.list: [{"done":true,"id":1,"priority":"high","title":"Read the design"},{"done":false,"id":2,"priority":"low",]]
  .. [["title":"Water the plants"}]
Turn 2
  calls spec.blocks
  calls tasks.create
  calls tasks.create
  spec.blocks: a [image image/png, 3 B]
  tasks.create: {"done":false,"id":3,"priority":"normal","title":"buy milk"}
  tasks.create: ACCESS_DENIED: the call was not approved: the user said no
Turn 3
  calls tasks.create
  calls spec.steps
  ... of 2 at
  tasks.create: {"done":false,"id":4,"priority":"normal","title":"buy milk"}
  spec.steps: done
Turn 4
  calls spec.steps
  ... of 100000 at
  spec.steps: ABORTED: stopped by the user
ABORTED: POST URL: stopped by the user
## You

Call spec.blocks {}?
Call tasks.create {"body":{"title":"buy milk"}}?
Call tasks.create {"body":{"title":"a yacht"}}?
Call spec.steps {"count":2,"pause":0.02}?
Call spec.steps {"count":100000,"pause":0.05}?
(a conversation of N messages continues; :AssistantNew begins another)
## You
Once more
Turn 5
## You

]]

local ANSWERS = { openai = [[
## You
Is the lamp on?
  calls lamp.state
  calls lamp.dim
  lamp.state: "on"
  lamp.dim: 4
I cannot say.
## You
Again?
Half an
TRANSPORT_LOST: the model's stream failed: The server had an error
## You
And now?
Cut
TRANSPORT_LOST: the model's stream ended before the answer was whole
## You

kept what was answered
]] }
ANSWERS.gemini = ANSWERS.openai .. "kept the signature\n"
ANSWERS.anthropic = ANSWERS.gemini:gsub("say%.", "%0 (the model refuses)")

describe("the example of an assistant for Neovim", function()
  local missing = inside.missing("nvim") or inside.missing("nginx")
  if missing then
    pending(missing)
    return
  end

  for _, format in ipairs({ "openai", "openai-responses", "anthropic", "gemini" }) do
    it("streams, calls tools, asks, stops, and continues after a restart: " .. format, function()
      local result = inside.nvim("spec/support/neovim_assistant.lua", ("FORMAT=%s examples/server/run"):format(format),
        "-c 'qa!'")
      local chat = result.out:gsub("http://[%d.]+:%d+[%l/]+", "URL"):gsub(" +\n", "\n")
        :gsub("of %d+ messages", "of N messages")
      -- A report of progress that was not read is replaced by the next one.
      local left
      chat = chat:gsub("  %.%.%. %d+( of %d+ at\n)", "  ...%1")
      repeat
        chat, left = chat:gsub("(  %.%.%.[^\n]*\n)%1", "%1")
      until left == 0
      assert.equal(CHAT, chat)
      assert.equal(0, result.code)
    end)

    it("survives what vendors send: no content, refusals, thoughts, errors in the middle: " .. format, function()
      local result = inside.nvim("spec/support/neovim_answers.lua", "FORMAT=" .. format, "-c 'qa!'")
      assert.equal(ANSWERS[format] or ANSWERS.openai, (result.out:gsub(" +\n", "\n")))
      assert.equal(0, result.code)
    end)
  end
end)
