---@meta operations
-- What programs use, for editors: made of lua/ by `make help-file`.

---@class operations
---@field null operations.Null  JSON's null, which is `cjson.null` and `ngx.null`
---@field array_mt table
---@field object_mt table
---@field local_envelope fun(data: any, operationId: string): operations.Envelope
---@field http_envelope fun(data: any, meta: table): operations.Envelope
---@field mcp_envelope fun(data: any, meta: table): operations.Envelope
---@field is_error fun(value: any): boolean
---@field is_response_envelope fun(value: any): boolean
---@field unwrap fun(envelope: operations.Envelope): any
---@field base64 operations.base64
---@field crypto operations.crypto
---@field from_graphql operations.from_graphql
---@field from_mcp operations.from_mcp
---@field from_openapi operations.from_openapi
---@field http operations.http
---@field json operations.json
---@field middleware operations.middleware
---@field oauth operations.oauth
---@field process operations.process
---@field sandbox operations.sandbox
---@field scanner operations.scanner
---@field schema operations.schema
---@field schemas operations.schemas
---@field sources operations.sources
---@field testing operations.testing
---@field transports operations.transports
---@field type operations.type
---@field url operations.url
---@field yaml operations.yaml
local operations = {}

--- Makes a registry. With OPERATIONS_LOG=calls each call is a line of JSON on stderr.
---@param options? operations.RegistryOptions
---@return operations.Registry
function operations.registry(options) end

--- Makes the HTTP API of a registry; with option `mcp`, MCP clients can use it too, at `/mcp` below the prefix.
---@param of operations.Registry
---@param options? operations.HttpOptions
---@return operations.Server?
---@return operations.Error? err  VALIDATION_ERROR: reserved or duplicate paths
function operations.to_http(of, options) end

--- Loads every part now instead of at its first use. In nginx's `init_by_lua` this saves each worker's first request
--- that time, and the workers share the memory. A part whose library is missing still fails when it is used.
function operations.preload() end

--- Runs functions at the same time. The first that raises, or returns nil and an error object, cancels the others.
---@param functions function[]
---@return any[]? results  the first result of each, in the order of `functions`
---@return operations.Error? err  of the one that failed first
function operations.all(functions) end

--- Makes a memory.
---@param stored? operations.Approval[]|string  a result of `list`, of which invalid entries are ignored; or a file that is read now, and written after each change
---@param changed? fun(list: operations.Approval[])  called with the new list after each change
---@return operations.Approvals?
---@return operations.Error? err  VALIDATION_ERROR: the file is no list
function operations.approvals(stored, changed) end

--- Marks a table as an array, so that it stays one when it is empty. Returns the same table.
---@param t? table
---@return table
function operations.array(t) end

--- Waits for an event outside this library: a callback of the editor, of an event loop or of another library. Calls
--- `arm(wake)` and suspends the running coroutine until `wake(...)` is called; only the first call counts, even one
--- made inside `arm`. When the task is cancelled or its deadline passes first, the function that `arm` returned is
--- called, and the ABORTED or TIMEOUT error object raised.
---@param arm fun(wake: fun(...)): fun()?  starts the operation; may return a function that cancels it
---@return any ...  the arguments of `wake`
function operations.await(arm) end

--- Serves the requests that arrive at `call_map` from `registry`. Operations with `_meta.exposed = false` are served in
--- process only. Also serves `services.list` and `services.schema`, by which the other side imports specs.
---@param registry operations.Registry
---@param call_map operations.CallMap
---@param options? operations.CallHandlerOptions
---@param streams_of? table<any, integer>  running subscriptions by owner, where several handlers share the limit
---@return operations.CallHandler
function operations.call_handler(registry, call_map, options, streams_of) end

--- Makes a call map over a transport.
---@param transport? operations.Transport  default: in process; this map's own call handler serves the calls
---@param options? { log?: fun(level: string, message: string, details: any) }  default: warnings and errors to stderr
---@return operations.CallMap
function operations.call_map(transport, options) end

--- Says whether `run` catches INT, TERM and HUP, on the host "plain". By default it does in a script, which an
--- interpreter of Lua runs, and does not in a program that embeds Lua.
---@param on boolean
function operations.catch_signals(on) end

--- Makes the handle of a namespace. Operations that are registered later can be called, too.
---@param registry operations.Registry
---@param namespace string
---@param context? operations.GivenContext  of every call; without one the caller is anonymous
---@return operations.Client
function operations.client(registry, namespace, context) end

--- Makes a definition whose calls run a program: `registry:register(operations.command{ ... })`. There is no shell:
--- a member of the input is one argument, whatever it contains. The program ends with its call.
---@param options operations.CommandOptions
---@return operations.Definition
function operations.command(options) end

--- The input, output and requirements of an operation, for people.
---@param spec operations.Spec
---@param style? operations.people.DescriptionStyle
---@return string
function operations.describe(spec, style) end

--- Makes an error object; `tostring` gives "CODE: message".
---@param code string
---@param message string
---@param details any
---@return operations.Error
function operations.error(code, message, details) end

--- Calls `fn(due)` again and again, `due` in ms since the epoch. What it raises goes to `on_error`. The schedule is a
--- task of the running one: it ends with it.
---@param when number|string  seconds between two runs, or a line of cron in local time: "*/5 * * * mon-fri", "@daily"
---@param fn fun(due: integer)
---@param options? operations.EveryOptions
---@return operations.Schedule
function operations.every(when, fn, options) end

--- Makes definitions of the operations that the peer of a call map offers, as `from_openapi` does of a document: for
--- `register_all`, with handlers that call the peer, which checks access. A registry can have those of many peers.
---@param call_map operations.CallMap
---@param options? operations.PeerOptions
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string, operation: string? }[]|operations.Error report  of operations left out
function operations.from_peer(call_map, options) end

--- Registers the specs that the peer of a call map offers: `describe` shows them, inputs are validated here, and calls
--- go to the peer if the registry routes to the map.
---@param into operations.Registry
---@param call_map { call: function }
---@param filter? { namespace?: string, type?: string, tag?: string }
---@param options? operations.ImportOptions
---@return string[]? ids
---@return operations.Error? err
function operations.import(into, call_map, filter, options) end

--- Makes the library run in the loop of the surrounding program. To be called before anything waits.
---@return operations.Loop
function operations.loop() end

--- Calls `fn(element, index)` for every element of a list, or `fn(...)` with the values of an iterator until it returns
--- nil; at most `options.limit` (16) calls run at a time. An iterator, as for the generic `for`, is called only when a
--- call can begin; it may wait. The first call that raises, or returns nil and an error object, cancels the others, and
--- no further call begins. With `stop_on_error = false` all calls are made; the second result has their error objects
--- by place.
---@param source any[]|fun(state: any, control: any): ...  or a table with `__call`, such as a subscription
---@param fn fun(...: any): any, operations.Error?
---@param options? operations.MapOptions
---@return any[]? results  the first result of each call, in the order of the elements; nil for failed calls
---@return operations.Error|table<integer, operations.Error>|nil err  of the call that failed first; with `stop_on_error = false` of each that failed, by its place, or nil when none did
function operations.map(source, fn, options) end

--- A clock that never goes back, to measure how long something took.
---@return number  ms since some time in the past, with a fraction
function operations.monotonic() end

--- The time of the host's clock, which deadlines use.
---@return integer  ms since the Unix epoch
function operations.now() end

--- Marks a table as an object, whatever its keys. Returns the same table.
---@param t? table
---@return table
function operations.object(t) end

--- Sets the function that is called in place of `on_error`.
---@param fn fun(failure: any, traceback: string)
---@return fun(failure: any, traceback: string) previous
function operations.on_error(fn) end

--- Makes a policy. The most restrictive rule that applies to a call wins, whatever its place; a call that no rule
--- applies to runs.
---@param source operations.PolicyRule[]|{ rules: operations.PolicyRule[] }|string  or a file .json, .yaml or .lua
---@param options? operations.PolicyOptions
---@return operations.Policy?
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function operations.policy(source, options) end

--- Makes a publisher: values under topics, for any number of readers.
---@param options? operations.PublisherOptions
---@return operations.Publisher
function operations.publisher(options) end

--- Runs `fn(...)` as a task and waits for it and its children. Inside a task it is a child. At the top of a plain
--- program, INT (Ctrl-C), TERM and HUP cancel it; after its cleanup the process ends as by the signal: a shell sees
--- exit code 130, 143 or 129. Inside `pcall`, this raises ABORTED instead, with `details.signal` ("SIGTERM"), `number`
--- and `exitCode`. A second signal at least one second later does not
--- wait for the cleanup; a program that computes for 5 s without waiting ends without it. The previous handlers are
--- restored when `run` returns.
---@param fn function
---@param ... any
---@return any ...  the results of `fn`; raises its error
function operations.run(fn, ...) end

--- The secret that a word refers to, read once, when it is first needed: for `auth` and headers.
---@param word string  env:NAME, file:PATH, cmd:COMMAND, or the secret itself
---@return fun(): string  raises when it cannot be read
function operations.secret(word) end

--- Calls `fn(...)` where neither the cancellation of the running task nor its deadline end waits: for a cleanup that
--- must wait. It has `ms` of its own; then its waits raise TIMEOUT.
---@param ms number
---@param fn function
---@param ... any
---@return any ...  the results of `fn`; raises its error
function operations.shield(ms, fn, ...) end

--- The text of a value: tables with their members, sorted by name; texts quoted, control characters visible.
---@param value any
---@return string
function operations.show(value) end

--- Suspends the running coroutine for a time.
---@param seconds number  may have a fraction; 0 or less lets other tasks run
function operations.sleep(seconds) end

--- Starts `fn(...)` as a task: a child of the running task if there is one. It begins to run when the caller waits, and
--- has the caller's current deadline. If it raises, or returns nil and an error object, and no task waits for it by
--- then, `on_error` is called at the next tick.
---@param fn function
---@param ... any
---@return operations.Task
function operations.spawn(fn, ...) end

--- Makes a parser of one event stream. With a handler, `feed` calls it for every event; without one, `next` takes the
--- waiting events.
--- Raises on an argument of a wrong type, or a `max_event` that is not an integer from 1 to 2147483647.
---@param on_event (fun(event: operations.SseEvent))?
---@param options operations.SseOptions?
---@return operations.SseParser
function operations.sse_parser(on_event, options) end

--- Makes the MCP server of a registry.
---@param registry operations.Registry
---@param options? operations.McpOptions
---@return operations.McpServer
function operations.to_mcp(registry, options) end

--- Makes tools of the operations of a registry.
---@param registry operations.Registry
---@param options operations.ToolsOptions
---@return operations.Tools?
---@return operations.Error? err  VALIDATION_ERROR: a name in `_meta.tool.name` is taken or invalid
function operations.to_tools(registry, options) end

--- New definitions with these changes, in the same order; the given ones are not changed.
---@param definitions operations.Definition[]
---@param changes table<string, operations.TransformChange>  by the id of the operation
---@param options? { partial?: boolean }  partial: ids that are not among the definitions are no errors
---@return operations.Definition[]? definitions
---@return operations.Error|table<string, true>|nil used  VALIDATION_ERROR: details lists every issue by path
function operations.transform(definitions, changes, options) end

--- Prints the types. The same operations give the same bytes; names follow the order of the operations.
---@param registry operations.Registry
---@param options? operations.TypesOptions
---@return string? text
---@return operations.Error? err  VALIDATION_ERROR: an unknown format
function operations.types(registry, options) end

--- Chooses the host by name ("plain"), or gives a table that implements one. Call it before anything waits.
---@param host string|operations.Host
function operations.use_host(host) end

--- The same handle with another context.
---@generic T
---@param of T  a client
---@param context? operations.GivenContext
---@return T
function operations.with(of, context) end

--- Calls `fn(...)` with a deadline: its waits, the calls that it makes and the tasks that it starts raise TIMEOUT after
--- `ms`. An earlier deadline around it still counts.
---@param ms number
---@param fn function
---@param ... any
---@return any ...  the results of `fn`, which raises its own errors; nil and TIMEOUT when the time is over, also where `fn` returned later
function operations.within(ms, fn, ...) end

---@class operations.AccessControl
---@field requiredScopes string[]  all of them
---@field requiredScopesAny? string[]  one of them
---@field resourceType? string  with resourceAction: identity.resources["<type>:<id>"] must list the action
---@field resourceAction? string
---@field resourceId? string  JSON Pointer (RFC 6901) into the input: names the one resource

---@class operations.AccessLogEntry
---@field time integer  ms since the epoch, when the request came
---@field requestId string
---@field traceparent? string
---@field method? string  nil: the request could not be read
---@field path? string  without the query
---@field mcp? string  the method of the MCP message
---@field operation? string
---@field identity? string  its id
---@field address? string
---@field status integer
---@field code? string  of the error
---@field ms integer
---@field bytes integer  of the body

---@class operations.AnswerStore
---@field add fun(self, key: string, value: string, ttl: number, owner: string?): string?, operations.Error?  keeps a value for `ttl` ms where there is none; returns the one that is there
---@field swap fun(self, key: string, old: string, new: string?, ttl: number?, owner: string?): boolean?, operations.Error?  keeps another value, or none, where `old` is there still

--- One approval in stored form.
---@class operations.Approval
---@field operationId string
---@field arguments? string  64 hexadecimal digits; nil: any arguments
---@field operation? string  a digest of the operation: its schemas, source and destination; nil: they were unknown
---@field identity? string  a digest of the caller's whole identity; nil: callers without one

--- The call to approve.
---@class operations.ApprovalCall
---@field operationId string
---@field input any
---@field identity? operations.Identity  an approval applies to one identity only
---@field spec? operations.Spec  an approval ends when its type, schemas or source change
---@field name? string  the tool's name
---@field rule? string  the name of the policy's rule that asks
---@field reason? string  of this rule
---@field remember? "once"|"arguments"|"always"  the most that the answer may cover

---@class operations.Approvals
local Approvals = {}

--- The approvals, oldest first; a copy, ready for JSON.
---@return operations.Approval[]
function Approvals:list() end

--- Is the call approved?
---@param call operations.ApprovalCall
---@return boolean
function Approvals:allows(call) end

--- Stores an approval: of the operation, or of the operation with these arguments.
---@param call operations.ApprovalCall
---@param scope "arguments"|"always"
function Approvals:remember(call, scope) end

--- Removes the approvals of one operation, for every identity; without an id all approvals.
---@param id? string
function Approvals:forget(id) end

---@class operations.Audit  a middleware
---@field lost integer  lines that could not be written

---@class operations.AuditOptions
---@field path? string  of a file: each line is appended to it, so it may be moved away at any time
---@field write? fun(line: string): any, any  instead of a file; must not wait; fails by an error, or nil and a reason
---@field key? string  of the digests of inputs (HMAC-SHA-256), which can be compared while it is the same; default: a random one
---@field preview? true|string[]  adds inputs, without what the schema calls `writeOnly` or a password, and what these JSON Pointers (RFC 6901) name
---@field log? fun(level: string, message: string)  told when lines cannot be written; default: to stderr

---@class operations.BreakerOptions
---@field failures? integer  failures that open it, default 5
---@field of? integer  among this many last calls, default 10
---@field pause? number  ms that it stays open, default 10,000
---@field probes? integer  concurrent test calls after that, default 1; all must succeed. One that runs longer than `pause` makes room for another; subscriptions do not take the place of a call
---@field counts? fun(err: operations.Error): boolean  is it a failure of the server?
---@field by? operations.KeyOption  calls that share a breaker, default "namespace"
---@field on_change? fun(state: "open"|"half-open"|"closed", key: string)
---@field max_keys? integer  breakers that are kept, default 10,000

--- A store of buckets. A bucket is the time at which it will be full again (GCRA).
---@class operations.Buckets
---@field take fun(self, key: string, interval: number, burst: integer): boolean, number, number  takes a call out: was there one; ms until there is one, else until the bucket is full; calls that are left. `interval` is ms a call

---@class operations.Cache  a middleware
local Cache = {}

--- Removes all answers.
function Cache:clear() end

---@class operations.CacheOptions
---@field ttl? number  ms that an answer without its own lifetime, and without `_meta.ttlMs` in its spec, is fresh; default 0: it is not stored
---@field max_bytes? integer  of all answers and their inputs, default 16 MiB
---@field max_entry? integer  bytes of one, default 1 MiB
---@field max_entries? integer  default 10,000
---@field vary? fun(input: any, context: operations.Context): string  further things that the answer depends on

---@class operations.CallHandler
---@field active integer  requests being served now
local CallHandler = {}

--- Accepts no more requests (they fail with DRAINING) and waits until the running ones have ended and their answers
--- have left. Requests that still run after `grace` are lost for their callers when the call map is closed.
---@param grace? number  ms, default: no limit
function CallHandler:drain(grace) end

---@class operations.CallHandlerOptions
---@field max_requests? integer  served at once, default 1,024; further ones fail with BUSY
---@field max_identity_streams? integer  subscriptions of one identity or, without one, of this connection; default: no limit
---@field upstream_errors? operations.UpstreamErrors  what callers in other processes read of the errors that an API or MCP server behind an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field access_log? fun(entry: { time: integer, requestId: string, operation: string, identity: string?, code: string?, ms: integer })  called for each request of another process when it has ended

---@class operations.CallMap
local CallMap = {}

--- Stores a job, and returns once the transport has it: from then on it runs, whatever happens to this process. At
--- least once, with exactly one outcome.
---@param id string
---@param input? any  default: an empty object
---@param options? operations.SubmitOptions
---@return operations.JobRecord? record
---@return operations.Error? err  UNAVAILABLE: no process has ever served it; BUSY: too many are queued; VALIDATION_ERROR: it cannot be encoded; TRANSPORT_LOST: `err.mayHaveRun` says whether it may be stored
function CallMap:submit(id, input, options) end

--- The record of a job.
---@param id string  its `requestId`
---@return operations.JobRecord? record
---@return operations.Error? err  OPERATION_NOT_FOUND: there is none, or its outcome is no longer kept
function CallMap:job(id) end

--- The outcome of a job; waits for it up to `timeout`.
---@param id string  its `requestId`
---@param timeout? number  ms, default 0
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's; PENDING: it has not ended; POISON: no worker survived it; ABORTED: it was cancelled; OPERATION_NOT_FOUND: there is none
function CallMap:outcome(id, timeout) end

--- Cancels a job wherever it is; its outcome is ABORTED. Has no effect on one that has ended.
---@param id string
---@param reason? string
---@return operations.JobRecord? record
---@return operations.Error? err  OPERATION_NOT_FOUND
function CallMap:cancel(id, reason) end

--- Removes a job and its outcome. One that has not ended is cancelled.
---@param id string
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND
function CallMap:forget(id) end

--- Requests that have not ended, calls too, and dead letters.
---@param operation? string  default: of all operations
---@param options? { limit: integer? }  of each kind and operation, default 100
---@return operations.QueuedJob[]?
---@return operations.Error? err
function CallMap:jobs(operation, options) end

--- Calls an operation on the other side and waits for its response.
---@param id string
---@param input? any  default: an empty object
---@param options? operations.CallOptions
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's error, or TIMEOUT, ABORTED, TRANSPORT_LOST, UNAVAILABLE, BUSY, ...; `err.mayHaveRun` is false when the handler surely was not started, `err.retryable` when a retry may succeed
function CallMap:call(id, input, options) end

--- Subscribes to an operation on the other side. The consumer pulls events: at most `window` of them are ever
--- unconsumed, or `unconsumed_bytes` when the other side announces no credits.
---@param id string
---@param input? any
---@param options? operations.CallOptions
---@return operations.RemoteSubscription? subscription  `next`, `close`, and usable in a `for`, as local ones
---@return operations.Error? err
function CallMap:subscribe(id, input, options) end

--- Answers a request that arrived (`serve`). This ends a call; a subscription (`request.streams`) continues, and this
--- waits while its window is full, which requires a task. Raises when the value is not an envelope. Specification:
--- doc/protocol.md, section 3, `call.responded`.
---@param request_id string
---@param envelope operations.Envelope
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more); VALIDATION_ERROR: the envelope cannot be sent; the caller gets that error
function CallMap:respond(request_id, envelope) end

--- Ends a request that arrived (`serve`) with an error. Specification: doc/protocol.md, section 3, `call.error`.
---@param request_id string
---@param code string  see section 6
---@param message string  for people
---@param details? any  left out if it cannot be sent
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more)
function CallMap:emit_error(request_id, code, message, details) end

--- Ends a subscription that arrived (`serve`). Specification: doc/protocol.md, section 3, `call.completed`.
---@param request_id string
---@return boolean? ok
---@return operations.Error? err  OPERATION_NOT_FOUND: the request does not run (any more)
function CallMap:complete(request_id) end

--- Aborts a request made here or by the other side, which is told. Does nothing when it has ended.
---@param request_id string
---@param reason? string
function CallMap:abort(request_id, reason) end

--- Passes every request that arrives to `fn`, which answers it by `respond`, `emit_error` and `complete`, as a call
--- handler does. Replaces the previous `fn`.
---@param fn fun(request: operations.Request)  must not wait; starts a task for that
---@param serving? operations.Serving
function CallMap:serve(fn, serving) end

--- Are both ends in this program?
---@return boolean
function CallMap:is_direct() end

--- The ids of all operations that the other sides are known to serve, on transports with many peers.
---@return string[]?
function CallMap:offered() end

--- The number of pending requests made here.
---@return integer
function CallMap:pending_count() end

