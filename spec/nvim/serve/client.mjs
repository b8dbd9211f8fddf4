// The official TypeScript client as an assistant: `node client.mjs SDK COMMAND...` starts the bridge. Prints what it saw.
import { pathToFileURL } from "node:url";

const [sdk, command, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${sdk}/dist/esm/${path}.js`).href);
const { Client } = await load("client/index");
const { StdioClientTransport } = await load("client/stdio");
const { ResourceUpdatedNotificationSchema, ToolListChangedNotificationSchema } = await load("types");

const client = new Client({ name: "official", version: "1" }, { capabilities: {} });
const heard = (schema) => new Promise((resolve) => client.setNotificationHandler(schema, (note) => resolve(note)));
const updated = heard(ResourceUpdatedNotificationSchema);
const changed = heard(ToolListChangedNotificationSchema);
const transport = new StdioClientTransport({ command, args, env: process.env });
await client.connect(transport);

const call = async (name, given) => (await client.callTool({ name, arguments: given })).structuredContent;
const seen = { server: client.getServerVersion().name };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
seen.text = (await call("buffers_read", { buffer: 1 })).text;
seen.resource = (await client.readResource({ uri: "nvim://buffer/1" })).contents[0].text;
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
await client.subscribeResource({ uri: "nvim://buffer/1" });
await call("buffers_edit", { buffer: 1, from: 1, to: 1, lines: ["from TypeScript"] });
await call("editor_command", { command: "doautocmd TextChanged" });
seen.updated = (await updated).params.uri;
await call("editor_command", { command: "lua require('operations.nvim').offer({ namespace = 'later', name = 'one', "
  + "type = 'query', handler = function() return {} end })" });
seen.changed = (await changed).method;
seen.later = (await client.listTools()).tools.some((tool) => tool.name === "later_one");
seen.calls = (await Promise.all([...Array(50).keys()].map(() => call("editor_state", {})))).length;
seen.refused = (await client.callTool({ name: "quickfix_set", arguments: { items: [] } })).content[0].text;
await client.close();
console.log(JSON.stringify(seen));
