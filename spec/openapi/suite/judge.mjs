// Reads each request by the document alone and judges it: node judge.mjs DOCUMENT. Prints the port that it listens on.
// The answer says which names the request has, the values that were read, and what openapi-request-validator refuses.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(import.meta.url);
const Validator = require("openapi-request-validator").default;
const qs = require("qs");

const file = process.argv[2], source = readFileSync(file, "utf8");
const text = file.endsWith(".yaml") ? JSON.stringify(require("js-yaml").load(source)) : source;
const root = JSON.parse(text.replaceAll('"#/definitions/', '"#/components/schemas/'));
if (root.definitions) root.components = { schemas: root.definitions };
const schemas = root.components?.schemas ?? {};

const unescape = (token) => decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
const deref = (node) => {
  for (let i = 0; node?.$ref && i < 50; i++)
    node = node.$ref.split("/").slice(1).reduce((at, token) => at?.[unescape(token)], root);
  return node;
};

// Exclusive limits as draft 6 has them; every schema of the document once.
(function modern(node, seen = new Set()) {
  if (!node || typeof node !== "object" || seen.has(node)) return;
  seen.add(node);
  for (const [flag, limit] of [["exclusiveMinimum", "minimum"], ["exclusiveMaximum", "maximum"]])
    if (typeof node[flag] === "boolean") {
      if (node[flag] && typeof node[limit] === "number") { node[flag] = node[limit]; delete node[limit]; }
      else delete node[flag];
    }
  Object.values(node).forEach((inner) => modern(inner, seen));
})(root);

// The component schemas that a value refers to, also indirectly.
function reached(value, found = {}) {
  for (const [, name] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"/]+)/g)) {
    const key = unescape(name);
    if (!(key in found) && schemas[key]) { found[key] = schemas[key]; reached(schemas[key], found); }
  }
  return found;
}

