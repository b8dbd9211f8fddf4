// A peer of the call protocol (doc/protocol.md) in Node, on npm's ws alone: it serves node.greet and node.count, and
// calls what the other side serves.
//   node examples/peers/peer.mjs ws://127.0.0.1:8080 [OPERATION [INPUT]]    calls it, prints the answer; else serves on
//   node examples/peers/peer.mjs listen                                     prints its port, serves whoever connects
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
const { WebSocket, WebSocketServer } = createRequire(import.meta.url)("ws");
const PROTOCOL = "ops.v1.json";

const operations = { // functions answer once, generators stream
  "node.greet": ({ name }) => `hello, ${name}`,
  "node.count": async function* ({ to }) { for (let n = 1; n <= to; n++) yield n; },
};

export function peer(socket) {
  const pending = new Map(), serving = new Map();
  const send = (type, payload) => socket.send(JSON.stringify({ type, id: payload.requestId, payload }));

  async function serve({ requestId, operationId, input }) {
    const respond = (data) => send("call.responded", { requestId, output: {
      data, meta: { source: "local", operationId, timestamp: Date.now() } } });
    const fail = (code, message) => send("call.error", { requestId, code, message });
    const operation = operations[operationId];
    if (!operation) return fail("OPERATION_NOT_FOUND", `no operation '${operationId}'`);
    try {
      serving.set(requestId, true);
      const result = await operation(input ?? {});
      if (!result?.[Symbol.asyncIterator]) return serving.has(requestId) && respond(result);
      for await (const event of result) {
        if (!serving.has(requestId)) return; // aborted
        respond(event);
        do await new Promise((resolve) => setImmediate(resolve)); // hears an abort, and waits for a slow reader
        while (socket.bufferedAmount > 65536);
      }
      send("call.completed", { requestId });
    } catch (error) {
      fail("EXECUTION_ERROR", error.message);
    } finally {
      serving.delete(requestId);
    }
  }

  socket.on("message", (text) => {
    const { type, payload } = JSON.parse(text), call = pending.get(payload.requestId);
    if (type === "call.requested") serve(payload);
    else if (type === "call.aborted") serving.delete(payload.requestId);
    if (!call || type === "call.requested") return;
    if (type === "call.responded") call.event(payload.output.data, payload);
    else pending.delete(payload.requestId) && call.end(type === "call.completed" ? null : payload);
  });
  socket.on("close", () => pending.forEach((call) => call.end({ code: "TRANSPORT_LOST", message: "closed" })));

  // Calls or subscribes: `event(data)` for each event, then resolves; a call that is answered once says so by `once`.
  return (operationId, input, event, once) => new Promise((resolve, reject) => {
    const requestId = randomUUID();
    pending.set(requestId, {
      event: (data) => { event(data); if (once) { pending.delete(requestId); resolve(); } },
      end: (error) => error ? reject(new Error(`${error.code ?? "ABORTED"}: ${error.message ?? ""}`)) : resolve(),
    });
    send("call.requested", { requestId, operationId, input });
  });
}

const [target, operation, input] = process.argv.slice(2);
if (target === "listen") {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, handleProtocols: () => PROTOCOL });
  server.on("connection", peer).on("listening", () => console.log(server.address().port));
} else if (target) {
  const socket = new WebSocket(target, PROTOCOL), call = peer(socket);
  socket.on("open", async () => {
    console.log("connected");
    if (!operation) return;
    await call(operation, JSON.parse(input ?? "{}"), (data) => console.log(JSON.stringify(data)), true)
      .catch((error) => console.log(error.message));
    socket.close();
  });
}
