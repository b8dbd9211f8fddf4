// The official TypeScript clients write programs: `node code.mjs MODULES v1|v2|v2-modern stdio COMMAND...` or `... http
// URL`. Answers forms with ANSWER (accept, decline), and prints what it saw.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, kind, transport, ...rest] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)).href);

async function sdk() {
  if (kind !== "v1") {
    return { ...await load("client"), ...await load("client/stdio"), asked: "elicitation/create" };
  }
  return { ...await load("sdk/client/index.js"), ...await load("sdk/client/stdio.js"),
    ...await load("sdk/client/streamableHttp.js"), asked: (await load("sdk/types.js")).ElicitRequestSchema };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, asked } = await sdk();
const client = new Client({ name: "spec", version: "1" }, { capabilities: { elicitation: {} },
  versionNegotiation: { mode: kind === "v2-modern" ? { pin: "2026-07-28" } : "legacy" } });
const forms = [];
client.setRequestHandler(asked, async ({ params }) => {
  const fields = Object.keys(params.requestedSchema.properties);
  forms.push(fields.length);
  return process.env.ANSWER === "decline" ? { action: "decline" }
    : { action: "accept", content: Object.fromEntries(fields.map((field) => [field, "Yes, once"])) };
});

await client.connect(transport === "stdio"
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(rest[0])));
const run = (code, options) => client.callTool({ name: "run_lua", arguments: { code } }, ...(options ?? []));
const seen = { forms };
const { tools } = await client.listTools();
seen.tools = tools.map((tool) => tool.name);
seen.destructive = tools[2].annotations.destructiveHint;
seen.found = (await client.callTool({ name: "search_operations",
  arguments: { query: "remove" } })).structuredContent.operations[0].signature;
const sum = await run('print("hello") return { sum = 1 + 2 }');
seen.sum = sum.structuredContent;
seen.printed = sum.content[1].text;
const failed = await run('call("tasks.add", { title = "x" })\nerror("no")');
seen.failed = [failed.isError, failed.content[0].text.split("\n")[0]];
seen.removed = (await run(`local done, errs = map({ 1, 2, 3 }, function(id) return call("tasks.remove", { id = id }) end)
  local codes = {}
  for i = 1, 3 do codes[i] = errs and errs[i] and errs[i].code or "ok" end
  return { codes = codes, left = #call("tasks.list") }`)).structuredContent;
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
