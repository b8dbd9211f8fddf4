--- Writes the files that are made of the pages in doc/ and of annotations: the help of Vim, the manual page of the
--- program, the library's types for editors.
local library = require("spec.doc.library")
local manual = require("spec.doc.manual")
local markdown = require("spec.doc.markdown")
local vimdoc = require("spec.doc.vimdoc")

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

write("doc/operations.txt", vimdoc.make(markdown.read))
write("doc/library/operations.lua", library.make())
write("lua/operations/cli/operations.1", manual.make(markdown.read("command-line")))
