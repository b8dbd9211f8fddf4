# The plugin for Neovim, built in place: Neovim searches C modules beside the Lua files of a plugin. Included by the
# Makefile.

NVIM ?= nvim
# LUA_INCDIR on the command line overrides this.
LUAJIT_INCDIR = $(if $(filter command line,$(origin LUA_INCDIR)),$(LUA_INCDIR),$(patsubst %/,%,$(firstword $(LUAJIT_INCDIRS))))

.PHONY: nvim
nvim: ## build the plugin for Neovim: C modules in lua/operations/, help tags
	@$(NEEDS) "make nvim" "$(CC)" luajit $(addprefix -I,$(LUAJIT_INCDIR)) $(LIBRARY_CFLAGS)
	@$(MAKE) -s --no-print-directory -j $(JOBS) nvim-modules LUA=luajit LUA_INCDIR=$(LUAJIT_INCDIR)
	@mkdir -p build/bin && printf '%s\n' "$$NVIM_PROGRAM" >build/bin/operations && chmod +x build/bin/operations
	@if command -v $(NVIM) >/dev/null; then \
	  $(NVIM) --headless -u NONE -i NONE -n -c 'helptags doc' -c 'qa!' </dev/null; \
	else \
	  echo "make nvim: $(NVIM) is not in PATH: for help run :helptags $(CURDIR)/doc"; \
	fi

# The program `operations` for assistants and shells, run by luajit or by Neovim 0.9 and newer.
define NVIM_PROGRAM
#!/bin/sh
lua='$(CURDIR)/lua'
export LUA_PATH="$$lua/?.lua;$$lua/?/init.lua;;" LUA_CPATH="$$lua/?.so;;"
if command -v luajit >/dev/null; then exec luajit "$$lua/operations/cli/main.lua" "$$@"; fi
exec nvim -l "$$lua/operations/cli/main.lua" "$$@"
endef
export NVIM_PROGRAM

JOBS ?= $(PROCESSORS)

# A running editor keeps the files that it has loaded: new files replace them by renaming.
.PHONY: nvim-modules
nvim-modules: modules
	@for file in $(MODULES)/*.so; do \
	  new=lua/operations/$${file##*/}; cp "$$file" "$$new.new" && mv -f "$$new.new" "$$new" || exit 1; \
	done
