--- Every limit and default, in one place. Each is an option where it applies; sizes are bytes, times milliseconds.
return {
  body = 16 * 1024 * 1024, -- of a message; streams have none
  event = 1024 * 1024, -- one event of a stream
  headers = 64 * 1024, -- the header block of an answer
  json_depth = 512,
  redirects = 5,
  connect_timeout = 10000,
  first_byte_timeout = 60000,
  keep_alive = 60000, -- how long an idle connection is kept
  reconnects = 10, -- of a stream, in a row without an event
  window = 256 * 1024, -- unread bytes at which a stream's sender is held back
  line = 16 * 1024 * 1024, -- of a process's stdout, when it is read by lines
  stderr_lines = 100, -- of a process that are kept
  close_grace = 2000, -- after its stdin was closed, a process has this long to end
  term_grace = 2000, -- and this long after SIGTERM
  concurrency = 16, -- calls of `map` under way at once
  unconsumed_events = 64, -- per subscription
  ref_depth = 256, -- of a schema
  issues = 100, -- reported per validation
}
