std = "min"
max_line_length = 120
files["lua/operations/hosts/nvim.lua"] = { read_globals = { "vim" } }
files["lua/operations/nvim"] = { std = "luajit", globals = { "vim" } }
files["lua/operations/hosts/openresty"] = { globals = { "ngx" } }
files["plugin"] = { read_globals = { "vim" } }
files["spec/nvim/inside"] = { std = "+busted", read_globals = { "vim" } }
files["spec/hosts/inside/nvim.lua"] = { std = "+busted", read_globals = { "vim" } }
files["examples/neovim/**/*.lua"] = { globals = { "vim" } }
files["spec/support/neovim_mcp.lua"] = { globals = { "vim" } }
files["spec/support/neovim_a*.lua"] = { globals = { "vim" } }
files["spec/support/ticker.lua"] = { read_globals = { "ngx", "vim" } }
files["spec"] = { std = "+busted" }
files["examples/spec"] = { std = "+busted" }
files["spec/support/server"] = { globals = { "ngx" } }
files["spec/support/app"] = { globals = { "ngx" } }
files["spec/bench/mcp_http.lua"] = { globals = { "ngx" } }
files["spec/hosts/inside/openresty.lua"] = { std = "+busted", globals = { "ngx" } }
files["examples/spec*"] = { std = "+busted" }
files["examples/gateway"] = { read_globals = { "ngx" } }
files["examples/server"] = { globals = { "ngx" } }
