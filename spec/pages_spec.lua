--- README.md and the pages of doc/: what their samples do, and where their links lead. A ```lua block is a program; the
--- ```text block behind it is what it prints. A "lua nvim" block runs inside Neovim, a "console" block is a session of
--- a shell, of which the lines with "$ " are commands. All of them find the API of examples/server at $TASKS_URL.
local command = require("spec.support.command")
local inside = require("spec.support.inside")
local operations = require("operations")
local samples = require("spec.support.samples")
local system = require("operations.system")
local test_server = require("spec.support.server")
local version = require("operations.base.version")

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local pages = { "README.md" }
for _, name in ipairs(assert(system.list("doc"))) do
  if name:find("%.md$") then
    pages[#pages + 1] = "doc/" .. name
  end
end

local no_nvim = inside.missing("nvim")

local function run_programs(page)
  for _, sample in ipairs(samples.programs(page)) do
    -- A program that it starts itself would miss the sanitizer that its modules are built with.
    local alone = os.getenv("LD_PRELOAD") and sample.code:find("from_mcp.connect", 1, true)
    local run = alone and pending or it
    run(("prints what it says at line %d"):format(sample.line), function()
      assert.is_string(sample.expected, "a text block with the output follows")
      local result = samples.run_program(sample.code)
      assert.equal("", result.err)
      assert.equal(sample.expected, result.out)
      assert.equal(0, result.code)
    end)
  end
end

local function run_in_nvim(page)
  for _, sample in ipairs(samples.programs(page, "lua nvim")) do
    if no_nvim then
      pending(no_nvim)
      return
    end
    it(("prints what it says in Neovim, line %d"):format(sample.line), function()
      assert.is_string(sample.expected, "a text block with the output follows")
      assert.equal(sample.expected, samples.run_in_nvim(sample.code))
    end)
  end
end

local function run_sessions(page)
  for _, session in ipairs(samples.sessions(page)) do
    it(("shows the session at line %d as it goes"):format(session.line), function()
      local printed = samples.run_session(session)
      for i, expected in ipairs(session.expected) do
        assert.equal(expected, printed[i], session.commands[i])
      end
    end)
  end
end

-- Targets of the Makefile and of the files that it includes.
local function targets()
  local found = {}
  local rules = read("Makefile") .. read("spec/checks.mk") .. read("src/nvim.mk") .. read("src/install.mk")
  for target in rules:gmatch("\n([%w%-]+)%%?:") do
    found[target] = true
  end
  return found
end

-- What a command of the command line says that it takes.
local helps = {}
local function help(name)
  helps[name] = helps[name] or command.run("operations " .. name .. " --help")
  return helps[name]
end

local function check_make(line)
  local known = targets()
  for words in line:gmatch("[^#&;\"()]+") do
    for word in (words:match("^%s*make%s+(.*)$") or ""):gmatch("%S+") do
      if not word:find("=", 1, true) then
        assert.truthy(known[word] or word:find("^test%-"), "make " .. word)
      end
    end
  end
end

local function check_operations(line)
  for name, rest in line:gmatch("%f[%w]operations (%l+)([^#|&;\")]*)") do
    assert.equal(0, help(name).code, "operations " .. name)
    for option in rest:gmatch("%s(%-%-[%l%-]+)") do
      local pattern = option:gsub("%-", "%%-") .. "[ ,\n]"
      assert.truthy(help(name).out:find(pattern), ("operations %s %s"):format(name, option))
    end
  end
end

-- Commands that change this machine are not run: their syntax, targets and options are checked.
local function check_shell(page)
  for _, block in ipairs(samples.blocks(page, "sh")) do
    it(("has commands that there are at line %d"):format(block.line), function()
      local result = command.run("sh -n", block.text)
      assert.equal("", result.err)
      for line in block.text:gmatch("[^\n]+") do
        check_make(line)
        check_operations(line)
      end
    end)
  end
end

local function check_json(page)
  for _, block in ipairs(samples.blocks(page, "json")) do
    it(("has JSON at line %d"):format(block.line), function()
      assert(operations.json.decode(block.text))
    end)
  end
end

-- What the samples for nginx leave to the rest of its configuration.
local nginx_conf = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
pid nginx.pid; error_log stderr;
events { }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; scgi_temp_path scgi;
  uwsgi_temp_path uwsgi;
  ssl_certificate cert.pem; ssl_certificate_key key.pem;
  lua_package_path "$root/lua/?.lua;$root/lua/?/init.lua;$directory/?.lua;;";
  lua_package_cpath "$root/build/luajit/?.so;;";
  upstream operations { server 127.0.0.1:8081; }
  $sample
}
]]

local registry_lua = 'return require("operations").registry()'

