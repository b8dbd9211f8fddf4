// The peers of graphql.lua.  Usage: graphql_peer.mjs calls URL CONCURRENCY SECONDS | schema FILE
// "calls" prints calls per second and microseconds of CPU for each; "schema" milliseconds of CPU from the text of a schema
// to a validated query, the median.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.GRAPHQL_PACKAGES + "/");
const [what, place, concurrency, seconds] = process.argv.slice(2);

if (what === "schema") {
  const { buildSchema, parse, validate } = require("graphql");
  const times = [];
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    const schema = buildSchema(readFileSync(place, "utf8"), { assumeValid: true, assumeValidSDL: true });
    const query = "query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id name } }";
    if (validate(schema, parse(query)).length) throw new Error("invalid");
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  console.log(times.sort((a, b) => a - b)[2].toFixed(1), 0);
  process.exit(0);
}

const { GraphQLClient } = await import(pathToFileURL(require.resolve("graphql-request")));
const client = new GraphQLClient(place);
const query = "query task($id: ID!) { task(id: $id) { id title owner { login } } }";
let count = 0;

async function run() {
  const stop = performance.now() + seconds * 1000;
  const worker = async () => {
    for (; performance.now() < stop; count++)
      if ((await client.request(query, { id: 1 })).task.id !== "1") throw new Error("unexpected answer");
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
