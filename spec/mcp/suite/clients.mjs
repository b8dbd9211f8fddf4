// The official TypeScript clients as users: `node clients.mjs MODULES v1|v2|v2-modern stdio COMMAND...` or `... http URL`,
// v1 of the package sdk (1.x), v2 of the package client (2.x). Prints what it saw.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, kind, transport, ...rest] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)).href);
const modern = kind === "v2-modern";

// What the two packages call differently.
async function sdk() {
  if (kind !== "v1") {
    return { ...await load("client"), ...await load("client/stdio"),
      asked: "elicitation/create", updated: "notifications/resources/updated" };
  }
  const types = await load("sdk/types.js");
  return { ...await load("sdk/client/index.js"), ...await load("sdk/client/stdio.js"),
    ...await load("sdk/client/streamableHttp.js"), asked: types.ElicitRequestSchema,
    updated: types.ResourceUpdatedNotificationSchema };
}

const { Client, StdioClientTransport, StreamableHTTPClientTransport, asked, updated } = await sdk();
const client = new Client({ name: "spec", version: "1" }, { capabilities: { elicitation: {} },
  versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" } });
client.setRequestHandler(asked, async () => ({ action: "accept", content: { name: "Ada" } }));
const news = new Promise((resolve) => client.setNotificationHandler(updated, (note) => resolve(note.params.uri)));

await client.connect(transport === "stdio"
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(rest[0])));
const seen = { version: client.getNegotiatedProtocolVersion?.() };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.sum = (await client.callTool({ name: "data_page", arguments: { number: 1 } })).structuredContent;
seen.refused = (await client.callTool({ name: "data_page", arguments: { number: "one" } })).isError;
seen.unknown = await client.callTool({ name: "nowhere", arguments: {} }).catch((err) => err.code);
seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
seen.hello = (await client.readResource({ uri: "note://hello" })).contents[0].text;
seen.asked = (await client.readResource({ uri: "note://by/asked/x" })).contents[0].text;
seen.prompt = (await client.getPrompt({ name: "greet", arguments: { name: "Ada" } })).messages[0].content.text;
seen.completed = (await client.complete({ ref: { type: "ref/prompt", name: "greet" },
  argument: { name: "tone", value: "w" } })).completion.values;
const open = modern ? await client.listen({ resourceSubscriptions: ["note://hello"] })
  : await client.subscribeResource({ uri: "note://hello" });
await client.callTool({ name: "make_update", arguments: { uri: "note://hello" } });
seen.updated = await news;
await open.close?.();
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
