// The official requester of MCP's tasks (npm: @modelcontextprotocol/ext-tasks) against the server at URL: what each of
// its calls ends with, a line each. `node tasks.mjs MODULES URL`.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, url] = process.argv.slice(2);
const file = path.join(path.resolve(modules), "@modelcontextprotocol/ext-tasks/dist/client/index.js");
const { createApplicationInputHandler, resultFromTaskOutcome, withTasks } = await import(pathToFileURL(file).href);
const PREFIX = "io.modelcontextprotocol/";
const extensions = { [PREFIX + "tasks"]: {} };
let last = 0;

// A connection: requests as HTTP, with the metadata of revision 2026-07-28.
const port = {
  endpointId: "spec",
  taskCapabilities: { generation: "v2", capabilities: {} },
  invalidated: false,
  async dispatch(request) {
    const params = request.params ?? {};
    const meta = { ...params._meta, [PREFIX + "protocolVersion"]: "2026-07-28",
      [PREFIX + "clientCapabilities"]: { elicitation: {}, extensions } };
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28", "mcp-method": request.method };
    const name = params.taskId ?? params.name;
    if (name) headers["mcp-name"] = name;
    const response = await fetch(url, { method: "POST", headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: ++last, method: request.method, params: { ...params, _meta: meta } }) });
    const answer = await response.json();
    return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
  },
  onServerRequest: () => () => {},
  onNotification: () => () => {},
  onInvalidated: () => () => {},
};

const input = createApplicationInputHandler({
  elicitation: async () => ({ action: "accept", content: { confirm: true } }),
  sampling: async () => { throw new Error("no model"); },
  roots: async () => ({ roots: [] }),
});

const session = withTasks(port, { onInputRequest: input });

async function call(title, name, params, use) {
  try {
    const execution = await session.callTool(name, params);
    console.log(title, execution.kind, await use(execution));
    await execution.close();
  } catch (problem) {
    console.log(title, problem.constructor.name, problem.message);
  }
}

async function text(execution) {
  const { outcome } = await execution.settle();
  const result = resultFromTaskOutcome(outcome);
  return (result.isError ? "error: " : "") + result.content[0].text;
}

await call("at once:", "greet", { name: "Ann" }, text);
await call("a task:", "slow_compute", { seconds: 0.7, label: "it" }, text);
await call("asked:", "confirm_delete", { filename: "x" }, text);
await call("asked twice:", "multi_input", {}, text);
await call("a tool that fails:", "failing_job", {}, text);
await call("a request that fails:", "protocol_error_job", {}, text);
await call("cancelled:", "slow_compute", { seconds: 60 }, async (execution) => {
  await execution.cancel();
  return (await execution.result()).status;
});
let reference;
const left = await session.callTool("slow_compute", { seconds: 0.5, label: "it" });
await left.handoff((made) => { reference = made; });

const later = withTasks(port, { onInputRequest: input });
console.log("found again:", await text(await later.resumeTask(reference)));
await later.close();
await session.close();
