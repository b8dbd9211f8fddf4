// The page in a real browser: node browser.mjs CHROMIUM LUA [DOCUMENT] [PICTURES], in the root of the tree. Prints what
// was checked, sizes and times; DOCUMENT is a large OpenAPI document, PICTURES a folder for the pictures of the manual.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

const [, , program, lua, largeDocument, pictures] = process.argv;
const files = "lua/operations/server/page";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const profile = mkdtempSync(join(tmpdir(), "operations-page-"));
const children = [], outside = [], violations = [], mistakes = [];
let failures = 0;

function check(name, ok, more = "") {
  failures += ok ? 0 : 1;
  console.log(`${ok ? "ok  " : "FAIL"} ${name}${more === "" ? "" : ": " + more}`);
}

function serve(...args) {
  const child = spawn(lua, ["spec/server/page/api.lua", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (bytes) => resolve(String(bytes).trim()));
    child.once("exit", () => reject(new Error("the server ended")));
  });
}

const context = await chromium.launchPersistentContext(profile, { executablePath: program, headless: true,
  viewport: { width: 1280, height: 800 }, args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"] });
context.on("request", (request) => {
  const { protocol, hostname } = new URL(request.url());
  if (/^(http|ws)/.test(protocol) && hostname !== "127.0.0.1") outside.push(request.url());
});
await context.exposeFunction("tellViolation", (text) => violations.push(text));
await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
  tellViolation(`${event.violatedDirective} ${event.blockedURI}`)));
const page = context.pages()[0];
page.setDefaultTimeout(10000);
page.on("pageerror", (error) => mistakes.push(error.message));

// Whether it is visible within a second: what a click changes is not there at once.
const shows = (locator) => locator.first().waitFor({ timeout: 1000 }).then(() => true, () => false);
const field = (name) => page.getByLabel(name, { exact: true });
const press = (name) => page.getByRole("button", { name, exact: true }).click();
const answer = () => page.getByRole("region", { name: "Answer" });
const head = () => answer().getByRole("status");
const body = () => answer().getByLabel("Body");
const issueOf = (name) => field(name).evaluate((element) => {
  const issue = document.getElementById(element.getAttribute("aria-describedby").split(" ")[1]);
  return issue.hidden ? "" : issue.textContent;
});

async function open(id) {
  await page.evaluate((hash) => (location.hash = hash), "#/" + id);
  await page.getByRole("heading", { name: id, exact: true }).waitFor();
}

async function picture(name, colorScheme, width = 1120, height = 700) {
  if (!pictures) return;
  const size = page.viewportSize();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height });
  await page.evaluate(() => (document.getElementById("main").scrollTop = 0));
  await page.screenshot({ path: join(pictures, name) });
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(size);
}

