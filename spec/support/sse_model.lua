--- The event-stream algorithm as the text of WHATWG HTML 9.2.6 says it, word by word, for differential tests: slow,
--- whole streams only, nothing shared with the parser.
local model = {}

local REPLACEMENT = "\xEF\xBF\xBD"

-- Table 3-7 of the Unicode standard: pattern of the lead, then of each follower.
local WELL_FORMED = {
  { "[%z\1-\x7F]" },
  { "[\xC2-\xDF]", "[\x80-\xBF]" },
  { "\xE0", "[\xA0-\xBF]", "[\x80-\xBF]" },
  { "[\xE1-\xEC\xEE\xEF]", "[\x80-\xBF]", "[\x80-\xBF]" },
  { "\xED", "[\x80-\x9F]", "[\x80-\xBF]" },
  { "\xF0", "[\x90-\xBF]", "[\x80-\xBF]", "[\x80-\xBF]" },
  { "[\xF1-\xF3]", "[\x80-\xBF]", "[\x80-\xBF]", "[\x80-\xBF]" },
  { "\xF4", "[\x80-\x8F]", "[\x80-\xBF]", "[\x80-\xBF]" },
}

-- How many bytes at `i` match a row, and whether that is the whole row.
local function longest(text, i)
  local best, whole = 0, false
  for _, row in ipairs(WELL_FORMED) do
    local n = 0
    while n < #row and text:sub(i + n, i + n):find("^" .. row[n + 1]) do
      n = n + 1
    end
    if n > best then
      best, whole = n, n == #row
    end
  end
  return best, whole
end

local function decode(text)
  local out, i = {}, 1
  while i <= #text do
    local n, whole = longest(text, i)
    out[#out + 1] = whole and text:sub(i, i + n - 1) or REPLACEMENT
    i = i + math.max(n, 1)
  end
  return (table.concat(out):gsub("^\xEF\xBB\xBF", ""))
end

--- Runs a whole stream; returns the events, the last event ID string and the reconnection time.
function model.run(stream)
  local events, text = {}, decode(stream):gsub("\r\n", "\n"):gsub("\r", "\n")
  local data, event_type, id_buffer, last_event_id, retry, new_retry = "", "", "", "", nil, nil
  for line in text:gmatch("([^\n]*)\n") do
    local field, value = line:match("^([^:]*): ?(.*)$")
    if not field then
      field, value = line, ""
    end
    if line == "" then
      last_event_id = id_buffer
      if data ~= "" then
        events[#events + 1] = {
          data = (data:gsub("\n$", "")), event = event_type == "" and "message" or event_type, id = last_event_id,
          retry = new_retry,
        }
        new_retry = nil
      end
      data, event_type = "", ""
    elseif field == "event" then
      event_type = value
    elseif field == "data" then
      data = data .. value .. "\n"
    elseif field == "id" and not value:find("%z") then
      id_buffer = value
    elseif field == "retry" and value:find("^[0-9]+$") then
      retry = math.min(tonumber(value), 9007199254740991)
      new_retry = retry
    end
  end
  return events, last_event_id, retry
end

return model
