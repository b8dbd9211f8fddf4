--- Finds operations by words: BM25F (Robertson and Zaragoza, 2009) over the parts of names, titles, descriptions and
--- parameter names.
---
--- There is no index: one string for each field holds the texts of all operations, and is searched. For thousands of
--- operations a word takes about a millisecond; making the strings takes a tenth of the time of an index.
local argument = require("operations.base.argument")
local limits = require("operations.base.limits")
local members = require("operations.base.members")

local search = {}

---@class operations.Search
local Search = {}
Search.__index = Search

---@class operations.SearchHit
---@field id string
---@field spec operations.Spec  without schemas; not to be changed
---@field score number

---@class operations.SearchOptions
---@field identity? operations.Identity
---@field namespace? string
---@field accept? fun(spec: operations.Spec): boolean  which operations count
---@field limit? integer  how many at most, default 10
---@field offset? integer  how many of the best are left out

-- BM25's constants: how soon repetitions count less, and how much long texts are penalized.
local K1, B = 1.2, 0.75

-- Ignored, unless a query has no other words.
local empty_words = members.set({ "a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i",
  "in", "is", "it", "me", "my", "of", "on", "or", "that", "the", "this", "to", "what", "which", "with" })

-- A word in a name counts more than one in a description.
local fields = { "name", "title", "description", "parameters" }
local weights = { name = 3, title = 2, description = 1, parameters = 1 }

local option_kinds = { filter = "table or function" }
local find_kinds = { identity = "table", limit = "number", offset = "number", namespace = "string",
  accept = "function" }

-- "listIssues_v2" -> "list Issues_v2", "HTTPServer" -> "HTTP Server"
local function parts(text)
  return text:find("%u") and text:gsub("([%l%d])(%u)", "%1 %2"):gsub("(%u)(%u%l)", "%1 %2") or text
end

local function texts_of(registry, spec, id)
  local name = parts(id)
  return {
    name = spec.tags and name .. " " .. table.concat(spec.tags, " ") or name, title = spec.title or "",
    description = spec.description or "", parameters = parts(table.concat(registry:parameters(id) or {}, " ")),
  }
end

--- Makes the search of a registry. Its data is made at the first `find`, and again when the registry has changed.
---@param registry operations.Registry
---@param options? { filter?: operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean }
---@return operations.Search
function search.new(registry, options)
  argument.object(registry, "visible", "registry", 1, "search")
  argument.optional(options, "table", 2, "search")
  argument.options(options or {}, option_kinds, "search")
  return setmetatable({ _registry = registry, _filter = options and options.filter }, Search)
end

-- Makes one string for each field, with lines for each operation, and records their positions.
local function read(self)
  local registry = self._registry
  local revision = registry:revision()
  if self._revision == revision then
    return
  end
  local specs, ids, pieces, starts = registry:specs({ schemas = false }), {}, {}, {}
  for _, field in ipairs(fields) do
    pieces[field], starts[field] = {}, { 1 }
  end
  for i, spec in ipairs(specs) do
    ids[i] = spec.namespace .. "." .. spec.name
    local texts = texts_of(registry, spec, ids[i])
    for _, field in ipairs(fields) do
      local text = texts[field]
      pieces[field][i], starts[field][i + 1] = text, starts[field][i] + #text + 1
    end
  end
  for _, field in ipairs(fields) do
    pieces[field] = ("\n" .. table.concat(pieces[field], "\n")):lower()
  end
  self._specs, self._ids, self._texts, self._starts, self._revision = specs, ids, pieces, starts, revision
end

-- The stem and endings of a word: "query" and "queries" are "quer" with "y" or "ies"; "issue" and "issues" are "issue"
-- with nothing or "s".
local function stem(word)
  if word:find("...ies$") then
    return word:sub(1, -4), { y = true, ies = true }
  elseif word:find("..[^aeiou]y$") then
    return word:sub(1, -2), { y = true, ies = true }
  elseif word:find("..[xs]es$") or word:find("..[cs]hes$") then
    return word:sub(1, -3), { [""] = true, e = true, es = true } -- "boxes", "releases"
  elseif word:find("..[^su]s$") then
    word = word:sub(1, -2)
  end
  return word, { [""] = true, s = true, es = true }
