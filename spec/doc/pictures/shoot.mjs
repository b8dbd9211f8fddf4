// Takes pictures of the screens in HTML files, in Chromium: node shoot.mjs CHROMIUM DIRECTORY TARGET. Each NAME.html in
// DIRECTORY becomes NAME.png in TARGET, cut to the element with the id "screen".
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [, , program, directory, target] = process.argv;
const profile = mkdtempSync(join(tmpdir(), "operations-pictures-"));
const context = await chromium.launchPersistentContext(profile, { executablePath: program, headless: true,
  viewport: { width: 1000, height: 800 }, args: ["--no-sandbox", "--disable-gpu", "--disable-lcd-text",
    "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"] });
const page = context.pages()[0];
for (const name of readdirSync(directory).filter((file) => file.endsWith(".html")).sort()) {
  await page.goto(String(pathToFileURL(resolve(directory, name))));
  await page.locator("#screen").screenshot({ path: join(target, name.replace(/html$/, "png")) });
}
await context.close();
rmSync(profile, { recursive: true, force: true });
