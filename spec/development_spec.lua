-- The page for engineers names paths, rooms and make targets: all of them exist.
local lfs = require("lfs")
local sources = require("spec.support.sources")

local page = sources.read("doc/development.md")

-- The code spans of the page, without blocks.
local function spans()
  local list = {}
  for span in page:gsub("```.-```", ""):gmatch("`([^`\n]+)`") do
    list[#list + 1] = span
  end
  return list
end

-- The folders of the tree that hold what the page names by path.
local roots = { src = true, lua = true, spec = true, doc = true, examples = true, [".ci"] = true, [".github"] = true }

local function missing_paths(list)
  local missing = {}
  for _, span in ipairs(list) do
    for path in span:gmatch("[%w_./-]+") do
      local is_placeholder = path:find("^spec/[xy]%f[_%z]")
      if roots[path:match("^([^/]+)/")] and not is_placeholder and not lfs.attributes((path:gsub("/$", ""))) then
        missing[#missing + 1] = path
      end
    end
  end
  return missing
end

local function missing_targets(list)
  local makefile, missing = "\n", {}
  for _, path in ipairs({ "Makefile", "spec/checks.mk", "src/nvim.mk", "src/install.mk" }) do
    makefile = makefile .. sources.read(path)
  end
  for _, span in ipairs(list) do
    local target = span:match("^make ([%l][%w-]*)")
    local room = target and target:match("^test%-(.*)")
    local is_room = room and (lfs.attributes("spec/" .. room)
      or lfs.attributes("spec/" .. room:gsub("%-", "/") .. "_spec.lua"))
    if target and not is_room and not makefile:find("\n" .. target:gsub("%-", "%%-") .. "[%w :-]*:") then
      missing[#missing + 1] = span
    end
  end
  return missing
end

-- The command that compiles a C file, with `folder` before the folders of headers, without its output.
local function compilation(path, folder)
  local object = "build/lua5.4/" .. path:gsub("^src/", ""):gsub("c$", "o")
  local pipe = assert(io.popen(("make -n LUA=lua5.4 -W %s %s 2>/dev/null"):format(path, object)))
  local command = pipe:read("*a"):match("\n([^\n]- %-c [^\n]*" .. path:gsub("%p", "%%%0") .. ")")
  pipe:close()
  return (command:gsub(" %-I", " -I" .. folder .. " -I", 1):gsub(" %-MMD.*", " -fsyntax-only " .. path))
end

-- What the compiler says of a file when code.h has one row more.
local function errors_with(row, path, folder)
  local code = sources.read("src/schema/program/code.h")
  local added, count = code:gsub("(\n  ROW%(CODE_MULTIPLE_OF)", "\n  " .. row .. " \\%1")
  assert.equal(1, count)
  assert(os.execute("mkdir -p " .. folder .. "/schema/program"))
  local file = assert(io.open(folder .. "/schema/program/code.h", "w"))
  file:write(added)
  file:close()
  local pipe = assert(io.popen(compilation(path, folder) .. " 2>&1"))
  local said = pipe:read("*a")
  pipe:close()
  return said
end

describe("an instruction without the code that decides it", function()
  it("does not compile", function()
    local folder = os.tmpname()
    os.remove(folder)
    for _, path in ipairs({ "src/schema/check/instruction.c", "src/schema/compile/dispatch.c" }) do
      local row = 'ROW(CODE_DIVIDES, ALONE, KEYLESS, MESSAGE_BOUND, "that divides")'
      assert.matches("error: enumeration value .-CODE_DIVIDES.- not handled in switch", errors_with(row, path, folder))
    end
    assert.equal("", errors_with("", "src/schema/compile/dispatch.c", folder))
    os.execute("rm -r " .. folder)
  end)
end)

describe("doc/development.md", function()
  it("names no path that does not exist", function()
    assert.same({ "src/nowhere.c" }, missing_paths({ "src/nowhere.c", "src/json/", "see lua/operations/init.lua" }))
    assert.same({}, missing_paths(spans()))
  end)

  it("names no make target that does not exist", function()
    assert.same({ "make nothing" }, missing_targets({ "make nothing", "make lint", "make test-base-url" }))
    assert.same({}, missing_targets(spans()))
  end)

  it("names only identifiers that the file beside them has", function()
    local wrong = {}
    for names, path in page:gmatch("| (`[%w_.]+`[^|`]*) in `([%w_./-]+)`") do
      for name in names:gmatch("`([%w_.]+)`") do
        if not sources.read(path):find(name, 1, true) then
          wrong[#wrong + 1] = name .. " in " .. path
        end
      end
    end
    assert.same({}, wrong)
  end)

  -- A file that the search finds and the section does not name is a place that a newcomer would miss.
  it("says of every place of a part that is to be copied what it does", function()
    local count, missing = 0, {}
    for section in page:gmatch("### ([^#]+)") do
      for command in section:gmatch("`(grep %-rIl [^`]+)`") do
        count = count + 1
        local pipe = assert(io.popen(command))
        local found = 0
        for path in pipe:lines() do
          found = found + 1
          if path ~= "spec/development_spec.lua" and not section:find("`" .. path .. "`", 1, true) then
            missing[#missing + 1] = ("%s: %s"):format(section:match("^[^\n]+"), path)
          end
        end
        pipe:close()
        assert.is_true(found > 1, command)
      end
    end
    assert.equal(7, count)
    assert.same({}, missing)
  end)
end)
