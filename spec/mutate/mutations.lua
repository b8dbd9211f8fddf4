--- The one-token changes that can be made to a source file in C or Lua. Reads text only.
local mutations = {}

---@class mutate.Mutation
---@field kind string  "comparison", "boundary", "negation", "constant", "dropped statement", "returned value"
---@field line integer
---@field first integer  the first byte that is replaced
---@field last integer
---@field replacement string

-- Operator -> the operator that replaces it.
local operators = {
  c = {
    comparison = { ["=="] = "!=", ["!="] = "==", ["<"] = ">=", [">"] = "<=", ["<="] = ">", [">="] = "<" },
    boundary = { ["<"] = "<=", [">"] = ">=", ["<="] = "<", [">="] = ">" },
    negation = { ["!"] = "", ["&&"] = "||", ["||"] = "&&" },
    constant = { ["true"] = "false", ["false"] = "true" },
  },
  lua = {
    comparison = { ["=="] = "~=", ["~="] = "==", ["<"] = ">=", [">"] = "<=", ["<="] = ">", [">="] = "<" },
    boundary = { ["<"] = "<=", [">"] = ">=", ["<="] = "<", [">="] = ">" },
    negation = { ["not"] = "", ["and"] = "or", ["or"] = "and" },
    constant = { ["true"] = "false", ["false"] = "true" },
  },
}
local kinds = { "comparison", "boundary", "negation", "constant" }

-- What the scanner passes over, each matched at a position.
local skipped = {
  c = { "^/%*.-%*/", "^//[^\n]*", '^"[^"\\\n]*"', "^'\\?[^\n]'" },
  lua = { "^%-%-%[(=*)%[.-%]%1%]", "^%-%-[^\n]*", "^%[(=*)%[.-%]%1%]", '^"[^"\\\n]*"', "^'[^'\\\n]*'" },
}
local tokens = {
  "^[%a_][%w_]*", "^%d[%w.]*", "^<<=?", "^>>=?", "^%->", "^&&", "^||", "^%.%.%.?", "^[=!~<>]=", "^.",
}

-- The end of a string with escapes at `at`, or nil.
local function string_end(text, at)
  local quote = text:match("^[\"']", at)
  local i = at + 1
  while quote and i <= #text do
    local c = text:sub(i, i)
    if c == quote then
      return i
    end
    i = i + (c == "\\" and 2 or 1)
  end
end

-- What is before `at` in its line.
local function line_before(text, at)
  local first = at
  while first > 1 and text:byte(first - 1) ~= 10 do
    first = first - 1
  end
  return text:sub(first, at - 1)
end

-- The end of a directive of the preprocessor, with the lines that continue it.
local function directive_end(text, at)
  local stop = at
  repeat
    stop = text:find("\n", stop + 1, true) or #text + 1
  until text:sub(stop - 1, stop - 1) ~= "\\"
  return stop - 1
end

local function skip(text, at, language)
  if language == "c" and text:find("^#", at) and line_before(text, at):find("^%s*$") then
    return directive_end(text, at)
  end
  for _, pattern in ipairs(skipped[language]) do
    local _, stop = text:find(pattern, at)
    if stop then
      return stop
    end
  end
  return string_end(text, at)
end

-- Calls visit(first, last, token) for each name, number and operator outside of comments and strings.
local function scan(text, language, visit)
  local at = text:find("%S")
  while at do
    local stop = skip(text, at, language)
    if not stop then
      for _, pattern in ipairs(tokens) do
        stop = stop or select(2, text:find(pattern, at))
      end
      visit(at, stop, text:sub(at, stop))
    end
    at = text:find("%S", stop + 1)
  end
end

-- 1 becomes 0, other small numbers grow by one; a size or a limit, of which one more or less is the same, becomes 0.
local function other_number(token)
  local digits, suffix = token:match("^(%d+)([uUlL]*)$")
  local number = tonumber(digits)
  if number then
    return ((number == 1 or number >= 100) and "0" or ("%d"):format(number + 1)) .. suffix
  end
end

-- The text on the line before a token of which another one does the same. In C: how much room a table or Lua's stack
-- gets. In Lua: the first position for `sub` and `find`, which take 0 for it; whether `find` looks for a plain text,
-- where that has no characters that mean something in patterns.
local same = {
  c = { number = { "lua_createtable%([^;]*$", "checkstack%([^)]*$", "check_reserve%([^)]*$" } },
  lua = {
    ["1"] = { ":sub%($", ':find%("[^"]*", $', ":find%([%w_.]+, $" },
    ["true"] = { ':find%("[^"\\^$()%%.%[%]*+?-]+", [%w_.]+, $', ':find%("\\[nrt]", [%w_.]+, $' },
  },
}

