// The peers of openapi_calls.lua.  Usage: openapi_calls_peer.mjs NAME DOCUMENT URL CONCURRENCY SECONDS
// Prints calls per second and microseconds of CPU for each.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";

const require = createRequire(import.meta.url);
const [name, file, url, concurrency, seconds] = process.argv.slice(2);

const makers = {
  "swagger-client": async (definition) => {
    const client = await require("swagger-client")({ spec: { ...definition, servers: [{ url }] } });
    return async (operationId, parameters) => (await client.execute({ operationId, parameters })).body;
  },
  "openapi-client-axios": async (definition) => {
    const { OpenAPIClientAxios } = require("openapi-client-axios");
    const client = await new OpenAPIClientAxios({ definition, axiosConfigDefaults: { baseURL: url } }).init();
    return async (operationId, parameters) => (await client[operationId](parameters)).data;
  },
};

const call = await makers[name](JSON.parse(readFileSync(file, "utf8")));
let count = 0;

async function run() {
  const stop = performance.now() + seconds * 1000;
  const worker = async () => {
    for (; performance.now() < stop; count++)
      if ((await call("small", { done: true, limit: 20 })).id !== 1) throw new Error("unexpected answer");
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, worker));
}

await run(); // the compiler's share
count = 0;
const start = performance.now(), before = process.cpuUsage();
await run();
const { user, system } = process.cpuUsage(before);
console.log((count / ((performance.now() - start) / 1000)).toFixed(0), ((user + system) / count).toFixed(1));
process.exit(0);
