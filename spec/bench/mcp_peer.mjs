// The peer of mcp.lua: the official TypeScript client.  Usage: node mcp_peer.mjs SECONDS stdio COMMAND ARGUMENT...
// | http URL.  Prints JSON: calls per second and CPU microseconds per call, one by one and 32 in flight, resident MB,
// and ms from the start of the client to its first list.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";

const require = createRequire(import.meta.url);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const [seconds, kind, place, ...args] = process.argv.slice(2);

const transport = kind === "http" ? new StreamableHTTPClientTransport(new URL(place))
  : new StdioClientTransport({ command: place, args, env: process.env, stderr: "ignore" });
const client = new Client({ name: "peer", version: "1.0.0" });
const begun = performance.now();
await client.connect(transport);
await client.listTools();
const start = performance.now() - begun;

async function rate(width) {
  const run = async (duration) => {
    let count = 0;
    const from = performance.now(), stop = from + duration * 1000, cpu = process.cpuUsage();
    await Promise.all(Array.from({ length: width }, async (_, lane) => {
      while (performance.now() < stop) {
        const message = `message ${lane} ${count++}`;
        const result = await client.callTool({ name: "echo", arguments: { message } });
        if (result.content[0].text !== message) throw new Error("unexpected answer");
      }
    }));
    const spent = process.cpuUsage(cpu);
    return { rate: count / (performance.now() - from) * 1000, cpu: (spent.user + spent.system) / count };
  };
  await run(seconds / 4); // the compiler's share
  return run(seconds);
}

const one = await rate(1), many = await rate(32);
const resident = Number(readFileSync("/proc/self/status", "utf8").match(/VmRSS:\s*(\d+)/)[1]) / 1024;
console.log(JSON.stringify({ one, many, resident, start }));
await client.close();
process.exit(0);
