--- Runs busted inside Neovim or nginx: the words of BUSTED_ARGS are its arguments. The program ends with busted's exit
--- code.
local words = { [0] = "busted" }
for word in os.getenv("BUSTED_ARGS"):gmatch("%S+") do
  words[#words + 1] = word
end
rawset(_G, "arg", words)

local exit, exited, code = os.exit, {}, 0
os.exit = function(status) -- luacheck: ignore 122 (it would skip the program's own end)
  code = status == true and 0 or status == false and 1 or status or 0
  error(exited)
end
local ok, raised = pcall(require("busted.runner"), { standalone = false })
if not ok and raised ~= exited then
  io.stderr:write(tostring(raised), "\n")
  code = 1
end
io.stdout:flush()
local vim = rawget(_G, "vim")
if vim then
  vim.cmd(code == 0 and "qa!" or code .. "cquit!")
else
  exit(code)
end
