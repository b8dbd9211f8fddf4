// Node against the same server.  Usage: node http_peer.mjs fetch|undici URL CONCURRENCY SECONDS
// Prints requests per second and microseconds of CPU for each.
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

await rate();
process.exit(0);
