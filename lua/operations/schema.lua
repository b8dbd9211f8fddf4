-- Interim: branch schema replaces this file whole.
local core = require("operations.core")

return { compile = core.schema_compile }
