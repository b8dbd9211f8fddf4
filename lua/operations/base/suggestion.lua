--- Suggests the closest known id or word for one that does not exist.
local suggestion = {}

local MOST = 3 -- the most suggestions
local MOST_EDITS = 2 -- one for three letters, so that short names are not similar to all others

-- Ignores case and word separators.
local function plain(text)
  return (text:lower():gsub("[^%w]", ""))
end

-- Are the letters at these places and the ones before them swapped in `b`?
local function is_swap(a, i, b, j)
  return i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
end

--- The number of letters to insert, delete, replace or swap with the next one to turn `a` into `b`; more than
--- MOST_EDITS when there are too many.
local function edits(a, b)
  local most = math.min(MOST_EDITS, math.floor(#a / 3))
  if math.abs(#a - #b) > most then
    return MOST_EDITS + 1
  end
  local before, row = nil, {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local above, least = row, i
    row = { [0] = i }
    for j = 1, #b do
      local change = above[j - 1] + (a:byte(i) == b:byte(j) and 0 or 1)
      row[j] = math.min(change, above[j] + 1, row[j - 1] + 1, is_swap(a, i, b, j) and before[j - 2] + 1 or math.huge)
      least = math.min(least, row[j])
    end
    if least > most then
      return MOST_EDITS + 1
    end
    before = above
  end
  return row[#b] <= most and row[#b] or MOST_EDITS + 1
end

local SHORTENED = 3 -- letters of a word that stand for another: "int", "cmd"

local LONGEST = 4 -- letters of an abbreviation, of which one wrong leaves little: longer ones are likelier misspelled

local LONGER = 3 -- times as long as its abbreviation a word may be

-- Are these the first and the last letter of the word, and letters between them in their order?
local function abbreviates(text, word)
  if #text < SHORTENED or #text > LONGEST or #word > LONGER * #text or text:byte(1) ~= word:byte(1)
    or text:byte(-1) ~= word:byte(-1) then
    return false
  end
  local at = 0
  for letter in text:gmatch(".") do
    at = word:find(letter, at + 1, true)
    if not at then
      return false
    end
  end
  return true
end

-- The distance of a word from the given text, which may be its beginning, or an abbreviation: nearer than another word.
local function distance_of(text, word)
  local distance = edits(text, word)
  if distance > 0 and abbreviates(text, word) then
    return 0.5
  elseif distance > MOST_EDITS and #text >= SHORTENED and word:sub(1, #text) == text then
    return MOST_EDITS
  end
  return distance
end

--- The most similar word; nil when none is similar.
---@param text string
---@param words any[]
---@param key? any  the key of the word in each item; nil: the items are words
---@return string?
function suggestion.nearest(text, words, key)
  local best, least = nil, MOST_EDITS + 1
  for _, item in ipairs(words) do
    local word = key and item[key] or item
    local distance = distance_of(plain(text), plain(word))
    if distance < least then
      best, least = word, distance
    end
  end
  return best
end

--- The most similar word in parentheses, to be appended to a message; "" when none is similar.
---@param text string
---@param words any[]
---@param key? any  as for `nearest`
---@return string
function suggestion.behind(text, words, key)
  local best = suggestion.nearest(text, words, key)
  return best and (" (did you mean %s?)"):format(best) or ""
end

--- The ids that are most similar to `id`: the same name in another namespace or spelling, or one or two letters
--- different.
---@param id string
---@param specs operations.Spec[]
---@return string[] ids  at most three, the nearest first
function suggestion.of(id, specs)
  local found = {}
  local whole, name = plain(id), plain(id:match("%.(.+)$") or id)
  for place, spec in ipairs(specs) do
    local candidate = plain(spec.name)
    local distance = 0
    if candidate ~= name and candidate ~= whole then
      distance = math.min(edits(whole, plain(spec.namespace .. spec.name)), edits(name, candidate) + 1)
    end
    if distance <= MOST_EDITS then
      found[#found + 1] = { id = spec.namespace .. "." .. spec.name, distance = distance, place = place }
    end
  end
  table.sort(found, function(a, b)
    if a.distance ~= b.distance then
      return a.distance < b.distance
    end
    return a.place < b.place
  end)
  local ids = {}
  for i = 1, math.min(MOST, #found) do
    ids[i] = found[i].id
  end
  return ids
end

return suggestion
