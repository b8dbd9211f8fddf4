# operations: a Lua library with a C core.  `make help` lists the targets.

LUA ?= lua5.4
CC ?= cc
CFLAGS ?= -O2 -g
CSTD = -std=c99 -D_GNU_SOURCE
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes -Werror
LIBFLAG ?= -shared
LUA_INCDIR ?= $(firstword $(wildcard $(if $(findstring jit,$(LUA)),/usr/include/luajit-2.1 /usr/local/include/luajit-2.1,/usr/include/lua5.4 /usr/local/include/lua5.4 /usr/local/include)))

# VARIANT (-asan, -coverage) keeps builds with other flags apart.
RUNTIME = $(notdir $(LUA))
BUILD = build/$(RUNTIME)$(VARIANT)
MODULES = $(BUILD)/operations

REACTOR_SRC = $(wildcard src/reactor*.c)
SYSTEM_SRC = src/system_lua.c
CORE_SRC = $(filter-out $(REACTOR_SRC) $(SYSTEM_SRC),$(wildcard src/*.c))
HEADERS = $(wildcard src/*.h)
CORE_OBJ = $(CORE_SRC:src/%.c=$(BUILD)/%.o)
REACTOR_OBJ = $(REACTOR_SRC:src/%.c=$(BUILD)/%.o)
SYSTEM_OBJ = $(SYSTEM_SRC:src/%.c=$(BUILD)/%.o)

LUA_PATH_BUILT = $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;
LUA_CPATH_BUILT = $(CURDIR)/$(BUILD)/?.so;
# The empty end stands for the runtime's default path.
ENVIRONMENT = LUA_PATH="$(LUA_PATH_BUILT);" LUA_CPATH="$(LUA_CPATH_BUILT);" $(PRELOAD)

.DEFAULT_GOAL := all

.PHONY: all
all: $(MODULES)/core.so $(MODULES)/reactor.so $(MODULES)/system.so $(BUILD)/bin/operations ## build the C modules for $(LUA)

$(MODULES)/core.so: $(CORE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LIBFLAG) $(LDFLAGS) -o $@ $^ -lpcre2-8 -lm

$(MODULES)/reactor.so: $(REACTOR_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LIBFLAG) $(LDFLAGS) -o $@ $^ -lcurl -lpthread -ldl

$(MODULES)/system.so: $(SYSTEM_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LIBFLAG) $(LDFLAGS) -o $@ $^

$(BUILD)/bin/operations: Makefile
	@mkdir -p $(@D)
	@printf '%s\n' '#!/bin/sh' '# Runs the command line program of the built tree.' \
	  'export LUA_PATH="$(LUA_PATH_BUILT);" LUA_CPATH="$(LUA_CPATH_BUILT);"' \
	  'exec $(LUA) "$(CURDIR)/lua/operations/cli/main.lua" "$$@"' >$@
	@chmod +x $@

$(BUILD)/%.o: src/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(CFLAGS) -fPIC -I$(LUA_INCDIR) -c -o $@ $<

.PHONY: dependencies
dependencies: # installs what is missing (apt, as root) or prints the command
	@.ci/dependencies

.PHONY: test
test: dependencies all ## run every spec on $(LUA); TESTS=path for some
	@$(ENVIRONMENT) $(LUA) /usr/bin/busted $(BUSTED_FLAGS) $(or $(TESTS),spec)

.PHONY: test-%
test-%: all ## run the specs of one module, as in `make test-json`
	@$(ENVIRONMENT) $(LUA) /usr/bin/busted $(BUSTED_FLAGS) $(wildcard spec/$*_spec.lua spec/$*)

BUSTED_FLAGS = --no-auto-insulate --pattern=_spec -o spec/support/report.lua

SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.PHONY: asan
asan: ## run the specs under AddressSanitizer and UBSan on both runtimes
	@for lua in lua5.4 luajit; do \
	  $(MAKE) --no-print-directory test LUA=$$lua VARIANT=-asan CC=gcc \
	    CFLAGS="-O1 -g $(SANITIZERS)" LDFLAGS="$(SANITIZERS)" \
	    PRELOAD="LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0" || exit 1; \
	done

.PHONY: lint
lint: ## clang-format, clang-tidy, luacheck, the rockspec
	clang-format --dry-run -Werror src/*.c src/*.h $(wildcard spec/native/*.c)
	clang-tidy --quiet $(wildcard src/*.c) -- $(CSTD) -I$(LUA_INCDIR)
	luacheck --quiet lua spec examples
	luarocks --lua-version 5.4 lint operations-scm-1.rockspec

.PHONY: luapath
luapath: all ## print the LUA_PATH, LUA_CPATH and PATH of the built tree
	@echo 'export LUA_PATH="$(LUA_PATH_BUILT);"'
	@echo 'export LUA_CPATH="$(LUA_CPATH_BUILT);"'
	@echo 'export PATH="$(CURDIR)/$(BUILD)/bin:$$PATH"'

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-zA-Z%_-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
