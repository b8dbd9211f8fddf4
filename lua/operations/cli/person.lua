--- Asks the person at the terminal, on standard error.
local output = require("operations.cli.output")
local printable = require("operations.base.printable")

--- A choice is made by its first letters.
---@type operations.people.Face
local person = {}

local function line_after(prompt)
  output.settle()
  io.stderr:write("operations: ", printable.message(prompt))
  return io.stdin:read("*l")
end

local LISTED = 60 -- columns of choices in one line; more of them are a numbered list

-- Shows what may be chosen, if it is more than the prompt holds. Returns the prompt, and the item that a text names: by
-- its label, by letters that begin this label only, or by its number in the list.
local function offer(items, prompt, label)
  local labels = {}
  for i, item in ipairs(items) do
    labels[i] = label(item)
  end
  local line = table.concat(labels, "/")
  local is_list = #line > LISTED
  for i, text in ipairs(is_list and labels or {}) do
    output.tell(("  %d  %s\n"):format(i, printable.line(text)))
  end
  return ("%s [%s]"):format(prompt:gsub(":? *$", ""), is_list and "1 to " .. #items or line), function(given)
    local found, is_only = nil, true
    given = given:lower()
    for i, text in ipairs(labels) do
      if text:lower() == given then
        return items[i]
      elseif given ~= "" and text:lower():sub(1, #given) == given then
        found, is_only = items[i], found == nil
      end
    end
    return is_only and found or is_list and items[tonumber(given)] or nil
  end
end

-- Asks until `read` takes the line; nil at the end of input.
local function ask_until(prompt, read)
  while true do
    local line = line_after(prompt)
    local value, message = nil, nil
    if line then
      value, message = read(line:match("^%s*(.-)%s*$"))
    end
    if not message then
      return value
    end
    output.complain("%s", message)
  end
end

local function unknown(text)
  return nil, ("%q names none of them, or several"):format(text)
end

function person.select(items, prompt, label, default)
  local shown, find = offer(items, prompt, label)
  return ask_until(("%s%s: "):format(shown, default and " (" .. label(default) .. ")" or ""), function(line)
    if line == "" then
      return default
    end
    local item = find(line)
    if item == nil then
      return unknown(line)
    end
    return item
  end)
end

function person.several(items, prompt, chosen)
  local words = {}
  for _, item in ipairs(items) do
    words[#words + 1] = chosen[item] and item.label or nil
  end
  local shown, find = offer(items, prompt, function(item) return item.label end)
  local before = words[1] and " (" .. table.concat(words, ", ") .. ")" or ""
  return ask_until(("%s, several with commas%s: "):format(shown, before), function(line)
    local picked = {}
    for part in line:gmatch("[^,]+") do
      local word = part:match("^%s*(.-)%s*$")
      local item = find(word)
      if item == nil then
        return unknown(word)
      end
      picked[item] = true
    end
    return line == "" and chosen or picked
  end)
end

function person.input(prompt, default)
  local given = line_after(default and ("%s [%s]: "):format(prompt:gsub(":? *$", ""), default) or prompt)
  return given == "" and default or given
end

function person.confirm(question)
  local answer = (line_after(question .. " [y/N] ") or ""):lower()
  return answer == "y" or answer == "yes"
end

function person.trust(subject, changed)
  output.subject(subject)
  for _, path in ipairs(changed) do
    output.complain("%s is new or has changed since it was trusted", path)
  end
  return person.confirm("this came with the directory and would run with your rights: trust it?")
end

function person.open(address, text)
  output.tell(("%s:\n\n  %s\n\n"):format(printable.line(text), printable.line(address)))
end

return person
