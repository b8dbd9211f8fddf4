--- Finds the samples of a Markdown file and of example programs, with the output that they promise.
local command = require("spec.support.command")
local inside = require("spec.support.inside")

local samples = {}

---@class samples.Sample
---@field line integer      where it begins
---@field code string       a Lua program, or a shell script
---@field expected string[] | string  what it prints; a console session: per command

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  return lines
end

--- The fenced blocks of a Markdown file, in order: { language, line, text }.
local function blocks(path)
  local found, open = {}, nil
  for number, line in ipairs(lines_of(path)) do
    local fence = line:match("^```(.*)$")
    if open and fence then
      open.text = table.concat(open.lines, "\n") .. "\n"
      found[#found + 1], open = open, nil
    elseif fence then
      open = { language = fence, line = number, lines = {} }
    elseif open then
      open.lines[#open.lines + 1] = line
    end
  end
  return found
end

--- The fenced blocks of a page.
---@param path string
---@param language? string  of the fence; default: any
---@return { language: string, line: integer, text: string }[]
function samples.blocks(path, language)
  local found = {}
  for _, block in ipairs(blocks(path)) do
    if not language or block.language == language then
      found[#found + 1] = block
    end
  end
  return found
end

--- Each ```lua block with the ```text block that must follow it.
---@param path string
---@param language? string  of the fence, default "lua"
---@return samples.Sample[]
function samples.programs(path, language)
  local found, all = {}, blocks(path)
  for i, block in ipairs(all) do
    if block.language == (language or "lua") then
      local output = all[i + 1]
      local promised = output and output.language == "text"
      found[#found + 1] = { line = block.line, code = block.text, expected = promised and output.text or nil }
    end
  end
  return found
end

local function session(block)
  local sample = { line = block.line, commands = {}, expected = {} }
  for _, line in ipairs(block.lines) do
    local text = line:match("^%$ (.*)$")
    if text then
      table.insert(sample.commands, text)
      table.insert(sample.expected, "")
    else
      local last = #sample.expected
      sample.expected[last] = sample.expected[last] .. line .. "\n"
    end
  end
  return sample
end

--- Each ```console block: lines that start with "$ " are commands, the others what they print.
---@param path string
---@return { line: integer, commands: string[], expected: string[] }[]
function samples.sessions(path)
  local found = {}
  for _, block in ipairs(blocks(path)) do
    if block.language == "console" then
      found[#found + 1] = session(block)
    end
  end
  return found
end

--- What a program promises in its own comments: the text after each `-->`.
---@param path string
---@return string
function samples.promised(path)
  local expected = {}
  for _, line in ipairs(lines_of(path)) do
    expected[#expected + 1] = line:match("%-%-> ?(.*)$")
  end
  return table.concat(expected, "\n") .. "\n"
end

--- Runs a Lua program beside a fresh tasks API.
---@param code string
---@return table result  as command.run
function samples.run_program(code)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(code)
  file:close()
  local result = command.run_with_server("lua " .. path)
  os.remove(path)
  return result
end

-- Neovim's print shows a message; a program's writes a line.
local print_lines = "local print = function(...) io.stdout:write(table.concat(vim.tbl_map(tostring, "
  .. "vim.F.pack_len(...)), '\\t'), '\\n') end\n"

--- Runs a Lua program inside Neovim, with a runtime directory of its own, beside a fresh tasks API.
---@param code string
---@return string out
function samples.run_in_nvim(code)
  local path, runtime = os.tmpname(), os.tmpname()
  os.remove(runtime)
  local file = assert(io.open(path, "w"))
  file:write(print_lines, code)
  file:close()
  local result = inside.nvim(path, ("XDG_RUNTIME_DIR=%s examples/server/run"):format(runtime), "-c 'qa!'")
  inside.shell(("rm -rf %s %s"):format(path, runtime))
  return result.out
end

--- Runs the commands of a session one after the other beside one tasks API.
---@param sample { commands: string[] }
---@return string[] printed  per command, standard error included
function samples.run_session(sample)
  local script = {}
  for i, text in ipairs(sample.commands) do
    script[i] = ("{ %s\n} 2>&1; printf '\\036'"):format(text)
  end
  local printed = {}
  for text in command.run_with_server(table.concat(script, "\n")).out:gmatch("([^\030]*)\030") do
    printed[#printed + 1] = text
  end
  return printed
end

return samples
