// An official TypeScript client that calls one tool after the other: `node calls.mjs MODULES v1|v2|v2-modern COUNT stdio
// COMMAND...` or `... http URL`. Before that it lists the tools. Prints a line of JSON for each call.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, kind, count, transport, ...rest] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)).href);
const sdk = kind === "v1"
  ? { ...await load("sdk/client/index.js"), ...await load("sdk/client/stdio.js"), ...await load("sdk/client/streamableHttp.js") }
  : { ...await load("client"), ...await load("client/stdio") };

const client = new sdk.Client({ name: "spec", version: "1" },
  { versionNegotiation: { mode: kind === "v2-modern" ? { pin: "2026-07-28" } : "legacy" } });
await client.connect(transport === "stdio"
  ? new sdk.StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : new sdk.StreamableHTTPClientTransport(new URL(rest[0])));
const tell = (value) => console.log(JSON.stringify(value));
tell({ tools: (await client.listTools()).tools.map((tool) => tool.name) });

const calls = [["all_echo", { message: "m" }, "Echo: m"], ["files_list_allowed_directories", {}, "Allowed directories"],
  ["memory_read_graph", {}, "entities"], ["fast_add", { a: 1, b: 2 }, "3"]];
for (let i = 0; i < count; i++) {
  const [name, input, expected] = calls[i % calls.length];
  try {
    const result = await client.callTool({ name, arguments: input });
    const text = result.content[0]?.text ?? "";
    tell({ name, ok: !result.isError && text.includes(expected), text: text.slice(0, 300) });
  } catch (err) {
    tell({ name, ok: false, thrown: true, text: String(err.message) });
  }
}
await client.close();
process.exit(0);
