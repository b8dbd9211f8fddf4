// The peers of calls.lua.  Usage: node calls_peer.mjs process | ws IN_FLIGHT | moleculer IN_FLIGHT URL
// Prints calls per second; every call carries a UUID and answers with an envelope.
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const [what, inFlight, url, role] = process.argv.slice(2);
const SECONDS = 2;
const envelope = (data) => ({ data, meta: { source: "local", operationId: "a.b", timestamp: Date.now() } });

async function rate(call, width) {
  const run = async () => {
    let count = 0;
    const start = performance.now(), stop = start + SECONDS * 1000;
    await Promise.all(Array.from({ length: width }, async () => {
      while (performance.now() < stop) {
        const answer = await call({ x: count });
        if (answer.data.x === undefined) throw new Error("unexpected answer");
        count++;
      }
    }));
    return count / ((performance.now() - start) / 1000);
  };
  await run(); // the compiler's share
  console.log(Math.round(await run()));
}

class Happening extends Event {
  constructor(type, detail) { super(type); this.detail = detail; }
}

async function inProcess() {
  const target = new EventTarget(), pending = new Map();
  const handler = async (input) => ({ x: input.x });
  target.addEventListener("call.requested", async ({ detail: { requestId, input } }) => {
    target.dispatchEvent(new Happening("call.responded", { requestId, output: envelope(await handler(input)) }));
  });
  target.addEventListener("call.responded", ({ detail: { requestId, output } }) => {
    pending.get(requestId)(output);
    pending.delete(requestId);
  });
  await rate((input) => new Promise((resolve) => {
    const requestId = randomUUID();
    pending.set(requestId, resolve);
    target.dispatchEvent(new Happening("call.requested", { requestId, operationId: "a.b", input }));
  }), 1);
}

const child = (...args) => fork(fileURLToPath(import.meta.url), [what, inFlight, ...args]);
const said = (process_) => new Promise((resolve) => process_.once("message", resolve));

async function webSocket() {
  const { WebSocket, WebSocketServer } = require("ws");
  if (url === "serve") {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" }, () => process.send(server.address().port));
    server.on("connection", (socket) => socket.on("message", (text) => {
      const { payload } = JSON.parse(text);
      socket.send(JSON.stringify({ type: "call.responded",
        payload: { requestId: payload.requestId, output: envelope({ x: payload.input.x }) } }));
    }));
    return;
  }
  const server = child("serve");
  const socket = new WebSocket(`ws://127.0.0.1:${await said(server)}`), pending = new Map();
  await new Promise((resolve) => socket.once("open", resolve));
  socket.on("message", (text) => {
    const { payload } = JSON.parse(text);
    pending.get(payload.requestId)(payload.output);
    pending.delete(payload.requestId);
  });
  await rate((input) => new Promise((resolve) => {
    const requestId = randomUUID();
    pending.set(requestId, resolve);
    socket.send(JSON.stringify({ type: "call.requested", payload: { requestId, operationId: "a.b", input } }));
  }), Number(inFlight));
  server.kill();
  process.exit(0);
}

async function moleculer() {
  const { ServiceBroker } = require("moleculer");
  const broker = new ServiceBroker({ nodeID: role ?? "caller", transporter: url, logger: false });
  if (role === "serve") {
    broker.createService({ name: "a", actions: { b: (context) => envelope({ x: context.params.x }) } });
    await broker.start();
    process.send("ready");
    return;
  }
  const server = child(url, "serve");
  await said(server);
  await broker.start();
  await broker.waitForServices("a");
  await rate((input) => broker.call("a.b", input), Number(inFlight));
  server.kill();
  process.exit(0);
}

await { process: inProcess, ws: webSocket, moleculer }[what]();
