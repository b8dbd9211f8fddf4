import * as api from "./client";
import { client } from "./client/client.gen";

client.setConfig({ baseUrl: process.env.URL });

async function main() {
  const gone: any = (await api.failDeclared({ body: { code: "GONE" } })).error;
  const events: unknown[] = [];
  for await (const event of (await api.countUp({ query: { n: 2 } })).stream) events.push(event);
  console.log(JSON.stringify({
    flat: (await api.textFlat({ query: { word: "a b&ü", n: 7, exact: true, list: [1, 2.5] } })).data,
    least: (await api.textFlat({ query: { word: "x" } })).data,
    path: (await api.pathGet({ path: { id: "x y-é" }, query: { q: "?" } })).data,
    put: (await api.pathPut({ path: { id: 7 }, body: { body: [1, 2] } })).data,
    made: (await api.anyMade({ body: { n: 1 } })).data,
    grown: (await api.treeGrow({ body: { task: { id: 1, parts: [{ id: 2 }] } } })).data,
    gone: { code: gone.code, details: gone.details, status: gone.status },
    wrong: (await api.anyMade({ body: { n: "x" } as any })).response!.status,
    bytes: (await api.bytesSize({ body: new Blob([new Uint8Array([0, 255, 13, 10, 1])]) })).data,
    text: (await api.bytesText({ query: { n: 3 } })).data,
    events: events.length - 1, // the end is an event, too
  }));
}
main();