async function accessible(where) {
  await page.evaluate(axe);
  const found = (await page.evaluate(() => axe.run())).violations.filter((one) => /serious|critical/.test(one.impact));
  check(`axe finds nothing serious: ${where}`, found.length === 0,
    found.map((one) => `${one.id} ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("; "));
}

async function signsIn(url) {
  await page.goto(url + "/docs");
  await page.getByRole("alert").filter({ hasText: "asks who you are" }).waitFor();
  check("says that the API wants credentials", true);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await accessible("signing in");
  await field("Token").fill("wrong");
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").filter({ hasText: "not accepted" }).waitFor();
  check("says that credentials are wrong", true);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await field("Credentials").selectOption("Basic");
  await field("User").fill("admin");
  await field("Password").fill("admin");
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "report.monthly" }).waitFor();
  check("signs in with user and password", await page.getByText("no access").count() === 0);
  await press("Signed in");
  await field("Credentials").selectOption("Header");
  await field("Name").fill("X-Api-Key");
  await field("Value").fill("reader");
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByText("no access").waitFor();
  check("signs in with a header, and shows what this one may not call", true);
}

async function lists(url) {
  const asked = [];
  const listen = (request) => /openapi\.json/.test(request.url()) && asked.push(request);
  page.on("request", listen);
  await page.goto("about:blank");
  await page.goto(url + "/docs#token=reader");
  await page.getByRole("link", { name: "task.create" }).waitFor();
  check("takes the token of the address and erases it", page.url() === url + "/docs", page.url());
  check("keeps credentials in memory only", await page.evaluate(() =>
    localStorage.length + sessionStorage.length + document.cookie.length) === 0);
  check("fetches the document once", asked.length === 1, asked.length);
  await page.goto("about:blank");
  await page.goto(url + "/docs#token=reader");
  await page.getByRole("link", { name: "task.create" }).waitFor();
  const [sent, whole] = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) =>
    /openapi/.test(one.name)).map((one) => [one.transferSize, one.encodedBodySize])[0]);
  check("asks with the ETag of the document that it has", sent < whole, `${sent} of ${whole} bytes came`);
  page.off("request", listen);
  await page.reload();
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).waitFor();
  check("forgets credentials when it is loaded again", true);
  await page.goto(url + "/docs#token=reader");
  await page.getByRole("link", { name: "task.create" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("what happens");
  check("searches titles by keyboard", await page.locator("nav li:visible").allInnerTexts().then(
    (texts) => texts.length === 1 && texts[0].startsWith("task.watch")));
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "task.watch" }).waitFor();
  check("opens what was found by keyboard", true);
  await press("Show operations tagged task");
  check("searches by tag", await page.locator("nav li:visible").count() === 5);
  await field("Search operations").fill("");
  await accessible("the list");
}

async function fillsIn() {
  await open("task.create");
  const names = (await page.locator(["label:not(.null)", "legend", ".name"].map((one) => `form ${one}:visible`).join()).allInnerTexts()).join();
  check("shows defaults, and small required fields first", await field("priority").inputValue() === "3"
    && names === "due,state,title,priority,urgent,tags,assignee,kind,name,email,place,city,zip,parent", names);
  await field("title").fill("");
  await field("due is null").check();
  await field("city").fill("Ghent");
  await field("zip").fill("90");
  await press("Add item to tags");
  await field("tags[0]").fill("home");
  await press("Add item to tags");
  await field("tags[1]").fill("x");
  await field("kind of assignee").selectOption("Team");
  await field("size").fill("many");
  await press("Add parent");
  await field("label").fill("first");
  await press("Add next");
  await field("label").nth(1).fill("second");
  await field("urgent").selectOption("true");
  await press("Call");
  await head().getByText("422").waitFor();
  const told = {};
  for (const name of ["title", "zip", "tags[0]", "tags[1]", "size", "city"]) told[name] = await issueOf(name);
  check("shows issues at their fields", told.title && told.zip && told["tags[1]"] && /integer/.test(told.size)
    && !told.city && !told["tags[0]"], JSON.stringify(told));
  check("moves to the first of them", await page.evaluate(() => document.activeElement.getAttribute("aria-invalid")) === "true");
  await accessible("issues at fields");
  await picture("page-issues.png", "light");
  await field("title").fill("Paint the door");
  await field("zip").fill("90000");
  await press("Remove tags[1]");
  await field("size").fill("4");
  await page.keyboard.press("Control+Enter");
  await head().getByText("201 Created").waitFor();
  const sent = JSON.parse(await body().innerText());
  check("calls with the keyboard, and sends what was filled in", JSON.stringify([sent.title, sent.due, sent.tags, sent.place.zip,
    sent.assignee.size, sent.parent.next.label, sent.urgent, sent.state, sent.priority]) === JSON.stringify(["Paint the door", null, ["home"],
    "90000", 4, "second", true, "open", 3]), JSON.stringify(sent));
  check("clears issues that are gone", await page.locator(".issue:visible").count() === 0);
  await answer().getByText("Headers").click();
  check("shows headers", await shows(answer().getByText("/tasks/42")));
  const curl = await answer().getByLabel("curl").innerText();
  check("gives the request for a shell, without the secret", /curl -g -X POST .*\/task\/create'/.test(curl) && curl.includes('Bearer \'"$TOKEN"')
    && !curl.includes("reader"), curl.split("\n")[0]);
  await page.getByRole("tab", { name: "JSON" }).click();
  const raw = page.getByRole("tabpanel").getByLabel("JSON");
  const value = JSON.parse(await raw.inputValue());
  check("has the input as JSON", value.parent.next.label === "second" && value.due === null);
  await raw.fill("{");
  await press("Call");
  check("reports invalid JSON", await page.locator(".issue:visible").count() === 1);
  await raw.fill(JSON.stringify({ ...value, assignee: { kind: "person", name: "Ada" }, title: "" }));
  await press("Call");
  await head().getByText("422").waitFor();
  check("shows issues at JSON", /\/title/.test(await page.locator(".issue:visible").innerText()));
  await page.getByRole("tab", { name: "Form" }).click();
  check("makes fields of JSON again", await field("name").inputValue() === "Ada" && await field("kind of assignee").inputValue() === "0");
}

async function calls() {
  await open("task.list");
  await field("state").selectOption("done");
  await press("Add item to tag");
  await field("tag[0]").fill("a b&c");
  await press("Call");
  await head().getByText("200 OK").waitFor();
  check("sends a query string", /a b&c/.test(await body().innerText()));
  await open("task.get");
  await field("id").fill("7");
  await press("Call");
  await head().getByText("200 OK").waitFor();
  check("fills a path in", JSON.parse(await body().innerText()).id === 7);
  await picture("page-narrow.png", "light", 360, 800);
  await open("report.logo");
  await press("Call");
  await head().getByText("200 OK").waitFor();
  check("shows text as text", await body().innerText() === "<b>logo</b>");
  await open("report.health");
  check("says that there is no input", await shows(page.getByText("It takes no input.")));
  await open("task.remove");
  await field("id").fill("7");
  await press("Call");
  await accessible("the question before a destructive call");
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  check("asks before it destroys, and takes no for an answer", await head().innerText() === "");
  await press("Call");
  await press("Run it");
  await head().getByText("200 OK").waitFor();
  check("destroys when it is told to", JSON.parse(await body().innerText()).removed === 7);
  await open("report.monthly");
  check("says why one may not call", await shows(page.getByText("You may not call this: missing scopes: reports:read")));
  await field("month").fill("3");
  await press("Call");
  await head().getByText("403").waitFor();
  check("says what a refused call lacks", /You lack reports:read/.test(await answer().innerText()));
  await answer().getByRole("button", { name: "Sign in as somebody else" }).click();
  await field("Token").fill("admin");
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByText("no access").waitFor({ state: "detached" });
  await field("month").fill("3");
  await press("Call");
  await head().getByText("200 OK").waitFor();
  check("calls as somebody else", JSON.parse(await body().innerText()).month === 3);
}

async function streams() {
  const rows = page.getByRole("list", { name: "Events" }).getByRole("listitem");
  await open("task.watch");
  await field("events").fill("6");
  await press("Subscribe");
  await rows.first().waitFor();
  const first = [await rows.count(), await answer().getByText("live", { exact: true }).isVisible()];
  if (pictures) await rows.nth(4).waitFor();
  await picture("page-stream.png", "dark");
  await answer().getByText("ended", { exact: true }).waitFor();
  check("shows the first event before the last is sent", first[0] < 3 && first[1], `${first[0]} of ${await rows.count()}`);
  check("shows all events", await rows.count() === 6);
  await field("events").fill("1000");
  await press("Subscribe");
  await rows.nth(1).waitFor();
  await accessible("a stream");
  await press("Stop");
  await answer().getByText("stopped", { exact: true }).waitFor();
  check("stops a stream", await page.getByRole("button", { name: "Subscribe" }).isEnabled());
  await field("events").fill("2500");
  await field("delay").fill("0");
  await press("Subscribe");
  await answer().getByText("ended", { exact: true }).waitFor();
  check("keeps the last 1,000 events", await rows.count() === 1000 && /"Task 2500"/.test(await rows.last().innerText()));
  await field("events").fill("1");
  await field("fails").selectOption("true");
  await press("Subscribe");
  await answer().getByText("the source fell silent").waitFor();
  check("says how a stream failed", await rows.count() === 1);
}

async function looks() {
  await page.emulateMedia({ colorScheme: "dark" });
  await open("task.create");
  await accessible("in the dark");
  await page.setViewportSize({ width: 360, height: 740 });
  for (const id of ["task.create", "task.watch", "report.monthly"]) {
    await open(id);
    check(`fits in 360 px: ${id}`, await page.evaluate(() => document.documentElement.scrollWidth <= 360
      && document.getElementById("main").scrollWidth <= 360));
  }
  await accessible("in 360 px");
  await page.getByRole("link", { name: "All operations" }).click();
  check("leads back to the list", await shows(page.getByRole("link", { name: "task.create" })));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
}

const swaggerUi = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

async function installed() {
  await page.goto(await serve("installed", swaggerUi) + "/docs");
  await page.locator("[data-path='/task/create']").waitFor();
  check("serves the Swagger UI of a directory", true);
}

const middle = (list) => Math.round(list.sort((a, b) => a - b)[list.length >> 1]);

// How long the browser's main thread is busy until operations of the large document are listed, as others may be at
// work on this machine, and what a clock says since the document came.
async function listing(url, clock) {
  const busy = async () => (await clock.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value * 1000;
  await page.goto("about:blank");
  const before = await busy();
  await page.goto(url + "/docs");
  await page.waitForFunction(() => window.listed, undefined, { timeout: 60000, polling: 200 });
  return { thread: await busy() - before, wall: await page.evaluate(() =>
    listed - performance.getEntriesByType("resource").find((e) => /openapi/.test(e.name)).responseEnd) };
}

async function search() {
  return page.evaluate(async () => {
    const field = document.getElementById("search"), since = performance.now();
    field.value = "issue comment";
    field.dispatchEvent(new Event("input"));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - since;
  });
}

async function many() {
  const clock = await context.newCDPSession(page), own = [], searches = [];
  await clock.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.addInitScript(() => new MutationObserver(() => document.querySelector("nav li, .opblock") && !window.listed
    && requestAnimationFrame(() => setTimeout(() => (window.listed = performance.now())))).observe(document, { childList: true, subtree: true }));
  const peer = await listing(await serve("many", largeDocument, swaggerUi), clock);
  const url = await serve("many", largeDocument);
  for (let i = 0; i < 5; i++) {
    own.push(await listing(url, clock));
    searches.push(await search());
  }
  const middle = (list) => Math.round(list.sort((a, b) => a - b)[2]);
  const thread = middle(own.map((one) => one.thread)), count = await page.locator("nav li").count();
  check(`lists ${count} operations before Swagger UI shows one`, count === 1223 && thread < peer.thread,
    `${thread} ms of its thread, Swagger UI ${Math.round(peer.thread)} ms; ${middle(own.map((one) => one.wall))} ms by the clock after the document came`);
  check("searches them before it could list them again", middle(searches) < thread, `${middle(searches)} ms`);
}

try {
  const bytes = readdirSync(files).map((name) => statSync(join(files, name)).size).reduce((a, b) => a + b);
  check("has at most 40 KB", bytes <= 40960, `${bytes} bytes`);
  const url = await serve("tasks");
  await signsIn(url);
  await lists(url);
  await fillsIn();
  await calls();
  await streams();
  await looks();
  await installed();
  if (largeDocument) await many();
  else console.log("skip 1,223 operations: GitHub's document is not there");
  check("asks no other host for anything", outside.length === 0, outside.join(" "));
  check("violates no Content-Security-Policy", violations.length === 0, violations.join(" "));
  check("raises no error", mistakes.length === 0, mistakes.join("; "));
} catch (error) {
  check("runs to its end", false, error.stack);
  await page.screenshot({ path: "build/npm-page/failed.png" }).catch(() => {});
} finally {
  await context.close();
  for (const child of children) child.kill();
  rmSync(profile, { recursive: true, force: true });
}
console.log(failures ? `${failures} failed` : "the page is as it should be");
process.exitCode = failures ? 1 : 0;
