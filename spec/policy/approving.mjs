// The official TypeScript clients asked for approvals: `node approving.mjs MODULES v1|v2|v2-modern COMMAND...`. Calls
// notes_create four times and prints the questions and the answers: accepted once, declined, cancelled, and without the
// capability.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, kind, ...command] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "index.js"));
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)).href);
const modern = kind === "v2-modern";
const sdk = kind === "v1"
  ? { ...await load("sdk/client/index.js"), ...await load("sdk/client/stdio.js"),
    asked: (await load("sdk/types.js")).ElicitRequestSchema }
  : { ...await load("client"), ...await load("client/stdio"), asked: "elicitation/create" };

async function call(answer) {
  const questions = [];
  const client = new sdk.Client({ name: "spec", version: "1" }, { capabilities: answer ? { elicitation: {} } : {},
    versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" } });
  if (answer) {
    client.setRequestHandler(sdk.asked, async (request) => {
      questions.push(request.params.message);
      return answer;
    });
  }
  await client.connect(new sdk.StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env }));
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const result = await client.callTool({ name: "notes_create", arguments: { text: "milk" } });
  const hidden = await client.callTool({ name: "notes_delete", arguments: {} }).catch((err) => err.code);
  await client.close();
  return { tools, questions, failed: result.isError === true, text: result.content[0].text, hidden };
}

console.log(JSON.stringify({
  accepted: await call({ action: "accept", content: { answer: "Yes, once" } }),
  refused: await call({ action: "accept", content: { answer: "No" } }),
  declined: await call({ action: "decline" }),
  cancelled: await call({ action: "cancel" }),
  incapable: await call(null),
}));
process.exit(0);