const ignored = /^(accept|content-type|authorization)$/i; // header parameters that OpenAPI says to ignore
const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
const operations = [];
for (const [path, given] of Object.entries(root.paths)) {
  const item = deref(given), route = path.replace(/[?#].*$/, "");
  const names = [...route.matchAll(/{([^{}]*)}/g)].map((match) => match[1]);
  const pattern = route.split(/{[^{}]*}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("([^/]*)");
  for (const method of methods) {
    if (!item?.[method]) continue;
    const operation = item[method], parameters = new Map();
    for (const node of [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(deref))
      if (node && !(node.in === "header" && ignored.test(node.name))) parameters.set(`${node.in} ${node.name}`, node);
    operations.push({ path, method, names, pattern: new RegExp(`^${pattern}$`), fixed: route.replace(/{[^{}]*}/g, "").length,
      parameters: [...parameters.values()], requestBody: deref(operation.requestBody) });
  }
}

// All types that a schema allows, its parts included.
function types(schema, found = new Set(), depth = 0) {
  schema = deref(schema);
  if (!schema || depth > 8) return found;
  [schema.type ?? []].flat().forEach((type) => found.add(type));
  if (schema.properties) found.add("object");
  for (const key of ["allOf", "anyOf", "oneOf"]) (schema[key] ?? []).forEach((part) => types(part, found, depth + 1));
  return found;
}

function scalar(value, schema) {
  const kinds = types(schema);
  if (!kinds.has("string")) {
    if ((kinds.has("integer") || kinds.has("number")) && value !== "" && !isNaN(value)) return Number(value);
    if (kinds.has("boolean") && /^(true|false)$/.test(value)) return value === "true";
  }
  return value;
}

const decode = (value) => decodeURIComponent(value.replaceAll("+", "%20"));
const itemsOf = (schema) => {
  schema = deref(schema);
  return schema?.items ?? ["allOf", "anyOf", "oneOf"].flatMap((key) => schema?.[key] ?? []).map(itemsOf).find(Boolean);
};
const separators = { spaceDelimited: /%20|\+/, ssv: /%20|\+/, pipeDelimited: /\||%7C/i, pipes: /\||%7C/i, tsv: /%09/ };

// The value of a parameter; undefined: it is absent; null: this reader does not know how to read it.
function valueOf(parameter, texts, all) {
  const media = Object.values(parameter.content ?? {})[0];
  const schema = media?.schema ?? parameter.schema ?? parameter, kinds = types(schema);
  const isQuery = parameter.in === "query" || parameter.in === "formData";
  const style = parameter.style ?? parameter.collectionFormat ?? (isQuery || parameter.in === "cookie" ? "form" : "simple");
  const explode = parameter.explode ?? (root.swagger ? style === "multi" : style === "form");
  if (kinds.has("object") && (style === "deepObject" || explode)) {
    const nested = qs.parse(all ?? "", { depth: 20 });
    return style === "deepObject" && !(parameter.name in nested) || explode ? undefined : null;
  }
  if (texts.length === 0) return undefined;
  if (media) return JSON.parse(decode(texts[0]));
  if (kinds.has("object")) return null;
  if (kinds.has("array") && !kinds.has("string")) {
    const items = explode && isQuery ? texts : texts[0].split(separators[style] ?? /,/);
    return items.map((item) => scalar(decode(item), itemsOf(schema)));
  }
  return scalar(decode(texts[0]), schema);
}

function bodyOf(bytes, type = "") {
  if (/^(application|text)\/([^;]*\+)?json/.test(type)) return { json: JSON.parse(bytes.toString()) };
  if (type.startsWith("application/x-www-form-urlencoded"))
    return { fields: bytes.toString().split("&").filter(Boolean).map((pair) => decode(pair.split("=")[0])) };
  if (type.startsWith("multipart/form-data"))
    return new Response(bytes, { headers: { "content-type": type } }).formData().then((form) => ({ fields: [...form.keys()] }));
  return { bytes: bytes.length };
}

const validators = new Map();
function validatorOf(operation, unread) {
  const key = `${operation.method} ${operation.path} ${[...unread].sort()}`;
  if (!validators.has(key)) {
    const parameters = operation.parameters.filter((one) => !unread.has(one) && one.in !== "cookie" && one.in !== "formData");
    const inline = parameters.map((one) => ({ ...one, schema: one.schema ?? Object.values(one.content ?? {})[0]?.schema }))
      .map(({ content, ...one }) => one.schema ? one : (delete one.schema, one));
    validators.set(key, new Validator({ parameters: inline, requestBody: operation.requestBody,
      componentSchemas: reached([inline, operation.requestBody]), enableHeadersLowercase: true,
      customFormats: { url: () => true, binary: () => true },
      ajvOptions: { useDefaults: false, unicodeRegExp: false, validateSchema: false } }));
  }
  return validators.get(key);
}

const own = /^(host|accept|accept-encoding|user-agent|content-type|content-length|transfer-encoding|connection|expect|cache-control)$/;

// Several operations may differ in the query or the fragment of their path keys only: one of them must fit.
async function judge(request, bytes) {
  const path = request.url.split("?")[0], method = request.method.toLowerCase();
  const fitting = operations.filter((one) => one.method === method && one.pattern.test(path));
  const most = Math.max(...fitting.map((one) => one.fixed));
  let answer = { errors: [`no operation for ${request.method} ${path}`] };
  for (const operation of fitting.filter((one) => one.fixed === most)) {
    answer = await judgeAs(operation, request, bytes);
    if (!answer.errors) break;
  }
  return answer;
}

async function judgeAs(operation, request, bytes) {
  const [path, query = ""] = request.url.split(/\?(.*)/s);
  const pairs = query.split("&").filter(Boolean).map((pair) => [decode(pair.split("=")[0]), pair.split(/=(.*)/s)[1] ?? ""]);
  const cookies = (request.headers.cookie ?? "").split("; ").filter(Boolean).map((pair) => pair.split(/=(.*)/s));
  const found = path.match(operation.pattern).slice(1), unread = new Set();
  const read = { params: {}, query: {}, headers: { ...request.headers } };
  for (const parameter of operation.parameters) {
    const { name } = parameter, lower = name.toLowerCase();
    const texts = parameter.in === "query" ? pairs.filter((pair) => pair[0] === name).map((pair) => pair[1])
      : parameter.in === "path" ? found.filter((_, i) => operation.names[i] === name).slice(0, 1)
      : parameter.in === "header" && lower in request.headers ? [encodeURIComponent(request.headers[lower]).replaceAll("%2C", ",")]
      : [];
    const place = { query: read.query, path: read.params, header: read.headers }[parameter.in];
    if (!place) continue;
    if (parameter.in === "path" && /label|matrix/.test(parameter.style ?? "")) { unread.add(parameter); continue; }
    const value = valueOf(parameter, texts, query);
    if (value === null || value === undefined && types(parameter.schema ?? parameter).has("object")) unread.add(parameter);
    else if (value !== undefined) place[parameter.in === "header" ? lower : name] = value;
  }
  const body = bytes.length ? await bodyOf(bytes, request.headers["content-type"]) : {};
  const answer = { operation: `${operation.method} ${operation.path}`, query: pairs.map((pair) => pair[0]),
    cookies: cookies.map((pair) => pair[0]), headers: Object.keys(request.headers).filter((name) => !own.test(name) && name !== "cookie"),
    type: request.headers["content-type"], ...body };
  if (bytes.length && !("json" in body)) return answer; // the validator reads JSON only
  try {
    const problem = validatorOf(operation, unread).validateRequest({ ...read, body: body.json });
    answer.judged = true;
    answer.errors = problem?.errors?.map((one) => `${one.location} ${one.path ?? ""}: ${one.message}`);
  } catch (error) {
    answer.broken = String(error).slice(0, 300); // a document that the validator cannot compile
  }
  return answer;
}

createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  let answer;
  try { answer = await judge(request, Buffer.concat(pieces)); } catch (error) { answer = { errors: [String(error.stack)] }; }
  response.setHeader("content-type", "application/json");
  if (request.method === "HEAD") response.setHeader("x-judged", JSON.stringify(answer).replace(/[^ -~]/g, "?"));
  response.end(JSON.stringify(answer));
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
