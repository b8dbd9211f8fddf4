// A server on the official SDK 2.x that refuses the handshake of the legacy era; stdio.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.argv[2], "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer, fromJsonSchema, inputRequired, acceptedContent } = (await load("@modelcontextprotocol/server")).default
  ?? await load("@modelcontextprotocol/server");
const { serveStdio } = (await load("@modelcontextprotocol/server/stdio")).default
  ?? await load("@modelcontextprotocol/server/stdio");

const object = (properties, required) => fromJsonSchema({ type: "object", properties, required });

serveStdio(() => {
  const server = new McpServer({ name: "modern", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} } });
  server.registerTool("add", {
    inputSchema: object({ a: { type: "number" }, b: { type: "number" } }, ["a", "b"]),
    outputSchema: object({ sum: { type: "number" } }, ["sum"]),
    annotations: { readOnlyHint: true },
  }, ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }));
  server.registerTool("greet", { inputSchema: object({}) }, (_, context) => {
    const answer = acceptedContent(context.mcpReq?.inputResponses ?? context.inputResponses, "who");
    return answer
      ? { content: [{ type: "text", text: `Hello ${answer.name}` }] }
      : inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Who?", requestedSchema: {
        type: "object", properties: { name: { type: "string" } }, required: ["name"] } }) } });
  });
  const grow = server.registerTool("grow", { inputSchema: object({}) }, () => {
    server.registerTool("grown", { inputSchema: object({}) }, () => ({ content: [] }));
    server.sendToolListChanged();
    return { content: [{ type: "text", text: "grown" }] };
  });
  server.registerResource("memo", "memo://a", {}, (uri) => ({ contents: [{ uri: uri.href, text: "a memo" }] }));
  server.registerPrompt("ask", {}, () => ({ messages: [{ role: "user", content: { type: "text", text: "Why?" } }] }));
  return grow && server;
}, { legacy: "reject" });
