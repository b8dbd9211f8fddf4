// Pages of other origins in a real browser: node cors.mjs CHROMIUM LUA, in the root of the tree. Prints what was checked.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [, , program, lua] = process.argv;
const profile = mkdtempSync(join(tmpdir(), "operations-cors-"));
let failures = 0;

function check(name, ok, more = "") {
  failures += ok ? 0 : 1;
  console.log(`${ok ? "ok  " : "FAIL"} ${name}${more === "" ? "" : ": " + more}`);
}

// A site with one empty page.
function site() {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<!DOCTYPE html>"));
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () =>
    resolve({ server, origin: `http://127.0.0.1:${server.address().port}` })));
}

const listed = await site(), other = await site();
const api = spawn(lua, ["spec/server/production/api.lua", listed.origin], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve, reject) => {
  api.stdout.once("data", (bytes) => resolve(String(bytes).trim()));
  api.once("exit", () => reject(new Error("the server ended")));
});
const context = await chromium.launchPersistentContext(profile, { executablePath: program, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
const page = context.pages()[0];

// What a page gets: status, text and the headers that it may read; "refused" when the browser gives it nothing.
const send = (path, options = {}) => page.evaluate(async ([address, given]) => {
  try {
    const response = await fetch(address, given);
    return { status: response.status, text: await response.text(), headers: Object.fromEntries(response.headers) };
  } catch {
    return "refused";
  }
}, [url + path, options]);

const json = (value, more) => ({ method: "POST", body: JSON.stringify(value),
  headers: { "Content-Type": "application/json", Authorization: "Bearer secret", ...more } });

try {
  await page.goto(listed.origin);
  const sum = await send("/task/add?a=2&b=3");
  check("a page of a listed origin reads answers and their headers", sum.text === "5" && sum.headers["x-request-id"]);
  const problem = await send("/task/add?a=x");
  check("reads problems", problem.status === 422 && JSON.parse(problem.text).code === "VALIDATION_ERROR");
  const first = await send("/task/pay", json({ n: 1 }, { "Idempotency-Key": "k" }));
  const second = await send("/task/pay", json({ n: 1 }, { "Idempotency-Key": "k" }));
  check("sends JSON with credentials and a key, and reads that it ran once", first.status === 201
    && second.text === '{"paid":1}' && second.headers["idempotent-replayed"] === "true"
    && second.headers.location === "/payments/1", JSON.stringify(second));
  const query = await send("/task/add", { ...json({ a: 4, b: 5 }), method: "QUERY" });
  check("sends QUERY", query.text === "9");
  const document = await send("/openapi.json", { headers: { Authorization: "Bearer secret" } });
  check("reads the document", document.status === 200 && document.headers.etag);
  const sizes = [(await send("/task/cached")).text.length, (await send("/task/cached")).text.length];
  const statuses = (await send("/task/statuses")).text;
  check("has its browser ask whether an answer has changed", sizes.join() === "10002,10002" && statuses === "[200,304]",
    statuses);
  const stream = await page.evaluate(async (address) => {
    const begun = performance.now(), reader = (await fetch(address)).body.getReader(), at = [];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return at;
      for (const _ of new TextDecoder().decode(value).matchAll(/^data: \d/gm)) at.push(performance.now() - begun);
    }
  }, url + "/task/watch?events=4");
  check("reads events as they come", stream.length === 4 && stream[3] - stream[0] > 300, stream.map(Math.round).join());
  const source = await page.evaluate((address) => new Promise((resolve) => {
    const seen = [], events = new EventSource(address);
    events.onmessage = (event) => seen.push(event.data);
    events.addEventListener("end", () => (events.close(), resolve(seen.join())));
    events.onerror = () => (events.close(), resolve("failed"));
  }), url + "/task/watch?events=2");
  check("reads them by EventSource", source === "1,2", source);
  const mcp = await send("/mcp", json({ jsonrpc: "2.0", id: 1, method: "initialize", params: {
    protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } } },
    { Accept: "application/json, text/event-stream" }));
  check("opens a session of MCP", mcp.status === 200 && mcp.headers["mcp-session-id"], JSON.stringify(mcp));
  check("gets nothing with cookies, as `cors.credentials` is not set",
    await send("/task/add?a=2&b=3", { credentials: "include" }) === "refused");

  await page.goto(other.origin);
  check("a page of another origin reads nothing", await send("/task/add?a=2&b=3") === "refused");
  check("sends no JSON", await send("/task/pay", json({ n: 2 })) === "refused");
  check("sends no text either", await send("/task/pay", { method: "POST", body: '{"n":2}' }) === "refused");
  check("reads no document", await send("/openapi.json") === "refused");
  await page.goto(listed.origin);
  const next = await send("/task/pay", json({ n: 1 }));
  check("had nothing run", next.text === '{"paid":2}', next.text);
} finally {
  await context.close();
  for (const one of [listed, other]) one.server.close();
  api.removeAllListeners("exit");
  api.kill();
  rmSync(profile, { recursive: true, force: true });
}
process.exit(failures === 0 ? 0 : 1);
