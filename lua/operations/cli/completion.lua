--- `operations completion`: the scripts for bash, zsh and fish, and the command that they run while the user types.
--- Completions come from the cache: nothing is fetched or started.
local arguments = require("operations.cli.arguments")
local cache = require("operations.sources.cache")
local commands = require("operations.cli.commands")
local compat = require("operations.base.compat")
local entry = require("operations.sources.entry")
local number_text = require("operations.base.number_text")
local output = require("operations.cli.output")
local printable = require("operations.base.printable")
local remembered = require("operations.sources.remembered")
local system = require("operations.system")

local completion = {}

-- Each script runs `operations complete -- WORDS...`, the word at the cursor last, and reads lines of
-- WORD<tab>DESCRIPTION. A word that ends with "=" or "/" is followed by more, without a blank. Words are foreign:
-- bash gets them quoted, zsh and fish quote them; an open quote in bash, which would end within a word, gets none.
local scripts = {}

scripts.bash = [==[
_operations() {
  local IFS=$'\n' line last prefix="" words=()
  COMPREPLY=()
  compopt -o default
  last="${COMP_WORDS[COMP_CWORD]//\\?/}"
  case $last in
  *[\"\']*) return ;;
  esac
  # bash splits words at =, : and @, which keys and ids have; without -r, read removes the quotes of completed words
  IFS=' ' read -a words <<<"${COMP_LINE:0:COMP_POINT}"
  words=("${words[@]:1}")
  [[ ${COMP_LINE:0:COMP_POINT} =~ (^|[^\\])\ $ ]] && words+=("")
  last=""
  [ ${#words[@]} -gt 0 ] && last="${words[${#words[@]}-1]}"
  case $last in
  *[=:@]*) prefix="${last%"${last##*[=:@]}"}" ;;
  esac
  while IFS= read -r line; do
    line="${line%%$'\t'*}"
    line="${line#"$prefix"}"
    [ -n "$line" ] && printf -v line %q "$line"
    COMPREPLY+=("$line")
  done < <(operations complete -- "${words[@]}" 2>/dev/null)
  case ${COMPREPLY[0]} in
  *[=/]) compopt -o nospace ;;
  esac
  [ ${#COMPREPLY[@]} -eq 0 ] || compopt +o default
}
complete -F _operations operations
]==]

scripts.zsh = [==[
#compdef operations
_operations() {
  local line word text
  local -a plain keys plain_texts key_texts
  while IFS= read -r line; do
    word=${line%%$'\t'*} text=${line#*$'\t'}
    [[ $text == $line ]] && text=""
    if [[ $word == *[=/] ]]; then
      keys+=("$word") key_texts+=("$word${text:+  -- $text}")
    else
      plain+=("$word") plain_texts+=("$word${text:+  -- $text}")
    fi
  done < <(operations complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#plain} + ${#keys} == 0 )); then
    _files
    return
  fi
  (( ${#keys} )) && compadd -S '' -l -d key_texts -a -- keys
  (( ${#plain} )) && compadd -l -d plain_texts -a -- plain
}
if [ "$funcstack[1]" = "_operations" ]; then
  _operations "$@"
else
  compdef _operations operations
fi
]==]

scripts.fish = [[
function __operations_complete
  set -l words (commandline -opc) (commandline -ct | string unescape)
  operations complete -- $words[2..-1] 2>/dev/null
end
complete -c operations -f -n 'test (count (__operations_complete)) -gt 0' -a '(__operations_complete)'
complete -c operations -F -n 'test (count (__operations_complete)) -eq 0'
]]

completion.completion = {
  usage = "operations completion bash|zsh|fish",
  summary = "Prints a script that completes commands, options, sources, operations, keys and\n"
    .. "values. Add to the shell's own file:\n"
    .. "  bash  eval \"$(operations completion bash)\"\n"
    .. "  zsh   eval \"$(operations completion zsh)\"        (after compinit)\n"
    .. "  fish  operations completion fish | source",
  options = {}, without_sources = true,
}

---@param parsed operations.cli.Arguments
---@return integer code
function completion.completion.run(parsed)
  local script = scripts[parsed.rest[1]]
  if not script or #parsed.rest > 1 then
    return output.usage("completion: expected bash, zsh or fish, got %q", table.concat(parsed.rest, " "))
  end
  output.text(script)
  return output.codes.OK
end

-- The completions for a place. Each calls `offer(word, description)`.

local function each_entry(named, fn, prefix)
  for _, item in ipairs(named:entries(prefix)) do
    fn(item)
  end
end

local function keys_of(named, word)
  local source = named:of(word)
  local all = source and cache.entries(source) or {}
  local found = entry.find(word, all)[1]
  for place, item in ipairs(all) do
    if item == found then
      return cache.keys(source, place)
    end
  end
  return {}
end

local function offer_values(key, word, offer)
  for _, value in ipairs(type(key.values) == "table" and key.values or {}) do
    offer(word:match("^[^=]*=") .. number_text.of(value))
  end
end

-- Files after `key=@`, `key:=@` and `@`.
local function offer_files(word, offer)
  local before, directory, name = word:match("^([^@]*@)(.-)([^/]*)$")
  for _, found in ipairs(system.list(directory == "" and "." or directory) or {}) do
    if found:sub(1, #name) == name and (found:sub(1, 1) ~= "." or name ~= "") then
      local path = directory .. found
      offer(before .. path .. (system.kind(path) == "directory" and "/" or ""))
    end
  end
end

local function offer_keys(named, words, offer)
  local last, given = words[#words], {}
  if last:find("^[^=]*=@") or last:find("^@") then
    return offer_files(last, offer)
  end
  for i = 1, #words - 1 do
    given[words[i]:match("^([^=:]+)") or ""] = true
  end
  for _, key in ipairs(keys_of(named, words[1])) do
    if last:match("^([^=]*)=") == key.name then
      offer_values(key, last, offer)
    elseif not given[key.name] and key.name ~= "body" then
      offer(key.name .. "=", key.required and "required" or nil)
    end
  end
end

local function offer_options(options, offer)
  for _, option in ipairs(options) do
    offer(option.name, option.help)
  end
end

-- The values of an option: those that it has, tags, or patterns of operations.
local function offer_option_values(option, prefix, named, offer)
  for _, value in ipairs(option.values or {}) do
    offer(prefix .. value)
  end
  if option.name == "--tag" then
    each_entry(named, function(item)
      for _, tag in ipairs(item.tags or {}) do
        offer(prefix .. tag)
      end
    end)
  elseif option.name == "--expose" or option.name == "--include" then
    for _, name in ipairs(named.names) do
      offer(prefix .. name .. ".*")
    end
    each_entry(named, function(item) offer(prefix .. item.id, item.title) end)
  elseif option.name == "--profile" then
    for _, name in ipairs(named:profiles()) do
      offer(prefix .. name)
    end
  end
end

-- The option whose value is at the cursor, and the part of the word before the value.
local function option_at(words, options)
  local name = words[#words]:match("^(%-%-[%w-]+)=")
  for _, option in ipairs(options) do
    if option.value and name == option.name then
      return option, name .. "="
    elseif option.value and not name and (words[#words - 1] == option.name or words[#words - 1] == option.short) then
      return option, ""
    end
  end
end

-- Commands that take an operation and its input, or names of sources.
local takes_operation = { call = true, watch = true, describe = true }
local takes_sources = { remove = true, serve = true, export = true, mcp = true, worker = true, login = true,
  logout = true, doctor = true }

local function offer_sources(named, offer)
  for _, name in ipairs(named.names) do
    offer(name)
  end
end

-- The words after the command except options, the one at the cursor last.
local function plain_words(words, options)
  local plain, skip = {}, false
  for i, word in ipairs(words) do
    local takes_value = false
    for _, option in ipairs(options) do
      takes_value = takes_value or (option.name == word or option.short == word) and option.value ~= nil
    end
    if not skip and (word:sub(1, 1) ~= "-" or i == #words) then
      plain[#plain + 1] = word
    end
    skip = takes_value
  end
  return plain
end

local function offer_words(command, words, named, offer)
  if takes_operation[command] and #words == 1 then
    each_entry(named, function(item)
      local fits = command == "describe" or (command == "watch") == (item.type == "subscription")
      if fits then
        offer(item.id, item.title)
      end
    end, words[1])
  elseif takes_operation[command] and command ~= "describe" then
    offer_keys(named, words, offer)
  elseif takes_sources[command] or command == "request" and #words == 1 then
    offer_sources(named, offer)
  elseif command == "install" and #words > 1 then
    offer_sources(named, offer)
  elseif command == "completion" and #words == 1 then
    offer("bash")
    offer("zsh")
    offer("fish")
  end
end

-- Offers everything that fits at the cursor.
local function offer_all(words, offer)
  if #words <= 1 then
    for _, command in ipairs(commands.list) do
      offer(command[1], command[2])
    end
    offer("help", "what a command takes")
    return
  end
  local command = words[1]
  local has_options = table.concat(words, " "):find(" %-") ~= nil
  local module = has_options and commands.find(command) -- loads it
  local options = module and commands.options(module) or {}
  local rest = { compat.unpack(words, 2) }
  local parsed = arguments.parse({ compat.unpack(words, 2, #words - 1) }, options)
  local named = remembered.named(parsed and { profile = parsed.options.profile, order = parsed.order } or {})
  local option, prefix = option_at(words, options)
  if not named then
    return
  elseif option then
    offer_option_values(option, prefix, named, offer)
  elseif words[#words]:sub(1, 1) == "-" then
    offer_options(options, offer)
  else
    local plain = plain_words(rest, options)
    if #plain > 0 then -- else the word is the value of an option
      offer_words(command, plain, named, offer)
    end
  end
end

completion.complete = {
  usage = "operations complete -- WORD...",
  summary = "Prints what the last WORD of a command line may become; the scripts of\n`operations completion` ask it.",
  options = {},
}

local MOST = 2000 -- the most completions for a shell

---@param parsed operations.cli.Arguments
---@return integer code
function completion.complete.run(parsed)
  local words, lines, seen = parsed.rest, {}, {}
  local last = words[#words] or ""
  offer_all(words, function(word, description)
    local is_wanted = word:sub(1, #last) == last and printable.line(word) == word -- a line has one word
    if is_wanted and not seen[word] and #lines < MOST then
      seen[word] = true
      lines[#lines + 1] = word .. (description and "\t" .. description:gsub("%s+", " ") or "")
    end
  end)
  if #lines > 0 then
    output.text(table.concat(lines, "\n") .. "\n")
  end
  return output.codes.OK
end

return completion
