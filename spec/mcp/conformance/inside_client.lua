--- What Neovim and nginx run of the conformance client; the URL is in the environment.
rawset(_G, "arg", { os.getenv("MCP_URL") })

local ok, raised = pcall(assert(loadfile("spec/mcp/conformance/client.lua")))
if not ok then
  io.stderr:write(tostring(raised), "\n")
end
local vim = rawget(_G, "vim")
if vim then
  vim.cmd(ok and "qa!" or "cquit 1")
elseif not ok then
  error(raised, 0)
end