--- Counts of events since the start: refused (invalid), late (after the end of their request) and duplicate ones.
---@return { refused: integer, late: integer, duplicate: integer }
function CallMap:counted() end

--- Ends everything: pending requests fail with TRANSPORT_LOST, running ones are aborted.
function CallMap:close() end

---@class operations.CallOptions
---@field requestId? string  default: a random UUID. Over a reliable transport, a second call with the same id is the same call
---@field parentRequestId? string
---@field deadline? integer  ms since the epoch
---@field timeout? integer  ms; the earlier deadline counts. Default over a wire: 60 s for calls
---@field idleTimeout? integer  subscriptions: the longest time between events, in ms
---@field window? integer  subscriptions: unconsumed events, default 64
---@field unconsumed_bytes? integer  subscriptions to a peer without credits: bytes of unconsumed events, approximately, default 4 MiB. With more, a WebSocket is not read until some are consumed; where the peer cannot be held back, the subscription ends with EXECUTION_ERROR
---@field consumer_timeout? integer  ms, default 20,000: if nothing is consumed for this long while the connection is not read, the subscription ends with EXECUTION_ERROR and the connection is read again
---@field resubscribe? boolean  subscriptions: start again, from the beginning, after a reconnection
---@field identity? operations.Identity
---@field metadata? table
---@field traceparent? string  W3C Trace Context
---@field on_progress? fun(done: number, total?: number, message?: string)  called with what the handler reports

---@class operations.Catalog
local Catalog = {}

--- Calls a function whenever operations were registered or removed, here or in a mounted registry. It must not wait.
---@param fn fun()
---@return fun() stop
function Catalog:on_revision(fn) end

--- The handler of an operation as its definition had it, without middleware.
---@param id string
---@return function?
function Catalog:origin(id) end

--- Registers one operation. Copies its spec; with `replace`, the previous operation is removed with its handler.
---@param definition operations.Definition
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err  VALIDATION_ERROR: details lists every issue by path
function Catalog:register(definition, options) end

--- Registers a list of operations; none of them if one is refused.
---@param definitions operations.Definition[]
---@param options? { replace?: boolean }
---@return string[]? ids
---@return operations.Error? err  the paths of its issues start with the index in the list
function Catalog:register_all(definitions, options) end

--- Registers a spec whose handler comes later (`register_handler`) or is in another process (`route`).
---@param spec operations.Spec
---@param options? { replace?: boolean }
---@return string? id
---@return operations.Error? err
function Catalog:register_spec(spec, options) end

--- Sets the handler of a registered spec.
---@param id string
---@param handler fun(input: any, context: operations.Context): any, any
---@return boolean? ok
---@return operations.Error? err
function Catalog:register_handler(id, handler) end

--- Removes an operation. Running calls are not affected.
---@param id string
---@return boolean removed
function Catalog:unregister(id) end

--- The definition (spec and handler) registered under an id; a copy.
---@param id string
---@return operations.Definition?
---@return operations.Error? err  when its schemas, made on first use, are invalid
function Catalog:get(id) end

--- A copy of the spec of an operation, without its handler.
---@param id string
---@return operations.Spec?
---@return operations.Error? err  as `get`
function Catalog:get_spec(id) end

--- The type of an operation, and whether it may be offered to others (`_meta.exposed` is not false).
---@param id string
---@return "query"|"mutation"|"subscription"|nil type
---@return boolean exposed
---@return boolean? looks  does its handler, the policy or a recorder of calls read the context?
function Catalog:type_of(id) end

--- A number that grows with every registration and removal, here and in mounted registries: data derived from specs is
--- then out of date.
---@return number
function Catalog:revision() end

--- The names of an operation's parameters (the properties of its inputSchema) in any order, for a search. Does not make
--- schemas: of a schema made on first use, only the names that its source already knows.
---@param id string
---@return string[]? names  nil when the operation is unknown
function Catalog:parameters(id) end

--- The handler of an operation, with its middleware; nil when the id is unknown.
---@param id string
---@return function?
function Catalog:get_handler(id) end

--- The definition of an operation by the two parts of its id; nil when it is unknown.
---@param namespace string
---@param name string
---@return operations.Definition?
function Catalog:get_by_name(namespace, name) end

--- The definitions, in the order of registration, without those whose schemas are invalid.
---@param filter? operations.Filter
---@return operations.Definition[]
---@return operations.Error[] flaws  of the invalid ones, details { operationId, issues }
function Catalog:list(filter) end

--- As `list`, without handlers: data that can be sent to others.
---@param filter? operations.Filter
---@return operations.Spec[]
---@return operations.Error[] flaws
function Catalog:specs(filter) end

--- Tells if an identity may see an operation. "hidden": it is not exposed (`_meta.exposed` is false) or excluded by the
--- filter, or the policy blocks every call of it, and others must not learn of it. "denied": this identity may not call
--- it. The input is unknown: where access to one resource of a type is required, access to any of them counts.
---@param spec operations.Spec|string  or the id of a registered operation
---@param identity? operations.Identity  nil: none
---@param filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@return "yes"|"denied"|"hidden"
function Catalog:visible(spec, identity, filter) end

---@class operations.Change
---@field path string  JSON Pointer into the value
---@field kind "stripped"|"defaulted"|"converted"|"replaced"  "replaced" by force only
---@field old any  the old value, nil for a missing member
---@field new any  the new value

---@class operations.Client
---@field [string] fun(input?: any): any, operations.Error?  an operation; JSON's null where its answer has no data

---@class operations.CodeOptions
---@field mutations? boolean  false: programs call queries and subscriptions only
---@field wait? integer  ms that a program waits for a person, default 300,000
---@field interpreter? string  these are options of `operations.sandbox.run`
---@field max_code? integer
---@field max_calls? integer
---@field at_once? integer
---@field max_value? integer
---@field max_memory? integer
---@field max_processor? integer
---@field max_output? integer
---@field max_result? integer
---@field max_programs? integer
---@field max_identity_programs? integer
---@field timeout? integer

---@class operations.CommandOptions  further fields are those of a definition
---@field argv (string|string[])[]  the program and its arguments: `{name}` is a member of the input, in `{ "--n", "{n}" }` a group that is left out when the input lacks it; `{{name}}` is the text `{name}`
---@field output? "text"|"lines"|"json"|"stream"|"json-stream"  what its standard output is, default "text"; streams make a subscription: an event for each line, or each line of JSON
---@field inputSchema? table|boolean  default: an object of the names in `argv` and `stdin`, all texts
---@field stdin? string  the member of the input that is its standard input: a text, or JSON of anything else
---@field timeout? number  ms, default none
---@field ok? integer[]  exit codes of success, default { 0 }
---@field errors? table<integer, string>  the code of the error for other exit codes
---@field env? table<string, string|number>  added to the variables that it inherits
---@field env_allow? string[]  names of inherited variables, see `operations.process`
---@field cwd? string
---@field max_output? integer  bytes of its standard output, default 16 MiB; of streams no limit

---@class operations.ConcurrencyOptions
---@field limit? integer  calls that run at once, default 16
---@field queue? integer  calls that wait beyond those, default 100; 0: none
---@field patience? number  the longest wait in ms, default: until the call's deadline
---@field by? operations.KeyOption  calls that share the limit, default "operation"

---@alias operations.Confirm fun(call: operations.ApprovalCall): boolean, string?

---@class operations.ConfirmOptions
---@field memory? operations.Approvals  approvals beyond one call: `operations.approvals(stored?, changed?)`; default: a memory of this middleware
---@field queries? boolean  also asks about queries and subscriptions

---@class operations.ConnectionOptions
---@field max_head? integer  bytes, default 64 KiB
---@field max_fields? integer  of a head, default 256
---@field max_target? integer  bytes, default 16 KiB
---@field max_body? integer  bytes, default 16 MiB
---@field max_connection_requests? integer  that one connection brings, default 1,000
---@field head_timeout? number  ms, default 10,000
---@field body_timeout? number  ms between two pieces, default 30,000
---@field keep_alive? number  ms without a request, default 60,000
---@field write_timeout? number  ms in which no byte of an answer is taken, default 60,000
---@field log? fun(level: string, message: string)  default: warnings and errors go to stderr

--- What a handler gets: of what a caller may give it always has these.
---@class operations.Context: operations.GivenContext
---@field requestId string
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, details: any)
---@field elicit fun(message: string|operations.ElicitedPage, schema?: table, key?: string): string, table?
---@field sample fun(request: table, key?: string): table?, operations.Error?
---@field roots fun(key?: string): table[]?, operations.Error?
---@field ask fun(requests: table<string, { method: string, params: table? }>): table<string, table>, table
---@field hang_up fun(retry?: integer)
---@field as_task fun()  of an operation with `_meta.task = "late"`: what follows is a task of the caller, if it knows tasks: the handler runs again as one, with the answers so far
---@field env operations.Env  `context.env.namespace.name(input)` calls another operation, trusted until this call has ended
---@field ifNoneMatch? string  set by the middleware `cache`: the ETag of its stored answer; an HTTP answer with status 304 confirms that answer
---@field emit? fun(value: any, options?: { id: string })  subscriptions: one event, as `coroutine.yield(value)`; its id is `meta.lastEventId` of the envelope
---@field progress fun(done: number, total?: number, message?: string)  reports progress to the caller's `on_progress`
---@field progress_wanted boolean  did the caller give one?
---@field defer? fun(fn: fun())  subscriptions: runs once when the subscription ends, last one first
local Context = {}

--- Should the handler stop? True once the task is cancelled, the deadline has passed or the subscription is closed.
---@return boolean
function Context:cancelled() end

--- Can the caller's user be asked: by questions that tell when the client cannot ("ask"), by forms alone ("elicit"), or
--- not at all (nil)?
---@return "ask"|"elicit"|nil
function Context:can_be_asked() end

---@class operations.CookieJar
local CookieJar = {}

--- Stores the cookies that an answer sets.
---@param from string  the request's URL
---@param lines string[]?  `setCookie` of the answer
function CookieJar:store(from, lines) end

--- The Cookie header for a URL, longer paths first (5.4).
---@param to string
---@return string?  nil without cookies
function CookieJar:header(to) end

--- Removes all cookies.
function CookieJar:clear() end

---@class operations.CorsOptions
---@field credentials? boolean  pages may have their cookies sent; not with the origin "*"
---@field headers? string[]  that pages may send, besides those that the server knows: "X-Api-Key"
---@field expose? string[]  headers of answers that pages may read, besides those that the server sends
---@field max_age? integer  ms that browsers keep the answer to a preflight, default 600,000

---@class operations.DeadLetter
---@field id string  of the letter
---@field operation string
---@field requestId string  of the call
---@field attempts integer  the number of workers that lost it
---@field buried integer  ms since the epoch
---@field input any
---@field payload? table  the whole request
---@field submitted boolean  it is a submitted job, not a call

---@class operations.Definition : operations.Spec
---@field handler? fun(input: any, context: operations.Context): any, any

---@class operations.ElicitedPage
---@field url string  https, or on this machine
---@field message? string
---@field id? string

---@class operations.Env  operations by namespace and name
---@field [string] table<string, fun(input?: any): any, operations.Error?>

---@class operations.Envelope  the answer of every operation
---@field data any
---@field meta operations.LocalMeta|operations.HttpMeta|operations.McpMeta

---@class operations.Error
---@field code operations.ErrorCode
---@field message string  for people
---@field details any  for programs; for VALIDATION_ERROR an array of issues
---@field retryable? boolean  may a retry succeed? nil: unknown
---@field mayHaveRun? boolean  false: the operation surely did not run; true: it may have; nil: unknown
---@field retryAfter? number  ms to wait before a retry, as the peer asks
---@field hint? string  what the caller may do, for people; not told to remote callers

---@alias operations.ErrorCode
---| "OPERATION_NOT_FOUND"
---| "ACCESS_DENIED"
---| "APPROVAL_REQUIRED"
---| "VALIDATION_ERROR"
---| "OUTPUT_INVALID"
---| "TIMEOUT"
---| "ABORTED"
---| "EXECUTION_ERROR"
---| "UNKNOWN_ERROR"
---| "BUSY"
---| "DRAINING"
---| "UNAVAILABLE"
---| "TRANSPORT_LOST"
---| "WORKER_LOST"
---| "PENDING"
---| "POISON"
---| "DETACHED"
---| "RATE_LIMITED"
---| string  HTTP_<status>, MCP_<number>, or a code of the operation's errorSchemas

---@class operations.ErrorSchema
---@field code string
---@field pattern? string  ECMA-262: codes of a family that no other declaration names
---@field description string
---@field schema any  JSON Schema of the error's details
---@field statusCode? integer  of the HTTP answer: 400 to 599, default 422

---@class operations.Events  the events of a subscription: an iterator of their data, which raises what ends it early
---@field close fun(self: operations.Events)

---@class operations.EveryOptions
---@field jitter? number  seconds, up to which chance delays each run: many machines do not begin at once
---@field now? boolean  the first run is now, not after the first interval
---@field overlap? boolean  a run begins while the previous one still runs; without it, runs that are missed are left out

--- A reader of a topic: an iterator over its events, which the handler of a subscription returns.
---@class operations.Feed
---@operator call: any
---@field gap boolean  it resumes after an event that is not kept: the reader has missed some

---@class operations.Filter
---@field namespace? string
---@field type? string
---@field tag? string
---@field schemas? boolean  false: leaves out inputSchema, outputSchema and errorSchemas, and does not make those that are made on first use, so that long lists are cheap

--- What a caller may give.
---@class operations.GivenContext
---@field requestId? string  made on first use, unless given
---@field parentRequestId? string
---@field identity? operations.Identity
---@field deadline? integer  milliseconds since the Unix epoch
---@field timeout? integer  milliseconds from the start of the call
---@field metadata? table
---@field traceparent? string  W3C Trace Context
---@field attempt? integer  over a reliable transport: above 1, it may have run before
---@field detach? boolean  by the caller: a call that its server runs as a task ends at once with DETACHED and the id of the task, which continues
---@field log? fun(level: "debug"|"info"|"warn"|"error", message: string, details: any)
---@field lastEventId? string  subscriptions: the id of the last event that the reader got; it resumes after that
---@field sink? fun(bytes: string)  when the result is a body (a string schema with `contentMediaType`) and its reader takes it in pieces: sends one, and waits until it was taken
---@field on_progress? fun(done: number, total?: number, message?: string)  given by a caller who wants progress; its errors are logged
---@field elicit? fun(message: string|operations.ElicitedPage, schema?: table, key?: string): string, table?  asks the caller's user by a form; "decline" when the user cannot be asked. `key`: identifies the question, see `ask`
---@field sample? fun(request: table, key?: string): table?, operations.Error?  asks the model of the caller
---@field roots? fun(key?: string): table[]?, operations.Error?  the folders that the caller works in
---@field ask? fun(requests: table<string, { method: string, params: table? }>): table<string, table>, table  several of these at once: the answers by key, and the errors of the others
---@field hang_up? fun(retry?: integer)  ends the connection that waits for the answer; the caller reconnects after `retry` ms. Does nothing when it cannot

---@class operations.Handle  of the reactor, with the methods of its kind
---@field cancel fun(self)
---@field owner fun(self): function?  its `on_event`

---@class operations.Host
---@field name string
---@field now fun(): integer  ms since the epoch
---@field timer fun(ms: number, fn: fun()): fun()  calls `fn` once, later; returns a function that stops it when called or, sooner or later, when garbage-collected: a waiting task keeps it
---@field block? fun(poll: fun(): boolean, boolean)  runs the loop until `poll()` is true; the second result of `poll` says that more can run at once
---@field schedule? fun(turn: operations.Turn)  makes the host's loop call `turn` soon, and again while it returns true; absent where `block` runs everything
---@field park? fun(wait: operations.Wait)  instead of `block`, where tasks are threads of the host: suspends the running one until `wait.done`; sets `wait.unpark`, which is called then
---@field spawn? fun(fn: fun(argument: any), argument: any, detached?: boolean)  with `park`: calls `fn` in a thread of its own, once the caller waits; a detached one outlives the host's current request
---@field start? fun(kind: string, options: any, on_event: fun(kind: string, ...)): operations.Handle  starts something in the reactor ("http", "process")
---@field on_exit? fun(fn: fun()): fun()  calls `fn`, which may wait, when the program begins to end; returns a function that undoes this
---@field log? fun(level: "debug"|"info"|"warn"|"error", message: string)  shows a message where the program's user or administrator looks; without it, warnings and errors go to stderr

---@class operations.HttpMeta
---@field source "http"
---@field statusCode integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field contentType? string
---@field event? string  of a stream, as `lastEventId` and `retry` (ms)
---@field lastEventId? string
---@field retry? integer
---@field errors? table[]  of a GraphQL service, beside data
---@field extensions? table  of its answer
---@field items? string  of a page: JSON Pointer into the data to the list of its items

---@class operations.HttpOptions
---@field prefix? string  before all paths: "" (default) or "/api/v1"
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  who calls; nil: no credentials; nil and a reason: invalid ones; nil and an error: it cannot tell. May wait. Default: all are anonymous
---@field oauth? operations.ResourceMetadata  issuers of tokens (RFC 9728); default: of `oauth.resource_server`
---@field anonymous? boolean  with `authorize`: without credentials one may call what requires none
---@field hide_denied? boolean  operations that the caller may not call are unknown to it (404)
---@field origins? string[]  of web pages elsewhere that may use the server: "https://app.example", or "*" for all
---@field cors? operations.CorsOptions  further answers to their browsers
---@field idempotency? boolean|operations.AnswerStore|table  keeps answers by Idempotency-Key: true, in this process; a shared dictionary of nginx, of all its workers; `operations.middleware.redis(url)`, of all processes
---@field idempotency_ttl? integer  ms for which they are kept, default 24 hours
---@field trusted_proxies? operations.TrustedProxies  whose X-Forwarded-For, -Proto, -Host and -Prefix count: CIDRs and "unix:"
---@field hosts? string[]  names of the server, besides localhost and numeric addresses
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  which are served
---@field paths? "source"  operations of OpenAPI documents keep the paths and methods of their documents
---@field timeout? integer  ms of a call, default 60,000; the caller may ask for another one (Request-Timeout-Ms)
---@field max_timeout? integer  ms that it may ask for, default 600,000
---@field max_body? integer  bytes, default 16 MiB
---@field max_depth? integer  nested arrays and objects of a body, default 512
---@field max_identity_streams? integer  open streams of one identity or, without one, address, default 128; others are answered 503
---@field max_identity_requests? integer  running requests of one identity or, without one, address, default 256; others are answered 503
---@field max_requests? integer  running at once, default 1,024; others are answered 503
---@field heartbeat? integer  ms of silence on an event stream after which a comment goes out, default 15,000
---@field upstream_errors? operations.UpstreamErrors  what callers read of the errors that an API or MCP server behind an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field expose_errors? boolean  problems tell the messages of unexpected errors: for development
---@field metadata_headers? string[]  request headers that `context.metadata.http.headers` holds
---@field tasks? operations.JobsOptions|operations.JobStore|false  where the jobs of operations with `_meta.task` are kept, and their limits; false: there are none. Default: in memory
---@field docs? boolean|{ directory: string }  true: a page at /docs where people call the operations; a directory: the Swagger UI (swagger-ui-dist) or Scalar (@scalar/api-reference) that npm installed there. Default: no page
---@field openapi? { info: table?, servers: table[]? }|false  what /openapi.json says of the API; false: there is none
---@field mcp? boolean|operations.McpServer  true: the registry is a server of MCP at /mcp, too, with the options that both have; or a server that `to_mcp` made
---@field health? boolean  false: no /healthz and /readyz
---@field ready? fun(): boolean  what /readyz asks
---@field upstreams? (operations.mcp.Client|operations.mcp.Servers)[]  whose states /readyz and /metrics show
---@field metrics? { text: fun(self, shows: fun(id: string): boolean): string, answered: function?, public: boolean? }  counts the answers (`answered(part, status, code?)`); what /metrics shows (the middleware `metrics`), to callers with credentials where there is `authorize`, unless it is public. `shows` tells which operations are not hidden from the caller
---@field access_log? "nginx"|fun(entry: operations.AccessLogEntry)  one call for each answer, when it has ended; "nginx": sets the variables of nginx that doc/openresty.md names
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

