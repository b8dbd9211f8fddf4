--- Writes the screens of a terminal and of Neovim as HTML, for the pictures of the manual: main.lua DIRECTORY, beside
--- the tasks API at $TASKS_URL.
local html = require("spec.doc.pictures.html")
local inside = require("spec.support.inside")
local operations = require("operations")
local tmux = require("spec.support.tmux")

local directory = assert(arg[1], "usage: main.lua DIRECTORY")

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

-- The lines of a screen that have text; those after the last one are left out.
local function shot(terminal, name)
  write(directory .. "/" .. name .. ".html", html.page((terminal:screen(true):gsub("%s+$", ""))))
end

-- Types a command and waits until its output and the next prompt have come.
local function enter(terminal, command, expected)
  terminal:type(command, { "Enter" })
  terminal:wait(expected)
  operations.sleep(0.3)
end

-- The program: a list, a call, an error, a stream.
local function picture_terminal()
  local terminal = tmux.open("bash --norc", 92)
  enter(terminal, "operations add todo examples/tasks.openapi.json --base-url $TASKS_URL", "shows them")
  terminal:type("clear", { "Enter" })
  operations.sleep(0.5)
  enter(terminal, "operations list", "tasks")
  enter(terminal, "operations call todo.list done=false --format table", "title")
  enter(terminal, "operations call todo.create titel='Water the plants'", "unknown property")
  enter(terminal, "operations watch todo.watch --limit 2", '"id"')
  operations.sleep(1.5)
  shot(terminal, "terminal")
  terminal:close()
end

-- The plugin: the description of an operation in a window above the file that is being edited.
local function picture_editor()
  local init = directory .. "/init.lua"
  write(init, ([[
    vim.o.shortmess = vim.o.shortmess .. "I"
    vim.opt.runtimepath:prepend(%q)
    vim.g.mapleader = " "
    vim.o.number, vim.o.laststatus, vim.o.termguicolors, vim.o.background = true, 2, true, "dark"
    vim.cmd("colorscheme slate")
    vim.cmd("highlight Normal guibg=#1c2128 guifg=#d7dde4")
    vim.cmd("highlight NormalFloat guibg=#262c36 guifg=#d7dde4")
    vim.cmd("highlight FloatBorder guibg=#262c36 guifg=#768390")
    vim.cmd("highlight EndOfBuffer guibg=#1c2128 guifg=#545d68")
    vim.cmd("highlight StatusLineNC guibg=#373e47 guifg=#adbac7")
    vim.cmd("highlight StatusLine guibg=#373e47 guifg=#adbac7")
    require("operations.nvim").setup({
      apis = {
        tasks = { file = vim.fn.getcwd() .. "/examples/tasks.openapi.json", base_url = os.getenv("TASKS_URL") },
      },
    })
  ]]):format("."))
  write(directory .. "/editor.sh", inside.modules .. "exec nvim -u " .. init .. " -i NONE -n examples/hello.lua\n")
  local terminal = tmux.open("sh " .. directory .. "/editor.sh", 92, 26)
  terminal:wait("registry")
  enter(terminal, ":Operations describe tasks.create", "Output")
  shot(terminal, "editor")
  terminal:type({ "Escape" }, ":qa!", { "Enter" })
  operations.sleep(1) -- it writes below the terminal's home while it ends
  terminal:close()
end

picture_terminal()
picture_editor()
