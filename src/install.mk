# Installing, removing, and releases.  Included by the Makefile.

# Names and directories as LuaRocks passes them.
PREFIX ?= /usr/local
INST_BINDIR ?= $(PREFIX)/bin
INST_LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)
INST_LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
INST_MANDIR ?= $(PREFIX)/share/man
INSTALL = DESTDIR="$(DESTDIR)" BINDIR="$(INST_BINDIR)" LIBDIR="$(INST_LIBDIR)" LUADIR="$(INST_LUADIR)" \
  MANDIR="$(INST_MANDIR)" BUILD="$(BUILD)" LUA="$(LUA)" sh src/install.sh

.PHONY: install-modules
install-modules: modules # what require finds; LuaRocks installs the program itself, and knows what to remove
	@$(INSTALL) modules

.PHONY: install
install: all ## install for $(LUA) under PREFIX (/usr/local), with DESTDIR as a prefix; both runtimes can share it
	@$(INSTALL) install

.PHONY: uninstall
uninstall: ## remove what `make install` with the same LUA, PREFIX and DESTDIR installed
	@$(INSTALL) uninstall

.PHONY: release
release: ## write release VERSION to build/release: rockspec, archive, checksums, changes
	@sh src/release.sh "$(VERSION)"
