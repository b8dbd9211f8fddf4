local limits = require("operations.base.limits")
local schema = require("operations.schema")
local sources = require("spec.support.sources")

-- Programs rely on them: each change is one that they notice.
local promised = {
  body = 16777216, document = 67108864, event = 1048576, request_head = 524288, headers = 65536, json_depth = 512,
  yaml_nodes = 10000000, redirects = 5, connect_timeout = 10000, first_byte_timeout = 60000, idle_timeout = 60000,
  keep_alive = 60000, connection_age = 300000, dns_cache = 30000,
  idle_connections = 256, host_connections = 0, http_connections = 0, request_fields = 256,
  request_target = 16384, head_timeout = 10000, body_timeout = 30000, write_timeout = 60000,
  connection_requests = 1000, reconnects = 10, reconnect_wait = 300000, window = 262144, send_queue = 1048576,
  line = 16777216, stderr_lines = 100, close_grace = 2000, term_grace = 2000, mcp_timeout = 60000,
  mcp_max_timeout = 3600000, mcp_connect_timeout = 60000, mcp_probe_timeout = 5000, mcp_pages = 1000,
  mcp_list = 16777216, mcp_retry = 500, mcp_max_retry = 30000, mcp_stable = 10000, mcp_recovery = 10000,
  mcp_wait = 10000, mcp_slow = 500,
  mcp_rounds = 16, mcp_server_requests = 64, concurrency = 16, unconsumed_events = 64, unconsumed_bytes = 4194304,
  consumer_timeout = 20000, oauth_document = 1048576, oauth_timeout = 30000, oauth_login = 600000, oauth_lock = 60000,
  oauth_margin = 30000, oauth_exchanged = 300000,
  oauth_step_ups = 2, oauth_young = 10000, pages = 10000, call_timeout = 60000,
  heartbeat = 15000, server_max_timeout = 600000, upstream_body = 16384,
  ping_interval = 15000, handshake_timeout = 10000,
  reconnect_delay = 50, reconnect_max_delay = 5000, redis_silence = 2000, presence = 2000, redis_patience = 10000,
  redis_nodes = 100, redis_handshake = 1024 * 1024, redis_age = 10000,
  redis_lease = 5000, redis_attempts = 5, redis_queue = 10000, redis_retention = 600000, redis_ages = 1e13,
  redis_keep = 86400000, redis_delayed = 100000, redis_due = 1000, redis_note = 100, redis_answers = 1000,
  redis_look = 1000, redis_dead = 10000, redis_batch = 64, redis_check = 10000, redis_tidy = 50, redis_forget = 3600000,
  discovery = 500, connections = 1024, drain = 5000, exit_grace = 5000, requests = 1024, issues = 100,
  answer = 268435456, document_depth = 1000, documents = 16, entity_tag = 1048576, idempotency = 86400000,
  idempotency_lease = 5000, idempotency_keys = 10000, idempotency_bytes = 67108864, idempotency_answer = 1048576,
  preflight = 600000, nvim_close = 200, nvim_term = 250, nvim_lines = 10000, nvim_log = 1000, nvim_notifications = 3,
  mcp_connections = 64, mcp_sessions = 1024, mcp_session = 3600000, mcp_state = 3600000, jwt = 16384, jwt_keys = 4,
  jwks_keys = 100, jwks_age = 600000, jwks_stale = 86400000, jwks_pause = 60000, jwks_retry = 5000,
  jwks_timeout = 10000, introspections = 10000, introspection_age = 60000, token_leeway = 60, nvim_text = 262144,
  nvim_items = 1000, nvim_arguments = 1048576, nvim_questions = 16, approvals = 1000, tool_result = 100000,
  tool_image = 5000000, websocket_unfinished = 67108864, mcp_batch = 100, mcp_kept_bytes = 67108864,
  mcp_identity_bytes = 16777216, mcp_identity_sessions = 128, mcp_session_bytes = 4194304, trust_file = 16777216,
  trust_entries = 10000, sources_file = 16777216, mcp_file = 16777216,
  idempotency_sender_bytes = 16777216, idempotency_sender_keys = 2500, identity_streams = 128,
  identity_requests = 256, turn_bytes = 262144,
  tls_session = 7200000, middleware_keys = 10000, middleware_queue = 100, cache_bytes = 16777216,
  cache_entry = 1048576, metrics_series = 10000, mcp_tools = 64, mcp_schema_bytes = 65536, mcp_watched = 1000,
  publisher_keep = 256, publisher_retry = 500, publisher_age = 86400000, publisher_poll = 50,
  publisher_bytes = 67108864, publisher_topics = 10000, publisher_keep_bytes = 4194304, oauth_exchanges = 1000,
  ended_jobs = 100, job_ttl = 3600000, job_least_ttl = 60000, job_most_ttl = 86400000, job_sweep = 10000,
  job_poll = 1000, job_wait = 60000, task_grace = 200, jobs = 1000, identity_jobs = 100,
  job_result = 67108864, job_results = 268435456, job_identity_results = 67108864, ended_job_records = 10000,
  identity_job_records = 1000,
  search_query = 1024, search_words = 32, search_hits = 10, cli_cache = 268435456,
  search_signatures = 3000, signature = 900, description = 16384, code_events = 1000, code_gather = 20,
  code_wait = 300000, graphql_depth = 100, graphql_inputs = 500, graphql_leaves = 60, graphql_query = 2048,
  graphql_select = 65536, graphql_steps = 100000, sandbox_at_once = 8, sandbox_max_calls = 50,
  sandbox_max_code = 65536, sandbox_max_identity_programs = 4, sandbox_max_memory = 134217728,
  sandbox_max_output = 65536, sandbox_max_processor = 5000, sandbox_max_programs = 16, sandbox_max_result = 262144,
  sandbox_max_value = 4194304, sandbox_timeout = 3600000,
}

describe("limits", function()
  it("are by default what is promised, each of them", function()
    for name, value in pairs(limits) do
      assert.equal(promised[name], value, name)
    end
  end)

  it("are each obeyed by some module", function()
    local read = {}
    for _, path in ipairs(sources.list("lua", ".lua")) do
      local text = sources.read(path)
      for name in text:gmatch("limits%.([%a_]+)") do
        read[name] = true
      end
      for prefix in text:gmatch('limits%["([%a_]+_)" %.%. %a+%]') do -- by the names of a module's options
        for name in pairs(limits) do
          read[name] = read[name] or name:find(prefix, 1, true) == 1
        end
      end
    end
    for name in pairs(limits) do
      assert.is_true(read[name], name .. " is read by no module")
    end
  end)

  it("have the names that they have: another one is refused", function()
    assert.has_error(function()
      limits.idle_conections = 5
    end, "unknown limit 'idle_conections'")
  end)

  it("count the issues of one value, unless max_issues does", function()
    local usual = limits.issues
    finally(function()
      limits.issues = usual
    end)
    limits.issues = 2
    local value = { 1, 2, 3, 4, 5 }
    local _, issues = assert(schema.compile({ items = { type = "string" } })):check(value)
    assert.equal(2, #issues)
    _, issues = assert(schema.compile({ items = { type = "string" } }, { max_issues = 4 })):check(value)
    assert.equal(4, #issues)
  end)
end)