---@class operations.HttpRequest
---@field url string  http or https
---@field method? string  "GET" when absent
---@field headers? table<string, string|number|string[]>
---@field body? string|fun(): string?|{ read: function }  a function is called, or a reader read, whenever the connection accepts more, until nil; such a body cannot be sent twice
---@field body_size? integer  bytes that a function or reader gives; without it the body is sent in chunks
---@field query? table<string, any>  added to the URL: texts, numbers, booleans; a list is several pairs
---@field json? any  the body, as JSON; the method is then POST by default, as with the next two
---@field form? table<string, any>  the body, `application/x-www-form-urlencoded`; values as of `query`
---@field multipart? table[]  the body, `multipart/form-data`: parts { name =, value = } and { name =, file = path }, with `filename` and `type`; files are read as they are sent
---@field auth? table|fun(request: operations.HttpRequest)  { type = "basic", username =, password = }, { type = "bearer", token = }, { type = "digest", username =, password = }, where texts may be functions; or a function that signs the request: it changes its headers (`http.sigv4`)
---@field unix_socket? string  path of the socket to connect to, whatever host the URL names
---@field netrc? boolean|string  takes user and password from ~/.netrc, or from this file
---@field timeout? number  ms in total, including redirects and retries; 0 or absent: none
---@field connect_timeout? number  ms
---@field first_byte_timeout? number  ms until the headers have come, after the body is sent
---@field idle_timeout? number  ms between two pieces of the answer's body, while it is read; 0: no limit; default for a stream: no limit
---@field max_body? integer  bytes, after decompression; default for a stream: no limit
---@field max_headers? integer  bytes
---@field redirects? integer  the number to follow; 0: none
---@field redirect_all? boolean  follows redirects for methods other than GET and HEAD: 301 and 302 turn POST into GET, 303 any method, 307 and 308 send method and body again
---@field credentials? string[]  headers that, like Authorization and Cookie, are not sent to another origin
---@field query_credentials? string[]  query parameters that are removed when a server redirects to another origin with them
---@field idempotent? boolean  may be sent twice, whatever its method: by `retry`, or on another connection when a shared one is lost
---@field retry? boolean|operations.RetryPolicy  repeats requests that failed with a `retryable` error, if idempotent or `mayHaveRun` is false; default off
---@field jar? operations.CookieJar  from `http.jar()`; cookies are ignored without one
---@field ca_file? string  trusted certificates instead of the system's
---@field insecure? boolean  accepts any server certificate: for tests only
---@field cert_file? string  client certificate, PEM; its key is in the same file or in `key_file`, decrypted by `key_password`
---@field key_file? string
---@field key_password? string
---@field proxy? string|false  URL; false: none; default: the environment's (`http_proxy`, `https_proxy`, `no_proxy`)
---@field public_only? boolean  connects to public addresses only, also after redirects
---@field window? integer  unread bytes at which a stream stops receiving
---@field userinfo? boolean  accept a user and password in the URL

---@class operations.HttpResponse
---@field status integer
---@field headers table  lower-case names, joined by ", "; cookies are an array under `setCookie`
---@field body string
---@field url string  the final URL, after redirects

---@class operations.HttpStream
---@field status integer
---@field headers table
---@field content_type? string  from the headers, if known without parsing them
---@field url string
local HttpStream = {}

--- The body of a complete answer, if none of it was read yet.
---@return string?
function HttpStream:read_whole() end

--- The next bytes of the body, as soon as there are some. Unread bytes hold the sender back.
---@return string? chunk  never empty; nil at the end
---@return operations.Error? err
function HttpStream:read() end

--- Iterates over the body: `for chunk in stream:chunks() do`. Raises the error of a body that breaks off.
---@return fun(): string?
function HttpStream:chunks() end

--- As `read`, without a copy: the address of the next bytes, for a parser in C. It is valid until the stream is used
--- again or a task waits. A small body that came at once is returned as a string.
---@return lightuserdata|string|nil address
---@return integer|operations.Error|nil size  their number; nil with a string; nil or the error at the end
function HttpStream:lend() end

--- Stops reading. If the body ends within `ms`, the connection is kept for reuse; else it is closed.
---@param ms number
function HttpStream:linger(ms) end

--- Closes the connection unless the body was read to its end. Closing twice does nothing.
function HttpStream:close() end

---@class operations.Hub
---@field port? integer
---@field connections integer  open connections of this worker
local Hub = {}

--- Answers the request that opens a connection: status 101 and a function that takes it over, or a refusal. HTTP
--- servers mount a hub by it. May wait.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function Hub:handle(request) end

--- Reads certificates, keys and client_ca of the option `tls` again, for new connections; see `listener:reload`.
---@return true?
---@return operations.Error? err  VALIDATION_ERROR: names the file
function Hub:reload() end

--- Serves the running request as a connection to the hub, in OpenResty, in a `content_by_lua` of a location; returns
--- when the connection has ended. Refused clients get an HTTP answer. `authorize` runs in the request and can use
--- `ngx.var` and `ngx.ctx`.
function Hub:serve_request() end

--- Accepts no more connections, lets running requests end (for at most `grace` ms) and closes all connections.
---@param grace? number  ms, default 0
function Hub:close(grace) end

---@class operations.HubOptions
---@field host? string  numeric address, default "127.0.0.1"
---@field port? integer|false  default: any free one, see `hub.port`; false: does not listen, see `serve_request`
---@field tls? operations.TlsOptions  spokes connect by wss, with TLS 1.2 or newer
---@field registry? operations.Registry  what spokes may call
---@field authorize? fun(request: operations.WebSocketRequest): operations.Identity?, string?  the identity of a connection; nil refuses it. It may wait; any callable value. Default: no identity
---@field origins? string[]  of web pages that may connect; default: none
---@field on_connection? fun(call_map: operations.CallMap, peer: operations.Peer)  called with each connection; the call map calls the spoke
---@field max_connections? integer  default 1,024
---@field max_requests? integer  requests of one spoke at once, default 1,024
---@field upstream_errors? operations.UpstreamErrors  as of `call_handler`
---@field max_identity_streams? integer  subscriptions of one identity or, without one, connection, default 128
---@field max_message? integer
---@field ping_interval? number
---@field handshake_timeout? number
---@field drain? number  ms for running requests when nginx ends the worker (`serve_request`), default 5,000; endless subscriptions are lost then
---@field log? fun(level: string, message: string, details: any)

---@class operations.Identity
---@field id string
---@field issuer? string  who gave the id
---@field scopes string[]
---@field resources? table<string, string[]>  "type:id" -> actions

---@class operations.ImportOptions
---@field identity? operations.Identity  imports the operations that it may see
---@field normalize? "cast"|"force"|"off"  results are also finished here by these two; without them only if the registry fails on results that do not fit
---@field on_mismatch? "warn"|"fail"
---@field validate? "on"|"warn"|"off"  of inputs, before they are sent; default "on"

---@class operations.ImporterOptions
---@field namespace? string  of the operations
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?  without it, the program itself may call the operations, and they are not offered to others
---@field include? string[]|fun(info: table): boolean  takes these operations only
---@field exclude? string[]|fun(info: table): boolean  leaves these out
---@field normalize? "cast"|"force"|"off"
---@field on_mismatch? "warn"|"fail"
---@field validate? "on"|"warn"|"off"  of inputs, before they are sent; default "on"
---@field fill? boolean  false: required properties get no defaults

---@class operations.Issue
---@field path string  JSON Pointer to the value that does not fit, or to the missing property
---@field schemaPath string  JSON Pointer to the keyword, after a URI when it is in another document
---@field keyword string?  the keyword
---@field message string  for people: "expected at most 20 characters, got 34"
---@field params table?  for programs: { limit = 20 }

---@class operations.Job
---@field id string
---@field operation string
local Job = {}

--- Where the job stands.
---@return "working"|"input_required"|"completed"|"failed"|"cancelled" state
---@return operations.JobRecord record  a copy
function Job:state() end

--- Waits for the outcome. The job continues when the wait ends before it.
---@param timeout? number  ms; default: no limit
---@return operations.Envelope? envelope
---@return operations.Error? err  the operation's; ABORTED: it was cancelled; PENDING: it has not ended in this time
function Job:wait(timeout) end

--- Cancels the job: its waits end with ABORTED. Has no effect on one that has ended.
---@param reason? string
function Job:cancel(reason) end

--- The questions of a running job. They wait for answers.
---@class operations.JobAsking
---@field questions table<string, operations.Question>  without an answer, by key

---@class operations.JobRecord
---@field id string  cannot be guessed
---@field operation string
---@field state "working"|"input_required"|"completed"|"failed"|"cancelled"
---@field ended? boolean  it has its outcome: the last three states
---@field version integer  another one after each change
---@field attempt integer  workers that began it; 0: it waits; above 1: it may have run before
---@field created integer  ms since the epoch
---@field updated integer  ms since the epoch
---@field progress? { done: number, total: number?, message: string? }  the latest
---@field message? string  of the latest progress, or why it was cancelled
---@field questions? table<string, { method: string, params: table }>  in state "input_required": those without an answer, by key
---@field envelope? operations.Envelope  of a completed job
---@field error? operations.Error  of a failed or cancelled job
---@field due? integer  of a delayed job: ms since the epoch
---@field keep? integer  of a submitted job: ms for which its outcome is kept
---@field ttl? integer  of a server's job: ms from `created` for which it is kept
---@field poll? integer  ms between two looks at it, as its store suggests

---@class operations.JobStart
---@field identity? operations.Identity
---@field ttl? number  ms for which the record is wanted
---@field capabilities? table  what the caller can be asked, as those of an MCP client; nil: nothing
---@field metadata? table
---@field traceparent? string

--- What a server asks of the store of its jobs. Each function may wait.
---@class operations.JobStore
---@field start fun(self, id: string, input: any, options: operations.JobStart?): operations.JobRecord?, operations.Error?  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR, BUSY, UNAVAILABLE
---@field get fun(self, id: string, identity: operations.Identity?): operations.JobRecord?, operations.Error?  OPERATION_NOT_FOUND: no such job of this identity
---@field wait fun(self, id: string, identity: operations.Identity?, options: operations.JobWait?): operations.JobRecord?, operations.Error?
---@field answer fun(self, id: string, identity: operations.Identity?, answers: table<string, table>): operations.JobRecord?, operations.Error?  VALIDATION_ERROR: one does not fit its question
---@field cancel fun(self, id: string, identity: operations.Identity?, reason: string?): operations.JobRecord?, operations.Error?
---@field forget fun(self, id: string, identity: operations.Identity?): true?, operations.Error?  cancels it, too
---@field close fun(self)

---@class operations.JobWait
---@field after? integer|string  the version that is known: returns once there is another one
---@field ended? boolean  returns once the job has ended or has questions, not for progress
---@field timeout? number  ms; returns the record then; default: no limit

---@class operations.JobsOptions
---@field map? operations.CallMap  over Redis in mode `reliable`: keeps the jobs there; default: in this process
---@field ttl? integer  ms for which a record is kept, from the job's start, default 1 hour; a job that runs then is cancelled
---@field longest_ttl? integer  ms, default 1 day: what callers may ask for, at least 60 s
---@field poll? integer  ms between two looks at a job that callers are advised to keep, default 1,000
---@field max_jobs? integer  of this server that have not ended, default 1,000; with `map`, `max_queue` of its Redis applies
---@field max_identity_jobs? integer  of them for one identity, default 100; without an identity, of all callers without

---@alias operations.JsonSchema table|boolean  a JSON Schema

---@alias operations.KeyFunction fun(context: operations.Context, spec: operations.Spec): string

---@alias operations.KeyOption operations.KeyPart|operations.KeyPart[]|operations.KeyFunction

---@alias operations.KeyPart "identity"|"operation"|"namespace"|"address"

---@class operations.ListenOptions : operations.ConnectionOptions
---@field host? string  numeric address, default "127.0.0.1"
---@field port? integer  default: any free one, see `listener.port`
---@field path? string  of a Unix socket, instead of host and port
---@field mode? integer  permission bits of its file, default 384 (0600)
---@field backlog? integer  connections that wait to be accepted, default 128
---@field tls? operations.TlsOptions  clients come by https, with TLS 1.2 or newer
---@field max_connections? integer  default 1,024: beyond them the one that is idle for the longest is closed; when none is idle, the new one is answered 503

---@class operations.LoadedSource
---@field name string
---@field kind string  "openapi", "graphql", "lua", "command", "mcp", "mcp-config", "redis" or "websocket"
---@field registry operations.Registry
local LoadedSource = {}

--- Ends its servers and connections.
function LoadedSource:close() end

---@class operations.LocalMeta
---@field source "local"
---@field operationId string
---@field timestamp integer  ms since the epoch
---@field lastEventId? string  of an event that has an id

---@class operations.Loop
local Loop = {}

--- The descriptor to poll for reading (`poll`, `epoll`, `uv_poll`, `kqueue`, ...): it is readable when `turn` has work,
--- timers included. It stays the same until `close`, or until the process forks: ask again in the child.
---@return integer
function Loop.fd(_) end

--- Handles what happened and runs the tasks that are ready. Never waits.
---@param _ operations.Loop
---@param ms? number  the time after which it stops although more could be done (2)
---@return boolean more  was it stopped so? The descriptor is readable then
function Loop.turn(_, ms) end

--- Ends everything that was started and closes the descriptor; the program stops polling it before. Closing the Lua
--- state does the same.
function Loop.close(_) end

---@class operations.MapOptions
---@field limit? integer  calls at a time, default 16
---@field stop_on_error? boolean  false: a failed call does not end the others
---@field state? any  the iterator's state, as for the generic `for`
---@field control? any  the iterator's first control value

---@class operations.McpLines
---@field path string
---@field connections integer  open connections
local McpLines = {}

--- Accepts no more clients, and ends the connections: their running calls are cancelled. Removes the file.
function McpLines:close() end

---@class operations.McpLinesOptions
---@field path string  of the socket; replaces a socket file that no process listens at
---@field mode? integer  permission bits of its file, default 384 (0600)
---@field max_connections? integer  default 64; further clients get an error and are disconnected

---@class operations.McpMeta
---@field source "mcp"
---@field isError boolean
---@field content table[]  blocks
---@field structuredContent? any
---@field _meta? table

---@class operations.McpOptions
---@field name? string  of the server, for clients; default "operations"
---@field version? string
---@field title? string
---@field search? "auto"|boolean  searches tools instead of listing them: if the caller sees more than 64 ("auto", the default), always, or never
---@field code? boolean|operations.CodeOptions  models write programs: search, describe and `run_lua` are listed beside the pinned tools
---@field pinned? string[]  ids of operations that are always listed; or `_meta.tool = { pinned = true }`
---@field schema_bytes? integer  of all outputSchemas in a list of tools; beyond that, they are left out; default 64 KiB
---@field resources? true|operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  queries that are resources, too
---@field oauth? operations.ResourceMetadata  the authorization server, for clients that ask (RFC 9728); `authorize` checks its tokens. Default: that of `oauth.resource_server`
---@field clients? (operations.mcp.Client|operations.mcp.Servers)[]  of servers whose resources and prompts are offered
---@field wait? integer  ms that the first lists, and a call of an unknown name, wait for those of them that are connecting; default 10,000
---@field instructions? string  for the model: what the server is good for
---@field authorize? fun(request: operations.ServerRequest): operations.Identity?, string?  as in to_http
---@field anonymous? boolean  as in to_http
---@field hide_denied? boolean  hides operations that the caller may not call
---@field identity? operations.Identity  the caller over stdio
---@field origins? string[]  as in to_http
---@field cors? operations.CorsOptions  as in to_http
---@field trusted_proxies? operations.TrustedProxies  as in to_http
---@field hosts? string[]  as in to_http
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean  selects the operations that are offered
---@field timeout? integer  ms of a call, default 600,000, which allows for questions to people
---@field max_body? integer  bytes of a message, default 16 MiB
---@field max_requests? integer  running at once, default 1,024
---@field max_identity_requests? integer  of them over HTTP for one identity or, without one, address, default 256
---@field as_tools? boolean  also offers tools that list and read resources and prompts, for clients that know no others
---@field upstream_errors? operations.UpstreamErrors  what callers read of the errors that an API or MCP server behind an operation answered: "client" (default), of an API 4xx except 401, 403 and 407; "all"; "none"
---@field expose_errors? boolean  includes the messages of unexpected errors
---@field tasks? operations.JobsOptions|operations.JobStore|false  where the tasks of operations with `_meta.task` are kept, and their limits; false: there are none. Default: in memory
---@field ttl? integer  ms that lists may be cached (revision 2026-07-28), default 0
---@field state_secret? string  signs the state that clients keep between the rounds of a call; default: random, so that it is invalid in other processes and after a restart
---@field state_ttl? integer  ms until such a state expires, default 3,600,000
---@field heartbeat? integer  ms of silence on an event stream after which a comment goes out, default 15,000
---@field max_sessions? integer  of the legacy era over HTTP, default 1,024; beyond that, the one idle for longest ends
---@field max_identity_sessions? integer  of them for one identity or, without one, address, default 128; beyond that, the one of its own that is idle for longest ends
---@field max_batch? integer  messages of a batch (revision 2025-03-26), default 100
---@field session_bytes? integer  of ended streams that a session may resume, default 4 MiB; the oldest are forgotten
---@field identity_bytes? integer  the same for all sessions of an identity, default 16 MiB
---@field kept_bytes? integer  the same for all sessions, default 64 MiB
---@field session_ttl? integer  ms after which an idle session ends, default 3,600,000
---@field access_log? "nginx"|fun(entry: operations.AccessLogEntry)  as that of `to_http`, whose own has the answers of a server at its /mcp, too
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr

---@class operations.McpPrompt
---@field name string
---@field title? string
---@field description? string
---@field icons? table[]
---@field _meta? table
---@field arguments? (string|operations.McpPromptArgument)[]  a string is the name of a required one
---@field accessControl? operations.AccessControl  callers without access do not see it
---@field get fun(input: table<string, string>, context: operations.Context): any, any  gets the arguments. Returns a text, for one message of the user; a list of `{ role, content }`, where content may be a text or a block; or `{ description, messages }`

---@class operations.McpPromptArgument
---@field name string
---@field title? string
---@field description? string
---@field required? boolean
---@field enum? string[]  the allowed values, offered as completions
---@field const? string  the only allowed value
---@field complete? string[]|fun(value: string, others: table): string[]  its completions

---@class operations.McpResource
---@field uri? string  its URI; or `uriTemplate`
---@field uriTemplate? string  RFC 6570: "notes://{id}", "file:///{+path}", "rows://all{?page,size}"
---@field name? string  default: the URI
---@field title? string
---@field description? string
---@field mimeType? string  of the content
---@field size? integer  bytes
---@field icons? table[]
---@field annotations? table
---@field _meta? table
---@field accessControl? operations.AccessControl  callers without access do not see it
---@field complete? table<string, string[]|fun(value: string, others: table): string[]>  completions of a template's variables
---@field read fun(input: table, context: operations.Context): any, any  gets the `uri` and the template's variables. Returns a text, or bytes according to `mimeType`; `{ text, mimeType }`, `{ bytes, mimeType }`, `{ contents = list }` of such; any other value as JSON; nothing if there is no such resource

---@class operations.McpServer
---@field links table<operations.mcp.StdioLink, true>
local McpServer = {}

--- Serves the client at the other end of the program's stdin and stdout, until it ends stdin or the server is closed.
--- From then on stdout is reserved for MCP: other output, by `print` and children too, goes to stderr.
---@return boolean? ok
---@return operations.Error? err
function McpServer:stdio() end

--- Answers one HTTP request, of either era. May wait.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function McpServer:handle(request) end

--- Listens for HTTP/1.1, on plain Lua and in Neovim; MCP is at `/mcp`. Without `authorize` it only listens on loopback
--- addresses and Unix sockets, unless the option is `false`.
---@param options? operations.ListenOptions
---@return operations.ServerListener?
---@return operations.Error? err  TRANSPORT_LOST (the port is in use), ACCESS_DENIED (not loopback, and no `authorize`)
function McpServer:listen(options) end

--- Listens at a Unix socket for clients that use the stdio protocol, one message per line; on plain Lua and in Neovim.
---@param options operations.McpLinesOptions
---@return operations.McpLines?
---@return operations.Error? err  TRANSPORT_LOST: another process listens there, or the file cannot be created
function McpServer:listen_lines(options) end

--- Answers nginx's running request, in a `content_by_lua` of a location. Several workers must share `state_secret`:
--- given as an option, or made by `to_mcp` in `init_by_lua`. Raises outside OpenResty.
function McpServer:serve_request() end

--- Offers a resource, or with `uriTemplate` all resources that match it.
---@param given operations.McpResource
function McpServer:resource(given) end

--- Offers a prompt.
---@param given operations.McpPrompt
function McpServer:prompt(given) end

--- Offers the resources and prompts of a client of another server; names get the client's name as a prefix. Its tools
--- are offered by registering them. The first lists wait for it while it is connecting, see the option `wait`.
---@param client operations.mcp.Client|operations.mcp.Servers
function McpServer:offer(client) end

--- Tells clients that a list has changed in a way the server cannot see, for example who may see what.
---@param kind "tools"|"resources"|"prompts"
function McpServer:changed(kind) end

--- Tells subscribers of a resource that it has changed.
---@param uri string
function McpServer:updated(uri) end

--- Accepts no more requests, and waits until the running ones have ended; those that still run after `grace` are
--- cancelled. Then ends sessions and closes the listeners.
---@param grace? integer  ms, default: no limit
---@return boolean ended  without cancellation
function McpServer:drain(grace) end

--- Ends everything at once.
function McpServer:close() end

---@class operations.Metrics  a middleware
---@field ["public"] boolean
local Metrics = {}

--- Counts an answer of a server.
---@param part "http"|"mcp"
---@param status integer
---@param code? string  of the error
function Metrics:answered(part, status, code) end

--- The figures as text: `operations_calls_total` by operation and code ("OK" or the error code; where the exchange with
--- an upstream failed, also by its kind), the histogram `operations_call_duration_seconds`, the gauge
--- `operations_calls_running` of this process, by operation, and those that doc/middleware.md lists.
---@param shows? fun(id: string): boolean  which operations are shown; default: all
---@return string
function Metrics:text(shows) end

---@class operations.MetricsOptions
---@field buckets? number[]  seconds, rising; default 0.005 to 10
---@field store? table|string  a shared dictionary of nginx or its name, for the figures of all workers: one that nothing else uses; default: this process
---@field ["public"]? boolean  `to_http` also shows them to callers without credentials
---@field max_series? integer  pairs of operation and code counted separately, default 10,000; others count as "other" (codes), or not at all (breakers)

