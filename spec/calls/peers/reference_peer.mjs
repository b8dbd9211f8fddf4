// A peer of the reference protocol, on npm's ws alone: five events with `id: ""`, no credits, no numbers.  Notes
// whatever it gets that it did not announce.  Usage:
//   node reference_peer.mjs client SUBPROTOCOL|none URL        node reference_peer.mjs server SUBPROTOCOL|none
// Says "connected" or its port; then each line of stdin is a command, { do, ... }, answered with a line of JSON.
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const { WebSocket, WebSocketServer } = createRequire(import.meta.url)("ws");
const [role, subprotocol, url] = process.argv.slice(2);
const named = subprotocol === "none" ? [] : [subprotocol];

// `credit` and `ttl` are how a request of others announces; the schemas of the reference are open.
const fields = {
  "call.requested": ["requestId", "operationId", "input", "parentRequestId", "deadline", "idleTimeout", "identity",
    "metadata", "credit", "ttl"],
  "call.responded": ["requestId", "output"],
  "call.completed": ["requestId"],
  "call.aborted": ["requestId", "reason"],
  "call.error": ["requestId", "code", "message", "details"],
};
const HIGH = 65536; // bytes that wait to be sent, or events that wait to be consumed, before a side is held back

let socket;
const pending = new Map(), serving = new Map();
const stats = { counts: {}, strange: [], late: 0, queued: 0, ended: false };
const envelope = (data) => ({ data, meta: { source: "local", operationId: "node.any", timestamp: Date.now() } });

async function send(type, payload) {
  if (socket.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify({ type, id: "", payload }));
  while (socket.bufferedAmount > HIGH) await sleep(1);
  return true;
}

const operations = {
  "node.echo": async (id, input) => send("call.responded", { requestId: id, output: envelope(input) }),
  "node.void": async (id) => send("call.responded", { requestId: id, output: envelope(undefined) }),
  "node.fail": async (id) => send("call.error", { requestId: id, code: "NODE_FAILED", message: "as asked",
    details: { why: "asked" } }),
  "node.silent": async () => {},
  "node.burst": async (id, { count, size }) => {
    for (let n = 1; n <= count && serving.has(id); n++) {
      await send("call.responded", { requestId: id, output: envelope({ n, text: "x".repeat(size ?? 0) }) });
      serving.set(id, n);
      if (n % 64 === 0) await sleep(0); // else it would hear no abort
    }
    if (serving.has(id)) await send("call.completed", { requestId: id });
  },
};

async function serve({ requestId: id, operationId, input }) {
  serving.set(id, 0);
  const run = operations[operationId];
  if (!run) return send("call.error", { requestId: id, code: "OPERATION_NOT_FOUND", message: operationId });
  await run(id, input);
  if (operationId !== "node.silent") serving.delete(id);
}

// What its consumers have not taken yet holds back the whole connection, as TCP does.
function count(n) {
  stats.queued += n;
  stats.most = Math.max(stats.most ?? 0, stats.queued);
  if (stats.queued > 64 && !socket.isPaused) socket.pause();
  if (stats.queued < 16 && socket.isPaused) socket.resume();
}

function take(event) {
  const { type, id, payload } = event, known = fields[type];
  stats.counts[type] = (stats.counts[type] ?? 0) + 1;
  for (const name of Object.keys(payload)) if (!known?.includes(name)) stats.strange.push(`${type}.${name}`);
  for (const name of Object.keys(event)) if (!["type", "id", "payload"].includes(name)) stats.strange.push(name);
  if (id !== payload.requestId) stats.strange.push(`${type}: id ${id}`);
  if (type === "call.requested") return void serve(payload);
  if (type === "call.aborted" && serving.delete(payload.requestId)) return;
  const entry = pending.get(payload.requestId);
  if (!entry) return void stats.late++;
  entry.events.push({ type, payload });
  count(1);
  entry.wake?.();
}

function open(operationId, input) {
  const requestId = randomUUID(), entry = { events: [], wake: null };
  pending.set(requestId, entry);
  send("call.requested", { requestId, operationId, input });
  entry.next = async () => {
    while (entry.events.length === 0) {
      if (stats.ended) return { type: "lost" };
      await new Promise((resolve) => { entry.wake = resolve; });
    }
    count(-1);
    return entry.events.shift();
  };
  return [requestId, entry];
}

const commands = {
  async call({ operation, input }) {
    const [id, entry] = open(operation, input);
    const event = await entry.next();
    pending.delete(id);
    return event.type === "call.responded" ? { output: event.payload.output } : event;
  },
  // Consumes events, which are numbered, until the end or `take` of them; waits `pause` ms after each 100.
  async subscribe({ operation, input, take: most, pause }) {
    const [id, entry] = open(operation, input);
    let taken = 0, inOrder = true;
    for (;;) {
      const event = await entry.next();
      if (event.type !== "call.responded") {
        pending.delete(id);
        return { taken, inOrder, end: event.type, code: event.payload?.code };
      }
      taken++;
      inOrder &&= event.payload.output.data.n === taken;
      if (taken === most) {
        pending.delete(id);
        count(-entry.events.length);
        await send("call.aborted", { requestId: id });
        return { taken, inOrder, end: "break" };
      }
      if (pause && taken % 100 === 0) await sleep(pause);
    }
  },
  async stats() {
    return { ...stats, serving: serving.size, sent: Math.max(0, ...serving.values()), heap: process.memoryUsage().rss };
  },
  async close() {
    socket.close(1000);
    return {};
  },
};

function adopt(connected) {
  socket = connected;
  socket.on("message", (text) => take(JSON.parse(text)));
  socket.on("close", (code) => {
    Object.assign(stats, { ended: true, code });
    serving.clear();
    for (const entry of pending.values()) entry.wake?.();
  });
  socket.on("error", () => {});
}

if (role === "client") {
  const connected = new WebSocket(url, named);
  adopt(connected);
  connected.on("open", () => console.log("connected"));
} else {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, handleProtocols: () => named[0] ?? false });
  server.on("connection", adopt);
  server.on("listening", () => console.log(server.address().port));
}
createInterface({ input: process.stdin }).on("line", async (line) => {
  const command = JSON.parse(line);
  console.log(JSON.stringify({ for: command.for, ...await commands[command.do](command) }));
}).on("close", () => process.exit(0));
