# Installing, removing, and what a release is made of.  Included by the Makefile.

# Names and places as LuaRocks passes them.
PREFIX ?= /usr/local
LUA_VERSION ?= $(shell $(LUA) -e 'io.write(_VERSION:match("%d+%.%d+"))')
INST_BINDIR ?= $(PREFIX)/bin
INST_LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)
INST_LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
INSTALL = DESTDIR="$(DESTDIR)" BINDIR="$(INST_BINDIR)" LIBDIR="$(INST_LIBDIR)" LUADIR="$(INST_LUADIR)" \
  BUILD="$(BUILD)" LUA="$(LUA)" sh src/install.sh

.PHONY: install-modules
install-modules: modules # what require finds; LuaRocks installs the program itself, and knows what to remove
	@$(INSTALL) modules

.PHONY: install
install: all ## install for $(LUA) under PREFIX (/usr/local), DESTDIR in front of it; both runtimes have room there
	@$(INSTALL) install

.PHONY: uninstall
uninstall: ## remove what `make install` with the same LUA, PREFIX and DESTDIR put there
	@$(INSTALL) uninstall

.PHONY: release
release: ## write what release VERSION is made of to build/release: rockspec, archive, checksums, changes
	@sh src/release.sh "$(VERSION)"
