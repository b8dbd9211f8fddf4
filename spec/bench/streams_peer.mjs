// A stream read by Node's fetch.  Usage: node streams_peer.mjs events|lines URL
// Prints how many items came, their data parsed as JSON, and the seconds and seconds of CPU that it took: the best of
// three after one to warm.
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";

const { createParser } = createRequire(import.meta.url)("eventsource-parser");
const [kind, url] = process.argv.slice(2);
let count = 0;

// Takes the pieces of the body as text.
const readers = {
  events: () => {
    const parser = createParser({ onEvent: (event) => { if (JSON.parse(event.data)) count++; } });
    return (text) => parser.feed(text);
  },
  lines: () => {
    let rest = "";
    return (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) if (JSON.parse(line)) count++;
    };
  },
};

async function once() {
  const read = readers[kind](), decoder = new TextDecoder();
  count = 0;
  for await (const piece of (await fetch(url)).body) read(decoder.decode(piece, { stream: true }));
}

let best = Infinity, least = Infinity;
for (let i = 0; i < 4; i++) {
  const start = performance.now(), cpu = process.cpuUsage();
  await once();
  const used = process.cpuUsage(cpu);
  if (i === 0) continue;
  best = Math.min(best, (performance.now() - start) / 1e3);
  least = Math.min(least, (used.user + used.system) / 1e6);
}
console.log(count, best.toFixed(6), least.toFixed(6));
process.exit(0);
