--- Names for unnamed MCP servers: from their package or host, without words that only say that it is a server.
local url = require("operations.base.url")

local server_name = {}

-- Programs that run others: the first argument that is not an option counts.
local runners = {
  env = true, npx = true, bunx = true, uvx = true, pipx = true, pnpx = true, node = true, bun = true, deno = true,
  tsx = true, uv = true, run = true, lua = true, luajit = true, python = true, perl = true, ruby = true, sh = true,
}

local function clean(text)
  text = text:gsub("[^%w_.-]+", "_"):gsub("^[_.-]+", ""):gsub("[_.-]+$", "")
  return text ~= "" and text or "mcp"
end

-- Parts of a path that say where a program is stored, not what it is.
local places = {
  index = true, main = true, cli = true, server = true, dist = true, build = true, src = true, bin = true,
}

-- "@scope/server-files@1.2", "/opt/files_mcp.lua" and "files-mcp/dist/index.js" all give "files".
local function core_of(text)
  local named, last
  for part in text:gsub("(.)@[^@/]*$", "%1"):gmatch("[^/]+") do
    last = part
    if part ~= "." and not places[(part:gsub("%.%a+$", ""))] then
      named = part
    end
  end
  last = named or last or text
  last = last:gsub("%.%a+$", ""):gsub("^mcp[-_]", ""):gsub("^server[-_]", "")
  return clean((last:gsub("[-_]server$", ""):gsub("[-_]mcp$", "")))
end

--- The name of a server that a command starts.
---@param words string[]
---@return string
function server_name.of_command(words)
  local named = words[1]
  for _, word in ipairs(words) do
    local is_option = word:find("^%-") or word:find("^[%w_]+=")
    local program = (word:match("([^/]+)$") or word):gsub("[%d.]+$", "") -- python3.13
    if not is_option and not runners[program] then
      named = word
      break
    end
  end
  return core_of(named)
end

--- The name of a server at a URL: the second-to-last part of its host.
---@param text string
---@return string
function server_name.of_url(text)
  local host = (url.parse(text) or { host = text }).host
  if host:find("^[%d.]+$") or host:find("^%[") then
    return clean(host)
  end
  return clean(host:match("([^.]+)%.[^.]+$") or host)
end

--- Splits a command line as a shell does, without expansion.
---@param line string
---@return string[]? words  nil when a quote is open
function server_name.words(line)
  local words, word, at = {}, nil, 1
  while at <= #line do
    local blank = line:match("^%s+", at)
    local quoted, stop = line:match("^'([^']*)'()", at)
    if not quoted then
      quoted, stop = line:match('^"([^"\\]*)"()', at)
    end
    if blank then
      words[#words + 1], word, at = word, nil, at + #blank
    elseif quoted then
      word, at = (word or "") .. quoted, stop
    elseif line:find("^['\"]", at) then
      return nil
    else
      local plain, escaped = line:match("^[^%s'\"\\]+", at), line:match("^\\(.)", at)
      word = (word or "") .. (plain or escaped or "\\")
      at = at + (plain and #plain or escaped and 2 or 1)
    end
  end
  words[#words + 1] = word
  return words
end

return server_name
