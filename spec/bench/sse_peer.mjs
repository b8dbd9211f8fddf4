// eventsource-parser over a file in memory.  Usage: node sse_peer.mjs FILE CHUNK TIMES events|json
// Reads the file TIMES times in a row in each pass; prints the events and the CPU seconds of one pass (median).
import { createRequire } from "node:module";
import fs from "node:fs";

const { createParser } = createRequire(import.meta.url)("eventsource-parser");
const [file, chunk, repeat, what] = process.argv.slice(2);
const PASSES = 15;

const bytes = fs.readFileSync(file);
const chunks = [];
for (let at = 0; at < bytes.length; at += Number(chunk)) chunks.push(bytes.subarray(at, at + Number(chunk)));

let count = 0;
const handlers = {
  events: () => { count++; },
  json: (event) => { if (JSON.parse(event.data)) count++; },
};

function pass() {
  count = 0;
  const parser = createParser({ onEvent: handlers[what] });
  const decoder = new TextDecoder();
  for (let i = 0; i < repeat; i++) for (const piece of chunks) parser.feed(decoder.decode(piece, { stream: true }));
}

const times = [];
for (let i = 0; i < PASSES; i++) {
  const start = process.cpuUsage();
  pass();
  const used = process.cpuUsage(start);
  times.push((used.user + used.system) / 1e6);
}
times.sort((a, b) => a - b);
console.log(count, times[PASSES >> 1].toFixed(9));
