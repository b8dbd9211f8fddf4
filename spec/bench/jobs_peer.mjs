// The peer of jobs.lua.  Usage: node jobs_peer.mjs URL
// For each line of stdin, "SUBMITTERS JOBS", it submits so many jobs by so many submitters at a time, runs them, and
// prints jobs submitted and done per second. Each job has an id of its own, and its outcome is kept for a day.
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";

const require = createRequire(import.meta.url);
const { Queue, Worker } = require("bullmq");
const { hostname, port } = new URL(process.argv[2]);
const connection = { host: hostname, port: Number(port) };
const queue = new Queue("a", { connection });
let done = 0, round = 0;
const worker = new Worker("a", async (job) => { done++; return job.data; }, { connection, concurrency: 64 });
await worker.waitUntilReady();
console.log("ready");

async function run(submitters, jobs) {
  const started = performance.now(), name = `${process.pid}-${round++}`;
  done = 0;
  await Promise.all(Array.from({ length: submitters }, async (_, first) => {
    for (let i = first; i < jobs; i += submitters)
      await queue.add("echo", { i }, { jobId: `${name}-${i}`, removeOnComplete: { age: 86400 } });
  }));
  const submitted = performance.now();
  while (done < jobs) await new Promise((resolve) => setTimeout(resolve, 2));
  console.log(jobs / ((submitted - started) / 1000), jobs / ((performance.now() - started) / 1000));
}

for await (const line of createInterface({ input: process.stdin })) {
  const [submitters, jobs] = line.split(" ").map(Number);
  await run(submitters, jobs);
}
await worker.close();
await queue.close();
