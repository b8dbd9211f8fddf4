# operations: a Lua library with a C core.  `make help` lists the targets.

LUA ?= lua5.4
CC ?= cc
OBJCOPY ?= objcopy
# The operating system of the build, as in `uname -s`: Linux, Darwin (macOS), FreeBSD.
SYSTEM ?= $(shell uname -s)
ifeq ($(SYSTEM),Darwin)
CFLAGS ?= -O2 -g
LDFLAGS ?=
LIBFLAG ?= -bundle -undefined dynamic_lookup
RESIDENT = $(BUILD)/platform/resident.o
HOMEBREW_PREFIX ?= $(shell brew --prefix 2>/dev/null)
HOMEBREW = $(if $(HOMEBREW_PREFIX),$(wildcard $(addprefix $(HOMEBREW_PREFIX),/. /opt/openssl@3)))
else
CFLAGS ?= -O2 -g -fno-plt
LDFLAGS ?= -Wl,-z,now
LIBFLAG ?= -shared
NODELETE = -Wl,-z,nodelete
endif
CSTD = -std=c99 -D_GNU_SOURCE
# A module shows its luaopen function only (src/lua/build.h), so that no name meets one of the program, whatever flags are
# given; calls within it are direct, which saves a twentieth of the time of `execute`.
HIDDEN = -fvisibility=hidden
# The same bytes in every directory.
SAME = -ffile-prefix-map="$(CURDIR)"=.
# User builds do not use -Werror: a new compiler's warning must not break them. `make lint` and .ci do.
WERROR ?=
WARN = -Wall -Werror=switch -Wextra -Wpedantic -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes $(WERROR)
# The directories of headers and libraries: from the command line, else from pkg-config, else the usual places.
PKG_CONFIG ?= pkg-config
pkg-config = $(shell for name in $(2); do $(PKG_CONFIG) $(1) $$name; done 2>/dev/null)
includes-of = $(patsubst -I%,%,$(call pkg-config,--cflags-only-I,$(1)))
LUA_VERSION ?= $(shell $(LUA) -e 'io.write(_VERSION:match("%d+%.%d+"))' 2>/dev/null)
LUA_SERIES := $(if $(filter 5.5,$(LUA_VERSION)),5.5,5.4)
LUA_PACKAGES = $(addprefix lua,$(LUA_SERIES) -$(LUA_SERIES) $(subst .,,$(LUA_SERIES)))
LUA_INCDIRS = $(dir $(wildcard $(addsuffix /lua.h,$(addprefix /usr/include/,$(LUA_PACKAGES)) \
  $(addprefix /usr/local/include/,$(LUA_PACKAGES)) $(addsuffix /include/lua,$(HOMEBREW)) \
  $(call includes-of,$(LUA_PACKAGES)) /usr/local/include /usr/include)))
LUAJIT_INCDIRS = $(dir $(wildcard $(addsuffix /luajit.h,$(addsuffix /include/luajit-2.1,/usr /usr/local $(HOMEBREW_PREFIX) \
  /usr/local/openresty/luajit) $(call includes-of,luajit))))
ifeq ($(origin LUA_INCDIR),undefined)
LUA_INCDIR := $(patsubst %/,%,$(firstword $(if $(findstring jit,$(LUA)),$(LUAJIT_INCDIRS),$(LUA_INCDIRS))))
endif

PROCESSORS = $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)

# VARIANT (-asan, -coverage) keeps builds with different flags apart.
RUNTIME = $(notdir $(LUA))
BUILD = build/$(RUNTIME)$(VARIANT)
MODULES = $(BUILD)/operations
BUILD_PATH = $(if $(filter /%,$(BUILD)),,$(CURDIR)/)$(BUILD)

# A C module consists of rooms of src/ (one folder each), and the files of other rooms that it needs: modules do not
# share functions.
CORE_ROOMS = base json sse regex format value schema schema/program schema/compile schema/check schema/issue schema/cast \
  streams registry core
