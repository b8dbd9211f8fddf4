// Peers of mcp_server.lua: servers on the official TypeScript SDKs with one tool, `echo`.
// Usage: node mcp_server_peer.mjs MODULES v1|v2 stdio|http; over HTTP the port is printed.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, kind, transport] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)).href);

const tool = { name: "echo", description: "Says it again", inputSchema: { type: "object", required: ["message"],
  properties: { message: { type: "string" } } } };
const answer = ({ message }) => ({ content: [{ type: "text", text: message }] });

function listen(handle) {
  const server = createServer(handle);
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

async function v1() {
  const { McpServer } = await load("sdk/server/mcp.js");
  const { z } = await import(pathToFileURL(require.resolve("zod")).href);
  const make = () => {
    const server = new McpServer({ name: "bench", version: "1" });
    server.registerTool("echo", { description: tool.description, inputSchema: { message: z.string() } }, answer);
    return server;
  };
  if (transport === "stdio") {
    const { StdioServerTransport } = await load("sdk/server/stdio.js");
    return make().connect(new StdioServerTransport());
  }
  const { StreamableHTTPServerTransport } = await load("sdk/server/streamableHttp.js");
  const sessions = new Map();
  listen(async (request, response) => {
    let session = sessions.get(request.headers["mcp-session-id"]);
    if (!session) {
      session = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, enableJsonResponse: true,
        onsessioninitialized: (id) => sessions.set(id, session) });
      await make().connect(session);
    }
    await session.handleRequest(request, response);
  });
}

async function v2() {
  const { McpServer, fromJsonSchema, createMcpHandler } = await load("server");
  const make = () => {
    const server = new McpServer({ name: "bench", version: "1" });
    server.registerTool("echo", { description: tool.description, inputSchema: fromJsonSchema(tool.inputSchema) }, answer);
    return server;
  };
  if (transport === "stdio") {
    const { serveStdio } = await load("server/stdio");
    return serveStdio(make);
  }
  const handler = createMcpHandler(make);
  listen(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const given = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method, headers: request.headers, body: chunks.length ? Buffer.concat(chunks) : undefined }));
    response.writeHead(given.status, Object.fromEntries(given.headers));
    if (given.body) for await (const chunk of given.body) response.write(chunk);
    response.end();
  });
}

await (kind === "v1" ? v1() : v2());