local function is_same(text, at, token, language)
  local before = line_before(text, at)
  for _, pattern in ipairs(same[language][token] or token:find("^%d") and same[language].number or {}) do
    if before:find(pattern) then
      return true
    end
  end
  return false
end

-- The size of an array that is declared: a larger one will do as well.
local function is_array_size(text, at, language)
  local before = line_before(text, at)
  local word = before:match("^%s*([%a_][%w_]*) [%w_ *]*%[[%w_ +*]*$")
  return language == "c" and word ~= nil and word ~= "return" and word ~= "else" and word ~= "do"
end

-- Whole lines that are one statement, each with what may be dropped of it: the captured position to the line's end.
local statements = {
  c = {
    "^%s+()[%a_*][%w_.>*%-%[%]]* [%+%-|&]?= .*;()$", "^%s+()[%a_][%w_]*%b();()$", "^%s+()%(void%)[%a_].*%);()$",
    "^%s+()break;()$", "^%s+()continue;()$", "^%s+if %b() ()[%a_].*;()$", "^%s+else ()[%a_].*;()$",
    "^%s+()[%a_][%w_.>%-]*%+%+;()$", "^%s+()[%a_][%w_.>%-]*%-%-;()$",
  },
  lua = { "^%s+()[%a_][%w_.%[%]]* = .*[^,({]()$", "^%s+()[%a_][%w_.:]*%b()()$", "^%s+()break()$" },
}
local returned = {
  c = { "^%s.-%f[%w_]return ()[^;]+();$", "0" },
  lua = { "^%s+return ().+()$", "nil" },
}
-- Returned values that other changes replace already.
local plain = { ["0"] = true, ["1"] = true, ["true"] = true, ["false"] = true, ["NULL"] = true, ["nil"] = true }

local function balanced(text)
  return select(2, text:gsub("[({[]", "")) == select(2, text:gsub("[)}%]]", ""))
end

local function line_changes(line, language, add)
  line = line:gsub(language == "c" and "%s*/%*.*$" or "%s*%-%-.*$", "")
  for _, pattern in ipairs(statements[language]) do
    local first, past = line:match(pattern)
    local statement = first and line:sub(first, past - 1)
    if statement and balanced(statement) and not statement:find("^return") then
      add("dropped statement", first, past - 1, language == "c" and ";" or "")
      break
    end
  end
  local pattern, value = returned[language][1], returned[language][2]
  local first, past = line:match(pattern)
  if first and not plain[line:sub(first, past - 1)] and balanced(line:sub(first, past - 1)) then
    add("returned value", first, past - 1, value)
  end
end

--- Every change to `text`, in the order of its lines.
---@param text string
---@param language "c" | "lua"
---@return mutate.Mutation[]
function mutations.all(text, language)
  local list, line, line_start = {}, 1, 1
  local code = {} -- line -> whether a token begins there: a line without one is a comment's
  local function add(kind, first, last, replacement)
    list[#list + 1] = { kind = kind, line = line, first = first, last = last, replacement = replacement }
  end
  scan(text, language, function(first, last, token)
    line = line + select(2, text:sub(line_start, first - 1):gsub("\n", ""))
    line_start = first
    code[line] = true
    for _, kind in ipairs(kinds) do
      local other = operators[language][kind][token]
      if other and not (kind == "constant" and is_same(text, first, token, language)) then
        add(kind, first, last, other)
      end
    end
    local number = other_number(token)
    if number and is_array_size(text, first, language) then
      number = "1"
    end
    if number and number ~= token and not is_same(text, first, token, language) then
      add("constant", first, last, number)
    end
  end)
  local start = 1
  line = 0
  for content in (text .. "\n"):gmatch("([^\n]*)\n") do
    line = line + 1
    if code[line] then
      line_changes(content, language, function(kind, first, last, replacement)
        add(kind, start + first - 1, start + last - 1, replacement)
      end)
    end
    start = start + #content + 1
  end
  return list
end

--- The text with a change made.
---@param text string
---@param mutation mutate.Mutation
---@return string
function mutations.apply(text, mutation)
  return text:sub(1, mutation.first - 1) .. mutation.replacement .. text:sub(mutation.last + 1)
end

return mutations
