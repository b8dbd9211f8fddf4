// The same cases in the reference design's registry.
// execute_peer.mjs CASES.json prints JSON: nanoseconds of CPU per call, by case.
import fs from "node:fs";
import { Registry, Type as T } from "./reference.mjs";

const REPETITIONS = 7;
const SECONDS = 0.08;

const empty = T.Object({});
const input = T.Object({
  title: T.String({ minLength: 1, maxLength: 200 }),
  priority: T.Union([T.Literal("low"), T.Literal("normal"), T.Literal("high"), T.Literal("urgent")]),
  tags: T.Array(T.String(), { maxItems: 16 }),
  assignee: T.Object({ id: T.String(), email: T.Optional(T.String()), notify: T.Optional(T.Boolean()) }),
  estimate: T.Optional(T.Number({ minimum: 0 })),
  dryRun: T.Optional(T.Boolean()),
});
const output = T.Object({
  id: T.String(),
  title: T.String(),
  status: T.Union([T.Literal("open"), T.Literal("closed"), T.Literal("archived")]),
  createdAt: T.Number(),
  score: T.Number(),
  attempts: T.Integer({ default: 3 }),
  done: T.Boolean(),
  labels: T.Array(T.String()),
  owner: T.Object({ id: T.String(), name: T.String() }),
  revision: T.Integer({ minimum: 0 }),
});
const types = {
  a_empty: [empty, empty],
  a_unknown: [empty, T.Unknown()],
  b_moderate: [input, output],
  b_valid: [input, output],
  b_access: [input, output],
  b_invalid_input: [input, output],
  c_array100: [input, T.Array(output)],
};

const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };

// The lesser of CPU and wall time: V8's helper threads are not held against it, nor are other programs.
async function seconds(loop, n) {
  const start = cpu(), wall = performance.now();
  await loop(n);
  return Math.min(cpu() - start, (performance.now() - wall) / 1000);
}

async function measure(loop) {
  const until = cpu() + 0.3; // warm up
  let n = 1, spent = 0;
  do { n *= 4; spent = await seconds(loop, n); } while (spent < SECONDS / 8);
  while (cpu() < until) spent = await seconds(loop, n);
  n = Math.max(1, Math.floor(n * SECONDS / spent));
  const times = [];
  for (let i = 0; i < REPETITIONS; i++) times.push(await seconds(loop, n) / n * 1e9);
  return times.sort((a, b) => a - b)[REPETITIONS >> 1];
}

async function prepare(registry, c) {
  const [inputSchema, outputSchema] = types[c.name];
  let at = 0;
  registry.operations.set("bench." + c.name, {
    inputSchema, outputSchema,
    accessControl: c.access ?? { requiredScopes: [] },
    handler: async () => c.outputs[at = (at + 1) % c.outputs.length],
  });
  const context = { requestId: "r1", identity: c.identity };
  const id = "bench." + c.name;
  const answer = await registry.execute(id, c.inputs[0], context).catch((e) => e);
  const wanted = JSON.stringify(Object.entries(c.expected ?? {}).length);
  if (c.expected ? JSON.stringify(Object.entries(answer.data).length) < wanted : answer.code !== "VALIDATION_ERROR")
    throw new Error(`${c.name}: wrong answer ${JSON.stringify(answer)}`);
  return async (n) => {
    for (let i = 0; i < n; i++) {
      try { await registry.execute(id, c.inputs[i % c.inputs.length], context); } catch (e) { if (c.expected) throw e; }
    }
  };
}

const results = {};
const registry = new Registry();
for (const c of JSON.parse(fs.readFileSync(process.argv[2], "utf8")))
  results[c.name] = await measure(await prepare(registry, c));

registry.operations.set("bench.subscribe", {
  inputSchema: empty, outputSchema: T.Unknown(), accessControl: { requiredScopes: [] },
  handler: async function* () { for (let i = 0; i < 1000; i++) yield { i }; },
});
results.subscribe_1000 = await measure(async (n) => {
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for await (const envelope of registry.subscribe("bench.subscribe", {}, { requestId: "r1" })) sum += envelope.data.i;
    if (sum !== 499500) throw new Error("events are missing");
  }
}) / 1000;
console.log(JSON.stringify(results));
