// The servers of serve.lua in Node: bare http, or fastify with its compiled serialiser.
// serve_peer.mjs http|fastify prints its port.
import { createRequire } from "node:module";
import http from "node:http";

const require = createRequire(process.env.NODE_PATH + "/");
const task = (id) => ({ id, title: "write the documentation of the server", done: false, owner: "ada",
  labels: ["doc", "web", "a"] });

function stream(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const timer = setInterval(() => response.write(`data: ${JSON.stringify({ at: Date.now() })}\n\n`), 100);
  response.on("close", () => clearInterval(timer));
}

if (process.argv[2] === "http") {
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/task/watch") return stream(response);
    const body = JSON.stringify(task(Number(url.searchParams.get("id"))));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
  server.listen(0, "127.0.0.1", 4096, () => console.log(server.address().port));
} else {
  const server = require("fastify")();
  const string = { type: "string" };
  server.get("/task/get", { schema: {
    querystring: { type: "object", required: ["id"], properties: { id: { type: "integer" } } },
    response: { 200: { type: "object", properties: { id: { type: "integer" }, title: string, done: { type: "boolean" },
      owner: string, labels: { type: "array", items: string } } } },
  } }, (request, reply) => reply.send(task(request.query.id)));
  await server.listen({ port: 0, host: "127.0.0.1" });
  console.log(server.server.address().port);
}