---@alias operations.Middleware fun(handler: function, spec: operations.Spec): function

---@alias operations.Mode "cast"|"force"|"off"

---@alias operations.Null lightuserdata  JSON's null: `operations.null`

---@class operations.PatchOperation
---@field op "add"|"remove"|"replace"|"move"|"copy"|"test"
---@field path string  JSON Pointer
---@field from? string  JSON Pointer, of "move" and "copy"
---@field value? any  of "add", "replace" and "test"; null is `operations.null`

---@class operations.Peer
---@field identity? operations.Identity  authenticated by the transport
---@field attempt? integer  above 1: its request may have run before
---@field vouches? boolean  the identities in its requests are trusted: it authenticates others
---@field changed? fun()  of a job that the transport keeps: called when it has other questions
---@field asking? operations.JobAsking  its questions

---@class operations.PeerOptions : operations.ImporterOptions
---@field identity? operations.Identity  takes the operations that it may see; calls have the identity of their context

---@class operations.Policy
local Policy = {}

--- What happens to calls of an operation.
---@param facts operations.PolicyFacts
---@param identity? operations.Identity
---@param input? any  nil: any input; rules with `when` make it depend
---@return operations.PolicyExplanation
function Policy:explain(facts, identity, input) end

---@alias operations.PolicyAction "allow"|"ask"|"block"

--- Says what happens to a call, and why.
---@class operations.PolicyExplanation
---@field action operations.PolicyAction
---@field rule? string  the name of the rule that decides
---@field reason? string
---@field depends? boolean  other inputs or callers meet a stricter rule

--- An operation, as rules see it.
---@class operations.PolicyFacts
---@field id string
---@field name string
---@field type string
---@field destructive boolean
---@field source? string  the id that a transformed operation had

---@class operations.PolicyOptions
---@field ask? operations.Confirm  asks a person; default: the user of the client that calls (MCP elicitation)
---@field face? string  the name of `ask` in records, default "function"
---@field approvals? operations.Approvals  approvals beyond one call; default: a memory of this policy
---@field read_only? boolean  also blocks mutations

--- A rule applies to a call when everything that it names fits. `*` in a pattern stands for any characters. A pattern
--- is compared with the id, and one without a dot also with the name: "github.*", "*.list", "delete_*".
---@class operations.PolicyRule
---@field action operations.PolicyAction  of the rules that apply, "block" wins over "ask", and "ask" over "allow"
---@field match? string|string[]  default "*"
---@field type? string|string[]  "query", "mutation", "subscription"
---@field destructive? boolean  is `_meta.destructive` of the operation true?
---@field identity? operations.JsonSchema  of the caller's identity; null is a caller without one
---@field when? operations.JsonSchema  of the input
---@field name? string  for messages and records; default "rule N"
---@field reason? string  told to those who are asked or refused
---@field remember? "once"|"arguments"|"always"  the most that an approval may cover; default "always"
---@field nested? boolean  with "ask": also asks about calls that handlers make by their env

---@class operations.Process
---@field pid integer
local Process = {}

--- The unread stdout of the process, as soon as there is some. As every wait for a process, raises ABORTED or TIMEOUT
--- when the task is cancelled or its deadline passes: nil is the end of what the process wrote, never a part of it.
---@return string? bytes  never empty; nil at the end
function Process:read() end

--- The next line of its stdout, without the end ("\n" or "\r\n"); the last one may have none.
---@return string? line  nil at the end
---@return operations.Error? err  kind "size" for a line that is too long, at every call
function Process:read_line() end

--- Iterates over its stdout in pieces; raises ABORTED or TIMEOUT when that is cut off.
---@return fun(): string?
function Process:chunks() end

--- Iterates over the lines of its stdout, as `read_line`; raises ABORTED or TIMEOUT when that is cut off.
---@return fun(): string?
function Process:lines() end

--- Passes stdout to a function in pieces as it arrives, and nil at its end, instead of `read`: for protocols that
--- answer from the loop. The function must not wait or raise.
---@param on_chunk fun(bytes: string?)
function Process:each_chunk(on_chunk) end

--- Calls a function once at the process's end. It must not wait or raise.
---@param fn fun(how: operations.ProcessEnd)
function Process:on_exit(fn) end

--- Calls a function once when written bytes will not be read: the process closed its stdin. The function must not wait
--- or raise.
---@param fn fun()
function Process:on_unread(fn) end

--- Queues bytes for its stdin if there is room, all or none; never waits.
---@param bytes string
---@param more? string  after `bytes`
---@return boolean sent
---@return "full"|"closed"|nil why
function Process:offer(bytes, more) end

--- Queues bytes for its stdin, all or none; waits while the queue is full. Small writes of several tasks are sent
--- together once all tasks wait.
---@param bytes string
---@return true?
---@return operations.Error? err  kind "closed" when the process does not read what was written
function Process:write(bytes) end

--- Closes its stdin after everything written was read.
function Process:close_stdin() end

--- The last lines of its stderr.
---@return string
function Process:stderr() end

--- Waits for the end of the process; its stdout may still have unread bytes.
---@return operations.ProcessEnd
function Process:wait() end

--- Ends the process: closes its stdin, sends SIGTERM to its group, then SIGKILL, with time in between. Waits for the
--- end, even in a cancelled task. The rest of the group ends with the process.
---@param options? { close?: number, term?: number }  ms
---@return operations.ProcessEnd?
---@return operations.Error? err  it does not end, even when killed
function Process:stop(options) end

--- Ends the process without waiting: closes its stdin, sends SIGTERM to its group, and SIGKILL 2 s later. Called when
--- the call that started it has ended, or its task is cancelled.
function Process:abort() end

---@class operations.ProcessEnd
---@field code? integer  exit code
---@field signal? integer  the signal that killed it
---@field unknown? boolean  other code in this program (nginx) reaped it, or the process was dropped

---@class operations.ProcessOptions
---@field [integer] string  the command, then its arguments; a command without "/" is searched in the process's PATH
---@field env? table<string, string|number>  added to the inherited variables
---@field env_allow? string[]  names of inherited variables, "LC_*" for all with this prefix; default `process.inherited`
---@field cwd? string
---@field max_line? integer  bytes; a longer line of stdout is an error
---@field window? integer  unread bytes of stdout at which the process is held back
---@field queue? integer  unread bytes at which `write` waits
---@field stderr_lines? integer  the number of lines kept
---@field on_stderr? fun(line: string)  called with every line
---@field shared? boolean  outlives the call and the task that started it
---@field whole_group? boolean  kills the rest of its process group when it ends

--- An event for many readers.
---@class operations.PublishedEvent
---@field id integer
---@field before integer  the id of the topic's event before it; 0: it is the first, or nothing is known of the others
---@field text string  the value as JSON

---@class operations.Publisher
local Publisher = {}

--- Sends an event to all readers of a topic, in every process that shares the store, and keeps it for those that come
--- back. Does not wait for slow readers; in a loop it lets the others run, and with Redis it waits for Redis.
---@param topic string
---@param value any  what JSON can say
---@return string? id  of the event: `meta.lastEventId` of its envelopes
---@return operations.Error? err  VALIDATION_ERROR: not JSON, or larger than an event may be; UNAVAILABLE: the store cannot take it
function Publisher:publish(topic, value) end

--- A reader of a topic, to be returned by the handler of a subscription: `return events:subscribe("room/7",
--- context.lastEventId)`. It begins with the next event; with the id of an event, after that; with "0", with all that
--- are kept. Its `gap` is true when events after that id are not kept any more: it begins with the oldest then. May
--- wait for Redis.
---@param topic string
---@param last_event_id? string
---@return operations.Feed? feed
---@return operations.Error? err  UNAVAILABLE: of the store
function Publisher:subscribe(topic, last_event_id) end

--- What was counted in this process.
---@return operations.PublisherStatistics
function Publisher:statistics() end

--- Ends the streams of all readers in this process, and the publisher's connection to Redis.
function Publisher:close() end

---@class operations.PublisherOptions
---@field keep? integer  events that a topic keeps for readers that come back or are slow, 256 by default
---@field keep_bytes? integer  of JSON that a topic keeps in a process, 4 MiB by default
---@field store? string|table  where processes share the events: the name of a shared dictionary of nginx, or `ngx.shared.NAME`, for its workers; `middleware.redis(url)` for all processes; default: this process only
---@field slow? "cut"|"skip"  what happens to a reader whose next event is not kept any more: its stream ends with BUSY (default), or it continues with the oldest event that is kept

---@class operations.PublisherStatistics
---@field published integer  events, by this process
---@field cut integer  readers that were cut off
---@field skipped integer  times that a reader skipped events
---@field gaps integer  readers that came back after events that are not kept

---@class operations.PublisherStore
---@field append fun(self, topic: string, text: string): integer?, operations.Error?  returns the event's id; may wait
---@field last fun(self, topic: string): integer?, operations.Error?  the id of the newest event, else 0; may wait
---@field after fun(self, topic: string, id: integer, most: integer, done: fun(list: operations.PublishedEvent[]?, err: operations.Error?))  the first `most` events after an id
---@field watch fun(self, told: fun(topic: string?))  `told` is called when a topic, or nil: any, has new events
---@field close fun(self)

---@class operations.Question
---@field key string  identifies its answer
---@field method string
---@field params table

---@class operations.QueuedJob
---@field id string  the requestId
---@field operation string
---@field state "waiting"|"delayed"|"running"|"dead"
---@field created integer  ms since the epoch: when it was queued, or died
---@field due? integer  ms since the epoch, of a delayed one
---@field attempt integer  workers that began it
---@field worker? string  that runs it
---@field submitted boolean  false: it is a call, whose caller waits
---@field input any
---@field letter? operations.DeadLetter  of a dead one

---@class operations.RateLimitOptions
---@field rate number  calls
---@field per? number  ms, default 1,000
---@field burst? integer  calls that may come at once, default `rate`
---@field by? operations.KeyOption  calls that share a bucket, default { "identity", "operation" }; a caller without an identity is identified by its address
---@field name? string  of the policy, in refusals; default "default"
---@field store? operations.Buckets|table|string  where the buckets are stored: a shared dictionary of nginx or its name, for all its workers; or `operations.middleware.redis(url)`, for all processes; default: this process
---@field wait? number  ms that a call waits for its turn at most, instead of being refused at once; `math.huge`: until its deadline. Then every request of an imported operation counts: its retries and further pages, too
---@field max_keys? integer  buckets in this process, default 10,000; the least recently used ones are dropped

---@class operations.Receiver
---@field event fun(event: any, peer: operations.Peer, problem?: operations.Error): boolean?  from another process, unchecked; `problem` is why it is refused without a check; false: refused
---@field offers? fun(): string[]  set by the serving side: the ids of its operations
---@field room? fun(wake?: fun()): integer  how many more calls the serving side accepts; `wake` is called when there is room again
---@field lost fun(err: operations.Error, keeps?: fun(id: string): boolean)  no answers will come for anything sent so far, nor can received requests be answered, except those that the transport keeps
---@field ready fun()  the connection was re-established

---@class operations.Redis : operations.Transport
---@field id string  of this process
local Redis = {}

--- The ids of all operations served on this Redis, as far as known here.
---@return string[]
function Redis:offered() end

--- Announces that this process stops, and ends its connections.
function Redis:close() end

--- Stores a job. Waits until Redis has it.
---@param payload table  of its call.requested
---@param options operations.RedisJobTerms
---@return number|false|nil created  ms since the epoch, by Redis' clock; false: there is a job or call with this id
---@return operations.Error? err  VALIDATION_ERROR, UNAVAILABLE, BUSY, TRANSPORT_LOST
function Redis:submit(payload, options) end

--- The requests that have not ended, and the dead letters: of an operation, or of all.
---@param operation? string
---@param limit integer  of each kind and operation
---@return operations.QueuedJob[]?
---@return operations.Error? err
function Redis:jobs(operation, limit) end

--- Requests that no worker survived, in mode `reliable`: those of an operation, or all; the oldest first.
---@param operation? string
---@param options? { limit?: integer }  default 100
---@return operations.DeadLetter[]?
---@return operations.Error? err
function Redis:dead_letters(operation, options) end

--- Queues the dead letters of an operation, or one letter, again, with all attempts and their full time. A caller that
--- uses the same `requestId` gets the new outcome. Letters without room in the queue stay.
---@param what string|operations.DeadLetter  the operation, or a letter
---@return integer? count  the number of revived letters
---@return operations.Error? err  BUSY: the queue has no room for all; details.revived, how many are queued again
function Redis:revive_dead_letters(what) end

--- Removes the dead letters of an operation, or one letter.
---@param what string|operations.DeadLetter  the operation, or a letter
---@return integer? count  the number of removed letters
---@return operations.Error? err
function Redis:drop_dead_letters(what) end

---@class operations.RedisAddress : operations.StreamOptions
---@field host string
---@field port integer
---@field user? string
---@field password? string
---@field database? integer
---@field key? string  a key that the node must have
---@field writes? boolean  refuses replicas
---@field nodes? { host: string, port: integer }[]  further nodes of its cluster
---@field known? operations.RedisAddress[]  nodes that links to this address know

---@class operations.RedisBuckets : operations.Buckets, operations.RedisConnection
local RedisBuckets = {}

--- For the server's option `idempotency`: stores a value for `ttl` ms if there is none.
---@param key string
---@param value string
---@param ttl number
---@return string? known  the existing one
---@return operations.Error? err  UNAVAILABLE, TRANSPORT_LOST
function RedisBuckets:add(key, value, ttl) end

--- Where it connects to.
---@return operations.RedisAddress
function RedisBuckets:address() end

--- The store of a publisher.
---@param keep integer  events of a topic
---@return operations.RedisEvents
function RedisBuckets:events(keep) end

--- Closes the connection; later calls are counted in this process.
function RedisBuckets:close() end

--- The owner of a connection to Redis.
---@class operations.RedisConnection
---@field connected fun(self): operations.RedisLink?  the connection, if there is one at the moment
---@field address fun(self): operations.RedisAddress

--- A store of `operations.publisher`.
---@class operations.RedisEvents : operations.PublisherStore

---@class operations.RedisJobTerms
---@field delay number  ms
---@field keep number  ms for which its outcome is kept
---@field timeout number  ms: until then lost connections are made again
---@field owner? string
---@field owner_limit? integer  jobs of the owner that have not ended

---@class operations.RedisLink
---@field connected boolean
local RedisLink = {}

--- Publishes; calls `fn(receivers, nil, subject)` or `fn(nil, err, subject)` with the answer; `fn` must not wait.
---@param channel string
---@param bytes string
---@param fn fun(receivers: integer?, err: operations.Error?, subject: any)
---@param subject? any
function RedisLink:publish(channel, bytes, fn, subject) end

--- Waits for the answer of what `start` sends.
---@param start fun(wake: fun(reply: any, err: operations.Error?))
---@return any reply
---@return operations.Error? err
function RedisLink.await(_, start) end

--- Sends a command and waits for its answer.
---@param ... string|number
---@return any reply  false for nil
---@return operations.Error? err
function RedisLink:call(...) end

--- Closes it.
function RedisLink:close() end

---@class operations.RedisOptions : operations.StreamOptions
---@field mode? "fast"|"reliable"  default "fast"
---@field prefix? string  of all channels and keys, default "ops"
---@field vouches? boolean  trust the identities in requests: every client that may publish is trusted
---@field nodes? string[]  "host:port", further nodes of a cluster: asked where that of the URL cannot be reached
---@field user? string  instead of the URL's
---@field password? string
---@field secret? string  at least 16 bytes, shared by all: messages are signed with it, and others are refused
---@field max_message? integer  bytes of a request or an answer, default 16 MiB
---@field proxy? string  URL; default: none, also if the environment names one
---@field lease? number  ms, `reliable`: a worker silent for this long loses its requests; default 5,000
---@field attempts? integer  `reliable`: workers that may lose a request before it is a dead letter, default 5
---@field max_queue? integer  `reliable`: requests for one operation, default 10,000; further ones are refused
---@field retention? number  ms, `reliable`: how long an outcome is kept that was not fetched, default 10 minutes
---@field on_state? fun(state: "lost"|"connected", err: operations.Error?)  the connections were lost, and are there again

---@class operations.Registry : operations.Catalog
local Registry = {}

--- Sends calls of operations without a local handler to a call map.
---@param call_map { call: function, subscribe: function }?  nil: stops that
function Registry:route(call_map) end

--- Are calls of operations without a handler sent to this call map?
---@param call_map operations.CallMap
---@return boolean
function Registry:routes_to(call_map) end

--- Shows the operations of another registry in this one, `namespace.name` as `prefix.namespace.name`. The other
--- registry is read at each lookup and call. Calls go through `other:execute` and `other:subscribe`: its middleware,
--- options and access control apply, and envelopes and errors have its ids; trust between operations ends at the mount.
--- Operations registered in this registry come first.
---@param other operations.Registry
---@param options { prefix: string }
---@return boolean? ok
---@return operations.Error? err  VALIDATION_ERROR: `other` contains this registry, or another mount has the prefix
function Registry:mount(other, options) end

--- Returns the input that a call would pass to the handler, after access control, defaults, validation and the rules of
--- the policy that block, without a call. For callers that ask for an approval first.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return boolean ok
---@return any input  or the error: OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR
function Registry:admit(id, input, given) end

--- Calls a query or mutation: access control, input validation, the handler, then wrapping, normalization and
--- validation of its result. No input means an empty object.
---@param id string  "namespace.name"
---@param input? any
---@param given? operations.GivenContext
---@return operations.Envelope? envelope
---@return operations.Error? err  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR (details: issues), TIMEOUT, ABORTED, a code of the operation, EXECUTION_ERROR or UNKNOWN_ERROR
function Registry:execute(id, input, given) end

--- Waits for a task that a call has left running on its server (`context.detach`), also in an earlier program: its
--- outcome is that of the call.
---@param id string  of the operation
---@param task string  `details.task` of DETACHED
---@param given? operations.Context|table
---@return operations.Envelope? envelope
---@return operations.Error? err  as `execute`; OPERATION_NOT_FOUND, too, for operations without such tasks
function Registry:resume(id, task, given) end

--- Asks the server to end such a task.
---@param id string  of the operation
---@param task string
---@param given? operations.Context|table
---@return true? ok
---@return operations.Error? err
function Registry:cancel_task(id, task, given) end

--- Starts a call in the background: it continues when the task that started it has ended. Access and input are checked
--- first. As in `execute`, its questions are put by the functions of `given`.
---@param id string  "namespace.name", a query or mutation
---@param input? any
---@param given? operations.GivenContext
---@return operations.Job? job
---@return operations.Error? err  OPERATION_NOT_FOUND, ACCESS_DENIED, VALIDATION_ERROR
function Registry:start(id, input, given) end

--- The jobs that `start` made: the last ones that ended, then those that run, each in order.
---@return operations.Job[]
function Registry:jobs() end

--- Starts a subscription. `for envelope in assert(registry:subscribe(id, input)) do` closes it when the loop is left.
--- LuaJIT does not tell when a loop is left by `break` or an error: there it is closed when the task or subscription
--- handler that runs the loop ends, or when it is collected. Outside of these, and in coroutines of the program, only
--- collection closes it; call `:close()` to end it at once. A subscription kept in a variable is not closed by loops
--- over it.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return operations.Subscription? subscription
---@return operations.Error? err  as `execute`
function Registry:subscribe(id, input, given) end

