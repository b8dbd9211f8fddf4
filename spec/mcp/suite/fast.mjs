// A server on npm's fastmcp: `node fast.mjs MODULES`; stdio.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(path.resolve(process.argv[2]), "index.js"));
const { FastMCP } = await import(pathToFileURL(require.resolve("fastmcp")).href);
const { z } = await import(pathToFileURL(require.resolve("zod")).href);

const server = new FastMCP({ name: "fast", version: "1.0.0" });
server.addTool({ name: "add", description: "Adds", parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b) });
await server.start({ transportType: "stdio" });
