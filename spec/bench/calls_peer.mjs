// The peers of calls.lua.  Usage: node calls_peer.mjs reference | events | ws IN_FLIGHT | moleculer|bullmq IN_FLIGHT URL
// Says "ready"; for each line of stdin, a number of seconds, it makes calls for so long and prints calls per second and
// their 50th and 99th percentile in ms. Every call carries a UUID and answers with an envelope.
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { reference } from "./calls_reference.mjs";

const require = createRequire(import.meta.url);
const [what, inFlight, url, role] = process.argv.slice(2);
const envelope = (data) => ({ data, meta: { source: "local", operationId: "a.b", timestamp: Date.now() } });
const cpu = () => { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; };

async function rate(call, width, seconds) {
  const times = [], start = performance.now(), stop = start + seconds * 1000;
  await Promise.all(Array.from({ length: width }, async () => {
    let begun = performance.now();
    while (begun < stop) {
      const answer = await call({ x: times.length });
      if (answer.data.x === undefined) throw new Error("unexpected answer");
      const done = performance.now();
      times.push(done - begun);
      begun = done;
    }
  }));
  const perSecond = times.length / ((performance.now() - start) / 1000);
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.ceil(times.length * part) - 1];
  return [perSecond, at(0.5), at(0.99)];
}

// In one process: by the lesser of CPU and wall time, so that neither V8's helper threads nor other programs count.
async function rateHere(call, seconds) {
  const start = cpu(), wall = performance.now();
  let count = 0, spent;
  do {
    for (let i = 0; i < 1000; i++) await call({ x: i });
    count += 1000;
    spent = Math.min(cpu() - start, (performance.now() - wall) / 1000);
  } while (spent < seconds);
  return [count / spent, 0, 0];
}

class Happening extends Event {
  constructor(type, detail) { super(type); this.detail = detail; }
}

// The least that the reference's way costs: two events and a promise, nothing looked up, validated or cast.
function events() {
  const target = new EventTarget(), pending = new Map();
  const handler = async (input) => ({ x: input.x });
  target.addEventListener("call.requested", async ({ detail: { requestId, input } }) => {
    target.dispatchEvent(new Happening("call.responded", { requestId, output: envelope(await handler(input)) }));
  });
  target.addEventListener("call.responded", ({ detail: { requestId, output } }) => {
    pending.get(requestId)(output);
    pending.delete(requestId);
  });
  return (input) => new Promise((resolve) => {
    const requestId = randomUUID();
    pending.set(requestId, resolve);
    target.dispatchEvent(new Happening("call.requested", { requestId, operationId: "a.b", input }));
  });
}

const child = (...args) => fork(fileURLToPath(import.meta.url), [what, inFlight, ...args]);
const said = (process_) => new Promise((resolve) => process_.once("message", resolve));

async function ws() {
  const { WebSocket, WebSocketServer } = require("ws");
  if (url === "serve") {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" }, () => process.send(server.address().port));
    server.on("connection", (socket) => socket.on("message", (text) => {
      const { payload } = JSON.parse(text);
      socket.send(JSON.stringify({ type: "call.responded",
        payload: { requestId: payload.requestId, output: envelope({ x: payload.input.x }) } }));
    }));
    return undefined;
  }
  const socket = new WebSocket(`ws://127.0.0.1:${await said(child("serve"))}`), pending = new Map();
  await new Promise((resolve) => socket.once("open", resolve));
  socket.on("message", (text) => {
    const { payload } = JSON.parse(text);
    pending.get(payload.requestId)(payload.output);
    pending.delete(payload.requestId);
  });
  return (input) => new Promise((resolve) => {
    const requestId = randomUUID();
    pending.set(requestId, resolve);
    socket.send(JSON.stringify({ type: "call.requested", payload: { requestId, operationId: "a.b", input } }));
  });
}

async function moleculer() {
  const { ServiceBroker } = require("moleculer");
  const broker = new ServiceBroker({ nodeID: role ?? "caller", transporter: url, logger: false });
  if (role === "serve") {
    broker.createService({ name: "a", actions: { b: (context) => envelope({ x: context.params.x }) } });
    await broker.start();
    process.send("ready");
    return undefined;
  }
  await said(child(url, "serve"));
  await broker.start();
  await broker.waitForServices("a");
  return (input) => broker.call("a.b", input);
}

async function bullmq() {
  const { Queue, QueueEvents, Worker } = require("bullmq");
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  if (role === "serve") {
    const worker = new Worker("a", async (job) => envelope({ x: job.data.x }),
      { connection, concurrency: Number(inFlight) });
    await worker.waitUntilReady();
    process.send("ready");
    return undefined;
  }
  await said(child(url, "serve"));
  const queue = new Queue("a", { connection }), events = new QueueEvents("a", { connection }), pending = new Map();
  events.on("completed", ({ jobId, returnvalue }) => {
    pending.get(jobId)(returnvalue);
    pending.delete(jobId);
  });
  await events.waitUntilReady();
  return (input) => new Promise((resolve, reject) => {
    const jobId = randomUUID();
    pending.set(jobId, resolve);
    queue.add("b", input, { jobId, removeOnComplete: true }).catch(reject);
  });
}

const call = await { reference, events, ws, moleculer, bullmq }[what]();
if (call) {
  console.log("ready");
  for await (const line of createInterface({ input: process.stdin }))
    console.log((await (inFlight ? rate(call, Number(inFlight), Number(line)) : rateHere(call, Number(line)))).join(" "));
  process.exit(0);
}
process.on("disconnect", () => process.exit(0));