SOURCES = $(wildcard src/*/*.c src/*/*/*.c)
room = $(patsubst src/%.c,$(BUILD)/%.o,$(foreach name,$(1),$(wildcard src/$(name)/*.c)))
objects = $(addprefix $(BUILD)/,$(addsuffix .o,$(1)))
CORE_OBJ = $(call room,$(CORE_ROOMS)) $(call objects,http/fields http/target $(addprefix platform/,clock random fork_page))
REACTOR_OBJ = $(call room,reactor platform) $(call objects,base/buffer)
TRANSFER_OBJ = $(call room,transfer platform) $(call objects,base/buffer http/fields \
  $(addprefix reactor/,reactor timer stream handle_lua option_lua))
SYSTEM_OBJ = $(call room,system) $(call objects,$(addprefix platform/,clock socket))
HTTP_SERVER_OBJ = $(call room,server) $(call objects,base/buffer $(addprefix http/,request framing host target))
WEBSOCKET_OBJ = $(call room,websocket) $(call objects,base/buffer base/sha1 platform/random)
REDIS_OBJ = $(call room,redis) $(call objects,base/sha1)
TLS_OBJ = $(call room,tls) $(call objects,base/buffer base/sha256)
CRYPTO_OBJ = $(call room,crypto)
SANDBOX_OBJ = $(call room,sandbox json value) $(call objects,$(addprefix base/,buffer lines) \
  $(addprefix platform/,clock confine random))
# Modules that are built if their library's headers are found. CURL_INCDIR, CURL_LIBDIR, and the same for PCRE2, WSLAY,
# HIREDIS and OPENSSL (3: the first directory with provider.h), name a library that the compiler does not find by
# itself.
PACKAGES = libcurl libpcre2-8 libwslay hiredis libcrypto
PACKAGE_INCDIRS := $(call includes-of,$(PACKAGES))
header = $(wildcard $(addsuffix /$(2),$($(1)_INCDIR) $(PACKAGE_INCDIRS) /usr/include /usr/local/include $(HOMEBREW:%=%/include)))
OPTIONAL = $(if $(call header,WSLAY,wslay/wslay.h),$(MODULES)/websocket.so) \
  $(if $(call header,HIREDIS,hiredis/read.h),$(MODULES)/redis.so)
OPTIONAL += $(if $(call header,OPENSSL,openssl/provider.h),$(MODULES)/tls.so $(MODULES)/crypto.so)
LIBRARY_DIRS = CURL PCRE2 WSLAY HIREDIS OPENSSL
LIBRARY_CFLAGS := $(foreach name,$(LIBRARY_DIRS),$(addprefix -I,$($(name)_INCDIR))) $(addprefix -I,$(PACKAGE_INCDIRS)) \
  $(HOMEBREW:%=-I%/include)
LIBRARY_LDFLAGS := $(foreach name,$(LIBRARY_DIRS),$(addprefix -L,$($(name)_LIBDIR))) \
  $(call pkg-config,--libs-only-L,$(PACKAGES)) $(HOMEBREW:%=-L%/lib)

LUA_PATH_BUILT = $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;
LUA_CPATH_BUILT = $(BUILD_PATH)/?.so;
# The empty end stands for the runtime's default path.
MODULE_PATHS = LUA_PATH="$(LUA_PATH_BUILT);$(BUSTED_PATH)" LUA_CPATH="$(LUA_CPATH_BUILT);$(BUSTED_CPATH)"
ENVIRONMENT = $(MODULE_PATHS) $(PRELOAD)

# busted is not packaged for Lua 5.5: its Lua is that for 5.4, its C spec/native/rocks.c.
ifeq ($(LUA_SERIES),5.5)
BUSTED_PATH = ;/usr/share/lua/5.4/?.lua;/usr/share/lua/5.4/?/init.lua
BUSTED_CPATH = ;$(BUILD_PATH)/rocks/?.so
ROCKS = $(addprefix $(BUILD)/rocks/,lfs.so system/core.so term/core.so)
endif

# Runs the spec files that follow, several processes at once; UNDER runs each of them under another program.
BUSTED = $(MODULE_PATHS) spec/support/runner/run $(LUA) $(BUILD)/specs '$(PRELOAD) $(UNDER) $(LUA) spec/support/runner/busted.lua --no-auto-insulate'

.DEFAULT_GOAL := all

.PHONY: all modules
all: modules $(BUILD)/bin/operations ## build the C modules for $(LUA)

modules: $(MODULES)/core.so $(MODULES)/reactor.so $(MODULES)/transfer.so $(MODULES)/system.so $(MODULES)/http_server.so \
  $(MODULES)/sandbox_child.so $(OPTIONAL)

LIBRARIES =
$(MODULES)/core.so: $(CORE_OBJ)
$(MODULES)/core.so: LIBRARIES = -lpcre2-8 -lm
$(MODULES)/reactor.so: $(REACTOR_OBJ)
$(MODULES)/reactor.so: LIBRARIES = -lpthread
$(MODULES)/transfer.so: $(TRANSFER_OBJ)
$(MODULES)/transfer.so: LIBRARIES = -lcurl -ldl
$(MODULES)/system.so: $(SYSTEM_OBJ)
$(MODULES)/system.so: LIBRARIES = -lpthread
$(MODULES)/http_server.so: $(HTTP_SERVER_OBJ)
$(MODULES)/websocket.so: $(WEBSOCKET_OBJ)
$(MODULES)/websocket.so: LIBRARIES = -lwslay
$(MODULES)/redis.so: $(REDIS_OBJ)
$(MODULES)/redis.so: LIBRARIES = -lhiredis
$(MODULES)/tls.so: $(TLS_OBJ)
$(MODULES)/tls.so: LIBRARIES = -lssl -lcrypto
$(MODULES)/crypto.so: $(CRYPTO_OBJ)
$(MODULES)/crypto.so: LIBRARIES = -lcrypto
$(MODULES)/sandbox_child.so: $(SANDBOX_OBJ)
$(MODULES)/sandbox_child.so: LIBRARIES = -lm -ldl

# A module stays loaded: LuaJIT unloads it while finalizers still run that call it.
$(MODULES)/%.so: | $(RESIDENT)
	@mkdir -p $(@D)
	@echo "  $(CC) $@"
	@$(CC) $(LIBFLAG) $(NODELETE) $(LDFLAGS) $(LIBRARY_LDFLAGS) -o $@ $(filter-out $(RESIDENT),$^) $(RESIDENT) $(LIBRARIES)

# The modules in one archive for programs that link statically (doc/embedding.md): one object, whose only names are those
# of the functions that open the modules.
.PHONY: static
static: $(BUILD)/liboperations.a ## build/lua5.4/liboperations.a: the modules for programs that link statically

MODULE_OBJ = $(sort $(CORE_OBJ) $(REACTOR_OBJ) $(TRANSFER_OBJ) $(SYSTEM_OBJ) $(HTTP_SERVER_OBJ) $(SANDBOX_OBJ) \
  $(if $(filter %/websocket.so,$(OPTIONAL)),$(WEBSOCKET_OBJ)) $(if $(filter %/redis.so,$(OPTIONAL)),$(REDIS_OBJ)) \
  $(if $(filter %/tls.so,$(OPTIONAL)),$(TLS_OBJ) $(CRYPTO_OBJ)))

$(BUILD)/liboperations.a: $(MODULE_OBJ)
	@echo "  $(AR) $@"
	@$(LD) -r -o $(BUILD)/operations.o $^
	@$(OBJCOPY) --wildcard --keep-global-symbol='luaopen_*' $(BUILD)/operations.o
	@rm -f $@ && $(AR) rcs $@ $(BUILD)/operations.o

# The command line program runs compiled Lua: parsing would double its start time.
COMPILED = $(patsubst lua/%,$(BUILD)/lua/%,$(shell find lua -name '*.lua'))
COMPILED_PATH = $(BUILD_PATH)/lua/?.lua;$(BUILD_PATH)/lua/?/init.lua;

# Prints the program: $(1) is its package.path, $(2) its package.cpath, $(3) the directory of the compiled files.
program = printf '%s\n' "\#!$$(command -v $(LUA))" 'package.path = "$(1)" .. package.path' \
  'package.cpath = "$(2)" .. package.cpath' 'dofile("$(3)/operations/cli/main.lua")'

$(BUILD)/lua/%.lua: lua/%.lua | $(BUILD)/needs
	@command -v "$(LUA)" >/dev/null || { echo "make: there is no $(LUA) (Debian: apt install lua5.4, luajit)" >&2; exit 1; }
	@mkdir -p $(@D)
	@echo 'local source, target = ... local file = assert(io.open(target, "wb"))' \
	  'file:write(string.dump(assert(loadfile(source)))) file:close()' | $(LUA) - $< $@

$(BUILD)/bin/operations: Makefile $(COMPILED) | $(BUILD)/needs
	@mkdir -p $(@D)
	@$(call program,$(COMPILED_PATH)$(LUA_PATH_BUILT),$(LUA_CPATH_BUILT),$(BUILD_PATH)/lua) >$@
	@chmod +x $@

# The flags of the last build: with others everything is built again. `make install` takes what was built, whatever flags
# it is given: LuaRocks gives it fewer.
FLAGS = $(CC) $(CSTD) $(WARN) $(CPPFLAGS) $(CFLAGS) $(HIDDEN) $(LUA_CFLAGS) $(LIBRARY_CFLAGS) \
  $(LIBFLAG) $(NODELETE) $(LDFLAGS) $(LIBRARY_LDFLAGS)
quoted = '$(subst ','\'',$(1))'

$(BUILD)/flags: $(if $(filter install install-%,$(MAKECMDGOALS)),,FORCE)
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(FLAGS)) | cmp -s - $@ || printf '%s\n' $(call quoted,$(FLAGS)) >$@

.PHONY: FORCE
FORCE:

$(BUILD)/%.o: src/%.c $(BUILD)/flags | $(BUILD)/needs
	@mkdir -p $(@D)
	@echo "  $(CC) $@"
	@$(CC) $(CSTD) $(WARN) $(CPPFLAGS) $(CFLAGS) $(SAME) $(HIDDEN) -fPIC -Isrc $(LUA_CFLAGS) $(LIBRARY_CFLAGS) -MMD -MP -c -o $@ $<

# Reports everything that is missing before the first file is compiled: a supported runtime, its headers, libraries'
# headers.
LUA_CFLAGS = $(if $(LUA_INCDIR),-I"$(LUA_INCDIR)")
NEEDS = sh src/needs.sh

$(BUILD)/needs: src/needs.sh
	@$(NEEDS) "make LUA=$(LUA)" "$(CC)" "$(LUA)" $(CPPFLAGS) $(LUA_CFLAGS) $(LIBRARY_CFLAGS)
	@mkdir -p $(@D) && touch $@

-include $(SOURCES:src/%.c=$(BUILD)/%.d)

.PHONY: dependencies
dependencies: # installs what is missing (apt, as root) or prints the command
	@.ci/dependencies

# Additional requirements of one target: dependencies-test, -lint, -fuzz, ...
.PHONY: dependencies-%
dependencies-%:
	@.ci/dependencies $*

.PHONY: demo
demo: dependencies ## a real HTTP API and Lua functions, called the same way
	@$(MAKE) -s --no-print-directory -j$(PROCESSORS) all
	@$(ENVIRONMENT) examples/server/run $(LUA) examples/demo.lua

.PHONY: examples
examples: dependencies-test all ## run the examples, compare what they print
	@$(BUSTED) spec/examples_spec.lua

# Libraries of the specs: calls of the system that fail, threads, a build for another Lua; only on Linux.
NATIVE = $(if $(filter Linux,$(SYSTEM)),$(addprefix $(BUILD)/,fail.so threads.so other_lua.so))

$(NATIVE): $(BUILD)/%.so: spec/native/%.c src/lua/build.h
$(ROCKS): spec/native/rocks.c

$(NATIVE) $(ROCKS):
	@mkdir -p $(@D)
	@cc $(CSTD) $(WARN) -O1 -shared -fPIC -Isrc $(LUA_CFLAGS) -o $@ $< -ldl -lpthread

SPECS = $(sort $(shell find spec -name '*_spec.lua'))
# Specs that build and install the library, which takes as long as all others; `make test-release` runs them.
BUILDING_SPECS = spec/rockspec_spec.lua spec/release/install_spec.lua spec/release/release_spec.lua spec/release/debian_spec.lua spec/nvim/install_spec.lua
# Specs that read the texts of the tree, which are the same for each runtime: Lua 5.4 runs them.
TEXT_SPECS = $(foreach subject,annotation architecture development wording,spec/$(subject)_spec.lua)
# Specs that run in Neovim and nginx, which load the LuaJIT build whatever runs the specs: Lua 5.4 runs them.
HOST_SPECS = $(filter %/hosts_spec.lua %/openresty_spec.lua %/nvim_spec.lua,$(SPECS))
LEFT_OUT = $(BUILDING_SPECS) $(if $(findstring jit,$(LUA)),$(TEXT_SPECS) $(HOST_SPECS))

.PHONY: test
test: dependencies-test all $(NATIVE) $(ROCKS) ## run every spec on $(LUA); TESTS=paths for some, FAILED=1 what failed last; JOBS, SEED
	@exec env $(BUSTED) $(or $(TESTS),$(filter-out $(LEFT_OUT),$(SPECS))) # make ends its child, which is the runner then

test-%: all $(NATIVE) $(ROCKS) ## run the specs of one room or file, as in `make test-schema` or `make test-base-url`
	@specs="$(wildcard spec/$*_spec.lua spec/$(subst -,/,$*)_spec.lua spec/$(subst -,/,$*))"; \
	test -n "$$specs" || { echo "make: no specs for '$*': spec/ has neither such a folder nor such a file" >&2; exit 2; }; \
	exec env $(BUSTED) $$specs

# Specs that `make test` runs too: none of them where TESTED says that it runs anyway.
tested = $(if $(TESTED),,$(1))

# Neovim and nginx load the LuaJIT build, also when the specs run on Lua 5.4.
.PHONY: test-hosts
test-hosts: dependencies-test all ## the hosts' specs in plain Lua, Neovim and nginx, then their figures
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@$(if $(TESTED),,$(BUSTED) spec/hosts spec/net/http/fault_spec.lua)
	@$(ENVIRONMENT) $(LUA) spec/bench/hosts.lua

include src/install.mk
include src/nvim.mk
include spec/checks.mk

.PHONY: format
format: ## lay out the C files
	clang-format -i $(C_FILES)

C_FILES = $(SOURCES) $(wildcard src/*/*.h src/*/*/*.h spec/native/*.c spec/native/*.h)

# Calls, flags and headers that not every system has may only be used in src/platform.
SYSTEM_CALLS = epoll_[a-z]+[0-9]?|EPOLL[A-Z_]*|eventfd|pidfd_[a-z]+|signalfd|timerfd_[a-z]+|inotify_[a-z]+|kqueue|kevent|EVFILT_[A-Z]+ \
  accept4|pipe2|dup3|SOCK_(CLOEXEC|NONBLOCK)|(MSG|SO)_NOSIG[A-Z]+|SO_PEERCRED|ucred|getpeereid \
  syscall|SYS_[a-z_]+|getrandom|arc4random[a-z_]*|getentropy|clock_gettime|CLOCK_[A-Z]+|prctl|vfork\(|close_range|closefrom|environ \
  mmap|madvise|MADV_[A-Z]+|minherit|memfd_create|sendfile|splice|st_m?tim(espec)?|sigtimedwait|__(linux__|APPLE__|FreeBSD__) \
  sys/(epoll|event|eventfd|inotify|mman|prctl|random|sendfile|signalfd|syscall|timerfd)\.h|linux/[a-z_]+\.h|"/proc/[^"]*"
empty =
system_calls = $(subst $(empty) $(empty),|,$(strip $(SYSTEM_CALLS)))

.PHONY: lint-system
lint-system: # calls of one operating system stand in src/platform
	@! grep -nE '(^|[^A-Za-z0-9_])($(system_calls))([^A-Za-z0-9_]|$$)' $(filter-out src/platform/%,$(C_FILES:spec/%=)) || \
	  { echo "make lint: these belong in src/platform" >&2; exit 1; }

.PHONY: lint
lint: dependencies-lint lint-system lint-lua ## gcc, clang, clang-format, clang-tidy, luacheck, the rockspec
	@$(MAKE) -s --no-print-directory -k -j$(PROCESSORS) lint-c
	@echo clang-format
	@clang-format --dry-run -Werror $(C_FILES)
	luarocks --lua-version 5.4 lint $(wildcard *.rockspec)

.PHONY: lint-lua
lint-lua: dependencies-lint # luacheck, and assignments that Lua 5.5 refuses
	lua5.1 spec/support/luacheck.lua --quiet lua spec examples plugin

# A C file is read again when it, a header of it or the checks have changed. clang-tidy has a process for each file: its
# checker of va_list takes names of one file for those of the next. Its analyzer, which takes four fifths of the time,
# follows a function through up to 50,000 states; DEEP=1 allows its own limit, 225,000.
LINT_DIRECTORY = build/lint$(if $(DEEP),-deep)
LINTED = $(patsubst %.c,$(LINT_DIRECTORY)/%,$(SOURCES) $(wildcard spec/native/*.c spec/bench/*.c))
STATES = $(if $(DEEP),,$(addprefix --extra-arg=,-Xclang -analyzer-config -Xclang max-nodes=50000))

.PHONY: lint-c
lint-c: $(LINTED)

$(LINTED): $(LINT_DIRECTORY)/%: %.c .clang-tidy
	@mkdir -p $(@D)
	@echo "  lint $<"
	@for cc in gcc clang; do $$cc $(CSTD) $(WARN) -Werror -fsyntax-only -I$(LUA_INCDIR) -Isrc $< || exit 1; done
	@$(if $(filter spec/bench/%,$<),,clang-tidy --quiet $(STATES) $< -- $(CSTD) -I$(LUA_INCDIR) -Isrc 2>/dev/null)
	@clang $(CSTD) -I$(LUA_INCDIR) -Isrc -MM -MP -MT $@ -MF $@.d $< && touch $@

-include $(LINTED:=.d)

.PHONY: luapath
luapath: ## build, then print the LUA_PATH, LUA_CPATH and PATH of the built tree
	@$(MAKE) -s --no-print-directory -j$(PROCESSORS) all >&2 # what is printed here is for eval
	@echo 'export LUA_PATH="$(LUA_PATH_BUILT);"'
	@echo 'export LUA_CPATH="$(LUA_CPATH_BUILT);"'
	@echo 'export PATH="$(BUILD_PATH)/bin:$$PATH"'

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-zA-Z%_-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
