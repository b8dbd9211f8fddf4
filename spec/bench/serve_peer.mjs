// The servers of serve.lua in Node: bare http, or fastify with its compiled serialiser.
// serve_peer.mjs http|fastify prints its port; http is https with $TLS_CERT and $TLS_KEY.
import { createRequire } from "node:module";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";

const require = createRequire(process.env.NODE_PATH + "/");
const task = (id) => ({ id, title: "write the documentation of the server", done: false, owner: "ada",
  labels: ["doc", "web", "a"] });

function stream(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const timer = setInterval(() => response.write(`data: ${JSON.stringify({ at: Date.now() })}\n\n`), 100);
  response.on("close", () => clearInterval(timer));
}

if (process.argv[2] === "http") {
  const { TLS_CERT, TLS_KEY } = process.env;
  const answer = (request, response) => {
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/task/watch") return stream(response);
    const body = JSON.stringify(task(Number(url.searchParams.get("id"))));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  };
  const server = TLS_CERT
    ? https.createServer({ cert: fs.readFileSync(TLS_CERT), key: fs.readFileSync(TLS_KEY) }, answer)
    : http.createServer(answer);
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
