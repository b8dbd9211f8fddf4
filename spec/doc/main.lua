--- Writes doc/operations.txt.
local vimdoc = require("spec.doc.vimdoc")

local file = assert(io.open("doc/operations.txt", "w"))
assert(file:write(vimdoc.make(vimdoc.read)))
assert(file:close())
