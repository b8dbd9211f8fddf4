// Echoes requests as JSON, read by qs (queries, forms) and by Node's own reader of multipart bodies.
// Prints the port that it listens on.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const qs = createRequire(import.meta.url)("qs");
const options = { depth: 50, arrayLimit: 1000, parameterLimit: 1e6 };

async function parts(body, type) {
  const list = [];
  for (const [name, value] of await new Response(body, { headers: { "content-type": type } }).formData())
    list.push(typeof value === "string" ? { name, text: value }
      : { name, filename: value.name, type: value.type, text: await value.text() });
  return list;
}

async function read(body, type = "") {
  if (type.startsWith("application/x-www-form-urlencoded")) return { form: qs.parse(body.toString(), options) };
  if (type.startsWith("multipart/form-data")) return { parts: await parts(body, type) };
  return { text: body.toString() };
}

createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const [path, query = ""] = request.url.split(/\?(.*)/s);
  const { "content-type": type, ...headers } = request.headers;
  let body;
  try { body = await read(Buffer.concat(pieces), type); } catch (error) { body = { error: String(error) }; }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({
    method: request.method, path: decodeURIComponent(path), query: qs.parse(query, options), type, headers, ...body,
  }));
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
