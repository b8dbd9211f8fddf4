// The official TypeScript client as a user: `node clients.mjs SDK stdio COMMAND...` or `... http URL`. Prints what it saw.
import { pathToFileURL } from "node:url";

const [sdk, transport, ...rest] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/client/${path}.js`).href);
const { Client } = await load("index");
const { StdioClientTransport } = await load("stdio");
const { StreamableHTTPClientTransport } = await load("streamableHttp");

const client = new Client({ name: "spec", version: "1" }, { capabilities: { elicitation: {} } });
const { ElicitRequestSchema, ResourceUpdatedNotificationSchema } = await import(
  pathToFileURL(`${sdk}/dist/esm/types.js`).href);
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
const updated = new Promise((resolve) =>
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (note) => resolve(note.params.uri)));

await client.connect(transport === "stdio"
  ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env })
  : new StreamableHTTPClientTransport(new URL(rest[0])));
const seen = {};
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
seen.sum = (await client.callTool({ name: "data_page", arguments: { number: 1 } })).structuredContent;
seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
seen.hello = (await client.readResource({ uri: "note://hello" })).contents[0].text;
seen.asked = (await client.readResource({ uri: "note://by/asked/x" })).contents[0].text;
seen.prompt = (await client.getPrompt({ name: "greet", arguments: { name: "Ada" } })).messages[0].content.text;
seen.completed = (await client.complete({ ref: { type: "ref/prompt", name: "greet" },
  argument: { name: "tone", value: "w" } })).completion.values;
await client.subscribeResource({ uri: "note://hello" });
await client.callTool({ name: "make_update", arguments: { uri: "note://hello" } });
seen.updated = await updated;
await client.close();
console.log(JSON.stringify(seen));
process.exit(0);