--- Iterates over the pages of a query's answer, each in its own envelope, fetched on demand: `for page in
--- assert(registry:pages(id, input)) do`. A handler without pages gives one. A handler sees `context.emit` when pages
--- are wanted: it emits all but the last, which it returns.
---@param id string
---@param input? any
---@param given? operations.GivenContext
---@return operations.Subscription? pages  as from `subscribe`
---@return operations.Error? err  as `execute`
function Registry:pages(id, input, given) end

--- `env.namespace.name(input)` calls on behalf of `given`. Each call asks for access with `given.identity`; without
--- `given`, the caller is anonymous. Only the env that a handler finds in its own context is trusted.
---@param given? operations.GivenContext
---@param options? { namespaces?: string[] }
---@return operations.Env
function Registry:env(given, options) end

---@class operations.RegistryOptions
---@field normalize? "cast"|"force"|"off"  how results of handlers are normalized; default "cast"
---@field on_mismatch? "warn"|"fail"  a result that does not fit its schema is a warning (default), or the error OUTPUT_INVALID with the issues as details
---@field on_warning? fun(warning: { operationId: string, issues: table[], changes: table[]?, input: true? })  called for results that do not fit, and, with `validate = "warn"`, for inputs; default: to the log
---@field on_change? fun(operationId: string, changes: table[])  called with every change that casting makes
---@field log? fun(level: string, message: string, details: any)  default: warnings and errors to stderr
---@field middleware? (fun(handler: function, spec: operations.Spec): function)[]  wrapped around every handler
---@field policy? operations.Policy|operations.PolicyRule[]  which calls run, need an approval, or never run

---@class operations.RemoteSubscription : operations.Subscription
local RemoteSubscription = {}

--- The next event; waits for it.
---@return operations.Envelope?  nil at the end
---@return operations.Error? err  nil at a normal end
function RemoteSubscription:next() end

--- Aborts the subscription on both sides. Closing twice does nothing.
function RemoteSubscription:close() end

---@class operations.Request
---@field id string
---@field operationId string
---@field input any
---@field requestId string  equals `id`; the operation's context is made from the request
---@field parentRequestId? string
---@field identity? operations.Identity  the one that the transport authenticated, or that of the event if the transport vouches for it
---@field deadline? number  ms since the epoch
---@field metadata? table
---@field traceparent? string
---@field attempt? integer  counted by the transport
---@field on_progress? fun(done: number, total?: number, message?: string)  sends progress to a caller that wants it
---@field peer operations.Peer
---@field streams? boolean  set by the serving side: a response does not end it
---@field credit? integer  events that may still be sent; nil: only the transport holds them back
---@field plain boolean  its peer announced nothing: it gets only the five events and their fields
---@field ended? boolean
---@field on_abort? fun(err: operations.Error, request: operations.Request)  set by the serving side
---@field worker? operations.Task  the task that runs it, set by the serving side
local Request = {}

--- Sends an event to the caller.
---@param name string
---@param payload table
---@return boolean? ok
---@return operations.Error? err
function Request:send(name, payload) end

--- Sends a response: the answer of a call, or one event of a subscription; waits while the consumer has no room.
---@param envelope operations.Envelope
---@return boolean? ok
---@return operations.Error? err
function Request:respond(envelope) end

--- Ends a subscription.
---@return boolean? ok
---@return operations.Error? err
function Request:complete() end

--- The caller cancelled the request or is gone: tells its handler to stop.
---@param err operations.Error
function Request:abort(err) end

---@class operations.ResourceMetadata
---@field resource string  the URL of the server, as clients know it: "https://tools.example/mcp"
---@field authorization_servers string[]  their issuers
---@field scopes_supported? string[]

---@class operations.RetryOptions
---@field attempts? integer  attempts per call, including the first, 1 to 100, default 3
---@field delay? number  ms before the second attempt; doubles each time; default 100
---@field max_delay? number  ms; a failure with a longer `retryAfter` is not retried; default 10,000
---@field jitter? number  random share of a delay, 0 to 1, default 0.5
---@field budget? { ratio: number?, burst: number? }|false  retries of all calls together: `ratio` for each call (default 0.2), of which at most `burst` are saved up (default 10); false: no limit

---@class operations.RetryPolicy
---@field attempts? integer  attempts including the first, default 3
---@field delay? number  ms before the second attempt unless the server names a time; doubles each time; default 250
---@field max_delay? number  ms; no retry if the server asks for a longer wait; default 30000
---@field jitter? number  random share of a delay, 0 to 1; default 0.5
---@field statuses? integer[]  statuses that are retried; default: the `retryable` ones, 408, 425, 429, 502, 503 and 504

---@class operations.SandboxCall
---@field name string  of the function
---@field id? string  its first argument, where that is a string
---@field duration number  ms
---@field outcome string  "ok", the code of an error, or "unfinished"

---@class operations.SandboxError: operations.Error
---@field line? integer  of the program
---@field hint? string

---@class operations.SandboxOptions
---@field interpreter? string  the program that runs programs, a path or a name in PATH: `lua5.4`, `lua5.5` or `luajit`, as the modules of this library were built for; default: that of this process, else the one in PATH
---@field max_code? integer  bytes of a program, default 64 KiB
---@field max_calls? integer  default 50
---@field at_once? integer  calls at the same time, default 8
---@field max_value? integer  bytes of JSON of the arguments of one call, or of its result, default 4 MiB
---@field max_memory? integer  bytes, default 128 MiB
---@field max_processor? integer  ms of processor time, default 5000; calls take none of it
---@field max_output? integer  bytes that are printed, default 64 KiB; the rest is dropped
---@field max_result? integer  bytes of JSON of the returned value, default 256 KiB
---@field max_programs? integer  programs at the same time, default 16; more are BUSY
---@field max_identity_programs? integer  of one identity, default 4
---@field timeout? number  ms from the start to the end of the program, calls included; default 1 h

---@class operations.SandboxResult
---@field ok boolean  did the program return?
---@field value any  what it returned, a JSON value; nil when nothing
---@field error? operations.SandboxError  code VALIDATION_ERROR: it does not compile, or its result is no JSON; EXECUTION_ERROR; TIMEOUT; or that of an error of a call that it raised or returned after nil. `details.kind` is "syntax", "result", "raised", "memory", "processor", "wall", "killed" or "protocol"
---@field output string  what it printed
---@field calls operations.SandboxCall[]  in the order of their start
---@field processor? number  ms of processor time
---@field interpreter string

---@class operations.ScanOptions  for hosts where files are not read from the file system
---@field list? fun(directory: string): string[]?, string?  the paths of the files below, or nil and the reason; paths that do not end in `.lua` are ignored
---@field reader? fun(path: string): string?, string?  the text of a file, or nil and the reason
---@field most? integer  files and directories that are visited; more are an error

---@class operations.ScanProblem
---@field path string     the file, or the directory that could not be read
---@field message string  the reason

---@class operations.Schedule
local Schedule = {}

--- Ends the schedule: no further run begins. Waits until the running one has ended, at most `ms`; then it is cancelled.
---@param ms? number  default: cancels at once
function Schedule:stop(ms) end

--- Waits until the schedule is stopped: a program that only runs schedules ends with it.
function Schedule:wait() end

---@class operations.Schema
---@field check fun(self, value: any): boolean, operations.Issue[]?  true, or false and the issues
---@field cast fun(self, value, mode?: operations.Mode, list?: boolean): any, operations.Change[]?, operations.Error?  a new value, and what was changed unless `list` is false (which is faster). "force" casts, then replaces each misfit by the first that conforms of `default`, `const`, the first `enum` value, the empty value of its type; or leaves it. A third result, VALIDATION_ERROR, says why it lacks its `default`s or replacements: a limit was reached
---@field fill fun(self, value: any): any, operations.Error?  the value, or a copy with `default`s filled in; nil and VALIDATION_ERROR when a limit is reached: of values that defaults make (100,000, and 64 more for each value within), of depth (512), of steps

---@class operations.Server
---@field draining boolean
local Server = {}

--- Answers one request. May wait; if the caller leaves meanwhile, the handler is cancelled.
---@param request operations.ServerRequest
---@return operations.ServerResponse
function Server:handle(request) end

--- The operations as an OpenAPI document, the same as GET /openapi.json: a table for `json.encode` with `sort_keys`.
--- Equal registries give equal documents.
---@param version? "3.0"|"3.1"|"3.2"  default "3.1"; 3.0 loses what it cannot express to members that begin with `x-`
---@param caller? { identity: operations.Identity? }  what this caller may call; default: everything that is served
---@return table
function Server:openapi(version, caller) end

--- Serves another handler (a server, a WebSocket hub) below a path, on the same listeners.
---@param prefix string  "/admin"
---@param handler { handle: fun(self, request: operations.ServerRequest): operations.ServerResponse }
function Server:mount(prefix, handler) end

--- Answers the current request of nginx, in `content_by_lua` of a location. The location needs `lua_check_client_abort
--- on`, so that handlers end when their callers leave. Streams end when the worker ends. Raises outside of OpenResty.
function Server:serve_request() end

--- Listens for HTTP/1.1 in plain Lua and in Neovim, until it is closed; the program need not keep the listener, but a
--- plain program has to wait for something. Without `authorize` only loopback addresses and Unix sockets are accepted,
--- unless the option is `false`.
---@param options? operations.ListenOptions
---@return operations.ServerListener?
---@return operations.Error? err  TRANSPORT_LOST (the port is taken), ACCESS_DENIED (strangers without `authorize`), VALIDATION_ERROR (a file of `tls`), UNAVAILABLE (TLS was not built)
function Server:listen(options) end

--- Accepts no further requests (503), ends the streams, and waits until the running requests have ended; those that
--- still run after `grace` are cancelled (503). Closes the listeners and drains what is mounted.
---@param grace? integer  ms, default: as long as it takes
---@return boolean ended  by themselves
function Server:drain(grace) end

--- Ends everything at once: listeners, connections, running requests, and what is mounted.
function Server:close() end

---@class operations.ServerListener
---@field port? integer  nil: of a Unix socket
---@field path? string  of a Unix socket
---@field connections integer  open now
local ServerListener = {}

--- Reads certificates, keys and client_ca again, for new connections. If a file is wrong, the previous ones stay in
--- use. Does nothing without TLS.
---@return true?
---@return operations.Error? err  VALIDATION_ERROR: names the file
function ServerListener:reload() end

--- Stops accepting connections, closes idle ones, and lets running requests end: their answers have `Connection:
--- close`. Requests that still run after `grace` are asked to end ("draining", see `request.left`), and cut off two
--- seconds later. Waits for all that.
---@param grace? number  ms, default 5,000
function ServerListener:drain(grace) end

--- Stops accepting connections and ends all of them at once.
function ServerListener:close() end

---@class operations.ServerRequest
---@field method string
---@field target string  raw, as the request line has it
---@field headers table<string, string>  by lower-case name, repeated ones joined by ", "
---@field body? string|fun(): string?, operations.Error?  whole, or what gives the next piece and nil at the end
---@field peer? { address: string, port: integer?, tls: (boolean|operations.TlsPeer)? }  `address` is "unix:" for a Unix socket; `tls`: false without it, true in nginx
---@field left? fun(fn: fun())  has `fn` called once when the caller leaves before the answer is out
---@field path? string  set by `handle`: of the target, raw
---@field proxy? table  set by `handle`: the peer of the connection, when `peer` is what a trusted proxy says
---@field scheme? "http"|"https"  set by `handle`: by which the client came, as a trusted proxy says
---@field token? string  set by `handle`: of "Authorization: Bearer"

---@class operations.ServerResponse
---@field status integer
---@field headers table<string, string|string[]>  by lower-case name
---@field body string|fun(): string?, operations.Error?  whole, or what gives the next piece and nil at the end
---@field length? integer  bytes that the function `body` gives; its headers have `content-length`
---@field heartbeat? { after: integer, bytes: string }  sent after so many ms of silence
---@field upgrade? fun(stream: operations.Stream, rest: string)  with status 101: takes the connection

---@class operations.Serving  what a call handler adds to its function of requests
---@field offers? fun(): string[]  the ids of served operations
---@field room? fun(wake?: fun()): integer  room for further requests; calls `wake` when there is more

---@class operations.SigV4Options
---@field access_key string
---@field secret_key string
---@field session_token? string
---@field region string
---@field service string
---@field sign_body? boolean  sends the body's digest, default true; a body that is not a text is not signed

---@class operations.SourceOptions
---@field profile? string  of the source; default: OPERATIONS_PROFILE of the environment
---@field registry? operations.Registry  gets the operations; default: a new one
---@field refresh? boolean  fetches the document again, even if it is cached
---@field ask? fun(text: string, changed: string[]): boolean  asks a person whether the file of a project is trusted: what it would run, and the files that changed since; default: the answer is no
---@field log? fun(level: string, message: string)  default: writes warnings and errors to standard error

---@class operations.Span
---@field name string
---@field tracestate? string  as received
---@field start number  ms since the epoch
---@field finish number  ms since the epoch
---@field error? operations.Error

---@class operations.Spec
---@field namespace string
---@field name string  id is `namespace.name`
---@field version? string  default "1.0.0"
---@field type? "query"|"mutation"|"subscription"  default "mutation", the cautious choice
---@field title? string
---@field description? string
---@field tags? string[]
---@field inputSchema? table|boolean|fun(): table|boolean?  JSON Schema, default true
---@field outputSchema? table|boolean|fun(): table|boolean?  JSON Schema, default true
---@field accessControl? operations.AccessControl
---@field errorSchemas? operations.ErrorSchema[]|fun(): operations.ErrorSchema[]?
---@field normalize? "cast"|"force"|"off"  default: the registry's
---@field on_mismatch? "warn"|"fail"  of results that do not fit outputSchema; default: the registry's
---@field fill? "all"|"required"|"none"  the `default`s of inputSchema that inputs take; default "all"; importers set "required": the receiver knows its other defaults
---@field validate? "on"|"warn"|"off"  what an input that does not fit inputSchema means: an error (default), a warning, or nothing
---@field _meta? table

---@class operations.SseEvent
---@field event string  the event's name, "message" when the stream gives none
---@field data any      its data lines, joined by "\n", always valid UTF-8; with `json` the JSON value
---@field id string     the last event ID, "" when there is none
---@field retry integer?  reconnection time in ms, if one was read since the previous event
---@field error operations.Error?  with `json`: why data is text

---@class operations.SseOptions
---@field max_event integer?  maximum bytes of data, name and id of one event together; default 1 MiB
---@field last_event_id string?  the last event ID of the connection that this one continues
---@field json boolean?  reads data as JSON, straight from the stream; invalid JSON stays text

---@class operations.SseParser
local SseParser = {}

--- Takes the next waiting event as plain values, without making a table.
---@return any data  nil when no event is waiting
---@return string? event
---@return string? id
---@return integer? retry  ms
---@return operations.Error? err  with `json`: why data is text
function SseParser:next_values() end

--- Takes the next waiting event, in the order of the stream.
---@return operations.SseEvent?  nil when no event is waiting
function SseParser:next() end

--- Takes the next piece of the stream, cut anywhere; calls the handler for each
--- event that it completes.  An error raised by the handler passes through; the
--- events after the failed one come with the next call.
---
--- Returns nil and an error object (EXECUTION_ERROR, details `{ kind = "size", limit = max_event }`) when an event is
--- larger than `max_event`: the events before it have been delivered, and every later call fails alike. Raises when
--- `bytes` is not a string, and after `finish`.
---@param bytes string
---@return true?
---@return operations.Error? err
function SseParser:feed(bytes) end

--- Ends the stream. Discards a block that no blank line has ended, and its id; waiting complete events can still be
--- taken.
function SseParser:finish() end

--- The last event ID at the last blank line, for `Last-Event-ID`.
---@return string  "" when there is none
function SseParser:last_event_id() end

--- The last reconnection time of the stream.
---@return integer?  ms; nil without one
function SseParser:retry() end

---@class operations.Stream
local Stream = {}

--- Sets the function that takes received bytes piece by piece, and nil at the end (with an error object unless the
--- other side ended the stream). It must not wait or raise.
---@param on_chunk fun(bytes: string?, err: operations.Error?)
function Stream:each_chunk(on_chunk) end

--- Tests the connection until it ends: calls `ask` every `ms`, which makes the other side send something, and `lost`
--- after `most` such intervals without a byte.
---@param ms number
---@param most integer
---@param ask fun(): boolean?  true: this interval does not count
---@param lost fun()  must close the stream
function Stream:watch(ms, most, ask, lost) end

--- Queues bytes, all or none, if there is room. Never waits.
---@param bytes string
---@param urgent? boolean  also where there is none: for what is small and seldom
---@return boolean sent
---@return "full"|"closed"|nil why
function Stream:offer(bytes, urgent) end

--- Queues bytes, all or none; waits while the queue is full.
---@param bytes string
---@return true?
---@return operations.Error? err  ABORTED, TIMEOUT, TRANSPORT_LOST
function Stream:write(bytes) end

--- Waits until all queued bytes were sent.
---@return true?
---@return operations.Error? err  ABORTED, TIMEOUT, TRANSPORT_LOST
function Stream:flush() end

--- The address of the other side of an accepted stream.
---@return string? address  numeric; "unix:" for a Unix socket; nil when the connection is gone
---@return integer? port
function Stream:peer() end

--- The TLS session of an accepted stream; nil during the handshake and without TLS.
---@return operations.TlsPeer?
function Stream:tls() end

--- Ends our side when all queued bytes were sent; the other side may still send.
function Stream:finish() end

--- Closes the stream at once. Nothing more is handed over.
function Stream:close() end

--- Ends our side when all queued bytes were sent, and closes the stream when the other side has ended as well, or after
--- `ms`. Nothing more is handed over.
---@param ms number
function Stream:linger(ms) end

---@class operations.StreamOptions
---@field tls? boolean
---@field ca_file? string  PEM; default: the system's
---@field cert_file? string  ours, PEM
---@field key_file? string
---@field key_password? string
---@field proxy? string  URL; default: as the environment says, "": none
---@field public_only? boolean  connects to public addresses only
---@field connect_timeout? number  ms, default 10,000

---@class operations.SubmitOptions
---@field requestId? string  default: a random UUID. A second job or call with the same id is the same one: it runs once
---@field delay? number  ms, until a worker may begin it
---@field expires? number  ms from then: what has not ended by then ends with TIMEOUT; default: no limit
---@field keep? number  ms for which the outcome is kept, default 1 day
---@field timeout? number  ms, default 60,000: until then a lost Redis is waited for
---@field parentRequestId? string
---@field identity? operations.Identity  kept with the job
---@field metadata? table  kept with the job
---@field traceparent? string  W3C Trace Context
---@field capabilities? table  what the job can ask, as those of an MCP client
---@field owner? string  `owner_limit` of its jobs may run
---@field owner_limit? integer

---@class operations.Subscription
---@operator call: operations.Envelope?
local Subscription = {}

--- The next event; waits for it.
---@return operations.Envelope?  nil at the end
---@return operations.Error? err  nil when the handler just ended
function Subscription:next() end

--- Ends the subscription and runs the handler's cleanup. Closing twice does nothing.
function Subscription:close() end

---@class operations.Task
local Task = {}

--- Waits for the end of the task and its children.
---@return any ...  the results of its function, or nil and an error object when it raised
function Task:wait() end

--- Cancels the task and its children: the current wait of each is ended and raises an ABORTED error object, as does
--- every further wait. Has no effect on a task that has ended.
---@param reason? string|operations.Error
function Task:cancel(reason) end

---@class operations.TestAnswer
---@field status? integer  default 200
---@field headers? table<string, string>
---@field body? string
---@field json? any  the body, as JSON
---@field events? any[]  the body, as server-sent events: the data of each, or { data =, event =, id = }
---@field lost? string  the connection breaks off after what came so far: the kind of the failure, such as "reset"
---@field delay? number  ms before the answer

---@class operations.TestRequest
---@field method string
---@field url string
---@field path string
---@field query table<string, string>  decoded
---@field headers table<string, string>  lower-case names
---@field body? string
---@field json? any  the body, if it is JSON

---@class operations.TlsOptions
---@field cert? string  file, PEM: the server's certificate, followed by its chain
---@field key? string  file, PEM
---@field key_password? string
---@field certificates? { cert: string, key: string, key_password: string? }[]  several, instead of `cert` and `key`: the one with the name that the client asks for (SNI) is used, else the first
---@field client_ca? string  file, PEM: clients are asked for a certificate signed by one of these
---@field client_certificate? "required"|"optional"  with `client_ca`; default "required"
---@field handshake_timeout? number  ms, default 10,000

---@class operations.TlsPeer  a client's connection and certificate
---@field protocol string  "TLSv1.2", "TLSv1.3"
---@field cipher string
---@field server_name? string  requested by the client
---@field resumed boolean  the session was resumed
---@field subject? string  of its certificate, as RFC 2253 writes it: "CN=ada,O=Example"
---@field fingerprint? string  of its certificate: SHA-256, in hexadecimal

--- One call that a model asks for.
---@class operations.ToolCall
---@field id? string  from the vendor
---@field name? string  of the tool
---@field operationId? string
---@field input any
---@field error? operations.Error  why it cannot be made

---@class operations.ToolContent
---@field text string  never empty
---@field data any  the value of the text, unless it was cut
---@field failed boolean

--- The result of a call.
---@class operations.ToolResult
---@field id? string
---@field name? string
---@field operationId? string
---@field ok boolean
---@field envelope? operations.Envelope
---@field error? operations.Error
---@field content operations.ToolContent  for the model

---@class operations.Tools
---@field definitions table[]  for the request's `tools`; updated when the registry has changed
local Tools = {}

--- The name of the tool of an operation; nil if it is not offered.
---@param id string
---@return string?
function Tools:name_of(id) end

--- The operation of a tool.
---@param name string
---@return string?
function Tools:id_of(name) end

--- The calls in a model's answer, in order. A call that cannot be made has `error`. Never raises because of the answer.
---@param response table  the vendor's answer as decoded JSON, complete or only its message; or a result of `stream`
---@return operations.ToolCall[]
function Tools:calls(response) end

--- Runs the calls in a model's answer, several at a time. Every call gets a result, in order; nothing is raised.
---@param response table  as for `calls`
---@param context? operations.GivenContext  of the calls: identity, deadline, metadata, progress...
---@return table[] messages  to be appended to the conversation: the model's own, then the results
---@return operations.ToolResult[] results  empty when the model made no call
function Tools:run(response, context) end

--- Assembles a streamed answer.
---@param source string[]|fun(): any  pieces of the stream, nil at the end: raw bytes, events of `operations.sse_parser`, or values of their data; or a subscription
---@param on_event? fun(value: any)  called with the data of each event, to show a text while it arrives
---@return table? response  for `calls` and `run`
---@return operations.Error? err  TRANSPORT_LOST: the stream failed or ended early
function Tools:stream(source, on_event) end

---@class operations.ToolsOptions
---@field format "openai"|"openai-responses"|"anthropic"|"gemini"
---@field strict? boolean  definitions for the vendor's strict mode
---@field filter? operations.Filter|fun(spec: operations.Spec, identity: operations.Identity?): boolean
---@field identity? operations.Identity  the caller: operations that it may not call are not offered
---@field outputs? boolean  definitions include output schemas, if the vendor accepts them
---@field subscriptions? integer  offers subscriptions; the result is a list of their first events, at most this many
---@field search? boolean  offers three tools that find, describe and call the others, beside the pinned ones
---@field code? boolean|operations.CodeOptions  offers search, describe and `run_lua`: the model writes programs
---@field pinned? string[]  with `search` or `code`: ids that are offered directly, as with `_meta.tool.pinned`
---@field confirm? operations.Confirm  asks before each call of an operation other than a query
---@field approvals? operations.Approvals  approved calls; default: a new memory for these tools
---@field parallel? integer  calls at a time, default 16
---@field max_result? integer  bytes of text of a result, default 100,000
---@field max_image? integer  bytes of an image in base64, default 5,000,000
---@field log? fun(level: string, message: string)  default: warnings to stderr

---@class operations.TraceOptions
---@field sample? number  share of the traces that begin here and are reported, 0 to 1, default 1; others are reported by their flags

--- The change of one operation. Fields are properties of its input; `body.title` names one inside of another.
---@class operations.TransformChange
---@field namespace? string  the new one
---@field name? string  the new one
---@field title? string
---@field description? string
---@field tags? string[]
---@field pinned? boolean  listed as a tool also where most tools are searched
---@field hide? string[]  fields that callers neither see nor send; they must be optional
---@field fix? table<string, any>  fields that callers neither see nor send, with the values that are sent
---@field default? table<string, any>  values that are sent where the caller gives none
---@field rename? table<string, string>  the new names of fields, by the old ones
---@field describe? table<string, string>  descriptions of fields, by their old names
---@field select? string  the part of the result that callers get: "items[].{number,title}"

--- The interface of every transport between a call map and its peers; `peer` says where an event came from, and is
--- passed back to answer it.
---@class operations.Transport
---@field open fun(self, receiver: operations.Receiver)  called once, by the call map
---@field send fun(self, name: string, payload: table, peer?: operations.Peer, named?: boolean): boolean?, operations.Error?  one event of the call protocol; fails with VALIDATION_ERROR when it cannot be encoded. `named`: a request whose id its caller chose
---@field release? fun(self, holder: table)  does nothing for one that does not hold
---@field close fun(self)
---@field offered? fun(self): string[]  the ids of operations that the other sides serve, with many peers
---@field reconnects? boolean  re-establishes a lost connection and calls `ready`

--- The addresses of trusted proxies, as CIDRs or single addresses; "unix:" stands for every peer of a Unix socket.
---@class operations.TrustedProxies
---@field [integer] string
---@field header? "x-forwarded"|"forwarded"  the fields that they set, default "x-forwarded"; no others count

---@alias operations.Turn fun(expired?: fun(): boolean): boolean, boolean  runs ready tasks until `expired()`; are others ready, and did any run?

---@class operations.TypesOptions
---@field format? "lua"|"typescript"|"json-schema"  default "lua"
---@field namespaces? string[]  default: all

---@alias operations.UpstreamErrors "client"|"all"|"none"

---@class operations.Url
---@field scheme string  lower case
---@field userinfo? string
---@field host string  lower case; an IPv6 address with its brackets
---@field port? string
---@field path string  as written, "" when absent
---@field query? string  without "?"
---@field fragment? string  without "#"

---@class operations.Wait
---@field done boolean
---@field n integer  the number of values that it was woken with, at [1] to [n]
---@field failure? any  the error that the waiting coroutine raises
---@field start? fun(self: operations.Wait, left?: number)  starts the operation, and makes it end within `left` ms
---@field cancel? fun(self: operations.Wait)  cancels the operation; called at most once, if the wait was not woken
---@field timer? fun()  stops the deadline's timer
---@field task? operations.Task  parked until this is done

---@class operations.WebSocket : operations.Transport

---@class operations.WebSocketOptions : operations.StreamOptions
---@field token? string  sent as "Authorization: Bearer"
---@field max_message? integer  bytes, default 16 MiB
---@field ping_interval? number  ms, default 15,000; the connection is lost after two without a byte
---@field handshake_timeout? number  ms, default 10,000
---@field reconnect? boolean|operations.WebSocketReconnect  reconnects when the connection is lost

---@class operations.WebSocketReconnect
---@field delay? number  ms before the first attempt, default 100; doubles each time
---@field max_delay? number  ms, default 30,000
---@field jitter? number  random share added to a delay, default 0.25

---@class operations.WebSocketRequest  the argument of a hub's `authorize`
---@field path string  path and query
---@field headers table<string, string>  by lower-case name
---@field token? string  of "Authorization: Bearer"
---@field peer? { address: string?, port: integer?, tls: (boolean|operations.TlsPeer)? }

---@class operations.base64
local base64 = {}

--- Encodes with the standard alphabet and padding.
---@param bytes string
---@return string
function base64.encode(bytes) end

--- Encodes with the alphabet for URLs and file names, without padding.
---@param bytes string
---@return string
function base64.encode_url(bytes) end

--- Decodes the standard alphabet. Padding is required.
---@param text string
---@return string? bytes
---@return operations.Error? err  VALIDATION_ERROR, which names the first wrong byte
function base64.decode(text) end

--- Decodes the alphabet for URLs and file names, without padding.
---@param text string
---@return string? bytes
---@return operations.Error? err
function base64.decode_url(text) end

---@class operations.crypto
local crypto = {}

--- The SHA-256 digest (FIPS 180-4) of bytes, or of everything that a function, an open file, a stream of the HTTP
--- client or a process gives, which is read in pieces.
---@param bytes string|(fun(): string?)|{ read: function }
---@return string? digest  32 bytes; see `hex`
---@return any err  of the source
function crypto.sha256(bytes) end

--- HMAC-SHA-256 (RFC 2104).
---@param secret string
---@param text string
---@return string  32 bytes
function crypto.hmac(secret, text) end

--- Are two texts equal? The time does not tell how many bytes were right: for signatures and secrets.
---@param one string
---@param other string
---@return boolean
function crypto.equal(one, other) end

--- Bytes in hexadecimal.
---@param bytes string
---@return string  lower case
function crypto.hex(bytes) end

--- Random bytes of the operating system.
---@param count integer
---@return string
function crypto.random_bytes(count) end
crypto.jwt = {}

--- Makes a signed JSON Web Token (RFC 7519). `exp`, `iat` and the others are seconds: `os.time() + 600`.
---@param claims table
---@param key string  a private key in PEM, or a secret for HS256
---@param options? { algorithm?: string, kid?: string, header?: table }  default algorithm: HS256 of a secret, RS256, ES256, ES384, ES512 or EdDSA of a key
---@return string? token
---@return operations.Error? err
function crypto.jwt.sign(claims, key, options) end

--- Verifies a token: signature, algorithm, `exp`, `nbf`, `iat`, and those of `iss` and `aud` that are given.
---@param token string
---@param key string|table  a secret (HS256), a public key in PEM, a JWK, or a set of JWKs
---@param options? { algorithms?: string[], audience?: string, issuer?: string, leeway?: number }  leeway: seconds, default 60
---@return table? claims
---@return operations.Error? err  ACCESS_DENIED: what is wrong with the token
function crypto.jwt.verify(token, key, options) end

--- Encodes with the alphabet for URLs and file names, without padding.
---@param bytes string
---@return string
function crypto.base64url(bytes) end

---@class operations.from_graphql
local from_graphql = {}

--- Makes definitions of a service's types.
---@param source string|table  SDL, or the answer to an introspection query
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.document(source, options) end

--- Reads the types of a service from a file: SDL, or the JSON of an introspection answer.
---@param path string  the name of JSON ends in ".json"
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.file(path, options) end

--- Asks a service for its types (introspection). A service that refuses to tell them needs `file`, or the URL of a file
--- (`.graphql`, `.graphqls`, `.gql`).
---@param address string  http or https
---@param options? operations.graphql.Config
---@return operations.Definition[]? definitions
---@return { pointer: string, message: string }[]|operations.Error report
function from_graphql.url(address, options) end

---@class operations.from_mcp
local from_mcp = {}

--- Connects to a server: starts it if it is a program (`command`, `args`), else calls it (`url`). Waits until it has
--- declared its capabilities; with `wait = false` it returns at once, and the client connects in the background: see
--- `client.state` and `client:wait`.
---@param name string  of the connection; the operations are called `name.tool`
---@param options operations.mcp.Config
---@return operations.mcp.Client?
---@return operations.Error? err  EXECUTION_ERROR, TIMEOUT, ABORTED, MCP_<code>
function from_mcp.connect(name, options) end

--- Connects to many servers at the same time: those of a file in the form of `mcp.json`, or of such a table. A failing
--- server or an unknown key is a problem in the result and does not affect the others. Files may have comments and
--- trailing commas. `${NAME}`, `${env:NAME}` and `${NAME:-default}` are environment variables, `${workspaceFolder}` is
--- `workspace`, `${cmd:...}` is the output of a command, which runs each time the server is started.
---@param source string|table  a path, or `{ mcpServers = { name = { command =, args =, env =, url =, headers = } } }`
---@param options? operations.mcp.Config  for all servers; also `workspace`: a directory, default the current one, and `start`: function(name, namespace) -> boolean, selects the servers to start; the others stay closed until `servers:enable(name)`
---@return operations.mcp.Servers?
---@return operations.Error? err  the file cannot be read, or the task was cancelled
function from_mcp.load(source, options) end

--- Reads a file in the form of `mcp.json`, with comments and trailing commas, without starting anything.
---@param path string
---@return table?
---@return operations.Error? err
function from_mcp.read(path) end

--- The namespaces of the servers in such a file, without starting anything.
---@param path string
---@return string[]?
---@return operations.Error? err  the file cannot be read, or lists no servers
function from_mcp.namespaces(path) end

---@class operations.from_openapi
local from_openapi = {}

--- Makes definitions of a parsed document. The document is not changed, and must not change afterwards.
---@param doc table
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.document(doc, options) end

--- Reads a document from a file, JSON or YAML; `$ref`s may lead to files beside and below it (`config.ref_root`).
---@param path string
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
function from_openapi.file(path, options) end

--- The files that the `$ref`s of a document in a file name, also those that are missing or that `ref_root` excludes.
---@param path string
---@param ref_root? string
---@return string[]? paths
---@return operations.Error? err
function from_openapi.files(path, ref_root) end

--- Fetches a document; relative server URLs are resolved against its final URL. Its `$ref`s to other URLs are fetched
--- with `config.remote_refs`.
---@param address string  http or https
---@param options? operations.openapi.Config
---@return operations.Definition[]? definitions
---@return operations.openapi.Problem[]|operations.Error report
---@return operations.openapi.Catalogue? catalogue  with `refresh`: registries that it registers follow the document
function from_openapi.url(address, options) end

---@class operations.graphql.Config : operations.ImporterOptions
---@field namespace? string  of the operations, default "graphql"
---@field endpoint? string  URL of the service; `from_graphql.url` sets it
---@field normalize? "cast"|"force"|"off"  default "off": the server has checked the types of its answer
---@field scalars? table<string, any>  JSON Schemas of the service's own scalars; others take anything
---@field uploads? string[]  the scalars whose values are files, default { "Upload" }
---@field documents? string|string[]  files of operations and fragments, and folders of `.graphql` files
---@field fields? boolean  false: only the operations of `documents`, not the root fields
---@field raw? boolean  false: without `<namespace>.graphql`, which takes any query; true: it is exposed where the others are, although it passes by every rule that names a field
---@field eager? boolean  reads all types at once, so that the report is complete
---@field max_leaves? integer  fields that are selected by default, 60
---@field auth? table  as of `from_openapi`: { type = "bearer", token = }, { type = "basic", username =, password = }, { type = "apiKey", name =, token = } or a list of these; functions are called per request
---@field headers? table<string, string>  sent with every request
---@field partial? "data"|"fail"  of an answer that has both data and errors: the data, with `meta.errors` (default), or a failure
---@field method? "POST"|"GET"  of queries; GET where they fit into a URL; default "POST"
---@field persisted? boolean  sends queries by their SHA-256, and whole only where the service does not know it
---@field subscriptions? string  "websocket", "sse", or the URL of a WebSocket (ws, wss); default: WebSocket at the service's URL, and server-sent events where it speaks none
---@field connection_params? table|fun(context: operations.Context): table?  payload of `connection_init`, the first message over WebSocket
---@field files? boolean  may `{ path = }` name files of this machine to upload? Default: not if accessControl exposes the operations
---@field timeout? integer  ms for a whole call, for streams until the first byte
---@field idle_timeout? integer  ms between two pieces of an answer, default 60,000; for streams none
---@field max_body? integer  bytes of an answer
---@field max_event? integer  bytes of one event of a subscription, default 1 MiB
---@field retry? boolean|operations.RetryPolicy  repeats queries, as in `operations.http`; default off
---@field redirect_all? boolean  follows redirects of POST
---@field jar? operations.CookieJar
---@field unix_socket? string
---@field ca_file? string
---@field cert_file? string  client certificate, PEM; its key there or in `key_file`
---@field key_file? string
---@field proxy? string|false
---@field http? table  HTTP client: `request(message)`, `open(message)`; default `operations.http`

---@class operations.http
local http = {}

--- Makes a function for `auth` that signs requests: AWS Signature Version 4.
---@param options operations.SigV4Options
---@return fun(request: operations.HttpRequest)
function http.sigv4(options) end

--- Sends a request and waits for the whole answer. Any status is an answer. Failures of the exchange are TIMEOUT,
--- ABORTED or EXECUTION_ERROR with `details.kind` "dns", "connect", "tls", "timeout", "reset", "truncated", "size",
--- "encoding", "protocol", "redirect", "request", "body", "memory" or "aborted"; `details.phase` of a timeout is
--- "connect", "first_byte", "idle", "total" or "deadline" (of the task), that of a reset is "reused" when the
--- connection was reused.
---@param options operations.HttpRequest
---@return operations.HttpResponse?
---@return operations.Error? err
function http.request(options) end

--- Sends a request and waits for the head of the answer; `stream:read()` reads the body as it arrives.
---@param options operations.HttpRequest
---@return operations.HttpStream?  dropping it closes it
---@return operations.Error? err  as from `request`
function http.open(options) end

--- Makes an empty jar, for `jar` of a request's options.
---@return operations.CookieJar
function http.jar() end

--- The wait that a server asks for (RFC 9110, 10.2.3): seconds, or a date.
---@param headers table
---@return number? ms
function http.retry_after(headers) end

---@class operations.json
--- Writes a value as JSON text. Metamethods are not called, the value is not changed.
---
--- A table is an array when it is marked as one (`array_mt`, the marks of lua-cjson and Neovim, a `__jsontype`) or has
--- a value at [1]; an unmarked empty table is `{}`. Numbers are the shortest text that reads back the same.
---
--- A value that JSON cannot express is an error that names its place (a JSON Pointer, also in `err.details.path`): NaN
--- and infinities, functions, invalid UTF-8, arrays with holes, keys other than strings, cycles.
---@field encode fun(value: any, options?: operations.json.EncodeOptions): string?, operations.Error?  err: VALIDATION_ERROR
--- Reads one JSON value; skips a byte order mark before it.
---
--- The error of invalid JSON has line, column (in characters) and byte, counted from 1, in its message and in
--- `err.details` = `{ line, column, offset }`; `text:sub(offset)` begins at the error. The value is nil only on
--- failure; JSON's null is `json.null`.
---@field decode fun(text: string, options?: operations.json.DecodeOptions): any, operations.Error?  err: VALIDATION_ERROR
--- Reads a text in pieces, with the same values and errors as `json.decode`.
---
--- The default of `max_size` is 16 MiB here. After a failure, `feed` and `finish` return the same error again.
---@field decoder fun(options?: operations.json.DecodeOptions): operations.json.Decoder

---@class operations.json.DecodeOptions
---@field huge? "error"|"text"  what becomes of a number that no double holds, such as 1e400: an error (default), or its text, a string
---@field integers? "exact"|"text"  what becomes of an integer outside +-2^53: an integer (default), or on both runtimes a string of its digits
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)
---@field keep_order? boolean  remembers the order of the members of all objects, for `encode` with `keep_order`
---@field property_order? boolean  remembers it for objects that are called `properties` only, for `operations.schema.properties`
---@field unique? boolean  two members with the same name are an error; default: the last one wins
---@field max_size? integer  bytes of text (default: no limit, the text is in memory already)

---@class operations.json.Decoder
---@field feed fun(self, bytes: string): true?, operations.Error?  reads one more piece, of any size
---@field finish fun(self): any, operations.Error?  the value; call it last

---@class operations.json.EncodeOptions
---@field indent? integer  spaces per level (0 to 16); 0, the default, writes all on one line
---@field sort_keys? boolean  members in byte order of their keys (default: in unspecified order)
---@field keep_order? boolean  members in the order that is known of their table (of a text read with `keep_order` or `property_order`, of `operations.type.object`), then the others in byte order: the same value gives the same bytes
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)

---@class operations.mcp.Changes
---@field added operations.Definition[]
---@field removed operations.Definition[]
---@field changed operations.Definition[]  in their new form

---@class operations.mcp.Client
---@field name string
---@field operations operations.Definition[]  its tools, and operations for its resources and prompts
---@field problems { name: string, message: string }[]  tools that could not be imported
---@field state operations.mcp.State
---@field refused? operations.Error  why a registry has not taken an operation
---@field reason? operations.Error  for the states "lost" and "retrying"
---@field server? table  the server's description of itself
---@field instructions? string
---@field version string  of the protocol
local Client = {}

--- Does the server support this? True also if it was not asked: its answer will tell.
---@param capability string  "tools", "resources", "prompts", "completions", "logging"
---@return boolean
function Client:has(capability) end

--- Calls a tool by its own name, without a registry.
---@param tool string
---@param arguments? table
---@param options? operations.mcp.RequestOptions
---@return operations.Envelope?
---@return operations.Error? err
function Client:call(tool, arguments, options) end

--- The task with an id that the server gave, of this program or an earlier one: its state, its result.
---@param id string
---@param tool? string  that it runs: its `outputSchema` is that of the result
---@return operations.mcp.Task
function Client:task(id, tool) end

--- Sends a request and returns the server's result unchanged: of a call that runs as a task, the task.
---@param method string
---@param params? table
---@param options? operations.mcp.RequestOptions
---@return table?
---@return operations.Error? err
function Client:request(method, params, options) end

--- Tests whether the server answers.
---@return true?
---@return operations.Error? err
function Client:ping() end

--- Connects again, after ending the connection if there is one; also for a closed client. Running calls fail, unless
--- they may be repeated; those that had not begun wait for the new connection.
--- Registries keep the server's operations meanwhile, and follow the new list; after a failure the operations fail with
--- its error until an attempt succeeds.
---@return true?
---@return operations.Error? err  as from `from_mcp.connect`
function Client:restart() end

--- Calls a function when `client.state` changes. It must not wait.
---@param fn fun(state: operations.mcp.State, err: operations.Error?)  err: the reason for "lost" and "retrying"
function Client:on_state(fn) end

--- Waits while the client is connecting: until its tools are listed, or the attempt has failed. Tools that are known
--- of an earlier list are enough.
---@param timeout? number  ms
---@param fresh? boolean  they are not: the server's own list is needed
---@return operations.mcp.State state  now
---@return operations.Error? err  the reason for "lost" and "retrying", or why the wait ended
function Client:wait(timeout, fresh) end

--- Ends the connection, and the server if it is a child process, and removes its operations from all registries; a
--- dropped client is closed when it is collected. Closing twice does nothing.
---@param options? { keep?: boolean }  keep: the operations stay registered, and fail
function Client:close(options) end

--- Completions for the value of an argument.
---@param reference string|table  the name of a prompt, the URI template of a resource ("x://{y}"), or the table itself
---@param name string  of the argument
---@param value string  the beginning of the value
---@param others? table<string, string>  arguments with known values
---@return string[]? values
---@return operations.Error|boolean|nil more  with values: are there more than these?
function Client:complete(reference, name, value, others) end

--- Sets the level from which the server logs; its messages go to `config.on_log`.
---@param level "debug"|"info"|"notice"|"warning"|"error"|"critical"|"alert"|"emergency"
---@return true?
---@return operations.Error? err
function Client:set_log_level(level) end

--- Calls a function when a resource changes.
---@param uri string
---@param fn fun(uri: string, params: table)
---@return true?
---@return operations.Error? err
function Client:subscribe(uri, fn) end

--- Removes the function.
---@param uri string
---@return true?
---@return operations.Error? err
function Client:unsubscribe(uri) end

--- Replaces the directories that the server may access.
---@param roots (string|table)[]|fun(): table[]
---@return true?
---@return operations.Error? err
function Client:set_roots(roots) end

--- Fetches the lists again and notifies listeners of changes. Concurrent calls get the same lists.
---@return operations.mcp.Changes?
---@return operations.Error? err
function Client:refresh() end

--- Calls a function when the server's list changes.
---@param fn fun(changes: operations.mcp.Changes)
function Client:on_change(fn) end

--- Calls a function for every notification of the server.
---@param fn fun(method: string, params: table)
function Client:on_notification(fn) end

--- The tools of the server, in its order, including disabled ones.
---@return { name: string, id: string, enabled: boolean }[]  name: the server's own; id: of the operation
function Client:tools() end

--- Disables a tool: removes it from the client's operations and registries; calls of it fail.
---@param tool string  the server's own name
---@return boolean known  false: the server has no such tool now; it is disabled if it appears
function Client:disable(tool) end

--- Enables a disabled tool.
---@param tool string  the server's own name
---@return boolean known
function Client:enable(tool) end

--- Registers the server's operations, and updates the registry with the server's list until the client is closed.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function Client:register(registry) end

---@class operations.mcp.Config
---@field command? string  stdio: the program; searched in its PATH
---@field args? string[]
---@field env? table<string, string|number>  added to the inherited variables
---@field env_allow? string[]  inherited variables; default: `operations.process.inherited`, proxies, certificates and SSH_AUTH_SOCK
---@field cwd? string
---@field on_stderr? fun(line: string)
---@field stop? { close?: number, term?: number }  ms until TERM, and KILL
---@field restart? boolean  connects again when the server has ended or was lost; default true
---@field wait? boolean  false: `connect` and `load` return before there is a connection
---@field tools? table[]  the tools as an earlier list had them, offered until the server has listed its own
---@field url? string  Streamable HTTP, or HTTP+SSE (2024-11-05); without user and password: use `headers` or `auth`
---@field headers? table<string, string>  HTTP: sent with every request
---@field auth? operations.oauth.AuthorizerOptions|operations.oauth.Authorizer  HTTP: how a user logs in when the server requires it; an object with the methods of an authorizer is used directly
---@field ca_file? string
---@field proxy? string|false
---@field stream? boolean  HTTP, legacy: listens for messages of the server; default true
---@field era? "auto"|"modern"|"legacy"  default "auto": asks the server once
---@field version? string  pins a revision; a modern one is used without asking
---@field verdict? "modern"|"legacy"|"events"  result of an earlier negotiation
---@field timeout? number  ms of one request; progress restarts it
---@field max_timeout? number  ms, regardless of progress; for a tool that runs as a task, until it is done
---@field connect_timeout? number  ms
---@field probe_timeout? number  ms
---@field max_message? integer  bytes
---@field client? { name: string, version: string }
---@field capabilities? table  of the client, besides those of the functions below
---@field roots? (string|table)[]|fun(): table[]|false  directories that the server may access, as URIs; default false: the client has no roots
---@field sampling? fun(params: table, context: table): table?, any
---@field elicitation? fun(params: table, context: table): table?, any|{ form?: function, url?: function }
---@field questions? "caller"  elicitation and sampling without a function above go to the caller of the tool
---@field on_progress? fun(progress: table, call: { tool: string })
---@field on_log? fun(entry: { level: string, logger: string?, data: any })
---@field on_message? fun(way: "in"|"out", message: any)  called with each message, the text of an outgoing one or the value of an incoming one; it must neither wait nor raise, nor refer to the client
---@field log_level? string
---@field log? fun(level: string, message: string, details: any)
---@field namespace? string  of the operations, default: the name of the connection
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?
---@field include? string[]|fun(tool: table): boolean  names of tools
---@field exclude? string[]|fun(tool: table): boolean
---@field disabled_tools? string[]  tools that are not offered until `client:enable`
---@field text? "json"  a result of one text block with JSON that fits the tool's outputSchema becomes that data; default: the blocks are the data
---@field is_error? "data"|"fail"  a tool's own failure is an envelope with `meta.isError` (default), or an error
---@field normalize? "cast"|"force"|"off"  of results; default: the registry's
---@field on_mismatch? "warn"|"fail"  for results that do not fit the tool's outputSchema; default: the registry's
---@field fill? boolean  false: not even required arguments take their `default`s; those of others never go out
---@field validate? "on"|"warn"|"off"  what arguments that do not fit a tool's inputSchema mean: an error (default), a warning, or nothing
---@field retry? boolean  repeats calls of read-only and idempotent tools whose answer was lost; default true
---@field http? table  HTTP client, default `operations.http`

---@alias operations.mcp.Id integer|string

---@class operations.mcp.Message
---@field id? operations.mcp.Id
---@field method? string
---@field params? table
---@field result? any
---@field error? { code: integer, message: string, data: any }

---@class operations.mcp.Peer
---@field server operations.McpServer
---@field identity? operations.Identity
---@field version? string  agreed on by `initialize`; nil until then
---@field capabilities table  the client's, in the legacy era
---@field client? table  its `clientInfo`
---@field connection table  empty; handlers know the client by it. Each session has its own
---@field log_level? string  the lowest level of messages that it wants
---@field running table<operations.mcp.Id, operations.mcp.ServerCall>  its requests
---@field send fun(value: operations.mcp.Message)  sends messages that belong to no request
local Peer = {}

--- Sends a request to the client and waits for its answer (legacy era).
---@param method string
---@param params table
---@param send fun(value: operations.mcp.Message)  for the stream that it belongs to
---@return table? result
---@return { code: integer, message: string, data: any }|operations.Error|nil failure  BUSY: too many requests wait; UNAVAILABLE: the client has no stream for it
function Peer:request(method, params, send) end

--- Handles a possible answer to a request of ours.
---@param value operations.mcp.Message
function Peer:answered(value) end

---@class operations.mcp.Problem
---@field name string  of the server
---@field namespace string  of its operations
---@field message string
---@field err? operations.Error  the server failed
---@field path? string  JSON Pointer of the error in the file

---@class operations.mcp.RequestOptions
---@field timeout? number  ms, restarted by progress
---@field on_progress? fun(progress: { progress: number, total: number?, message: string? })
---@field traceparent? string
---@field meta? table  further keys of `_meta`
---@field detach? boolean  a task is left running: DETACHED

---@class operations.mcp.ServerCall
---@field server operations.McpServer
---@field peer operations.mcp.Peer
---@field id operations.mcp.Id
---@field method string
---@field params table
---@field meta table  `_meta` of the params
---@field modern boolean  revision 2026-07-28 or newer
---@field version? string
---@field capabilities table  the client's
---@field client? table  its `clientInfo`
---@field connection table  of its session
---@field log_level? string
---@field identity? operations.Identity
---@field send fun(value: operations.mcp.Message): boolean?  sends notifications, and legacy requests, that belong to it; false: there is no way to
---@field http? operations.ServerRequest
---@field request_id? string  of its HTTP request, where an access log has it
---@field owner? string  over HTTP: whose share it takes, computed on first use
---@field over? boolean  nothing more may be sent for it
---@field cancelled? boolean  no answer is wanted
---@field worker? operations.Task
local ServerCall = {}

--- Cancels the running call.
---@param reason string|operations.Error
function ServerCall:cancel(reason) end

---@class operations.mcp.Servers
---@field names string[]  of all servers, in order, including disabled ones
---@field clients table<string, operations.mcp.Client>  by the name of the server
---@field operations operations.Definition[]  current operations of all servers, in their order
---@field problems operations.mcp.Problem[]  failed servers, unknown keys, tools left out
local Servers = {}

--- Registers the operations of all servers, in order, and updates the registry with their lists, also for servers that
--- are enabled later.
---@param registry operations.Registry
---@return string[]? ids
---@return operations.Error? err
function Servers:register(registry) end

--- The state of a server: its client's; without one "connecting" before it is made, "lost" when its entry is wrong,
--- "disabled" by the file, or "stopped" when `start` has not selected it.
---@param name string
---@return operations.mcp.State? state  nil: unknown server
---@return operations.Error? err  why it is not connected
function Servers:state(name) end

--- Waits until no server is connecting, as `client:wait` does.
---@param timeout? number  ms
---@param fresh? boolean
function Servers:wait(timeout, fresh) end

--- Calls a function when the state of a server changes. It must not wait.
---@param fn fun(name: string, state: operations.mcp.State, err: operations.Error?)
function Servers:on_state(fn) end

--- Starts a server that is disabled, stopped or has failed; its operations are added to the registries of `register`.
---@param name string
---@return true?
---@return operations.Error? err
function Servers:enable(name) end

--- Closes a server; its operations are removed from the registries.
---@param name string
---@return true?
---@return operations.Error? err
function Servers:disable(name) end

--- Ends all connections at the same time.
---@param options? { keep?: boolean }  as for `client:close`
function Servers:close(options) end

--- "lost": nothing is planned, the next call may connect; "retrying": an attempt has failed, and others follow;
--- "stopped": by the program; "disabled": a server of a file that is not to start.
---@alias operations.mcp.State "connecting"|"connected"|"lost"|"retrying"|"stopped"|"disabled"

---@class operations.mcp.StdioLink
---@field server operations.McpServer
---@field peer operations.mcp.Peer
---@field input operations.Stream
---@field output operations.Stream
---@field queue table  received messages that were not handled yet
local StdioLink = {}

--- Ends it: cancels what runs.
function StdioLink:close() end

--- A task of a server.
---@class operations.mcp.Task
---@field id string
local Task = {}

--- The state of the task, as the server tells it now.
---@return { status: string, message?: string, createdAt?: string, lastUpdatedAt?: string, ttlMs?: integer }? state
---@return operations.Error? err  MCP_-32602: the server does not know the task, or not any more
function Task:state() end

--- Waits until the task is done, and answers its questions meanwhile. A task that is not done in time continues.
---@param options? operations.mcp.TaskOptions
---@return operations.Envelope? envelope
---@return operations.Error? err  TIMEOUT; MCP_<code> of a task that failed; EXECUTION_ERROR of kind "task", with its `status`
function Task:wait(options) end

--- Asks the server to end the task. The server decides whether it still can.
---@return true?
---@return operations.Error? err
function Task:cancel() end

---@class operations.mcp.TaskOptions
---@field timeout? number  ms, default the client's `max_timeout`
---@field on_progress? fun(progress: { progress: number, total: number?, message: string? })
---@field traceparent? string

---@class operations.middleware
local middleware = {}

--- Combines a list to one middleware that applies only to the operations that a filter names.
---@param filter { namespace: string?, type: string?, tag: string? }|fun(spec: operations.Spec): boolean
---@param list operations.Middleware[]  the first is the outermost
---@return operations.Middleware
function middleware.only(filter, list) end

--- Records each call by one line of JSON: `time`, `operation`, `id`, `parent`, `identity`, `client`, `outcome` ("ok",
--- "error" with its `code`, "tool_error", "blocked", "declined", "aborted"), `duration` (ms), `input` (a digest of its
--- canonical JSON), `rule`, `approval` (who gave it) and, by option, `preview`. Put it first in the list of middleware.
---@param options operations.AuditOptions
---@return operations.Audit
function middleware.audit(options) end

--- Opens when `failures` of the last `of` calls failed: calls are then refused with UNAVAILABLE and `retryAfter`. After
--- `pause` ms it is half open: `probes` calls pass; it closes when they succeed, and opens again when one fails.
--- Failures are TIMEOUT, UNAVAILABLE, TRANSPORT_LOST, WORKER_LOST, EXECUTION_ERROR, UNKNOWN_ERROR and HTTP_5xx, unless
--- `counts` says otherwise; cancelled calls do not count. A subscription has succeeded at its first `context.emit`, or
--- when it ends.
---@param options? operations.BreakerOptions
---@return operations.Middleware
function middleware.breaker(options) end

--- Caches answers of queries: an HTTP answer with status 200 by its Cache-Control or Expires, others for `ttlMs` of
--- their MCP result or of their spec's `_meta`, else for `ttl`. A stale answer with an ETag is revalidated: the handler
--- gets `context.ifNoneMatch`, and 304 confirms the stored answer. Concurrent calls of the same query share one answer.
--- Identities never share answers. Streams, pages and bodies in pieces are never stored.
---@param options? operations.CacheOptions
---@return operations.Cache
function middleware.cache(options) end

--- At most `limit` calls run at once. Others wait in order, and fail with BUSY when the queue is full or after
--- `patience`. A subscription keeps its place until it ends. A call that is cancelled or whose deadline passes leaves
--- the queue; a call whose coroutine was dropped gives its place back when it is collected.
---@param options? operations.ConcurrencyOptions
---@return operations.Middleware
function middleware.concurrency(options) end

--- Asks before each mutation. `ask(call)` gets `{ operationId, input, identity, spec }`, may wait, and returns `true`
--- and the scope: "once" (default), "arguments" (always with these), "always"; or `false` and a reason. With "caller"
--- the user of the MCP client that called is asked. A call that is not approved fails with ACCESS_DENIED. An approval
--- applies to one identity only.
---@param ask operations.Confirm|"caller"
---@param options? operations.ConfirmOptions
---@return operations.Middleware
function middleware.confirm(ask, options) end

--- Writes a line when a call or subscription has ended: a JSON object whose members are sorted by name. It has neither
--- the input nor the result.
---@param write? fun(line: string)  default: to stderr
---@return operations.Middleware
function middleware.log(write) end

--- Counts calls by operation and code, and their durations; a subscription counts when it ends. `metrics:text()` writes
--- the figures; `to_http(registry, { metrics = metrics })` serves them at /metrics.
---@param options? operations.MetricsOptions
---@return operations.Metrics
function middleware.metrics(options) end

--- A token bucket for each key: `rate` calls per `per` ms, up to `burst` at once. A further call fails with
--- RATE_LIMITED (HTTP status 429 in `to_http`); `retryAfter` and `details.reset` are the ms until a call is available.
--- With `wait` it waits for its turn.
---@param options operations.RateLimitOptions
---@return operations.Middleware
function middleware.rate_limit(options) end

--- A store for `rate_limit`, and for `idempotency` of to_http, that processes share. Connects at the first call, and
--- again when the connection is lost.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? table  `prefix` (of keys, default "ops:"; it is their hash tag, so that a cluster has them all on one node), `user`, `password`, and those of TLS
---@return operations.RedisBuckets
function middleware.redis(url, options) end

--- Repeats calls that failed with a `retryable` error: queries, and mutations whose spec has `_meta.idempotent = true`;
--- other calls only when `mayHaveRun` is false. Obeys `retryAfter`; what a `breaker` refuses is not repeated. If a wait
--- would end after the deadline, it returns the error instead. Subscriptions and `pages` are not repeated, since events
--- may have been seen. All operations of the middleware share one budget.
---@param options? operations.RetryOptions
---@return operations.Middleware
function middleware.retry(options) end

--- Limits a call to `ms` from its start: its waits then raise TIMEOUT, as do calls that it makes, which get the
--- deadline. An earlier deadline of the caller is kept. Inside `retry` it limits each attempt, outside all of them.
--- Subscriptions are unchanged: their subscriber gives them a deadline.
---@param ms integer  at least 1
---@return operations.Middleware
function middleware.timeout(ms) end

--- Calls `fn(span)` when a call has ended. Inside, `context.traceparent` names the span: calls of other operations,
--- requests of OpenAPI documents, MCP tools and calls over transports carry it.
---@param fn fun(span: operations.Span)  must not wait; collects spans to send many at a time
---@param options? operations.TraceOptions
---@return operations.Middleware
function middleware.trace(fn, options) end

---@class operations.oauth
local oauth = {}

--- Makes an authorizer for one server. Wrong options raise; nothing is sent before a server requires a token.
---@param given operations.oauth.AuthorizerOptions
---@return operations.oauth.Authorizer
function oauth.authorizer(given) end

--- Makes the `authorize` function of a server whose callers have names and passwords (Basic, RFC 7617), in UTF-8. Use
--- it only with TLS: every request has the password.
---@param users table<string, operations.oauth.User>  by name
---@param options? { realm: string? }  shown by browsers that ask for the password; default "operations"
---@return operations.oauth.Basic
function oauth.basic(users, options) end

--- The options of an authorizer for a browser on this machine: `open` and `redirect_uri`.
---@param show fun(url: string)  shows the user the URL, or opens the browser; may wait
---@param port? integer  default 8976
---@return { open: fun(url: string), redirect_uri: string }  options for `oauth.authorizer`
function oauth.browser(show, port) end

--- A store that outlives the program: a file for each key, in a directory that only the user can enter. Programs may
--- share it. A file that others can use, or that is a link, counts as missing; a directory that others can use is
--- refused.
---@param directory string  created if missing
---@return operations.oauth.Store
function oauth.directory_store(directory) end

--- A store that lives as long as the program.
---@return operations.oauth.Store
function oauth.memory_store() end

--- Makes the `authorize` function of a server whose callers have tokens from an authorization server. The identity is
--- `{ id = sub, scopes, claims }`. Wrong options raise.
---@param given operations.oauth.ResourceServerOptions
---@return operations.oauth.ResourceServer
function oauth.resource_server(given) end

--- Makes the `authorize` function of a server whose callers have fixed tokens.
---@param tokens table<string, operations.Identity>  by token
---@return fun(request: operations.ServerRequest): operations.Identity?, string?
function oauth.static_tokens(tokens) end

--- Makes an exchange. Wrong options raise; nothing is sent before `get`.
---@param given operations.oauth.ExchangeOptions
---@return operations.oauth.TokenExchange
function oauth.token_exchange(given) end

--- Makes a source of tokens. Wrong options raise; nothing is sent before `get`.
---@param given operations.oauth.TokenOptions
---@return operations.oauth.TokenSource
function oauth.token_source(given) end

---@class operations.oauth.Authorizer
local Authorizer = {}

--- The headers of a request, with its token if there is one. Renews a token that expires soon.
---@param address string  URL of the request; the first is the server's; others with its origin get the token too
---@return table<string, string>?
---@return operations.Error? err
function Authorizer:headers(address) end

--- Does what a response with status 401 or 403 requires: the user logs in, or the token is renewed or gets more scopes.
--- Callers repeat a request at most three times.
---@param response { status: integer, headers: table, url: string?, aside: (fun(fn: function): any)? }  aside: calls the function that waits for a user, without the limits of the request
---@param sent? table  the headers of the request: when several requests are refused at once, one renews the token
---@return boolean? retry  true: the request may be sent again; false: the response does not concern authorization
---@return operations.Error? err  `details.kind` is "oauth" or one of the HTTP client's; `details.error` as in OAuth, or "login_required" where a user must log in and cannot
function Authorizer:challenged(response, sent) end

--- Deletes the token, and the registration of this program with the issuer of the token.
---@param address? string  URL of the server; default: that of the requests so far
---@return boolean token  was there one?
---@return boolean registration  was there one?
function Authorizer:log_out(address) end

---@class operations.oauth.AuthorizerOptions: operations.oauth.Transport
---@field open? fun(url: string): string|table|nil, operations.Error?  lets the user log in at a URL and returns the URL that the browser was redirected to, or its fields `{ code, state, iss }`; may wait
---@field redirect_uri? string  where the browser is redirected to; https, or http on this machine
---@field client? table|fun(issuer: string): table?, operations.Error?  a client that the authorization server has registered: `{ client_id, client_secret?, client_auth?, issuer? }`; with `issuer` it is used with that one only
---@field client_metadata_url? string  https URL of the client's metadata document, which is also its client_id
---@field client_name? string  name for its registration; default "operations for Lua"
---@field client_uri? string
---@field grant? "authorization_code"|"client_credentials"|fun(asked: table): table?, operations.Error?  client credentials: the program itself is the client, without a login; a function gets `{ issuer, token_endpoint, resource, scope }` and returns the fields of another grant, `{ grant_type, assertion, ... }`
---@field scope? string|string[]  scopes to request first, instead of all that the server lists
---@field store? operations.oauth.Store  default: in memory

---@class operations.oauth.Basic  called with a request: `identity | nil, reason`
---@field challenge string  for WWW-Authenticate of refusals
---@field scheme "basic"  of the OpenAPI document

---@class operations.oauth.Client
---@field client_id string
---@field client_secret? string
---@field client_auth? "client_secret_basic"|"client_secret_post"|"none"|operations.oauth.Proof  default: basic with a secret, none without

---@class operations.oauth.ExchangeOptions: operations.oauth.Client, operations.oauth.Transport
---@field token_endpoint string  https, or http on this machine
---@field audience? string  the API that the tokens are for
---@field resource? string|string[]  the same as a URL (RFC 8707)
---@field scope? string|string[]
---@field subject? fun(context: operations.Context): string?, operations.Error?  the caller's token; default: the one that `resource_server` has checked
---@field subject_token_type? string  default: that of an access token
---@field requested_token_type? string
---@field params? table<string, string>  further fields of the request, such as `actor_token`

---@class operations.oauth.IntrospectionOptions: operations.oauth.Client
---@field endpoint string  https, or http on this machine

---@alias operations.oauth.Proof fun(fields: table, headers: table): boolean?, operations.Error?  adds a proof of the client's identity, such as a signed JWT (RFC 7523), to the form or the headers of a request

---@class operations.oauth.ResourceServer  called with a request: `identity | nil, reason`
---@field issuer string
---@field metadata? operations.ResourceMetadata  what to_http and to_mcp publish

---@class operations.oauth.ResourceServerOptions: operations.oauth.Transport
---@field issuer string  of the authorization server, as in its tokens
---@field audience string|string[]  of tokens for this server: its URL or name, or a list of which one must match
---@field jwks_uri? string  the URL of the issuer's keys; default: from its metadata
---@field jwks? table  the keys themselves: `{ keys = { ... } }`
---@field introspection? operations.oauth.IntrospectionOptions  asks about each token (RFC 7662) instead of using keys; `audience` may then be absent if the server does not return it
---@field algorithms? string[]  accepted algorithms; default: RS, PS and ES 256 to 512, and EdDSA
---@field typ? string  required type, such as "at+jwt"; default: "at+jwt", "JWT" or none
---@field scopes_claim? string|fun(claims: table): string|string[]|nil  the claim with the scopes; default: "scope", else "scp"
---@field leeway? number  seconds that clocks may differ, default 60
---@field resource? string  the URL of the server, for clients that look for its authorization server (RFC 9728); default: the audience, if it is a URL
---@field scopes? string[]  scopes that clients may request, published with it
---@field authorization_endpoint? string  with `token_endpoint`: shown in the OpenAPI document
---@field token_endpoint? string

---@class operations.oauth.Store
---@field load fun(key: string): table?
---@field save fun(key: string, value: table?)  nil: removes it; raises when it cannot
---@field lock? fun(key: string): fun()  waits until no other program holds the key; the result releases it. Raises when it cannot

---@class operations.oauth.Token
---@field access_token string
---@field refresh_token? string
---@field scope? string  granted scopes; the requested ones if the server did not say

---@class operations.oauth.TokenExchange
local TokenExchange = {}

--- The token for the caller of an operation; exchanged once for each token of the caller, and kept until shortly before
--- it expires.
---@param context operations.Context
---@return string? access_token
---@return operations.Error? err  ACCESS_DENIED: the caller has sent no token
---@return string? key  for `refuse`
function TokenExchange:get(context) end

--- The API did not accept a token: the next `get` of this caller exchanges again.
---@param access_token string
---@param key string  from `get`
function TokenExchange:refuse(access_token, key) end

---@class operations.oauth.TokenOptions: operations.oauth.Client, operations.oauth.Transport
---@field token_endpoint string  https, or http on this machine
---@field refresh_token? string  the grant; client credentials when absent
---@field scope? string|string[]
---@field resource? string|string[]  the audience of the token (RFC 8707)
---@field params? table<string, string>  further fields of the request, such as `audience`
---@field on_token? fun(token: operations.oauth.Token)  called with every new token: its refresh token may be new

---@class operations.oauth.TokenSource
local TokenSource = {}

--- A valid access token; waits for a new one if necessary.
---@return string? access_token  for `Authorization: Bearer`
---@return operations.Error? err
function TokenSource:get() end

--- The server rejected this token: `get` requests another one, unless it already has one.
---@param access_token string
function TokenSource:refuse(access_token) end

---@class operations.oauth.Transport  how to connect to endpoints
---@field http? table  HTTP client: `request(message)`; default `operations.http`
---@field timeout? number  ms for one request, default 30 s
---@field ca_file? string  trusted certificates instead of the system's
---@field proxy? string|false  instead of the environment's
---@field public_only? boolean  connect to addresses of the public internet only
---@field remote? boolean  refuses endpoints on this machine: the URLs come from a remote server

---@class operations.oauth.User
---@field password string
---@field identity operations.Identity

---@class operations.openapi.Catalogue
---@field operations operations.Definition[]  of the last document that could be read
---@field problems operations.openapi.Problem[]  its report
---@field failure? operations.Error  of the last attempt; nil: it succeeded
local Catalogue = {}

--- Fetches the document now. Concurrent calls share one fetch.
---@return operations.openapi.CatalogueChanges? changes
---@return operations.Error? err  what was there stays
function Catalogue:refresh() end

--- Registers the operations; the registry follows the document until the catalogue is closed.
---@param registry operations.Registry
---@param change? fun(definitions: operations.Definition[]): operations.Definition[]  makes the definitions to be registered, each time
---@return string[]? ids
---@return operations.Error? err
function Catalogue:register(registry, change) end

--- Calls a function when the document has changed.
---@param fn fun(changes: operations.openapi.CatalogueChanges)
function Catalogue:on_change(fn) end

--- Fetches the document no more. The operations stay registered.
function Catalogue:close() end

---@class operations.openapi.CatalogueChanges
---@field added string[]  ids
---@field removed string[]

---@class operations.openapi.Config
---@field namespace? string  default: the document's title
---@field base_url? string|string[]  instead of the document's servers; of several addresses of one API the next is asked where a request could not be sent to the one before
---@field server_variables? table<string, string>  instead of their defaults
---@field server? integer|string  selects one of several servers: by position in the list, name (3.2), description, or URL as in the document; default 1
---@field content_types? string[]  preferred media types of request bodies, for operations with several
---@field deep_arrays? "brackets"|"indices"|"repeat"  how `deepObject` writes arrays: a[] (of objects a[0], the default), a[0] or a
---@field files? boolean  may `{ path = }` name files of this machine to send? Default: not if accessControl exposes the operations
---@field auth? table  { schemeName = value | table | function(context) }, or { type = "bearer", token = }, or { type = "basic", username =, password = }, or { type = "apiKey", token = }; functions are called per request. For OAuth 2 also { type = "oauth2", client_id =, client_secret =, refresh_token =, token_endpoint =, scope = } as of `operations.oauth.token_source`; for mutual TLS { type = "mutualTLS", cert_file =, key_file = }
---@field headers? table<string, string>  sent with every request
---@field document_headers? table<string, string>  sent when fetching the document, to its origin only; default: `headers`
---@field timeout? integer  ms for a whole call, for streams until the first byte
---@field max_body? integer  bytes of a response
---@field idle_timeout? integer  ms between two pieces of an answer's body, default 60,000; default for streams: none
---@field retry? boolean|operations.RetryPolicy  retries idempotent calls, as in `operations.http`; default off
---@field reconnect? boolean|operations.openapi.Reconnect  opens streams of server-sent events again when they end or fail, with the last event id; default off
---@field done? string  the event data, or line, that ends a stream, such as "[DONE]"; it is not an item itself
---@field decode_text? boolean  false: text for `context.sink` keeps its charset
---@field lenient? boolean  reads answers that are almost JSON: invalid UTF-8 and escapes of half a character become U+FFFD, NaN and infinities null; each such answer is told to the registry's `on_warning`
---@field jar? operations.CookieJar  from `operations.http`'s `jar()`; for this API only
---@field unix_socket? string  path of the socket to connect to, whatever host the URLs name
---@field ca_file? string  trusted certificates instead of the system's
---@field proxy? string|false  instead of the environment's
---@field encoded_slashes? boolean  false: refuses path parameters with a slash or backslash, for servers that decode "..%2Fx" before they resolve it (nginx as a proxy does); default: they are sent encoded
---@field redirect_all? boolean  follows redirects of other methods than GET and HEAD, as in `operations.http`
---@field max_event? integer  bytes of one item of a stream, default 1 MiB
---@field accessControl? operations.AccessControl|fun(definition: table): operations.AccessControl?
---@field normalize? "cast"|"force"|"off"  of the operations' results; default: the registry's
---@field on_mismatch? "warn"|"fail"  of results that do not fit; default: the registry's
---@field fill? boolean  false: not even required members take their `default`s; those of others never go out
---@field validate? "on"|"warn"|"off"  what an input that does not fit the document means: an error (default), a warning, or nothing
---@field include? string[]|fun(info: table): boolean  operationIds, names or tags
---@field exclude? string[]|fun(info: table): boolean
---@field trust_extension? boolean  the document is the program's own (`server:openapi`): access rules in `x-operation` apply, and the operations are exposed
---@field remote_refs? boolean  fetches `$ref`s to URLs; default false
---@field ref_root? string  the directory below which `$ref`s of a file may read files; default: the document's own
---@field patch? operations.PatchOperation[]  changes to the document (RFC 6902), made each time that it is read
---@field eager? boolean  makes all schemas at once, so that the report is complete
---@field next_page? operations.openapi.PageRule|fun(envelope: operations.Envelope, input: table, info: table): string|table|false|nil  for `registry:pages`: where the next page is; a function returns its URL or input, or false after the last; nil, and the default: the answer's Link header or the document's links. `info` is that of `include`
---@field location? string  for `document`: its path or URL, against which relative servers and `$ref`s are resolved
---@field refresh? number  for `url`: seconds after which the document is fetched again; the third result is its catalogue
---@field http? table  HTTP client: `request(message)`, `open(message)`; default `operations.http`

---@class operations.openapi.PageRule  one of `from`, `page` and `offset`
---@field from? string  JSON Pointer into the data: the URL of the next page, or with `to` the value of a parameter
---@field to? string  the parameter
---@field page? string  a parameter that counts pages
---@field offset? string  a parameter that counts items
---@field items? string  JSON Pointer to the items; default: the data, or its only array

---@class operations.openapi.Problem
---@field pointer string  JSON Pointer, as a fragment
---@field message string
---@field operation? string

---@class operations.openapi.Reconnect
---@field attempts? integer  consecutive connections without an event, default 10
---@field delay? number  ms before the first reconnection unless the server names a time, default 1000; doubles each time
---@field max_delay? number  ms, default 30000; up to five minutes if the server asks for more
---@field jitter? number  random share added to a delay, default 0.25

---@class operations.people.DescriptionStyle
---@field example? string  an example of a call

---@class operations.process
local process = {}

--- Starts a program. It ends when its handle is dropped (SIGKILL), and when the call of an operation in which it was
--- started ends or its task is cancelled (SIGTERM, then SIGKILL).
---@param options operations.ProcessOptions  `{ "cat", "-n", cwd = "/tmp" }`
---@return operations.Process?
---@return operations.Error? err  `details.kind`: "command", "cwd", "fork", "descriptors", "memory"
function process.spawn(options) end

--- Sets whether programs may be started: in nginx they may not until this is called.
---@param allow boolean
function process.allow(allow) end

---@class operations.sandbox
local sandbox = {}

--- Can programs run here? Runs none.
---@param options? { interpreter?: string }
---@return string? interpreter  that would run them
---@return operations.Error? err  UNAVAILABLE: no filter of system calls, no C module, no interpreter
function sandbox.available(options) end

--- Runs a program and waits for its end.
---
--- The program is a Lua chunk; the value that it returns is the result. Each of `functions` is a global function in it;
--- the others that it finds are on the page about the sandbox. A call of the program runs its function here, as a task
--- of its own, which may wait and is cancelled when the program ends. The program gets what it returns: a value, or nil
--- and an error object, also in place of an error that it raises.
---
--- A program that fails is a result too, which says what ran before. The process ends when the task of the caller is
--- cancelled.
---@param code string  text, never bytecode
---@param functions table<string, fun(...: any): any, operations.Error?>
---@param options? operations.SandboxOptions
---@param context? operations.Context|{ identity?: operations.Identity, deadline?: integer, timeout?: integer }
---@return operations.SandboxResult?
---@return operations.Error? err  nothing ran. BUSY; UNAVAILABLE: there is no sandbox here; VALIDATION_ERROR: the program is larger than allowed; ACCESS_DENIED: `process.allow` was not called in nginx
function sandbox.run(code, functions, options, context) end

---@class operations.scanner
local scanner = {}

--- The `.lua` files that `scan` would load, in order, without loading them.
---@param directory string
---@param options? operations.ScanOptions
---@return string[]|nil paths  in their order; nil when the directory cannot be read
---@return operations.ScanProblem[]|operations.Error problems
function scanner.files(directory, options) end

--- Loads every `.lua` file below a directory, in the order of their paths, and collects the definitions they return.
--- The files run with the program's rights. Links are followed; each file and directory is visited once.
---@param directory string
---@param options? operations.ScanOptions
---@return table[]|nil definitions  nil when the directory cannot be read
---@return operations.ScanProblem[]|operations.Error problems
function scanner.scan(directory, options) end

--- Loads one file of any name, as `scan` does.
---@param path string
---@param options? operations.ScanOptions
---@return table[] definitions
---@return operations.ScanProblem[] problems
function scanner.load(path, options) end

--- Calls the hook `start` of each file that one of these definitions is from, in the order of the definitions. They may
--- wait.
---@param definitions operations.Definition[]  as `scan` and `load` return them
---@return (fun(): boolean?, operations.Error?)? stop  calls the hooks `stop`, the last first; nil and the first error
---@return operations.Error? err  EXECUTION_ERROR: a hook raised; those that had started were stopped
function scanner.start(definitions) end

--- The file that a definition was loaded from.
---@param definition operations.Definition
---@return string? path  nil: it is from no file
function scanner.origin(definition) end

---@class operations.schema
local schema = {}

--- Compiles a schema, a Lua table or a boolean. Later changes to the table have no effect.
---
--- Reports all errors in it at once: `err.details` is an array of issues whose paths point into the schema.
---@param definition table|boolean
---@param options? operations.schema.Options
---@return operations.Schema? schema
---@return operations.Error? err  VALIDATION_ERROR
function schema.compile(definition, options) end

--- The names of a schema's properties for forms, help and tool definitions: in the order of the document that the
--- schema comes from (`operations.from_openapi`, `operations.from_mcp`, `operations.json.decode` with `property_order`)
--- or of the list given to `T.object`; names without a known order are sorted.
---@param definition table|boolean
---@return string[]  a new list; empty without `properties`
function schema.properties(definition) end

---@class operations.schema.Options
---@field draft? "2020-12"|"2019-09"|"7"|"6"|"4"|"openapi-3.1"|"openapi-3.0"|"swagger-2.0"  when there is no `$schema`
---@field formats? boolean  does `format` reject values? default false: it is an annotation, as in the drafts
---@field resolve? fun(uri: string): table|boolean|nil  the document at `uri` (without fragment), or nil
---@field uri? string  the URI of the schema, the base of relative `$ref`s
---@field max_issues? integer  reported for one value, default 100
---@field max_steps? integer  of one check, cast or fill; default 4,000,000, and 64 for each value inside

---@class operations.schemas
---@field envelope operations.JsonSchema  the three metas are in its `$defs`
---@field local_meta operations.JsonSchema
---@field http_meta operations.JsonSchema
---@field mcp_meta operations.JsonSchema
---@field content_block operations.JsonSchema  of MCP: text, image, audio, resource_link, resource, or a future one
---@field call_event operations.JsonSchema  any event of the call protocol
---@field call_events table<string, operations.JsonSchema>  by type ("call.requested", ...)
---@field identity operations.JsonSchema  of the caller, as requests carry it

---@class operations.sources
local sources = {}

--- Loads a source that `operations add` remembered, or that a trusted project's file names: with its options, cache,
--- secrets and logins.
---@param name string
---@param options? operations.SourceOptions
---@return operations.LoadedSource?
---@return operations.Error? err
function sources.load(name, options) end

---@class operations.testing
local testing = {}

--- An upstream without a network: a client for the option `http` of `from_openapi` and `from_mcp`. Its `requests` are
--- those that were made.
---@param answers table<string, operations.TestAnswer|operations.TestAnswer[]|function>|(fun(request: operations.TestRequest): operations.TestAnswer?)  by "GET /path", "/path" or "*"; of a list one after the other
---@return table client
function testing.http(answers) end

--- A client whose requests a server in this process answers: what `to_http` and `to_mcp` make.
---@param server { handle: function }
---@return table client
function testing.client(server) end

--- Calls `fn(clock)` with a clock that stands still: `clock.advance(ms)` moves it, and a wait moves it to what comes
--- next, so that nothing takes time. Nothing does I/O meanwhile.
---@param fn fun(clock: { now: fun(): number, advance: fun(ms: number) }): any
---@param start? integer  ms since the epoch, default now
---@return any ...  the results of `fn`
function testing.with_clock(fn, start) end

--- A client that passes requests on and writes each exchange to a file, without credentials: no headers of requests,
--- no cookies, "***" for credentials in URLs. Bodies of answers are kept as they are.
---@param path string
---@param client? table  default: `operations.http`
---@return table client
function testing.record(path, client) end

--- A client that answers from a file of `record`: each exchange once, by method, URL and body.
---@param path string
---@return table client
function testing.replay(path) end

--- `replay(path)` if there is such a file, else `record(path)`: a removed file is recorded again.
---@param path string
---@param client? table
---@return table client
function testing.recorded(path, client) end

---@class operations.transports
local transports = {}

--- Two connected ends.
---@return operations.Transport
---@return operations.Transport
function transports.pair() end

--- One end connected with itself.
---@return operations.Transport
function transports.loop() end

--- Connects to Redis and waits for the connection. The transport is for one call map, which may call, serve, or both.
---@param url string  "redis://user:password@host:port/database", "rediss://" over TLS
---@param options? operations.RedisOptions
---@return operations.Redis?
---@return operations.Error? err  TRANSPORT_LOST, ACCESS_DENIED, ABORTED, TIMEOUT
function transports.redis(url, options) end

--- Connects to a hub and waits for the connection. The transport is for one call map.
---@param url string  "ws://" or "wss://"
---@param options? operations.WebSocketOptions
---@return operations.WebSocket?
---@return operations.Error? err  TRANSPORT_LOST (details.kind), ACCESS_DENIED, TIMEOUT, ABORTED
function transports.websocket(url, options) end

--- Listens for spokes.
---@param options operations.HubOptions
---@return operations.Hub?
---@return operations.Error? err
function transports.websocket_hub(options) end

---@class operations.type
local type = {}

--- A schema that accepts every value.
---@param options? table  annotations
---@return operations.JsonSchema
function type.any(options) end

--- An object. Every property is required unless it is `T.optional(...)` or has a default. Properties are given by name,
--- or as a list `{ { name, schema }, ... }`, whose order `operations.schema.properties` returns and texts keep.
---@param properties? table<string, operations.JsonSchema>|{ [1]: string, [2]: operations.JsonSchema }[]
---@param options? table  additionalProperties, patternProperties, minProperties, ..., annotations
---@return operations.JsonSchema
function type.object(properties, options) end

--- An object with any keys, whose values all follow one schema.
---@param values operations.JsonSchema
---@param options? table  propertyNames, minProperties, ..., annotations
---@return operations.JsonSchema
function type.map(values, options) end

--- A schema of arrays.
---@param items? operations.JsonSchema  of every item; default: any
---@param options? table  minItems, maxItems, uniqueItems, contains, ..., annotations
---@return operations.JsonSchema
function type.array(items, options) end

--- An array with one schema per place, and no further items unless option `items` has their schema.
---@param schemas operations.JsonSchema[]
---@param options? table  as for `array`, and items
---@return operations.JsonSchema
function type.tuple(schemas, options) end

--- One of the listed values; sets `type` when they share one.
---@param values any[]
---@param options? table  annotations
---@return operations.JsonSchema
function type.enum(values, options) end

--- Exactly this value.
---@param value any  not nil; `operations.null` for JSON's null
---@param options? table  annotations
---@return operations.JsonSchema
function type.const(value, options) end

--- The schema, or null.
---@param schema operations.JsonSchema
---@return operations.JsonSchema
function type.nullable(schema) end

--- A reference: `"#/$defs/Task"` within one schema, or the URI of another.
---@param uri string
---@param options? table  annotations
---@return operations.JsonSchema
function type.ref(uri, options) end

--- A property that may be left out. Only `T.object` accepts it.
---@param schema operations.JsonSchema
---@return table
function type.optional(schema) end

--- The schema with a default; the property may be left out.
---@param schema operations.JsonSchema
---@param value any  not nil
---@return operations.JsonSchema
function type.default(schema, value) end

--- A schema of values that fit any, exactly one, or all of these schemas.
---@param schemas operations.JsonSchema[]  at least one
---@param options? table  annotations; for `all_of` also keywords of objects
---@return operations.JsonSchema
function type.all_of(schemas, options) end

--- A schema of values that fit any, exactly one, or all of these schemas.
---@param schemas operations.JsonSchema[]  at least one
---@param options? table  annotations; for `all_of` also keywords of objects
---@return operations.JsonSchema
function type.any_of(schemas, options) end

--- A schema of values of the type that the function is named after.
---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
---@return operations.JsonSchema
function type.boolean(options) end

--- A schema of values of the type that the function is named after.
---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
---@return operations.JsonSchema
function type.integer(options) end

--- Exactly this value.
---@param value any  not nil; `operations.null` for JSON's null
---@param options? table  annotations
---@return operations.JsonSchema
function type.literal(value, options) end

--- A schema of values of the type that the function is named after.
---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
---@return operations.JsonSchema
function type.null(options) end

--- A schema of values of the type that the function is named after.
---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
---@return operations.JsonSchema
function type.number(options) end

--- A schema of values that fit any, exactly one, or all of these schemas.
---@param schemas operations.JsonSchema[]  at least one
---@param options? table  annotations; for `all_of` also keywords of objects
---@return operations.JsonSchema
function type.one_of(schemas, options) end

--- An object with any keys, whose values all follow one schema.
---@param values operations.JsonSchema
---@param options? table  propertyNames, minProperties, ..., annotations
---@return operations.JsonSchema
function type.record(values, options) end

--- A schema of values of the type that the function is named after.
---@param options? table  keywords of the type (minLength, minimum, ...), annotations (title, default, ...)
---@return operations.JsonSchema
function type.string(options) end

--- A schema of values that fit any, exactly one, or all of these schemas.
---@param schemas operations.JsonSchema[]  at least one
---@param options? table  annotations; for `all_of` also keywords of objects
---@return operations.JsonSchema
function type.union(schemas, options) end

---@class operations.url
local url = {}

--- Percent-encodes everything but unreserved characters (RFC 3986, 2.3): for a segment of a path, or a value.
---@param text string
---@return string
function url.encode(text) end

--- Decodes percent-encoding. A "+" stays.
---@param text string
---@return string
function url.decode(text) end

--- The parts of an absolute URL, as they are written.
---@param text string
---@return operations.Url?  nil when it is not an absolute URL with an authority
function url.parse(text) end

--- Resolves a reference against an absolute URL (RFC 3986, 5.2).
---@param base string
---@param reference string
---@return string?  nil when `base` is not absolute
function url.resolve(base, reference) end

--- A query, or a form as `application/x-www-form-urlencoded`: names sorted; a list is several pairs, null none.
---@param values table<string, string|number|boolean|table>
---@param level? integer  as for `error`
---@return string
function url.query(values, level) end

---@class operations.yaml
local yaml = {}

--- The YAML text of a value; raises the error object when it is not JSON.
---@param value any
---@return string
function yaml.encode(value) end

--- Reads a text with one document as JSON data: null, arrays and objects have the marks of `operations.json`.
---@param text string
---@return any value
---@return operations.Error? err  VALIDATION_ERROR
function yaml.decode(text) end

return operations