local function check_nginx(page)
  for _, block in ipairs(samples.blocks(page, "nginx")) do
    local missing = inside.missing("nginx")
    if missing then
      pending(missing)
      return
    end
    it(("is a configuration of nginx at line %d"):format(block.line), function()
      local directory = inside.shell("mktemp -d").out:match("%S+")
      inside.shell(("mkdir %s/my; echo '%s' > %s/my/registry.lua"):format(directory, registry_lua, directory))
      test_server.make_certificate(directory .. "/cert.pem", directory .. "/key.pem")
      local sample = block.text:find("^location") and "server { listen 8080; " .. block.text .. " }" or block.text
      local file = assert(io.open(directory .. "/nginx.conf", "w"))
      local values = { root = command.directory(), directory = directory, sample = sample }
      file:write((nginx_conf:gsub("%$(%l+)", values)))
      file:close()
      local result = inside.shell(("PATH=$PATH:/usr/sbin nginx -t -q -p %s -c nginx.conf"):format(directory))
      inside.shell("rm -rf " .. directory)
      assert.equal(0, result.code, result.out)
    end)
  end
end

-- Of other programs' configurations, those of Caddy and in TOML are read by nobody here; nginx.conf of examples/ is run
-- by spec/examples_spec.lua.
local languages = { c = true, caddy = true, console = true, json = true, lua = true, ["lua nvim"] = true, nginx = true,
  sh = true, text = true, toml = true }

-- The anchors of a page, as GitHub makes them of its headings: a second one of the same text ends in -1.
local function anchors(path)
  local found, text, open = {}, read(path), false
  for line in text:gmatch("[^\n]*") do
    open = open ~= (line:find("^```") ~= nil)
    local heading = not open and line:match("^#+ (.*)$")
    if heading then
      local anchor = heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")
      found[found[anchor] and anchor .. "-1" or anchor] = true
    end
  end
  return found
end

local function check_link(page, link)
  local path, anchor = link:match("^([^#]*)#?(.*)$")
  local target = page
  if path ~= "" then
    target = (page:match("^.*/") or "") .. path
    target = target:gsub("^doc/%.%./", "")
  end
  local stat = command.run(("test -e '%s'"):format(target))
  assert.equal(0, stat.code, page .. " links to " .. link)
  if anchor ~= "" then
    assert.truthy(anchors(target)[anchor], page .. " links to " .. link)
  end
end

local function check_links(page)
  it("links to existing pages and sections", function()
    for link in read(page):gsub("```.-\n```", ""):gsub("`[^`\n]*`", ""):gmatch("%]%(([^)%s]+)%)") do
      if not link:find("^https?:") then
        check_link(page, link)
      end
    end
  end)
end

for _, page in ipairs(pages) do
  describe(page, function()
    run_programs(page)
    run_in_nvim(page)
    run_sessions(page)
    check_shell(page)
    check_json(page)
    check_nginx(page)

    it("names the language of each block", function()
      for _, block in ipairs(samples.blocks(page)) do
        assert.truthy(languages[block.language], ("line %d: %q"):format(block.line, block.language))
      end
    end)

    check_links(page)
  end)
end

for _, page in ipairs({ ".github/CONTRIBUTING.md", ".github/SECURITY.md" }) do
  describe(page, function()
    check_links(page)
  end)
end

describe("CHANGELOG.md", function()
  check_links("CHANGELOG.md")

  it("has one section for each version, the newest first, after one for unreleased changes", function()
    local headings, seen = {}, {}
    for heading in read("CHANGELOG.md"):gmatch("\n## ([^\n]+)") do
      headings[#headings + 1] = heading
    end
    if headings[1] == "Unreleased" then
      table.remove(headings, 1)
    end
    assert.equal(version, headings[1]:match("^%S+"))
    for _, heading in ipairs(headings) do
      assert.matches("^%d+%.%d+%.%d+ %- %d%d%d%d%-%d%d%-%d%d$", heading)
      assert.is_nil(seen[heading:match("^%S+")], heading)
      seen[heading:match("^%S+")] = true
    end
  end)
end)

describe("the tables of a page", function()
  it("have no row twice, as two changes of one row may leave behind", function()
    for _, page in ipairs({ "doc/security.md", "doc/limits.md" }) do
      local seen, section = {}, ""
      for line in read(page):gmatch("[^\n]+") do
        section = line:match("^#+ .*") or section
        local first = line:match("^| ([^|]*) |")
        local key = first and not first:find("^%-+$") and section .. first
        assert.falsy(key and seen[key], page .. ": " .. line)
        seen[key or ""] = key ~= nil
      end
    end
  end)
end)

describe("doc/security.md", function()
  it("names specs that there are", function()
    local count = 0
    for name in read("doc/security.md"):gmatch("`([%l%d_/]+%.l?u?a?c?)`") do
      assert.equal(0, command.run(("test -e 'spec/%s'"):format(name)).code, name)
      count = count + 1
    end
    assert.is_true(count > 30)
  end)
end)

describe("the README", function()
  it("begins with the program of examples/hello.lua", function()
    local first = samples.programs("README.md")[1].code
    assert.equal(read("examples/hello.lua"), first)
    local _, lines = first:gsub("\n", "")
    assert.is_true(lines <= 15)
  end)

  it("can be read in two minutes", function()
    local _, lines = read("README.md"):gsub("\n", "")
    assert.is_true(lines <= 220, lines .. " lines")
  end)

  it("leads to every page", function()
    local text = read("README.md")
    for _, page in ipairs(pages) do
      assert.truthy(page == "README.md" or text:find("](" .. page, 1, true), page)
    end
  end)
end)
