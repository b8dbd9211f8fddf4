// The peers of openapi.lua: swagger-client, openapi-client-axios.
// openapi_peer.mjs NAME DOCUMENT prints JSON: ms of JSON.parse, ms to a client that can be called, KB of an operation
// beyond the parsed document, MB of all.
import { createRequire } from "node:module";
import fs from "node:fs";

const require = createRequire(process.env.NODE_PATH + "/");
const [name, path] = process.argv.slice(2);

const clients = {
  "swagger-client": async (spec) => {
    const Client = require("swagger-client");
    const client = await Client({ spec });
    const count = Object.values(client.apis).reduce((n, tag) => n + Object.keys(tag).length, 0);
    return [client, count];
  },
  "openapi-client-axios": async (definition) => {
    const Client = require("openapi-client-axios").default;
    const client = new Client({ definition });
    await client.init();
    return [client, client.getOperations().length];
  },
};

const read = () => JSON.parse(fs.readFileSync(path, "utf8"));
const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed / 1024; };

// The lesser of CPU and wall time: neither V8's helper threads nor other programs are held against it.
async function timed(fn) {
  const start = performance.now(), before = process.cpuUsage();
  const result = await fn();
  const { user, system } = process.cpuUsage(before);
  return [Math.min(performance.now() - start, (user + system) / 1000), result];
}

await clients[name]({ openapi: "3.0.0", info: { title: "warm", version: "1" }, paths: {} });
const empty = heap();
let [decode, document] = await timed(read);
const parsed = heap();
document = undefined;
heap();
const [ready, [client, count]] = await timed(async () => clients[name](read()));
const whole = heap();
console.log(JSON.stringify({
  decode, ready, operation: (whole - parsed) / count, whole: (whole - empty) / 1024, count, kept: client !== undefined,
}));
