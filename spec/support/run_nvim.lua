--- Runs busted inside Neovim, as its startup script: the words of BUSTED_ARGS are its arguments. Neovim ends with
--- busted's exit code.
local words = { [0] = "busted" }
for word in os.getenv("BUSTED_ARGS"):gmatch("%S+") do
  words[#words + 1] = word
end
_G.arg = words

local exited = {}
local code = 0
os.exit = function(status) -- luacheck: ignore 122 (it would skip Neovim's own end)
  code = status == true and 0 or status == false and 1 or status or 0
  error(exited)
end
local ok, raised = pcall(require("busted.runner"), { standalone = false })
if not ok and raised ~= exited then
  io.stderr:write(tostring(raised), "\n")
  code = 1
end
vim.cmd(code == 0 and "qa!" or code .. "cquit!")
