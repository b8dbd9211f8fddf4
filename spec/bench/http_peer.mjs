// Node against the same server.  Usage: node http_peer.mjs fetch|undici URL CONCURRENCY SECONDS
// Prints requests per second and microseconds of CPU for each.  Or: node http_peer.mjs events URL
// Prints the server-sent events of a stream, their data parsed as JSON, and the seconds it took.
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";

const require = createRequire(import.meta.url);
const [what, url, concurrency, seconds] = process.argv.slice(2);

const clients = {
  fetch: async () => (await fetch(url)).text(),
  undici: () => {
    const { Pool } = require("undici");
    const { origin, pathname } = new URL(url);
    const pool = new Pool(origin, { connections: Number(concurrency) });
    clients.undici = async () => (await pool.request({ path: pathname, method: "GET" })).body.text();
    return clients.undici();
  },
};

async function run() {
  let count = 0;
  const stop = performance.now() + seconds * 1000;
  const worker = async () => {
    while (performance.now() < stop) {
      const text = await clients[what]();
      if (text.length !== 46) throw new Error("unexpected answer");
      count++;
    }
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, worker));
  return count;
}

async function rate() {
  await clients[what]();
  await run(); // the compiler's share
  const start = performance.now(), cpu = process.cpuUsage(), count = await run();
  const used = process.cpuUsage(cpu);
  console.log(Math.round(count / ((performance.now() - start) / 1000)), ((used.user + used.system) / count).toFixed(1));
}

async function events() {
  const { createParser } = require("eventsource-parser");
  let count = 0;
  const onEvent = (event) => { if (JSON.parse(event.data)) count++; };
  const once = async () => {
    const parser = createParser({ onEvent }), decoder = new TextDecoder();
    for await (const piece of (await fetch(url)).body) parser.feed(decoder.decode(piece, { stream: true }));
  };
  await once(); // warm
  let best = Infinity;
  for (let i = 0; i < 3; i++) {
    count = 0;
    const start = performance.now();
    await once();
    best = Math.min(best, performance.now() - start);
  }
  console.log(count, (best / 1000).toFixed(6));
}

await (what === "events" ? events() : rate());
process.exit(0);