end

-- The words of a query except the ignored ones (or with them), each once, as { stem, endings }.
local function words_of(query, empty)
  local words, seen = {}, {}
  for word in query:gmatch("[%w\128-\255]+") do
    local start, endings = stem(word)
    if not empty_words[word] == not empty and not seen[start] and #words < limits.search_words then
      seen[start], words[#words + 1] = true, { stem = start, endings = endings }
    end
  end
  return words
end

-- Adds the occurrences of a word in an operation's text of a field to `counts`, weighted by field and reduced for long
-- texts.
local function count(self, field, word, counts)
  local text, starts, weight = self._texts[field], self._starts[field], weights[field]
  local average, at = #text / #self._ids, 1
  local from, to = text:find(word.stem, 1, true)
  while from do
    local ending = text:match("^[%w\128-\255]*", to + 1)
    if word.endings[ending] and not text:find("^[%w\128-\255]", from - 1) then
      while starts[at + 1] <= from do
        at = at + 1
      end
      local length = starts[at + 1] - starts[at]
      counts[at] = (counts[at] or 0) + weight / (1 - B + B * length / average)
    end
    from, to = text:find(word.stem, to + #ending + 1, true)
  end
end

-- The scores of operations that contain a word of the query, by position.
local function scores_of(self, words)
  local scores, total = {}, #self._ids
  for _, word in ipairs(words) do
    local counts, holders = {}, 0
    for _, field in ipairs(fields) do
      count(self, field, word, counts)
    end
    for _ in pairs(counts) do
      holders = holders + 1
    end
    local rarity = math.log(1 + (total - holders + 0.5) / (holders + 0.5))
    for at, times in pairs(counts) do
      scores[at] = (scores[at] or 0) + rarity * times * (K1 + 1) / (times + K1)
    end
  end
  return scores
end

-- The positions of the operations, best first, equal ones in the order of registration. A query without words finds
-- all.
local function ranked(self, query)
  query = parts(query:sub(1, limits.search_query)):lower()
  local words, order = words_of(query), {}
  if not words[1] then
    words = words_of(query, true)
  end
  local scores = scores_of(self, words)
  for at in ipairs(self._ids) do
    if scores[at] or not words[1] then
      order[#order + 1] = at
    end
  end
  table.sort(order, function(a, b)
    local one, other = scores[a] or 0, scores[b] or 0
    return one > other or one == other and a < b
  end)
  return order, scores
end

--- The operations that fit a query best and that this identity may call, best first, equal ones in the order of
--- registration. A query without words finds all, in the order of registration.
---@param query string  words; text beyond `limits.search_query` is ignored
---@param options? operations.SearchOptions
---@return operations.SearchHit[]
---@return integer total  how many fit
function Search:find(query, options)
  argument.self(self, Search, "search", "find")
  argument.expect(query, "string", 1, "find")
  argument.optional(options, "table", 2, "find")
  options = options or {}
  argument.options(options, find_kinds, "find")
  read(self)
  local hits, total, from = {}, 0, options.offset or 0
  local last = from + (options.limit or limits.search_hits)
  local order, scores = ranked(self, query)
  for _, at in ipairs(order) do
    local id, spec = self._ids[at], self._specs[at]
    if (not options.namespace or spec.namespace == options.namespace)
      and self._registry:visible(id, options.identity, self._filter) == "yes"
      and (not options.accept or options.accept(spec)) then
      total = total + 1
      hits[#hits + 1] = total > from and total <= last and { id = id, spec = spec, score = scores[at] or 0 } or nil
    end
  end
  return hits, total
end

return search
